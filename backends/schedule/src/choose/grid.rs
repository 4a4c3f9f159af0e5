//! Which threads of a GPU do what: the grid of a kernel, and the loops that say so.

use fusebox_ir::{Kernel, analysis::kernels::trip_count, association::BLOCK};

use super::{
    Choice, Preferences,
    builder::{Builder, Room, Trip},
};
use crate::{
    gangs::is_counted_before,
    grid::{Grid, WARP, facts, faults, items, tile_steps},
    schedule::{Axis, By, Loop, Nest, Node, SplitBy},
    target::{Gpu, Target},
};

/// Threads of a block where none of them needs to know of the others, or where the kernel does not say how many combine.
const THREADS: u32 = 256;
/// Threads of a block that combine the steps of a point, where the kernel does not say how many.
const THREADS_OF_ROW: u32 = 64;
/// Warps of a block that know nothing of each other.
const WARPS: u32 = 8;
/// Most steps of a level that a warp reduces, where their number is known.
const FEW_OF_BLOCK: i64 = 1024;
/// Most steps of a level that one thread reduces, where their number is known.
const FEW: i64 = 32;

/// The nest of a kernel on a GPU.
pub(super) fn nest(kernel: &Kernel, gpu: &Gpu, preferences: Preferences, choices: &mut Vec<Choice>) -> Nest {
    let found = if preferences.shared == Some(false) {
        Found { grid: Grid::One, because: "that is what was asked for".to_owned(), instead_of: Vec::new() }
    } else {
        Candidates { kernel, gpu, instead_of: Vec::new() }.best()
    };
    if !kernel.levels.is_empty() {
        choices.push(Choice {
            about: "threads".to_owned(),
            chosen: found.grid.to_string(),
            because: found.because,
            instead_of: found.instead_of,
        });
    }
    loops(kernel, found.grid)
}

/// Whether positions have 32 bits where that is enough.
pub(super) fn is_narrow(kernel: &Kernel, target: &Target, choices: &mut Vec<Choice>) -> bool {
    if target.cpu().is_some() || kernel.levels.is_empty() {
        return false;
    }
    choices.push(Choice {
        about: "positions in arrays".to_owned(),
        chosen: "of 32 bits in launches in which no array has 2^31 elements, else of 64".to_owned(),
        because: "a product of 64 bits takes four of 32".to_owned(),
        instead_of: vec!["always of 64 bits: most arrays are smaller".to_owned()],
    });
    true
}

/// Nests that differ from each other: that of [`nest`] first, then those of other grids.
pub(super) fn alternatives(kernel: &Kernel, gpu: &Gpu) -> Vec<Nest> {
    let mut nests = vec![nest(kernel, gpu, Preferences::default(), &mut Vec::new())];
    let levels = kernel.levels.len();
    let mut grids = vec![Grid::One];
    for threads in [WARP, 64, 128, THREADS, 512] {
        for first in 1..=levels {
            grids.extend([1, 2, 4].map(|items| Grid::Points { levels: first, threads, items }));
            grids.push(Grid::Chunks { levels: first, threads });
            grids.push(Grid::Fold { inner: first, threads });
            grids.extend((1..=levels - first).flat_map(|inner| {
                let warps = Grid::WarpRows { outer: first, inner, warps: threads / WARP };
                [Grid::Rows { outer: first, inner, threads }, warps]
            }));
        }
        grids.extend([1, 2, 8].map(|blocks| Grid::Tiles { steps: blocks * BLOCK as u32, threads }));
    }
    grids.push(Grid::Chunks { levels: 0, threads: 1 });
    for grid in grids {
        // One thread goes through the one chunk there is.
        let same = matches!(grid, Grid::Chunks { levels: 0, .. }) && facts::is_one_chunk(kernel);
        if levels > 0 && !same && faults(kernel, &grid, gpu).is_empty() {
            let nest = loops(kernel, grid);
            if !nests.contains(&nest) {
                nests.push(nest);
            }
        }
    }
    nests
}

struct Found {
    grid: Grid,
    because: String,
    instead_of: Vec<String>,
}

/// Grids in the order in which they are tried, with what speaks against those before.
struct Candidates<'k> {
    kernel: &'k Kernel,
    gpu: &'k Gpu,
    instead_of: Vec<String>,
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

    fn best(mut self) -> Found {
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

/// The loops that say what a grid is.
fn loops(kernel: &Kernel, grid: Grid) -> Nest {
    let mut builder = Builder {
        kernel,
        machine: Room::Thread,
        preferences: Preferences::default(),
        at_once: None,
        short: None,
        nest: Nest::default(),
    };
    let nodes = match grid {
        Grid::One if kernel.levels.is_empty() => Vec::new(),
        Grid::One => builder.level(0, Axis(0), &Trip::default()),
        Grid::Points { levels, threads, items } => {
            let by = By::GridThreads(threads);
            let mut innermost = Loop::new(Axis(levels as u32 - 1), by, builder.body(levels - 1));
            innermost.unroll = items;
            around(0..levels - 1, by, vec![Node::Loop(innermost)])
        }
        Grid::Rows { outer, inner, .. } | Grid::WarpRows { outer, inner, .. } => {
            let (points, by) = match grid {
                Grid::WarpRows { warps, .. } => (By::Warps(warps), By::WarpThreads),
                _ => (By::Blocks, By::BlockThreads(grid.threads())),
            };
            let body = builder.body(outer + inner - 1);
            let known = (inner == 1).then(|| trip_count(&kernel.levels[outer])).flatten();
            let exact = facts::lanes_of_reduces(kernel, outer) == Ok(None);
            let nodes = if exact || known.is_some_and(|steps| steps <= BLOCK) {
                around(outer..outer + inner, by, body)
            } else {
                builder.in_blocks(outer, inner, By::Serial, by, body)
            };
            around(0..outer, points, nodes)
        }
        Grid::Fold { inner, threads } => {
            let body = builder.body(inner - 1);
            builder.in_blocks(0, inner, By::Blocks, By::BlockThreads(threads), body)
        }
        Grid::Chunks { levels, threads } if facts::is_one_chunk(kernel) => {
            let body = builder.body(levels - 1);
            around(0..levels, By::BlockThreads(threads), body)
        }
        Grid::Chunks { levels, threads } => {
            let (chunks, chunk) = builder.nest.split(kernel.levels.len(), Axis(0), SplitBy::Chunks);
            let nodes = if levels == 0 {
                builder.level(0, chunk, &Trip::default())
            } else {
                let by = By::BlockThreads(threads);
                let body = builder.body(levels - 1);
                vec![each(chunk, by, around(1..levels, by, body))]
            };
            vec![each(chunks, By::Blocks, nodes)]
        }
        Grid::Tiles { steps, threads } => {
            let by = By::BlockThreads(threads);
            let body = builder.body(0);
            let count = kernel.levels.len();
            let (tiles, tile) = builder.nest.split(count, Axis(0), SplitBy::Steps(steps));
            let nodes = if i64::from(steps) > BLOCK {
                let (blocks, block) = builder.nest.split(count, tile, SplitBy::Steps(BLOCK as u32));
                vec![each(blocks, By::Serial, vec![each(block, by, body)])]
            } else {
                vec![each(tile, by, body)]
            };
            vec![each(tiles, By::Blocks, nodes)]
        }
    };
    builder.nest.nodes = builder.with_rest(nodes);
    builder.nest
}

fn each(axis: Axis, by: By, body: Vec<Node>) -> Node {
    Node::Loop(Loop::new(axis, by, body))
}

/// Loops over levels, one inside of the other, all carried out alike.
fn around(levels: std::ops::Range<usize>, by: By, body: Vec<Node>) -> Vec<Node> {
    facts::levels(levels).rev().fold(body, |body, level| vec![each(Axis(level), by, body)])
}

impl Builder<'_> {
    /// Levels numbered together, in blocks of 4,096 elements.
    fn in_blocks(&mut self, first: usize, count: usize, pieces: By, steps: By, body: Vec<Node>) -> Vec<Node> {
        let by = SplitBy::Steps(BLOCK as u32);
        let (blocks, block) = self.nest.split_together(self.kernel.levels.len(), first, count, by);
        vec![each(blocks, pieces, vec![each(block, steps, body)])]
    }
}
