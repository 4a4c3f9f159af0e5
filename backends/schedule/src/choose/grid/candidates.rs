//! The grid of a kernel: which are tried, in which order, and why one is taken.

use fusebox_ir::{Kernel, analysis::kernels::trip_count};

use super::{FEW, FEW_OF_BLOCK, FEW_OF_ROW, SHORT, THREADS, THREADS_OF_ROW, VERY_LONG, WARPS, tiles};
use crate::{
    gangs::is_counted_before,
    grid::{Grid, LongRows, WARP, facts, faults, items, long_rows, tile_steps},
    target::Gpu,
};

pub(super) struct Found {
    pub(super) grid: Grid,
    pub(super) because: String,
    pub(super) instead_of: Vec<String>,
}

/// Grids in the order in which they are tried, with what speaks against those before.
pub(super) struct Candidates<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) gpu: &'k Gpu,
    pub(super) instead_of: Vec<String>,
}

impl Candidates<'_> {
    fn found(self, grid: Grid, because: &str) -> Found {
        Found { grid, because: because.to_owned(), instead_of: self.instead_of }
    }

    fn not(&mut self, what: &str, why: impl std::fmt::Display) {
        self.instead_of.push(format!("{what}: {why}"));
    }

    /// A grid, if it is legal and fits the machine.
    fn fits(&mut self, what: &str, grid: Grid) -> Option<Grid> {
        match faults(self.kernel, &grid, self.gpu).first() {
            None => Some(grid),
            Some(fault) => {
                self.not(what, fault);
                None
            }
        }
    }

    /// Whether a point may combine few steps of a level: how many is known at each point alone, or known to be few.
    fn may_be_short(&self, level: usize) -> bool {
        let few = trip_count(&self.kernel.levels[level]).is_some_and(|steps| steps <= FEW_OF_BLOCK);
        few || !is_counted_before(self.kernel, level)
    }

    /// As many threads as lanes, or as many as are wanted where every order is right.
    fn team(&self, to: usize, wanted: u32) -> u32 {
        match facts::lanes_of_reduces(self.kernel, to) {
            Ok(Some(lanes)) => lanes.count().max(WARP),
            Ok(None) | Err(_) => wanted,
        }
    }

    pub(super) fn best(mut self) -> Found {
        let kernel = self.kernel;
        if kernel.levels.is_empty() {
            return self.found(Grid::One, "there is no level");
        }
        if facts::is_in_chunks(kernel) {
            return self.chunks();
        }
        let free = facts::free_levels(kernel);
        if free == 0 {
            return self.carried();
        }
        let flat = facts::flat_levels(kernel, free);
        if let Some((grid, because)) = self.short_or_long(flat, free) {
            return self.found(grid, because);
        }
        if let Some((grid, because)) = self.tiled() {
            return self.found(grid, because);
        }
        let rows = "a block for each point";
        match facts::combined_levels(kernel, flat) {
            Err(why) => self.not(rows, why),
            Ok(_) if flat < free => self.not(rows, "points of further levels are independent of each other"),
            Ok(_) if facts::scatters(kernel) => self.not(rows, "the kernel scatters"),
            Ok(_) if kernel.levels.get(flat).and_then(trip_count).is_some_and(|steps| steps <= FEW) => {
                self.not(rows, format!("at most {FEW} steps are combined"));
            }
            Ok(inner) => {
                let warps = "a warp for each point";
                if self.may_be_short(flat) {
                    if let Some(grid) = self.fits(warps, Grid::WarpRows { outer: flat, inner, warps: WARPS }) {
                        return self.found(
                            grid,
                            "points depend on each other in nothing, and what each combines may be little",
                        );
                    }
                } else {
                    self.not(warps, "each point combines much");
                }
                let grid = Grid::Rows { outer: flat, inner, threads: self.team(flat, THREADS_OF_ROW) };
                if let Some(grid) = self.fits(rows, grid) {
                    return self
                        .found(grid, "points depend on each other in nothing, and threads combine what each needs");
                }
            }
        }
        let threads = THREADS.min(self.gpu.block_threads);
        let neighbours = "neighbouring points by a thread";
        match items(kernel, flat) {
            Err(why) => self.not(neighbours, why),
            Ok(1) => {}
            Ok(items) => {
                if let Some(grid) = self.fits(neighbours, Grid::Points { levels: flat, threads, items }) {
                    return self
                        .found(grid, "points depend on each other in nothing, and neighbours lie together in memory");
                }
            }
        }
        let grid = Grid::Points { levels: flat, threads, items: 1 };
        self.found(grid, "points depend on each other in nothing")
    }

    /// Tiles of points, where shared memory makes up for what threads would read more than once, or apart.
    fn tiled(&mut self) -> Option<(Grid, &'static str)> {
        let what = "tiles of points with what they read in shared memory";
        let found = tiles::best(self.kernel).map_err(|why| self.not(what, why)).ok()?;
        found.into_iter().find_map(|(tile, because)| Some((self.fits(what, Grid::Tiled(tile))?, because)))
    }

    /// Threads for short rows, and warps for long ones; none where nothing is done with the steps of rows that a warp may do together.
    fn short_or_long(&mut self, outer: usize, free: usize) -> Option<(Grid, &'static str)> {
        let rows = long_rows(self.kernel, outer).ok()?;
        let what = "a thread for each short row, a warp for each long one";
        let (least, because) = match rows {
            LongRows::Reduced(_) if facts::scatters(self.kernel) || outer < free => {
                self.not(what, "the kernel scatters, or points of further levels are independent of each other");
                return None;
            }
            // Rows that are all alike are never cut: blocks or warps take them.
            LongRows::Reduced(None) if is_counted_before(self.kernel, outer) => return None,
            LongRows::Reduced(None) => (
                FEW_OF_ROW,
                "rows have different lengths: threads take short ones side by side, and do not wait for long ones",
            ),
            LongRows::Reduced(Some(own)) => (
                own.least,
                "rows have different lengths, and are in order where they are short: threads do not wait for long ones",
            ),
            LongRows::Scanned { .. } => {
                (SHORT, "rows are scanned: neighbours in memory by neighbouring threads, and short ones side by side")
            }
            LongRows::Apart => {
                (WARP, "points have different numbers of steps, which do not depend on each other: threads share many")
            }
        };
        if trip_count(&self.kernel.levels[outer]).is_some_and(|steps| steps < least.into()) {
            self.not(what, "rows are known to be short");
            return None;
        }
        let threads = THREADS.min(self.gpu.block_threads);
        let cut = if rows.may_be_cut() { VERY_LONG } else { 0 };
        Some((self.fits(what, Grid::ShortOrLong { outer, threads, least, cut })?, because))
    }

    /// The outermost level combines or carries.
    fn carried(mut self) -> Found {
        let kernel = self.kernel;
        let fold = "pieces of 4,096 elements";
        match facts::combined_levels(kernel, 0) {
            Err(why) => self.not(fold, why),
            Ok(inner) => {
                let grid = Grid::Fold { inner, threads: self.team(0, THREADS) };
                if let Some(grid) = self.fits(fold, grid) {
                    return self
                        .found(grid, "everything is combined, and results of so many elements are combined again");
                }
            }
        }
        let tiles = "tiles";
        match facts::tiles(kernel) {
            Err(why) => self.not(tiles, why),
            Ok((lanes, exact)) => {
                let threads = lanes.map_or(THREADS, |lanes| lanes.count().max(WARP));
                if let Some(grid) = self.fits(tiles, Grid::Tiles { steps: tile_steps(exact), threads }) {
                    return self.found(grid, "something is carried along the level: one pass, with look-back");
                }
            }
        }
        self.found(Grid::One, "the order of all steps is kept")
    }

    fn chunks(mut self) -> Found {
        let levels = facts::chunk_levels(self.kernel);
        let shared = "threads that share a chunk";
        if levels == 0 {
            self.not(shared, "the elements of a chunk cannot be numbered together");
        } else if let Some(grid) = self.fits(shared, Grid::Chunks { levels, threads: THREADS }) {
            return self.found(grid, "elements are combined in source order: each thread has some of the targets");
        }
        if facts::is_one_chunk(self.kernel) {
            return self.found(Grid::One, "elements are combined in source order, and there is one chunk");
        }
        self.found(Grid::Chunks { levels: 0, threads: 1 }, "elements are combined in source order")
    }
}
