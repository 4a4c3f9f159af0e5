//! Several turns of a loop of rows over one strip of rows after another: what turns make in between stays in a cache.
//!
//! A strip begins with as many more rows as its turns reach beyond it, so that strips need nothing of each other and threads take them in any
//! order (overlapped tiling). The first and the last rows are one strip together: only there a boundary may ask for rows of the other
//! end. Rows keep their numbers: memory of a strip is addressed as if its array were whole.

use fusebox_backend::{BackendError, RowShape, TurnArray, TurnLaunch, Turns, Unrolled, VersionMemory};
use fusebox_ir::{Array, ElementType, RunError, analysis::RowLoop};

use super::{
    table::{RowMemory, Table},
    workers::each,
};
use crate::{
    Shared,
    emit::{HiddenArgument, Part},
    loaded_kernel::LoadedKernel,
};

/// Turns that are done at once, at most: with more of them, little is left to save.
const MOST_TURNS: i64 = 16;

/// A strip has so many times the rows that its turns reach beyond it on both sides: half of the reach is computed twice.
const ROWS_OF_REACH: i64 = 4;

/// Whether code of a kernel can run on some rows, without anything before or after that has to do with other rows.
pub(crate) fn has_rows(loaded: &LoadedKernel) -> bool {
    let own = |part: Part| loaded.part(part).is_some();
    let across = |hidden: &HiddenArgument| {
        !matches!(hidden, HiddenArgument::OutOfCache | HiddenArgument::Steps | HiddenArgument::Number(_))
    };
    own(Part::Body) && !own(Part::Totals) && !own(Part::Steps) && !loaded.hidden.iter().any(across)
}

/// How many turns of a loop are done at once: as many as leave strips that fit into the cache, if all rows do not.
pub(crate) fn turns_at_once(shape: RowShape<'_>, shared: &Shared) -> Option<usize> {
    let bytes = usize::try_from(shape.rows).ok()?.checked_mul(shape.row_bytes)?;
    if bytes < shared.strips_from_bytes || shape.row_bytes == 0 {
        return None;
    }
    let rows = i64::try_from(shared.strip_bytes / shape.row_bytes).ok()?;
    let turns = most_turns(rows, shape.row_loop).min(MOST_TURNS);
    // Both ends and some strips between.
    (turns >= 2 && shape.rows >= 4 * rows).then_some(turns as usize)
}

/// How many turns a strip of so many rows, with what the turns reach beyond it, is enough for.
fn most_turns(rows: i64, row_loop: &RowLoop) -> i64 {
    let (above, below) = row_loop.reach();
    rows / ((ROWS_OF_REACH + 1) * (above + below)).max(1)
}

/// Does turns of a loop in strips; whether it did.
pub(crate) fn run(
    turns: Turns<'_, Array>,
    kernels: &[LoadedKernel],
    (shared, cleared): (&Shared, bool),
) -> Result<bool, BackendError> {
    let Some(unrolled) = Unrolled::of(&turns) else { return Ok(false) };
    let Turns { rows, launches, row_bytes, before, after, .. } = turns;
    let (above, below) = unrolled.halo();
    let own = shared.strip_bytes / row_bytes.iter().sum::<usize>().max(1);
    let own = (own as i64 - above - below).max(above + below).max(1);
    // Boundaries that reflect need as many rows at an end as a launch reaches.
    let end = (own / 2).max(above.max(below) + 1);
    if rows < 4 * (end + above + below) {
        return Ok(false);
    }
    let loop_run = Strips {
        unrolled: &unrolled,
        launches: &launches,
        kernels,
        row_bytes,
        shared,
        cleared,
        rows,
        before: before.into_iter().map(RowMemory::of).collect(),
        after: after.into_iter().map(RowMemory::of_mut).collect(),
    };
    if !loop_run.begin()? {
        return Ok(false);
    }
    let between = rows - 2 * end;
    let strips = (between as u64).div_ceil(own as u64) as i64;
    // The ends first: their memory is as long as the arrays, though little of it is touched.
    let done = each(&shared.threads, 1 + strips as usize, |strip, _| {
        if strip == 0 {
            return loop_run.ends(end);
        }
        let first = end + between * (strip as i64 - 1) / strips;
        let last = end + between * strip as i64 / strips;
        loop_run.strip(first, last)
    });
    match done {
        Ok(()) => Ok(true),
        Err(Stop::NoRoom) => Ok(false),
        Err(Stop::Failed(error)) => Err(error.into()),
    }
}

/// Why a strip is not done.
enum Stop {
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

struct Strips<'t, 'a> {
    unrolled: &'t Unrolled,
    launches: &'t [TurnLaunch<'a, Array>],
    kernels: &'t [LoadedKernel],
    row_bytes: &'t [usize],
    shared: &'t Shared,
    /// Whether new memory holds zeros.
    cleared: bool,
    rows: i64,
    before: Vec<RowMemory<'t>>,
    after: Vec<RowMemory<'t>>,
}

impl<'t> Strips<'t, '_> {
    /// What kernels do outside of all rows: checks. Whether all kernels have code for rows.
    fn begin(&self) -> Result<bool, RunError> {
        for (position, launch) in self.launches.iter().enumerate() {
            let Some(loaded) = self.kernels.get(launch.kernel).filter(|loaded| has_rows(loaded)) else {
                return Ok(false);
            };
            if let Some(finish) = loaded.part(Part::Finish)
                && let Some(run) = self.unrolled.runs.iter().position(|run| run.launch == position)
            {
                // Nothing at depth 0 has to do with rows, so any memory does.
                self.table(run, &|_| self.before[0]).call(finish, (0, self.rows))?;
            }
        }
        Ok(true)
    }

    /// Memory for so many rows of the versions in between.
    fn memory(&self, rows: i64) -> Result<Vec<Array>, Stop> {
        let mut bytes = vec![0; self.unrolled.slots];
        for version in &self.unrolled.versions {
            if let VersionMemory::Slot(slot) = version.memory
                && let Some(bytes) = bytes.get_mut(slot)
            {
                *bytes = self.row_bytes[version.array].max(*bytes);
            }
        }
        let rows = usize::try_from(rows).map_err(|_| Stop::NoRoom)?;
        let own = |bytes: usize| {
            let mut own = self.shared.memory.take(ElementType::U8, &[bytes.checked_mul(rows)?])?;
            if self.cleared {
                own.bytes_mut().fill(0);
            }
            Some(own)
        };
        bytes.into_iter().map(|bytes| own(bytes).ok_or(Stop::NoRoom)).collect()
    }

    /// All turns for rows `first..last`, which are far from the ends.
    fn strip(&self, first: i64, last: i64) -> Result<(), Stop> {
        let (above, below) = self.unrolled.halo();
        let mut memory = self.memory(last - first + above + below)?;
        let slots: Vec<RowMemory<'_>> = memory.iter_mut().map(RowMemory::of_mut).collect();
        let place = |version: usize| {
            let own = &self.unrolled.versions[version];
            let before = (first - own.above) as usize * self.row_bytes[own.array];
            self.place(version, &slots, before)
        };
        for (position, run) in self.unrolled.runs.iter().enumerate() {
            self.call(position, &place, (first - run.above, last + run.below))?;
        }
        self.copy(&place, (first, last));
        Ok(())
    }

    /// All turns for the first `end` rows and for as many at the end.
    fn ends(&self, end: i64) -> Result<(), Stop> {
        let mut memory = self.memory(self.rows)?;
        let slots: Vec<RowMemory<'_>> = memory.iter_mut().map(RowMemory::of_mut).collect();
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
    fn place<'m>(&self, version: usize, slots: &[RowMemory<'m>], before: usize) -> RowMemory<'m>
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
    fn call<'m>(&'m self, run: usize, place: &impl Fn(usize) -> RowMemory<'m>, rows: (i64, i64)) -> Result<(), RunError>
    where
        't: 'm,
    {
        let launch = self.unrolled.runs[run].launch;
        let Some(body) = self.kernels[self.launches[launch].kernel].part(Part::Body) else { return Ok(()) };
        self.table(run, place).call(body, rows).map(|_| ())
    }

    fn table<'m>(&'m self, run: usize, place: &impl Fn(usize) -> RowMemory<'m>) -> Table<'m>
    where
        't: 'm,
    {
        let run = &self.unrolled.runs[run];
        let launch = &self.launches[run.launch];
        let arrays = launch.arrays.iter().zip(&run.versions).map(|((array, _), version)| match (array, version) {
            (TurnArray::Same(array), _) => RowMemory::of(array),
            (TurnArray::Changing(_), Some(version)) => place(*version),
            (TurnArray::Changing(_), None) => self.before[0],
        });
        let hidden = &self.kernels[launch.kernel].hidden;
        let mut table = Table::of_rows(&launch.sizes, arrays, hidden);
        table.set(HiddenArgument::Steps, self.rows as u64);
        table
    }

    /// Rows of versions that the strip has more rows of than are its own go to the state after the last turn.
    fn copy<'m>(&self, place: &impl Fn(usize) -> RowMemory<'m>, (first, last): (i64, i64))
    where
        't: 'm,
    {
        for &(version, state) in &self.unrolled.copied {
            let bytes = self.row_bytes[self.unrolled.versions[version].array];
            place(version).copy_to(self.after[state], (first as usize * bytes, last as usize * bytes));
        }
    }
}
