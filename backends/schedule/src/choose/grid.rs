//! Which threads of a GPU do what: the grid of a kernel, and the loops that say so.

use fusebox_ir::{Kernel, analysis::kernels::trip_count, association::BLOCK};

use super::{
    Choice, Preferences,
    builder::{Builder, Room, Trip},
};
use crate::{
    gangs::is_counted_before,
    grid::{
        Grid, Tiled, WARP, facts, faults, faults_of_tiles, items, scatter_forms, stage, tile_steps, tiled,
        words_of_accumulators,
    },
    schedule::{Axis, By, Form, Loop, Nest, Node, SplitBy},
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
    let mut nest = loops(kernel, found.grid);
    nest.forms = scatter_forms(kernel, &found.grid, choices);
    nest.forms.extend(staged(kernel, &found.grid));
    nest
}

/// The loads of a tile that are staged.
fn staged(kernel: &Kernel, grid: &Grid) -> Vec<Form> {
    let Grid::Tiled(tiled) = grid else { return Vec::new() };
    let levels = (tiled.outer, tiled.steps > 0);
    let may = |position: &usize| stage(kernel, levels, *position).is_ok();
    let loads = (0..kernel.statements.len()).filter(may).map(|position| Form::Staged { statement: position as u32 });
    let mut forms = Vec::new();
    for load in loads {
        forms.push(load);
        if !faults_of_tiles(kernel, grid, &forms).is_empty() {
            forms.pop();
        }
    }
    forms
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
            let ragged = facts::ragged(kernel, first).ok();
            grids.extend(ragged.map(|own| Grid::ShortOrLong { outer: first, threads, least: own.least }));
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
    if let Ok((outer, inner)) = tiled(kernel) {
        let products = [((64, 64), (4, 4), 256), ((32, 16), (2, 2), 128), ((16, 32), (4, 4), 32)];
        for (extents, points, threads) in products.into_iter().filter(|_| inner) {
            grids.extend([2, 8].map(|steps| Grid::Tiled(Tiled { outer, extents, points, steps, threads })));
        }
        for (extents, threads) in [((32, 32), 256), ((16, 64), 128)].into_iter().filter(|_| !inner) {
            grids.push(Grid::Tiled(Tiled { outer, extents, points: (1, 1), steps: 0, threads }));
        }
    }
    grids.push(Grid::Chunks { levels: 0, threads: 1 });
    for grid in grids {
        // One thread goes through the one chunk there is.
        let same = matches!(grid, Grid::Chunks { levels: 0, .. }) && facts::is_one_chunk(kernel);
        if levels > 0 && !same && faults(kernel, &grid, gpu).is_empty() {
            let plain = loops(kernel, grid);
            let mut forms = scatter_forms(kernel, &grid, &mut Vec::new());
            forms.extend(staged(kernel, &grid));
            for nest in [Nest { forms, ..plain.clone() }, plain] {
                if !nests.contains(&nest) {
                    nests.push(nest);
                }
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
        if let Some(grid) = self.short_or_long(flat, free) {
            return self.found(
                grid,
                "rows have different lengths, and are in order where they are short: threads do not wait for long ones",
            );
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
        let (outer, inner) = tiled(self.kernel).map_err(|why| self.not(what, why)).ok()?;
        let stages: Vec<_> =
            (0..self.kernel.statements.len()).filter_map(|at| stage(self.kernel, (outer, inner), at).ok()).collect();
        let few = |level: usize, least: i64| trip_count(&self.kernel.levels[level]).is_some_and(|steps| steps < least);
        if !inner {
            if stages.is_empty() {
                return None;
            }
            if few(outer, 32) || few(outer + 1, 32) {
                self.not(what, "a level has fewer points than a tile");
                return None;
            }
            let tile = Tiled { outer, extents: (32, 32), points: (1, 1), steps: 0, threads: THREADS };
            let grid = self.fits(what, Grid::Tiled(tile))?;
            return Some((grid, "neighbours in memory are no neighbouring points: tiles are turned in shared memory"));
        }
        let both = stages.iter().any(|stage| stage.row) && stages.iter().any(|stage| !stage.row);
        if !both || few(outer, 16) || few(outer + 1, 16) || few(outer + 2, 8) {
            self.not(what, "points share little of what they read, or are few");
            return None;
        }
        // What a thread has in registers of its points.
        let words = words_of_accumulators(self.kernel);
        let points = [(4, 4), (4, 2), (2, 2)].into_iter().find(|(down, across)| words * down * across <= 64)?;
        let extents = (16 * points.0, 16 * points.1);
        let grid = self.fits(what, Grid::Tiled(Tiled { outer, extents, points, steps: 8, threads: THREADS }))?;
        Some((grid, "points share what they read: a block loads it once, and a thread has some points in registers"))
    }

    /// Threads for short rows, and warps for long ones; none where rows are all alike.
    fn short_or_long(&mut self, outer: usize, free: usize) -> Option<Grid> {
        let ragged = facts::ragged(self.kernel, outer).ok()?;
        let what = "a thread for each short row, a warp for each long one";
        if facts::scatters(self.kernel) || outer < free {
            self.not(what, "the kernel scatters, or points of further levels are independent of each other");
            return None;
        }
        let threads = THREADS.min(self.gpu.block_threads);
        self.fits(what, Grid::ShortOrLong { outer, threads, least: ragged.least })
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
        panels: None,
        long: None,
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
        Grid::ShortOrLong { outer, threads, .. } => {
            let mut nodes = builder.body(outer - 1);
            if let [Node::Choose { otherwise, .. }] = &mut nodes[..] {
                innermost_of(&builder.nest, kernel.levels.len(), outer, otherwise, By::WarpThreads);
            }
            around(0..outer, By::GridThreads(threads), nodes)
        }
        Grid::Tiled(Tiled { outer, extents, points, steps, threads }) => {
            let (count, body) = (kernel.levels.len(), builder.body(kernel.levels.len() - 1));
            let mut split = |level: usize, steps| builder.nest.split(count, Axis(level as u32), SplitBy::Steps(steps));
            let (rows, columns) = (split(outer, extents.0), split(outer + 1, extents.1));
            let nodes = if steps == 0 {
                body
            } else {
                let (pieces, piece) = split(outer + 2, steps);
                vec![each(pieces, By::Serial, vec![each(piece, By::Serial, body)])]
            };
            let by = By::BlockThreads(threads);
            let point = |axis, unroll, body| vec![Node::Loop(Loop { unroll, ..Loop::new(axis, by, body) })];
            let nodes = point(rows.1, points.0, point(columns.1, points.1, nodes));
            let nodes = vec![each(rows.0, By::Blocks, vec![each(columns.0, By::Blocks, nodes)])];
            around(0..outer, By::Blocks, nodes)
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

/// The innermost loop over a level or a part of it, on the way that nodes begin with, is carried out in another way.
fn innermost_of(nest: &Nest, levels: usize, level: usize, nodes: &mut [Node], by: By) {
    let [Node::Loop(each)] = nodes else { return };
    let is_over = |axis: Axis| nest.level_of(levels, axis) == Some(level);
    match &each.body[..] {
        [Node::Loop(inner)] if is_over(inner.axis) => innermost_of(nest, levels, level, &mut each.body, by),
        _ if is_over(each.axis) => each.by = by,
        _ => {}
    }
}

impl Builder<'_> {
    /// Levels numbered together, in blocks of 4,096 elements.
    fn in_blocks(&mut self, first: usize, count: usize, pieces: By, steps: By, body: Vec<Node>) -> Vec<Node> {
        let by = SplitBy::Steps(BLOCK as u32);
        let (blocks, block) = self.nest.split_together(self.kernel.levels.len(), first, count, by);
        vec![each(blocks, pieces, vec![each(block, steps, body)])]
    }
}
