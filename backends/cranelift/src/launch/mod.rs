//! Runs one kernel: in ranges of its outermost level, on as many threads as it is worth.
//!
//! Ranges, copies and the order of ranges never change a bit: blocks of reduces are combined by number, copies of chunks in order,
//! and other copies only where any order gives the same.

mod append;
pub(crate) mod at_once;
pub(crate) mod measured;
mod partitioned;
mod ranges;
mod rows;
mod scan;
mod scatter;
mod split;
pub(crate) mod strips;
mod table;
pub(crate) mod trials;
pub(crate) mod turns;
mod workers;

use std::time::Instant;

use fusebox_backend::{BackendError, Few, Launch, LaunchArray};
use fusebox_ir::{
    Action, Array, Constant, ElementType, Fault, Kernel, KernelArrayId, KernelExtent, Place, RunError, ScalarOperand,
    ScatterOrder, association::chunks, bug,
};

use self::{measured::Clock, ranges::Ranges, rows::Rows, table::Table, trials::Way};
use crate::{
    Shared,
    beside::LONG_ROW,
    emit::{HiddenArgument, Part},
    estimate::PARTS_OF_NS,
    loaded_kernel::{LoadedKernel, LoadedVersion},
};

/// A piece of work that is long takes so many times as long as work that threads share at all.
const LONG_PIECES: u64 = 5;

/// How many steps a level is taken to have inside of each step of the one around, where that is not known.
pub(crate) const UNKNOWN_STEPS: u64 = 8;

/// Steps of a row in gangs that take as long as one step is estimated to take, beside what the estimate says of gangs: with fewer, sparse products
/// were shared that are done sooner by one thread.
const GANG_STEPS: u64 = 4;

/// Of so many steps that load a line and store one, all lines are in the second cache of a core: 128 KB.
const STEPS_OF_LINES: i64 = 1024;

/// A launch under way.
struct KernelLaunch<'a> {
    kernel: &'a Kernel,
    loaded: &'a LoadedKernel,
    shared: &'a Shared,
    sizes: &'a [i64],
    /// Of the outermost level.
    outermost: i64,
    /// Steps of the level inside of it, where they are known.
    elements: Option<u64>,
    /// Where the outermost level is cut, as many elements in each piece, for so many pieces: those are as many as there may be.
    cuts: Option<Vec<i64>>,
    /// Rows that are left out of all ranges, as all threads share each of them afterwards.
    long: Vec<i64>,
    /// Whether threads share it.
    way: Way,
}

/// Runs a kernel.
pub(crate) fn run(
    kernel: &Kernel,
    loaded: &LoadedKernel,
    shared: &Shared,
    mut launch: Launch<'_, Array>,
) -> Result<(), BackendError> {
    let version = version_for(kernel, loaded, shared, launch.sizes);
    let (kernel, loaded) = version.map_or((kernel, loaded), |version| (&version.kernel, &version.loaded));
    let appended = run_on(kernel, loaded, shared, (launch.sizes, &mut launch.arrays))?;
    // The number of appended elements goes to an array of the kernel like others.
    if let Some((_, count)) = append_of(kernel)
        && let Some(LaunchArray::Write(array)) = launch.arrays.get_mut(count.index())
    {
        array.set(0, Constant::from(appended as i64));
    }
    Ok(())
}

/// What runs in the place of a kernel in a launch with these sizes; none: the kernel itself.
pub(crate) fn version_for<'a>(
    kernel: &'a Kernel,
    loaded: &'a LoadedKernel,
    shared: &'a Shared,
    sizes: &'a [i64],
) -> Option<&'a LoadedVersion> {
    let version = loaded.versions.iter().find(|version| {
        let usual = KernelLaunch::new(kernel, loaded, shared, sizes);
        version.when.iter().all(|guard| usual.steps(guard.level as usize) == Some(guard.steps))
    });
    version.map(|version| &**version)
}

/// The number of appended elements.
fn run_on(
    kernel: &Kernel,
    loaded: &LoadedKernel,
    shared: &Shared,
    (sizes, arrays): (&[i64], &mut [LaunchArray<'_, Array>]),
) -> Result<u64, BackendError> {
    let read: Few<Option<&Array>> =
        (arrays.iter()).map(|array| if let LaunchArray::Read(array) = array { Some(*array) } else { None }).collect();
    let mut table = Table::new(sizes, arrays, &loaded.hidden);
    let mut run = KernelLaunch::new(kernel, loaded, shared, sizes);
    run.outermost = match loaded.part(Part::Steps) {
        None if kernel.levels.is_empty() => 0,
        None => run.steps(0).unwrap_or_else(|| bug!(kernel, "no code gives the steps of the outermost level")),
        Some(code) => table.call(code, (0, 0))? as i64,
    };
    let rows = loaded.lengths.filter(|_| shared.threads.count() > 1);
    let rows = rows.and_then(|lengths| Rows::of(lengths, &read, run.outermost));
    run.elements = rows.as_ref().map(Rows::elements);
    run.way = run.way();
    // While all helpers sleep, a launch that is to be shared may run alone: its time says nothing of sharing.
    let begun = (run.way.is_measured() && !(run.way.shared && shared.threads.asleep())).then(Instant::now);
    if let Some(rows) = rows {
        run.cuts = run.pieces().map(|pieces| rows.cuts(pieces));
        if run.cuts.is_some() && loaded.row.is_some() {
            run.long = rows.long(LONG_ROW, shared.threads.count() as i64);
        }
    }
    table.set(HiddenArgument::OutOfCache, (run.bytes() >= shared.out_of_cache_bytes).into());
    let appended = if let Some(code) = loaded.part(Part::Body) { run.split(table, code)? } else { run.whole(&table)? };
    if let Some(row) = &loaded.row {
        let mut sizes: Few<i64> = sizes.iter().copied().chain([0]).collect();
        for &step in &run.long {
            if let Some(last) = sizes.last_mut() {
                *last = step;
            }
            run_on(&row.kernel, &row.loaded, shared, (&sizes, arrays))?;
        }
    }
    if let Some(begun) = begun {
        loaded.trials.took(run.way, begun.elapsed().as_nanos() as u64);
    }
    Ok(appended)
}

/// What a kernel appends to, and the array for the number of elements.
fn append_of(kernel: &Kernel) -> Option<(&[KernelArrayId], KernelArrayId)> {
    kernel.statements.iter().find_map(|statement| match &statement.action {
        Action::Append { arrays, count, .. } => Some((arrays.as_slice(), *count)),
        _ => None,
    })
}

/// Estimated nanoseconds of all work of a launch on one thread, if sizes alone say how many steps the outermost level has.
pub(crate) fn work_by_sizes(kernel: &Kernel, loaded: &LoadedKernel, shared: &Shared, sizes: &[i64]) -> Option<u64> {
    KernelLaunch::new(kernel, loaded, shared, sizes).work_by_sizes()
}

impl<'a> KernelLaunch<'a> {
    fn new(kernel: &'a Kernel, loaded: &'a LoadedKernel, shared: &'a Shared, sizes: &'a [i64]) -> Self {
        Self {
            kernel,
            loaded,
            shared,
            sizes,
            outermost: 0,
            elements: None,
            cuts: None,
            long: Vec::new(),
            way: Way::default(),
        }
    }

    fn operand(&self, operand: ScalarOperand) -> Option<i64> {
        match operand {
            ScalarOperand::Constant(constant) => constant.as_i64(),
            ScalarOperand::Local(id) => {
                self.kernel.sizes.iter().position(|size| size.id == id).map(|position| self.sizes[position])
            }
            ScalarOperand::Outer(_) => None,
        }
    }

    /// Steps of a level, where its bounds are sizes.
    fn steps(&self, level: usize) -> Option<i64> {
        let level = self.kernel.levels.get(level)?;
        Some(self.operand(level.to)?.checked_sub(self.operand(level.from)?).unwrap_or(0).max(0))
    }

    /// Estimated nanoseconds of all work on one thread, if sizes alone say how many steps the outermost level has.
    fn work_by_sizes(mut self) -> Option<u64> {
        self.outermost = if self.kernel.levels.is_empty() { 0 } else { self.steps(0)? };
        Some(self.work())
    }

    /// Estimated nanoseconds of all work on one thread, by what launches took where that is measured.
    fn work(&self) -> u64 {
        let estimated = self.estimate();
        self.loaded.measured.as_ref().map_or(estimated, |measured| measured.work(estimated))
    }

    /// Estimated nanoseconds of all work on one thread, by what is known before any launch.
    fn estimate(&self) -> u64 {
        let mut points: Few<u64> = Few::from_elem(1, 1);
        for level in 0..self.kernel.levels.len() {
            let known = if level == 0 { Some(self.outermost) } else { self.steps(level) };
            let steps = known.map_or(UNKNOWN_STEPS, |steps| steps as u64);
            points.push(match self.elements {
                Some(elements) if level == 1 => {
                    let length = elements / points[level].max(1);
                    let in_gangs = self.loaded.inner_gang.is_some_and(|least| length >= u64::from(least));
                    elements / if in_gangs { GANG_STEPS } else { 1 }
                }
                _ => points[level].saturating_mul(steps),
            });
        }
        let works = self.loaded.work.iter().map(|&(depth, work)| points[depth as usize].saturating_mul(work));
        works.fold(0u64, u64::saturating_add) / PARTS_OF_NS
    }

    /// Zeroed memory for a statement to work in: `count` times as many bytes, and a few more words.
    ///
    /// # Errors
    /// [`Fault::TooLarge`] of `what`, which is asked for then alone.
    fn scratch(
        &self,
        statement: usize,
        what: impl FnOnce() -> String,
        count: usize,
        bytes: usize,
    ) -> Result<Array, RunError> {
        let bytes = count.checked_mul(bytes).and_then(|bytes| bytes.checked_add(64));
        let memory = bytes.and_then(|bytes| self.shared.memory.take(ElementType::U8, &[bytes]));
        let Some(mut memory) = memory else {
            return Err(RunError {
                operation: self.kernel.operation(&self.kernel.statements[statement]).to_owned(),
                place: Place::default(),
                fault: Fault::TooLarge { array: what(), extents: vec![i64::try_from(count).unwrap_or(i64::MAX)] },
            });
        };
        memory.bytes_mut().fill(0);
        Ok(memory)
    }

    /// Measures what the launch takes, if its loops make as many turns as elements say.
    fn clock(&self) -> Clock<'a> {
        Clock::new(self.loaded.measured.as_deref())
    }

    /// Whether threads share it; never where there is one thread.
    fn way(&self) -> Way {
        if self.shared.threads.count() == 1 {
            return Way::default();
        }
        self.loaded.trials.way(self.work(), self.shared.share_from_ns)
    }

    /// In how many pieces threads share the work; none where it is not worth sharing.
    fn pieces(&self) -> Option<i64> {
        if !self.way.shared {
            return None;
        }
        let work = self.way.work;
        let threads = self.shared.threads.count() as u64;
        let most = (work / (self.shared.share_from_ns / 2).max(1)).max(2);
        // One piece for each thread, which finds in its cache what it made of the same rows before; more of long work, as threads may come late.
        let long = self.shared.share_from_ns.saturating_mul(threads * LONG_PIECES).max(1);
        let each = (work / long).clamp(1, 16);
        Some((threads * each).min(most) as i64)
    }

    /// Of how many steps of the outermost level what is read again and again is in a cache; none where nothing is.
    fn steps_in_cache(&self) -> Option<i64> {
        if self.loaded.lines_again {
            return Some(STEPS_OF_LINES);
        }
        let bytes = |&array: &KernelArrayId| {
            self.target_size(array).saturating_mul(self.kernel.arrays[array.index()].element.bytes())
        };
        let all: usize = self.loaded.read_again.iter().map(bytes).fold(0, usize::saturating_add);
        let step = all / usize::try_from(self.outermost).ok().filter(|&steps| steps > 0)?;
        i64::try_from(self.shared.strip_bytes / 2).ok()?.checked_div(i64::try_from(step).ok()?)
    }

    /// What shares of the outermost level are multiples of.
    fn share_unit(&self) -> i64 {
        let steps = |level| if level == 0 { Some(self.outermost) } else { self.steps(level) };
        self.loaded.shares.steps(&steps, self.shared.threads.count()).into()
    }

    /// Ranges of the outermost level; `unit` steps are never parted, nor is what makes a gang: its rest would be scalar code.
    fn ranges(&self, steps: i64, unit: i64) -> Ranges {
        let gang = self.share_unit();
        let unit = (unit as u64).checked_next_multiple_of(gang as u64).map_or(unit, |unit| unit as i64);
        let pieces = self.pieces().filter(|_| steps > unit);
        let cached = self.steps_in_cache().filter(|_| pieces.is_some() || self.shared.threads.count() == 1);
        if pieces.is_none() && cached.is_none_or(|cached| cached >= steps) {
            return Ranges::one(steps);
        }
        let length = (steps / pieces.unwrap_or(1)).min(cached.unwrap_or(steps)).max(1);
        // What shares are multiples of counts; more of them would not be in the cache.
        let unit = if cached.is_some() { gang } else { unit };
        let length = (length as u64).checked_next_multiple_of(unit as u64).map_or(steps, |length| length as i64);
        Ranges::new(steps, length).joined(gang)
    }

    fn target_size(&self, array: KernelArrayId) -> usize {
        let extents = self.kernel.arrays[array.index()].extents.iter().map(|extent| match extent {
            KernelExtent::Constant(extent) => *extent,
            KernelExtent::Size(id) => {
                let size = self.operand(ScalarOperand::Local(*id));
                size.unwrap_or_else(|| bug!(self.kernel, "{id} is an extent, and no size of the kernel"))
            }
        });
        extents.product::<i64>() as usize
    }

    /// Bytes of all arrays.
    fn bytes(&self) -> usize {
        let arrays = self.kernel.arrays.iter().enumerate();
        arrays.fold(0, |sum, (id, array)| {
            sum.saturating_add(self.target_size(KernelArrayId::at(id)).saturating_mul(array.element.bytes()))
        })
    }

    /// How many chunks a scatter in chunks has, and how many steps of the outermost level each.
    fn chunks(steps: i64, targets: usize) -> (i64, i64) {
        chunks(steps, i64::try_from(targets).unwrap_or(i64::MAX))
    }

    /// Everything in one call; the number of appended elements.
    fn whole(&self, table: &Table<'_>) -> Result<u64, RunError> {
        let Some(code) = self.loaded.part(Part::Whole) else { return Ok(0) };
        let steps = self.outermost;
        let kernel = self.kernel;
        let mut scattered = Vec::new();
        for (position, statement) in kernel.statements.iter().enumerate() {
            if let Action::Scatter { order: ScatterOrder::Chunks, arrays, .. } = &statement.action {
                let (chunks, chunk_steps) = Self::chunks(steps, self.target_size(arrays[0]));
                scattered.push((self.scattered(position, chunks as usize, false)?, chunks as usize, chunk_steps));
            }
        }
        let appended = {
            let mut table = table.clone();
            for (scatter, _, chunk_steps) in &mut scattered {
                table.set(HiddenArgument::ChunkSteps(scatter.statement), *chunk_steps as u64);
                for (component, copies) in scatter.copies.iter_mut().enumerate() {
                    table.point(HiddenArgument::Copies(scatter.statement, component), copies.bytes_mut());
                }
                if let Some(flags) = &mut scatter.flags {
                    table.point(HiddenArgument::CopyFlags(scatter.statement), flags.bytes_mut());
                }
            }
            let clock = self.clock();
            let appended = clock.time(|| table.call(code, (0, steps)))?;
            clock.keep(|| self.estimate());
            appended
        };
        for (scatter, chunks, _) in &mut scattered {
            self.merge(table, std::slice::from_mut(scatter), *chunks)?;
        }
        Ok(appended)
    }
}
