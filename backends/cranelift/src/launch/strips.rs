//! Several turns of a loop of rows, or launches of rows one after the other, over one strip of rows after another: what they make in between
//! stays in a cache. Turns whose arrays are in the caches as they are run over all rows, one after the other ([`super::turns`]).
//!
//! A strip begins with as many more rows as its launches reach beyond it, so that strips need nothing of each other and threads take them in
//! any order (overlapped tiling). The first and the last rows are one strip together: only there a boundary may ask for rows of the other
//! end. Rows keep their numbers: memory of a strip is addressed as if its array were whole.

use std::collections::HashSet;

use fusebox_backend::{BackendError, Few, RowBytes, RowShape, TurnArray, TurnLaunch, Turns, Unrolled, VersionMemory};
use fusebox_ir::{
    Array, ElementType, Kernel, Plan, RunError, Step,
    analysis::{RowLaunch, RowLoop, RowSequences},
};

use super::{
    rows::Rows,
    table::{RowMemory, Table},
    version_for,
    workers::each,
};
use crate::{
    Shared,
    emit::{HiddenArgument, Part},
    loaded_kernel::LoadedKernel,
};

/// Turns that are done at once, at most: with more of them, little is left to save.
const MOST_TURNS: i64 = 16;

/// Turns over all rows that are done at once, at most: in so many, what it takes to ask helpers to come does not count.
const TURNS_OVER_ALL: usize = 32;

/// A strip has so many times the rows that its turns reach beyond it on both sides: half of the reach is computed twice.
const ROWS_OF_REACH: i64 = 4;

/// A strip of launches that run once each has so many times the rows that they reach beyond it: half of the reach is computed twice, which is less
/// than what going through memory once for each of them takes.
const ROWS_OF_ONE_REACH: i64 = 1;

/// A segment of so many elements is long, if it has more than a quarter of a thread's share of all elements.
const LONG_SEGMENT: i64 = 1 << 14;

/// The kernels of a plan, by position, that may run over strips: in loops of rows, or one after the other.
pub(crate) fn kernels(plan: &Plan) -> HashSet<usize> {
    let mut found = HashSet::new();
    let mut add = |steps: &[Step], launches: &[RowLaunch]| {
        let kernel = |launch: &RowLaunch| match steps.get(launch.step) {
            Some(Step::Launch { kernel, .. }) => Some(*kernel),
            _ => None,
        };
        found.extend(launches.iter().filter_map(kernel));
    };
    for step in plan.steps.iter().flat_map(Step::within) {
        if let (Step::While { body, .. }, Ok(row_loop)) = (step, RowLoop::of(plan, step)) {
            add(body, &row_loop.launches);
        }
    }
    for (sequence, steps) in RowSequences::of(plan, |_| true).all(plan) {
        add(steps, &sequence.launches);
    }
    found
}

/// Whether code of a kernel can run on some rows, without anything before or after that has to do with other rows. How many rows there are is
/// known otherwise.
pub(crate) fn has_rows(loaded: &LoadedKernel) -> bool {
    let own = |part: Part| loaded.part(part).is_some();
    let across = |hidden: &HiddenArgument| {
        !matches!(
            hidden,
            HiddenArgument::OutOfCache
                | HiddenArgument::Steps
                | HiddenArgument::FirstElement(..)
                | HiddenArgument::Number(_)
        )
    };
    own(Part::Body) && !own(Part::Totals) && !loaded.hidden.iter().any(across)
}

/// How many turns of a loop are done at once: as many as leave strips that fit into the cache, if all rows do not.
pub(crate) fn turns_at_once(shape: RowShape, shared: &Shared) -> Option<usize> {
    if are_cached(shape.rows, shape.row_bytes, shared) {
        return Some(TURNS_OVER_ALL);
    }
    let rows = rows_of_a_strip(shape, shared)?;
    let turns = most_turns(rows, shape.reach).min(MOST_TURNS);
    // Both ends and some strips between.
    (turns >= 2 && shape.rows >= 4 * rows).then_some(turns as usize)
}

/// Whether launches of rows are done in strips, one after the other: if strips fit into the cache and all rows do not.
pub(crate) fn gains(shape: RowShape, shared: &Shared) -> bool {
    let threads = shared.threads.count() as i64;
    let rows = rows_of_a_strip(shape, shared);
    let (above, below) = shape.reach;
    rows.is_some_and(|rows| rows >= ROWS_OF_ONE_REACH * (above + below) && shape.rows >= 4 * rows.max(threads))
}

/// Whether there are rows, and all are in the caches, so that turns run over all of them.
fn are_cached(rows: i64, row_bytes: usize, shared: &Shared) -> bool {
    let bytes = usize::try_from(rows).ok().and_then(|rows| rows.checked_mul(row_bytes));
    bytes.is_some_and(|bytes| bytes > 0 && bytes < shared.strips_from_bytes.min(shared.out_of_cache_bytes))
}

/// How many rows fit into the cache, if all rows do not.
fn rows_of_a_strip(shape: RowShape, shared: &Shared) -> Option<i64> {
    let bytes = usize::try_from(shape.rows).ok()?.checked_mul(shape.row_bytes)?;
    if bytes < shared.strips_from_bytes || shape.row_bytes == 0 {
        return None;
    }
    i64::try_from(shared.strip_bytes / shape.row_bytes).ok().filter(|&rows| rows > 0)
}

/// How many turns a strip of so many rows, with what the turns reach beyond it, is enough for.
fn most_turns(rows: i64, (above, below): (i64, i64)) -> i64 {
    rows / ((ROWS_OF_REACH + 1) * (above + below)).max(1)
}

/// Does launches in strips, or over all rows; how many bytes of whole arrays it took in between, if it did.
pub(crate) fn run(
    turns: Turns<'_, Array>,
    (declared, kernels): (&[Kernel], &[LoadedKernel]),
    (shared, cleared): (&Shared, bool),
) -> Result<Option<usize>, BackendError> {
    let over_all = turns.offsets.is_none() && are_cached(turns.rows, turns.all_row_bytes, shared);
    let first = turns.launches.first().and_then(|first| kernels.get(first.kernel));
    let Some(unrolled) = first.and_then(|first| first.turns.unrolled(&turns, over_all)) else { return Ok(None) };
    let Turns { rows, all_row_bytes, launches, row_bytes, before, after, offsets, .. } = turns;
    let mut loaded: Few<(&Kernel, &LoadedKernel)> = Few::new();
    for launch in &launches {
        let (Some(declared), Some(own)) = (declared.get(launch.kernel), kernels.get(launch.kernel)) else {
            return Ok(None);
        };
        let version = version_for(declared, own, shared, &launch.sizes).filter(|version| has_rows(&version.loaded));
        let (declared, own) = version.map_or((declared, own), |version| (&version.kernel, &version.loaded));
        if !has_rows(own) {
            return Ok(None);
        }
        loaded.push((declared, own));
    }
    let segments = match offsets.map(|offsets| Rows::between(offsets, 0, usize::try_from(rows).unwrap_or_default())) {
        Some(None) => return Ok(None),
        found => found.flatten(),
    };
    let mut run = Strips {
        past: Vec::new(),
        unrolled: &unrolled,
        launches: &launches,
        loaded: &loaded,
        row_bytes,
        all_row_bytes,
        segments,
        shared,
        cleared,
        rows,
        before: before.iter().map(|own| RowMemory::of(own)).collect(),
        after: Few::new(),
    };
    if !run.segments_hold() {
        return Ok(None);
    }
    if !over_all {
        run.past = run.runs_past_caches(&after);
    }
    for array in after {
        run.after.push(RowMemory::of_mut(array));
    }
    let strips = if over_all { None } else { run.strips() };
    if !over_all && strips.is_none() {
        return Ok(None);
    }
    run.begin()?;
    let Some((end, strips)) = strips else { return run.over_all() };
    // The ends first: their memory is as long as the arrays, though little of it is touched.
    let done = each(&shared.threads, (strips.len(), || true), |number, _| match strips[number] {
        (first, last) if first > last => run.ends(end),
        (first, last) => run.strip(first, last),
    });
    did(done, 0)
}

/// The bytes that were taken, if something was done.
pub(super) fn did(done: Result<(), Stop>, bytes: usize) -> Result<Option<usize>, BackendError> {
    match done {
        Ok(()) => Ok(Some(bytes)),
        Err(Stop::NoRoom) => Ok(None),
        Err(Stop::Failed(error)) => Err(error.into()),
    }
}

/// Why a strip is not done.
pub(super) enum Stop {
    /// There is no memory for it.
    NoRoom,
    /// A launch failed.
    Failed(RunError),
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        Self::Failed(error)
    }
}

pub(super) struct Strips<'t, 'a> {
    pub(super) unrolled: &'t Unrolled,
    pub(super) launches: &'t [TurnLaunch<'a, Array>],
    /// What each launch runs.
    pub(super) loaded: &'t [(&'t Kernel, &'t LoadedKernel)],
    row_bytes: &'t [RowBytes],
    /// Bytes of one row of all arrays.
    all_row_bytes: usize,
    /// Where segments begin, if there are arrays of segments.
    segments: Option<Rows<'t>>,
    pub(super) shared: &'t Shared,
    /// Whether new memory holds zeros.
    cleared: bool,
    pub(super) rows: i64,
    before: Few<RowMemory<'t>>,
    after: Few<RowMemory<'t>>,
    /// For each run whether what it makes goes past the caches; none does where nothing is said.
    past: Vec<bool>,
}

impl<'t> Strips<'t, '_> {
    /// Whether segments are what code for some of them counts on: they rise, no array has fewer elements than they have, and none is so long that
    /// all threads should share it.
    fn segments_hold(&self) -> bool {
        let segments = self.segments.as_ref().filter(|segments| segments.are_segments());
        let hold = |own: &RowBytes| match own {
            RowBytes::Each(_) => true,
            RowBytes::Segment(_, most) => segments.is_some_and(|segments| segments.begin(self.rows) as i64 <= *most),
        };
        let threads = self.shared.threads.count() as i64;
        self.row_bytes.iter().all(hold)
            && segments.is_none_or(|segments| segments.long(LONG_SEGMENT, 4 * threads).is_empty())
    }

    /// Which runs make nothing that is read again, of arrays that no cache holds.
    fn runs_past_caches(&self, after: &[&mut Array]) -> Vec<bool> {
        let bytes: usize = after.iter().map(|array| array.bytes().len()).sum();
        let is_large = bytes >= self.shared.out_of_cache_bytes;
        (0..self.unrolled.runs.len()).map(|run| is_large && self.unrolled.is_last(run)).collect()
    }

    /// How many rows at either end are one strip, and the strips: first that of the ends, if there is one, whose numbers stand the other way round.
    fn strips(&self) -> Option<(i64, Vec<(i64, i64)>)> {
        let (above, below) = self.unrolled.halo();
        if (above, below) == (0, 0) {
            let all = self.all_row_bytes.saturating_mul(usize::try_from(self.rows).ok()?);
            let count = i64::try_from(all.div_ceil(self.shared.strip_bytes.max(1))).ok()?.max(1);
            let cuts = match &self.segments {
                Some(segments) => segments.cuts(count),
                None => {
                    (0..=count).map(|at| (i128::from(self.rows) * i128::from(at) / i128::from(count)) as i64).collect()
                }
            };
            return Some((0, cuts.windows(2).map(|ends| (ends[0], ends[1])).collect()));
        }
        let own = self.shared.strip_bytes / self.all_row_bytes.max(1);
        let own = (own as i64 - above - below).max(above + below).max(1);
        // Boundaries that reflect need as many rows at an end as a launch reaches.
        let end = (own / 2).max(above.max(below) + 1);
        if self.rows < 4 * (end + above + below) {
            return None;
        }
        let between = self.rows - 2 * end;
        let count = (between as u64).div_ceil(own as u64) as i64;
        let row = |strip: i64| end + between * strip / count;
        Some((end, std::iter::once((1, 0)).chain((0..count).map(|strip| (row(strip), row(strip + 1)))).collect()))
    }

    /// Bytes of an array before a row.
    fn bytes_before(&self, array: usize, row: i64) -> usize {
        match self.row_bytes[array] {
            RowBytes::Each(bytes) => row as usize * bytes,
            RowBytes::Segment(bytes, _) => self.segments.as_ref().map_or(0, |segments| segments.begin(row)) * bytes,
        }
    }

    /// What kernels do outside of all rows: checks.
    fn begin(&self) -> Result<(), RunError> {
        for (position, (_, loaded)) in self.loaded.iter().enumerate() {
            if let Some(finish) = loaded.part(Part::Finish)
                && let Some(run) = self.unrolled.runs.iter().position(|run| run.launch == position)
            {
                // Nothing at depth 0 has to do with rows, so any memory does.
                self.table(run, &|_| RowMemory::nowhere()).call(finish, (0, self.rows))?;
            }
        }
        Ok(())
    }

    /// Memory for the versions in between, of rows `first..last` and of those that are needed around them.
    pub(super) fn memory(&self, (first, last): (i64, i64)) -> Result<Few<Array>, Stop> {
        let mut bytes: Few<usize> = Few::from_elem(0, self.unrolled.slots);
        for version in &self.unrolled.versions {
            if let VersionMemory::Slot(slot) = version.memory
                && let Some(bytes) = bytes.get_mut(slot)
            {
                let before = |row: i64| self.bytes_before(version.array, row);
                let own = before((last + version.below).min(self.rows)) - before((first - version.above).max(0));
                *bytes = own.max(*bytes);
            }
        }
        let own = |bytes: usize| {
            let mut own = self.shared.memory.take(ElementType::U8, &[bytes])?;
            if self.cleared {
                own.bytes_mut().fill(0);
            }
            Some(own)
        };
        bytes.into_iter().map(|bytes| own(bytes).ok_or(Stop::NoRoom)).collect()
    }

    /// All turns for rows `first..last`, which are far from the ends.
    fn strip(&self, first: i64, last: i64) -> Result<(), Stop> {
        let mut memory = self.memory((first, last))?;
        let slots: Few<RowMemory<'_>> = memory.iter_mut().map(RowMemory::of_mut).collect();
        let place = |version: usize| {
            let own = &self.unrolled.versions[version];
            self.place(version, &slots, self.bytes_before(own.array, first - own.above))
        };
        for (position, run) in self.unrolled.runs.iter().enumerate() {
            self.call(position, &place, (first - run.above, last + run.below))?;
        }
        self.copy(&place, (first, last));
        Ok(())
    }

    /// All turns for the first `end` rows and for as many at the end.
    fn ends(&self, end: i64) -> Result<(), Stop> {
        let mut memory = self.memory((0, self.rows))?;
        let slots: Few<RowMemory<'_>> = memory.iter_mut().map(RowMemory::of_mut).collect();
        let place = |version: usize| self.place(version, &slots, 0);
        for (position, run) in self.unrolled.runs.iter().enumerate() {
            self.call(position, &place, (0, end + run.below))?;
            self.call(position, &place, (self.rows - end - run.above, self.rows))?;
        }
        self.copy(&place, (0, end));
        self.copy(&place, (self.rows - end, self.rows));
        Ok(())
    }

    /// Where the rows of a version are; `before` bytes of it are missing if it is in memory of the strip.
    pub(super) fn place<'m>(&self, version: usize, slots: &[RowMemory<'m>], before: usize) -> RowMemory<'m>
    where
        't: 'm,
    {
        match self.unrolled.versions[version].memory {
            VersionMemory::Before(state) => self.before[state],
            VersionMemory::After(state) => self.after[state],
            VersionMemory::Slot(slot) => slots[slot].without(before),
        }
    }

    /// One run for some rows.
    pub(super) fn call<'m>(
        &'m self,
        run: usize,
        place: &impl Fn(usize) -> RowMemory<'m>,
        rows: (i64, i64),
    ) -> Result<(), RunError>
    where
        't: 'm,
    {
        let launch = self.unrolled.runs[run].launch;
        let Some(body) = self.loaded[launch].1.part(Part::Body) else { return Ok(()) };
        self.table(run, place).call(body, rows).map(|_| ())
    }

    fn table<'m>(&'m self, run: usize, place: &impl Fn(usize) -> RowMemory<'m>) -> Table<'m>
    where
        't: 'm,
    {
        let past = self.past.get(run) == Some(&true);
        let run = &self.unrolled.runs[run];
        let launch = &self.launches[run.launch];
        let arrays = launch.arrays.iter().zip(&run.versions).map(|((array, _), version)| match (array, version) {
            (TurnArray::Same(array), _) => RowMemory::of(array),
            (TurnArray::Changing(_), Some(version)) => place(*version),
            (TurnArray::Changing(_), None) => RowMemory::nowhere(),
        });
        let hidden = &self.loaded[run.launch].1.hidden;
        let mut table = Table::of_rows(&launch.sizes, arrays, hidden);
        table.set(HiddenArgument::Steps, self.rows as u64);
        table.set(HiddenArgument::OutOfCache, past.into());
        table
    }

    /// Rows of versions that the strip has more rows of than are its own go to the state after the last turn.
    fn copy<'m>(&self, place: &impl Fn(usize) -> RowMemory<'m>, (first, last): (i64, i64))
    where
        't: 'm,
    {
        for &(version, state) in &self.unrolled.copied {
            let before = |row: i64| self.bytes_before(self.unrolled.versions[version].array, row);
            place(version).copy_to(self.after[state], (before(first), before(last)));
        }
    }
}
