//! Runs one kernel: in ranges of its outermost level, on as many threads as it is worth.
//!
//! Ranges, copies and the order of ranges never change a bit: blocks of reduces are combined by number, copies of chunks in order,
//! and other copies only where any order gives the same.

use std::{
    cell::RefCell,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use fusebox_backend::{BackendError, Launch, LaunchArray};
use fusebox_ir::{Action, Array, ArrayId, Constant, Kernel, KernelExtent, RunError, ScalarOperand, ScatterOrder};
use rayon::prelude::*;

use crate::{
    Shared,
    compile::CompiledKernel,
    emit::{BLOCK, Extra, Part, identities},
    failure::{self, SLOT_WORDS},
    load::{Code, LoadedKernel},
};

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

/// What the ranges of a launch do to the targets of one scatter.
struct Scattered<'k> {
    statement: usize,
    arrays: &'k [ArrayId],
    /// Elements of a target array.
    size: usize,
    identity: Option<Vec<Constant>>,
    flagged: bool,
    /// Copies for all ranges but the first: for each component, one after the other.
    copies: Vec<Vec<u64>>,
    flags: Vec<u8>,
}

/// A launch under way.
struct Run<'a> {
    kernel: &'a Kernel,
    loaded: &'a LoadedKernel,
    shared: &'a Shared,
    sizes: &'a [i64],
    /// Sizes, addresses of arrays, then the extra words.
    table: Vec<u64>,
}

/// Runs a kernel.
pub(crate) fn run(
    kernel: &Kernel,
    loaded: &LoadedKernel,
    shared: &Shared,
    mut launch: Launch<'_, Array>,
) -> Result<(), BackendError> {
    let mut table: Vec<u64> = launch.sizes.iter().map(|&size| size as u64).collect();
    for array in &mut launch.arrays {
        table.push(match array {
            LaunchArray::Read(array) => array.bytes().as_ptr() as u64,
            LaunchArray::Write(array) => array.bytes_mut().as_mut_ptr() as u64,
            LaunchArray::Over(_) => 0,
        });
    }
    for (position, array) in launch.arrays.iter().enumerate() {
        if let LaunchArray::Over(written) = array {
            table[launch.sizes.len() + position] = table[launch.sizes.len() + written];
        }
    }
    table.resize(table.len() + loaded.extras.len(), 0);
    let mut run = Run { kernel, loaded, shared, sizes: launch.sizes, table };
    let appended = if let Some(code) = loaded.part(Part::Body) { run.split(code)? } else { run.whole()? };
    // The number of appended elements goes to an array of the kernel like others.
    if let Some((_, count)) = run.append()
        && let Some(LaunchArray::Write(array)) = launch.arrays.get_mut(count.index())
    {
        array.set(0, Constant::from(appended as i64));
    }
    Ok(())
}

impl<'a> Run<'a> {
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
        Some(self.operand(level.to)?.wrapping_sub(self.operand(level.from)?).max(0))
    }

    fn extra(&mut self, extra: Extra, word: u64) {
        let first = self.kernel.sizes.len() + self.kernel.arrays.len();
        if let Some(position) = self.loaded.extras.iter().position(|&own| own == extra) {
            self.table[first + position] = word;
        }
    }

    /// Estimated nanoseconds of all work, for a scalar instruction each.
    fn work(&self) -> u64 {
        let mut points = vec![1u64];
        for level in 0..self.kernel.levels.len() {
            let steps = self.steps(level).map_or(8, |steps| steps as u64);
            points.push(points[level].saturating_mul(steps));
        }
        let weights = self.kernel.statements.iter().map(|statement| {
            let weight = match &statement.action {
                Action::Scalar(instruction) => weight(instruction),
                Action::Reduce { .. } | Action::Scan { .. } | Action::Scatter { .. } => 4,
                _ => 2,
            };
            points.get(statement.depth as usize).copied().unwrap_or(0).saturating_mul(weight)
        });
        weights.fold(0u64, u64::saturating_add) / 8
    }

    /// Ranges of the outermost level; `unit` steps are never parted.
    fn ranges(&self, steps: i64, unit: i64) -> Vec<(i64, i64)> {
        let work = self.work();
        if self.shared.count == 1 || work < self.shared.share_from_ns || steps <= unit {
            return vec![(0, steps)];
        }
        let pieces = (work / (self.shared.share_from_ns / 2).max(1)).clamp(2, 16 * self.shared.count as u64) as i64;
        let length = (steps / pieces).max(1);
        let length = (length as u64).checked_next_multiple_of(unit as u64).map_or(steps, |length| length as i64);
        (0..steps).step_by(length as usize).map(|from| (from, (from + length).min(steps))).collect()
    }

    /// Runs `one` for every range, on all threads; the first failure found is the result, and ranges not begun are skipped.
    fn each(&self, count: usize, one: impl Fn(usize) -> Result<(), RunError> + Sync) -> Result<(), RunError> {
        let Some(threads) = self.shared.threads.as_ref().filter(|_| count > 1) else {
            return (0..count).try_for_each(one);
        };
        let stop = AtomicBool::new(false);
        let failure = Mutex::new(None);
        threads.install(|| {
            (0..count).into_par_iter().with_max_len(1).for_each(|range| {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                if let Err(error) = one(range) {
                    stop.store(true, Ordering::Relaxed);
                    if let Ok(mut first) = failure.lock() {
                        first.get_or_insert(error);
                    }
                }
            });
        });
        match failure.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }

    fn target_size(&self, array: ArrayId) -> usize {
        let extents = self.kernel.arrays[array.index()].extents.iter().map(|extent| match extent {
            KernelExtent::Constant(extent) => *extent,
            KernelExtent::Size(id) => self.operand(ScalarOperand::Local(*id)).unwrap_or(0),
        });
        extents.product::<i64>() as usize
    }

    /// K of scatters in chunks (rule 6).
    fn chunks(steps: i64, size: usize) -> i64 {
        (steps / (4 * size as i64).max(16_384)).clamp(1, 64)
    }

    /// What the kernel appends to, and the array for the number of elements.
    fn append(&self) -> Option<(&'a [ArrayId], ArrayId)> {
        let kernel = self.kernel;
        kernel.statements.iter().find_map(|statement| match &statement.action {
            Action::Append { arrays, count, .. } => Some((arrays.as_slice(), *count)),
            _ => None,
        })
    }

    /// How many elements a step of the outermost level may append, where that and the room allow for ranges apart from each other.
    fn most_appended(&self, steps: i64) -> Option<i64> {
        let (arrays, _) = self.append()?;
        let depth =
            self.kernel.statements.iter().find(|statement| matches!(statement.action, Action::Append { .. }))?.depth;
        let inner = (1..depth as usize).try_fold(1i64, |points, level| points.checked_mul(self.steps(level)?))?;
        let points = steps.checked_mul(inner)?;
        arrays.iter().all(|&array| self.target_size(array) as i64 >= points).then_some(inner)
    }

    /// The body in ranges, then what is at depth 0; the number of appended elements.
    fn split(&mut self, body: &Code) -> Result<u64, RunError> {
        let steps = self.steps(0).unwrap_or(0);
        self.extra(Extra::Steps, steps as u64);
        let partials = self.partials(steps);
        let mut in_blocks = false;
        let mut in_order = false;
        let mut chunked = None;
        let mut any = Vec::new();
        for (position, statement) in self.kernel.statements.iter().enumerate() {
            match &statement.action {
                Action::Reduce { to: 0, .. } => in_blocks = true,
                Action::Scatter { arrays, order, combine, .. } => match order {
                    ScatterOrder::InOrder => in_order = true,
                    ScatterOrder::Unique => {}
                    ScatterOrder::Chunks => {
                        chunked = Some(Self::chunks(steps, self.target_size(arrays[0])));
                        any.push(position);
                    }
                    // Any order is right, but without an identity there is nothing that a copy could start from.
                    ScatterOrder::Any if identities(combine).is_none() => in_order = true,
                    ScatterOrder::Any => any.push(position),
                },
                _ => {}
            }
        }
        let ranges = match chunked {
            Some(chunks) => {
                let length = (steps as u64).div_ceil(chunks as u64).max(1) as usize;
                (0..steps).step_by(length).map(|from| (from, (from + length as i64).min(steps))).collect()
            }
            None if in_order => vec![(0, steps)],
            None if self.append().is_some() => match self.most_appended(steps) {
                Some(_) => self.ranges(steps, if in_blocks { BLOCK } else { 1 }),
                None => vec![(0, steps)],
            },
            None if any.is_empty() => self.ranges(steps, if in_blocks { BLOCK } else { 64.min(steps / 64).max(1) }),
            None => {
                // A copy for each thread, where that costs less than it saves.
                let size = any.iter().map(|&position| self.scatter_size(position)).max().unwrap_or(0);
                let most = (steps as usize / (2 * size).max(1)).min(self.shared.count);
                let wanted = self.ranges(steps, 1).len().min(most).max(1) as i64;
                let length = (steps as u64).div_ceil(wanted as u64).max(1) as usize;
                (0..steps).step_by(length).map(|from| (from, (from + length as i64).min(steps))).collect()
            }
        };
        let mut scattered: Vec<Scattered<'_>> = Vec::new();
        for position in any {
            scattered.push(self.scattered(position, ranges.len())?);
        }
        let mut appended = 0;
        let tables: Vec<Vec<u64>> = (0..ranges.len()).map(|range| self.table_of(range, &mut scattered)).collect();
        if self.append().is_some() {
            appended = self.appended(body, &ranges, &tables)?;
        } else if in_order {
            for (&(from, to), table) in ranges.iter().zip(&tables) {
                call(body, table, from, to)?;
            }
        } else if steps > 0 {
            self.each(ranges.len(), |range| call(body, &tables[range], ranges[range].0, ranges[range].1).map(drop))?;
        }
        self.merge(&scattered, ranges.len())?;
        if let Some(finish) = self.loaded.part(Part::Finish) {
            call(finish, &self.table, 0, steps)?;
        }
        drop(partials);
        Ok(appended)
    }

    /// Ranges that append: each behind the place where all before it would end if they kept everything; then moved together, in
    /// order, while later ranges run.
    fn appended(&self, body: &Code, ranges: &[(i64, i64)], tables: &[Vec<u64>]) -> Result<u64, RunError> {
        let first = self.kernel.sizes.len() + self.kernel.arrays.len();
        let start_word =
            self.loaded.extras.iter().position(|&extra| extra == Extra::Appended).map(|position| first + position);
        let steps = ranges.last().map_or(0, |&(_, to)| to);
        if steps == 0 {
            return Ok(0);
        }
        let most = self.most_appended(steps).unwrap_or(0);
        let arrays: Vec<(u64, usize)> = (self.append().map_or(&[][..], |(arrays, _)| arrays).iter())
            .map(|array| {
                (self.table[self.kernel.sizes.len() + array.index()], self.kernel.arrays[array.index()].element.bytes())
            })
            .collect();
        // How many ranges are together, how many elements those have, and the counts of the others that are done.
        let front = Mutex::new((0usize, 0u64, vec![None; ranges.len()]));
        self.each(ranges.len(), |range| {
            let (from, to) = ranges[range];
            let start = (from * most) as u64;
            let mut table = tables[range].clone();
            if let Some(word) = start_word {
                table[word] = start;
            }
            let count = call(body, &table, from, to)? - start;
            let Ok(mut front) = front.lock() else { return Ok(()) };
            let (together, total, counts) = &mut *front;
            counts[range] = Some(count);
            while let Some(&Some(count)) = counts.get(*together) {
                let from = (ranges[*together].0 * most) as u64;
                for &(address, width) in &arrays {
                    move_elements(address, from, *total, count, width);
                }
                *total += count;
                *together += 1;
            }
            Ok(())
        })?;
        Ok(front.into_inner().map_or(0, |(_, total, _)| total))
    }

    /// Room for the results of blocks.
    fn partials(&mut self, steps: i64) -> Vec<Vec<u64>> {
        let blocks = (steps as u64).div_ceil(BLOCK as u64) as usize;
        let mut rooms = Vec::new();
        for extra in self.loaded.extras.clone() {
            if matches!(extra, Extra::Partial(..) | Extra::PartialFlags(_)) {
                let mut room = vec![0u64; blocks + 8];
                self.extra(extra, room.as_mut_ptr() as u64);
                rooms.push(room);
            }
        }
        rooms
    }

    fn scatter_size(&self, statement: usize) -> usize {
        match &self.kernel.statements[statement].action {
            Action::Scatter { arrays, .. } => self.target_size(arrays[0]),
            _ => 0,
        }
    }

    /// Copies for `ranges` ranges of one scatter.
    fn scattered(&self, statement: usize, ranges: usize) -> Result<Scattered<'a>, RunError> {
        let kernel = self.kernel;
        let action = &kernel.statements[statement].action;
        let Action::Scatter { arrays, combine, .. } = action else {
            return Ok(Scattered {
                statement,
                arrays: &[],
                size: 0,
                identity: None,
                flagged: false,
                copies: Vec::new(),
                flags: Vec::new(),
            });
        };
        let size = self.target_size(arrays[0]);
        let identity = identities(combine);
        let flagged = CompiledKernel::needs_flags(action);
        let mut copies = Vec::new();
        for (component, array) in arrays.iter().enumerate() {
            let element = kernel.arrays[array.index()].element;
            let bytes = size * element.bytes() * ranges.saturating_sub(1);
            // Whole words of the repeated identity.
            let bits = identity.as_ref().map_or(0, |identity| identity[component].bits());
            let word = (0..8 / element.bytes()).fold(0u64, |word, lane| word | bits << (lane * element.bytes() * 8));
            copies.push(vec![word; bytes.div_ceil(8) + 8]);
        }
        let mut flags = Vec::new();
        if flagged {
            flags = vec![0u8; size * ranges + 64];
            let first = size.min(flags.len());
            flags[..first].fill(1);
        }
        Ok(Scattered { statement, arrays, size, identity, flagged, copies, flags })
    }

    /// The argument table of a range: its copies in place of the arrays.
    fn table_of(&mut self, range: usize, scattered: &mut [Scattered<'_>]) -> Vec<u64> {
        let mut table = self.table.clone();
        for scatter in scattered {
            if range > 0 {
                for (component, array) in scatter.arrays.iter().enumerate() {
                    let bytes = self.kernel.arrays[array.index()].element.bytes() * scatter.size;
                    let address = scatter.copies[component].as_mut_ptr() as usize + bytes * (range - 1);
                    table[self.kernel.sizes.len() + array.index()] = address as u64;
                }
            }
            if scatter.flagged {
                let first = self.kernel.sizes.len() + self.kernel.arrays.len();
                let wanted = Extra::CopyFlags(scatter.statement);
                if let Some(position) = self.loaded.extras.iter().position(|&own| own == wanted) {
                    table[first + position] = scatter.flags.as_mut_ptr() as u64 + (range * scatter.size) as u64;
                }
            }
        }
        table
    }

    /// Combines copies into the arrays, copy after copy; targets in ranges.
    fn merge(&mut self, scattered: &[Scattered<'_>], ranges: usize) -> Result<(), RunError> {
        for scatter in scattered.iter().filter(|_| ranges > 1) {
            let Some(code) = self.loaded.part(Part::Merge(scatter.statement)) else { continue };
            debug_assert!(
                scatter.flagged || scatter.identity.is_some(),
                "a copy starts from an identity, or with flags"
            );
            let tables: Vec<Vec<u64>> = (1..ranges)
                .map(|range| {
                    for (component, array) in scatter.arrays.iter().enumerate() {
                        let bytes = self.kernel.arrays[array.index()].element.bytes() * scatter.size;
                        let address = scatter.copies[component].as_ptr() as usize + bytes * (range - 1);
                        self.extra(Extra::Copies(scatter.statement, component), address as u64);
                    }
                    let flags = scatter.flags.as_ptr() as usize + range * scatter.size;
                    self.extra(Extra::CopyFlags(scatter.statement), flags as u64);
                    self.table.clone()
                })
                .collect();
            let piece = 65_536usize;
            let pieces = scatter.size.div_ceil(piece);
            self.each(pieces, |at| {
                let (from, to) = (at * piece, ((at + 1) * piece).min(scatter.size));
                tables.iter().try_for_each(|table| call(code, table, from as i64, to as i64).map(drop))
            })?;
        }
        Ok(())
    }

    /// Everything in one call; the number of appended elements.
    fn whole(&mut self) -> Result<u64, RunError> {
        let Some(code) = self.loaded.part(Part::Whole) else { return Ok(0) };
        let steps = self.steps(0).unwrap_or(0);
        let mut scattered = Vec::new();
        let kernel = self.kernel;
        for (position, statement) in kernel.statements.iter().enumerate() {
            if let Action::Scatter { order: ScatterOrder::Chunks, arrays, .. } = &statement.action {
                let chunks = Self::chunks(steps, self.target_size(arrays[0]));
                let mut scatter = self.scattered(position, chunks as usize)?;
                self.extra(Extra::ChunkSteps(position), (steps as u64).div_ceil(chunks as u64).max(1));
                for component in 0..arrays.len() {
                    self.extra(Extra::Copies(position, component), scatter.copies[component].as_mut_ptr() as u64);
                }
                self.extra(Extra::CopyFlags(position), scatter.flags.as_mut_ptr() as u64);
                scattered.push((scatter, chunks as usize));
            }
        }
        let appended = call(code, &self.table, 0, steps)?;
        for (scatter, chunks) in &scattered {
            self.merge(std::slice::from_ref(scatter), *chunks)?;
        }
        Ok(appended)
    }
}

/// Moves elements down within an array.
#[allow(unsafe_code)]
fn move_elements(address: u64, from: u64, to: u64, count: u64, width: usize) {
    if from == to {
        return;
    }
    let base = address as *mut u8;
    // SAFETY: `from + count` is within the array, whose room was checked to hold every point's element, and `to` is below `from`; the
    // range from `to` on belongs to ranges that are done, which only the holder of the lock touches.
    unsafe { std::ptr::copy(base.add(from as usize * width), base.add(to as usize * width), count as usize * width) }
}

/// Instructions of scalar code, those of loops several times.
fn weight(instruction: &fusebox_ir::Instruction) -> u64 {
    let mut weight = 1;
    for part in instruction.op.parts() {
        if let fusebox_ir::ScalarPart::Body(body) = part {
            let inner: u64 = body.instructions.iter().map(self::weight).sum();
            let times = if matches!(instruction.op, fusebox_ir::ScalarOp::While { .. }) { 32 } else { 1 };
            weight += inner * times;
        }
    }
    weight
}
