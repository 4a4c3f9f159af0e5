//! Runs one kernel: in ranges of its outermost level, on as many threads as it is worth.
//!
//! Ranges, copies and the order of ranges never change a bit: blocks of reduces are combined by number, copies of chunks in order,
//! and other copies only where any order gives the same.

mod append;
mod ranges;
mod rows;
mod scan;
mod scatter;
mod split;
mod workers;

use std::cell::RefCell;

use fusebox_backend::{BackendError, Few, Launch, LaunchArray};
use fusebox_ir::{
    Action, Array, Constant, Fault, Kernel, KernelArrayId, KernelExtent, Memory, Place, RunError, ScalarOperand,
    ScatterOrder, association::chunks, bug,
};

use self::{ranges::Ranges, rows::Rows};
use crate::{
    Shared, alike,
    code_memory::Code,
    emit::{HiddenArgument, Part},
    failure::{self, SLOT_WORDS},
    loaded_kernel::LoadedKernel,
};

/// Units of work ([`fusebox_ir::analysis::work`]) that a core does in a nanosecond: about two vector instructions on four elements each.
const UNITS_PER_NS: u64 = 8;

/// Steps of a row in gangs that take as long as one step is estimated to take.
const GANG_STEPS: u64 = 4;

thread_local! {
    /// Scratch memory and the error slot of this thread.
    static SCRATCH: RefCell<(Vec<u64>, Vec<u64>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// Calls one part for a range; gives the first word of scratch memory.
#[allow(unsafe_code)]
fn call(code: &Code, table: &[u64], from: i64, to: i64) -> Result<u64, RunError> {
    SCRATCH.with_borrow_mut(|(scratch, slot)| {
        scratch.resize(scratch.len().max(code.scratch / 8 + 16), 0);
        slot.resize(SLOT_WORDS, 0);
        let ahead = scratch.as_ptr().align_offset(64);
        let aligned = &mut scratch[ahead..];
        // SAFETY: the function is compiled from a checked kernel for this argument table: its addresses are of arrays that hold the extents
        // in the table, alive and (where written) not otherwise borrowed for the time of the launch; scratch memory has the bytes it asks
        // for, the slot has room for every failure.
        let result =
            unsafe { (code.function)(table.as_ptr(), from, to, aligned.as_mut_ptr().cast(), slot.as_mut_ptr()) };
        if result == 0 {
            return Ok(aligned[0]);
        }
        let site = result as usize - 1;
        Err(failure::error(&code.sites[site], code.widths[site], slot))
    })
}

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
    /// Sizes, addresses of arrays, then the hidden arguments.
    table: Vec<u64>,
}

/// Runs a kernel.
pub(crate) fn run(
    kernel: &Kernel,
    loaded: &LoadedKernel,
    shared: &Shared,
    mut launch: Launch<'_, Array>,
) -> Result<(), BackendError> {
    let mut table: Vec<u64> = Vec::with_capacity(launch.sizes.len() + launch.arrays.len() + loaded.hidden.len());
    table.extend(launch.sizes.iter().map(|&size| size as u64));
    for array in &mut launch.arrays {
        table.push(match array {
            LaunchArray::Read(array) => array.bytes().as_ptr() as u64,
            LaunchArray::Write(array) => array.bytes_mut().as_mut_ptr() as u64,
            LaunchArray::InPlace(_) => 0,
        });
    }
    for (position, array) in launch.arrays.iter().enumerate() {
        if let LaunchArray::InPlace(written) = array {
            table[launch.sizes.len() + position] = table[launch.sizes.len() + written];
        }
    }
    table.extend(loaded.hidden.iter().map(|argument| match argument {
        HiddenArgument::Number(number) => alike::bits(*number),
        _ => 0,
    }));
    let mut run =
        KernelLaunch { kernel, loaded, shared, sizes: launch.sizes, outermost: 0, elements: None, cuts: None, table };
    run.outermost = match loaded.part(Part::Steps) {
        None if kernel.levels.is_empty() => 0,
        None => run.steps(0).unwrap_or_else(|| bug!(kernel, "no code gives the steps of the outermost level")),
        Some(code) => call(code, &run.table, 0, 0)? as i64,
    };
    if shared.threads.count() > 1
        && let Some(lengths) = loaded.lengths
        && let Some(rows) = Rows::of(lengths, &launch.arrays, run.outermost)
    {
        run.elements = Some(rows.elements());
        run.cuts = run.pieces().map(|pieces| rows.cuts(pieces));
    }
    run.set_hidden(HiddenArgument::OutOfCache, (run.bytes() >= shared.out_of_cache_bytes).into());
    let appended = if let Some(code) = loaded.part(Part::Body) { run.split(code)? } else { run.whole()? };
    // The number of appended elements goes to an array of the kernel like others.
    if let Some((_, count)) = run.append()
        && let Some(LaunchArray::Write(array)) = launch.arrays.get_mut(count.index())
    {
        array.set(0, Constant::from(appended as i64));
    }
    Ok(())
}

impl<'a> KernelLaunch<'a> {
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

    fn set_hidden(&mut self, argument: HiddenArgument, word: u64) {
        let first = self.kernel.sizes.len() + self.kernel.arrays.len();
        if let Some(position) = self.loaded.hidden.iter().position(|&own| own == argument) {
            self.table[first + position] = word;
        }
    }

    /// Estimated nanoseconds of all work on one thread.
    fn work(&self) -> u64 {
        let mut points: Few<u64> = Few::from_elem(1, 1);
        for level in 0..self.kernel.levels.len() {
            let known = if level == 0 { Some(self.outermost) } else { self.steps(level) };
            let steps = known.map_or(8, |steps| steps as u64);
            points.push(match self.elements {
                Some(elements) if level == 1 => elements / if self.loaded.inner_gang { GANG_STEPS } else { 1 },
                _ => points[level].saturating_mul(steps),
            });
        }
        let works = self.loaded.work.iter().map(|&(depth, work)| points[depth as usize].saturating_mul(work));
        works.fold(0u64, u64::saturating_add) / UNITS_PER_NS
    }

    /// Zeroed memory for a statement to work in: `count` times as many bytes, and a few more words.
    ///
    /// # Errors
    /// [`Fault::TooLarge`] of `what`.
    fn scratch(&self, statement: usize, what: &str, count: usize, bytes: usize) -> Result<Memory, RunError> {
        let memory = count.checked_mul(bytes).and_then(|bytes| bytes.checked_add(64)).and_then(Memory::zeros);
        memory.ok_or_else(|| RunError {
            operation: self.kernel.operation(&self.kernel.statements[statement]).to_owned(),
            place: Place::default(),
            fault: Fault::TooLarge { array: what.to_owned(), extents: vec![i64::try_from(count).unwrap_or(i64::MAX)] },
        })
    }

    /// In how many pieces threads share the work; none where it is not worth sharing.
    fn pieces(&self) -> Option<i64> {
        let work = self.work();
        if self.shared.threads.count() == 1 || work < self.shared.share_from_ns {
            return None;
        }
        let pieces = work / (self.shared.share_from_ns / 2).max(1);
        Some(pieces.clamp(2, 16 * self.shared.threads.count() as u64) as i64)
    }

    /// Ranges of the outermost level; `unit` steps are never parted, nor is what makes a gang: its rest would be scalar code.
    fn ranges(&self, steps: i64, unit: i64) -> Ranges {
        let gang = self.loaded.gang;
        let unit = if gang % unit == 0 { gang } else { unit };
        let Some(pieces) = self.pieces().filter(|_| steps > unit) else { return Ranges::one(steps) };
        let length = (steps / pieces).max(1);
        let length = (length as u64).checked_next_multiple_of(unit as u64).map_or(steps, |length| length as i64);
        Ranges::new(steps, length)
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
    fn whole(&mut self) -> Result<u64, RunError> {
        let Some(code) = self.loaded.part(Part::Whole) else { return Ok(0) };
        let steps = self.outermost;
        let mut scattered = Vec::new();
        let kernel = self.kernel;
        for (position, statement) in kernel.statements.iter().enumerate() {
            if let Action::Scatter { order: ScatterOrder::Chunks, arrays, .. } = &statement.action {
                let (chunks, chunk_steps) = Self::chunks(steps, self.target_size(arrays[0]));
                let mut scatter = self.scattered(position, chunks as usize)?;
                self.set_hidden(HiddenArgument::ChunkSteps(position), chunk_steps as u64);
                for component in 0..arrays.len() {
                    self.set_hidden(
                        HiddenArgument::Copies(position, component),
                        address(&mut scatter.copies[component]),
                    );
                }
                if let Some(flags) = &mut scatter.flags {
                    self.set_hidden(HiddenArgument::CopyFlags(position), address(flags));
                }
                scattered.push((scatter, chunks as usize));
            }
        }
        let appended = call(code, &self.table, 0, steps)?;
        for (scatter, chunks) in &mut scattered {
            self.merge(std::slice::from_mut(scatter), *chunks)?;
        }
        Ok(appended)
    }
}

/// Where memory begins.
fn address(memory: &mut Memory) -> u64 {
    memory.bytes_mut().as_mut_ptr() as u64
}
