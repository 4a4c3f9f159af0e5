//! Whether a grid keeps the bits that a kernel fixes, reaches every point, and fits the machine.

use fusebox_ir::{Action, Kernel, association::BLOCK};

use super::{
    Grid, Lanes, WARP, cannot_fail, contiguous,
    facts::{
        chunk_levels, combined_levels, exchanged, flat_levels, free_levels, is_in_chunks, lanes_of_reduces, staged,
        tiles,
    },
    limits::OTHER_REGISTERS,
    long_rows::{LongRows, long_rows},
    may_take_neighbours, tile_steps,
};
use crate::target::Gpu;

/// Bytes of shared memory that threads exchange at most, of those of a block: some are for what is the block's own.
const MOST_EXCHANGED: u64 = 47 << 10;
/// The same where elements of a chunk are in shared memory too.
const MOST_EXCHANGED_OF_TILES: u64 = 20 << 10;
/// Lanes of a reduce that the threads of a warp have, at most: accumulators are in registers.
const MOST_LANES_OF_WARP: u32 = 4 * WARP;

/// What is wrong with a grid for a kernel on a machine.
pub fn faults(kernel: &Kernel, grid: &Grid, gpu: &Gpu) -> Vec<String> {
    let mut check = Check { kernel, gpu, faults: Vec::new() };
    check.threads(grid.threads());
    match *grid {
        Grid::One => {}
        Grid::Points { levels, threads, items } => {
            check.free(levels);
            check.whole_warps(threads);
            if items > 1 {
                check.neighbours(levels, items);
            }
        }
        Grid::Rows { outer, inner, threads } => {
            check.free(outer);
            check.team(outer, inner, threads);
        }
        Grid::WarpRows { outer, inner, .. } => {
            check.free(outer);
            check.warp(outer, inner);
        }
        Grid::ShortOrLong { outer, threads, least, cut } => {
            check.free(outer);
            check.whole_warps(threads);
            check.short_or_long(outer, least);
            check.cut(outer, (least, cut));
        }
        Grid::Fold { inner, threads } => check.team(0, inner, threads),
        Grid::Tiled(tiled) => check.faults.extend(super::tiled::faults(kernel, &tiled, gpu)),
        Grid::Chunks { levels, threads } => check.chunks(levels, threads),
        Grid::Tiles { steps, threads } => check.tiles(steps, threads),
    }
    check.faults
}

struct Check<'c> {
    kernel: &'c Kernel,
    gpu: &'c Gpu,
    faults: Vec<String>,
}

impl Check<'_> {
    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(message.into());
    }

    fn threads(&mut self, threads: u32) {
        let most = self.gpu.block_threads;
        if threads == 0 || threads > most {
            self.fault(format!("a block has {threads} threads, and at most {most} are possible"));
        }
    }

    /// The first levels are shared by threads or blocks that do not know of each other.
    fn free(&mut self, levels: usize) {
        let free = free_levels(self.kernel);
        if levels > free {
            self.fault(format!("steps of level {free} depend on each other, and are shared as if they did not"));
        } else if levels > flat_levels(self.kernel, free) {
            let level = flat_levels(self.kernel, free);
            self.fault(format!("points of level {level} cannot be numbered together with those of the levels around"));
        }
    }

    fn combined(&mut self, from: usize, inner: usize) {
        match combined_levels(self.kernel, from) {
            Err(why) => self.fault(format!("threads cannot share level {from}: {why}")),
            Ok(levels) if levels != inner => {
                self.fault(format!("threads combine the steps of {levels} levels together, and {inner} are shared"));
            }
            Ok(_) => {}
        }
    }

    /// Threads of a block combine the steps of some levels.
    fn team(&mut self, from: usize, inner: usize, threads: u32) {
        self.combined(from, inner);
        self.lanes(lanes_of_reduces(self.kernel, from), threads);
        self.room("what threads exchange", exchanged(self.kernel, from, threads, false), MOST_EXCHANGED);
        self.registers(from);
    }

    /// Threads of a warp combine the steps of some levels, through registers alone: each has as many lanes as it takes.
    fn warp(&mut self, from: usize, inner: usize) {
        self.combined(from, inner);
        match lanes_of_reduces(self.kernel, from) {
            Err(why) => self.fault(format!("threads cannot combine: {why}")),
            Ok(Some(Lanes::Runs(_))) => self.fault("a warp does not combine runs of neighbours"),
            Ok(Some(Lanes::Interleaved(lanes))) if !(WARP..=MOST_LANES_OF_WARP).contains(&lanes) => {
                self.fault(format!(
                    "a reduce has {lanes} lanes, and those of a warp are {WARP} to {MOST_LANES_OF_WARP}"
                ));
            }
            Ok(_) => {}
        }
        self.never_fails(from);
        self.registers(from);
    }

    /// Threads take short rows, and warps long ones.
    fn short_or_long(&mut self, from: usize, least: u32) {
        match long_rows(self.kernel, from) {
            Err(why) => self.fault(format!("short rows are not taken apart from long ones: {why}")),
            Ok(LongRows::Reduced(Some(own))) if own.least != least => {
                let own = own.least;
                self.fault(format!("rows are long from {own} steps on, and {least} are asked for"));
            }
            Ok(LongRows::Reduced(Some(own))) if !own.lanes.is_power_of_two() || own.lanes > WARP => {
                let lanes = own.lanes;
                self.fault(format!("a reduce has {lanes} lanes, and a warp has a power of two up to {WARP}"));
            }
            Ok(_) => {}
        }
        self.never_fails(from);
        self.registers(from);
    }

    /// Very long rows are cut.
    fn cut(&mut self, from: usize, (least, cut): (u32, u32)) {
        if cut == 0 {
            return;
        }
        if !long_rows(self.kernel, from).is_ok_and(LongRows::may_be_cut) {
            self.fault("the grid does not share the steps of a row that is scanned");
        }
        if cut < least || i64::from(cut) <= BLOCK {
            self.fault(format!("rows are cut from {cut} steps on, which is no more than a warp takes at once"));
        }
    }

    /// Who fails in a warp leaves the others waiting.
    fn never_fails(&mut self, to: usize) {
        let fails = self.kernel.statements.iter().any(|statement| match &statement.action {
            Action::Reduce { to: own, combine, .. } => *own as usize == to && !cannot_fail(combine),
            _ => false,
        });
        if fails {
            self.fault("who fails in a warp leaves the others waiting: combining may fail");
        }
    }

    fn whole_warps(&mut self, threads: u32) {
        if !threads.is_multiple_of(WARP) {
            self.fault(format!("blocks of {threads} threads are no whole number of warps"));
        }
    }

    fn lanes(&mut self, lanes: Result<Option<super::Lanes>, &'static str>, threads: u32) {
        if !threads.is_power_of_two() || threads < WARP {
            self.fault(format!("{threads} threads that combine are no power of two from {WARP} on"));
        }
        match lanes {
            Err(why) => self.fault(format!("threads cannot combine: {why}")),
            Ok(Some(lanes)) if lanes.count().max(WARP) != threads => {
                let lanes = lanes.count();
                self.fault(format!("a reduce has {lanes} lanes, and {threads} threads combine"));
            }
            Ok(_) => {}
        }
    }

    fn room(&mut self, what: &str, bytes: u64, most: u64) {
        let most = most.min(self.gpu.shared_bytes.into());
        if bytes > most {
            self.fault(format!("{what} takes {bytes} bytes of shared memory, and there are {most}"));
        }
    }

    /// Accumulators of a thread, two words each as widest: its own, and what blocks give.
    fn registers(&mut self, to: usize) {
        let components = self.kernel.statements.iter().map(|statement| match &statement.action {
            Action::Reduce { to: own, combine, .. } if *own as usize == to => {
                combine.params.iter().take(combine.results.len()).map(|param| param.ty.bits().div_ceil(32)).sum()
            }
            _ => 0,
        });
        let words = 2 * components.sum::<u32>();
        let most = self.gpu.registers.saturating_sub(OTHER_REGISTERS);
        if words > most {
            self.fault(format!("accumulators take {words} registers of a thread, and there are {most}"));
        }
    }

    /// A thread takes neighbouring points at once.
    fn neighbours(&mut self, levels: usize, items: u32) {
        if let Err(why) = may_take_neighbours(self.kernel, levels) {
            self.fault(format!("a thread cannot take {items} points at once: {why}"));
        } else if !matches!(items, 2 | 4) {
            self.fault(format!("one access of memory has 2 or 4 elements, and {items} points are taken at once"));
        }
        let widest = self.kernel.statements.iter().filter_map(|statement| contiguous(self.kernel, levels, statement));
        let bytes = widest.map(|(array, _)| self.kernel.arrays[array.index()].element.bytes()).max().unwrap_or(1);
        if bytes * items as usize > 16 {
            self.fault(format!("{items} elements of {bytes} bytes are more than one access of memory has"));
        }
    }

    fn chunks(&mut self, levels: usize, threads: u32) {
        if !is_in_chunks(self.kernel) {
            self.fault("no scatter is in chunks of the outermost level, or something else is in an order too");
        }
        if levels == 0 {
            if threads != 1 {
                self.fault(format!("{threads} threads do what one has to do alone"));
            }
            return;
        }
        if !threads.is_power_of_two() || threads < WARP {
            self.fault(format!("{threads} threads that share targets are no power of two from {WARP} on"));
        }
        match chunk_levels(self.kernel) {
            0 => self.fault("elements of scatters cannot be made by several threads"),
            own if own != levels => {
                self.fault(format!("elements of scatters come from {own} levels together, and {levels} are shared"));
            }
            _ => {}
        }
        self.room("the elements under way", staged(self.kernel, threads), MOST_EXCHANGED);
    }

    fn tiles(&mut self, steps: u32, threads: u32) {
        match tiles(self.kernel) {
            Err(why) => self.fault(format!("the outermost level cannot be in tiles: {why}")),
            Ok((lanes, exact)) => {
                let own = tile_steps(exact);
                if exact && i64::from(steps) % BLOCK != 0 || !exact && steps != own {
                    self.fault(format!("tiles have {steps} steps: what the kernel carries asks for {own}"));
                }
                self.lanes(Ok(lanes), threads);
            }
        }
        self.room("what threads exchange", exchanged(self.kernel, 0, threads, true), MOST_EXCHANGED_OF_TILES);
        self.registers(0);
    }
}
