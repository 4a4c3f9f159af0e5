//! The loops that say what a grid is.

use fusebox_ir::{
    Kernel,
    analysis::kernels::{LongLevels, trip_count},
    association::BLOCK,
};

use super::super::{
    Preferences,
    builder::{Builder, Room, Trip},
};
use crate::{
    grid::{self, Grid, LongRows, Tiled, WARP, facts},
    schedule::{Axis, By, Loop, Nest, Node, SplitBy},
};

/// The loops that say what a grid is.
pub(super) fn loops(kernel: &Kernel, grid: Grid) -> Nest {
    let long_levels = &LongLevels::default();
    let mut builder = Builder {
        kernel,
        long_levels,
        machine: Room::Thread,
        preferences: Preferences::default(),
        at_once: None,
        short: None,
        panels: None,
        count: None,
        long: None,
        interchanged: None,
        together: None,
        rows_together: false,
        least: 0,
        longer_than: None,
        shorter_than: None,
        tile: None,
        gangs_of_columns: 1,
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
        Grid::ShortOrLong { outer, threads, least, cut } => {
            let nodes = builder.short_or_long(outer, (least, cut), threads);
            around(0..outer, By::GridThreads(threads), nodes)
        }
        Grid::Tiled(Tiled { outer, levels, extents, points, steps, threads }) => {
            let (count, body) = (kernel.levels.len(), builder.body(kernel.levels.len() - 1));
            let mut split = |level: usize, steps| builder.nest.split(count, Axis(level as u32), SplitBy::Steps(steps));
            let rows = (levels == 2).then(|| split(outer, extents.0));
            let columns = split(outer + levels - 1, extents.1);
            let nodes = if steps == 0 {
                body
            } else {
                let (pieces, piece) = split(outer + levels, steps);
                vec![each(pieces, By::Serial, vec![each(piece, By::Serial, body)])]
            };
            let by = By::BlockThreads(threads);
            let point = |axis, unroll, body| vec![Node::Loop(Loop { unroll, ..Loop::new(axis, by, body) })];
            let nodes = point(columns.1, points.1, nodes);
            let nodes = match rows {
                None => vec![each(columns.0, By::Blocks, nodes)],
                Some(rows) => {
                    let nodes = point(rows.1, points.0, nodes);
                    vec![each(rows.0, By::Blocks, vec![each(columns.0, By::Blocks, nodes)])]
                }
            };
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

impl Builder<'_> {
    /// A level that a thread goes through alone where it has few steps, that the threads of a warp share elsewhere, and all warps of the grid where it has
    /// very many.
    fn short_or_long(&mut self, level: usize, (least, cut): (u32, u32), threads: u32) -> Vec<Node> {
        let (axis, levels) = (Axis(level as u32), self.kernel.levels.len());
        let trip = Trip { below: Some(least.into()), decided: [least].into(), ..Trip::default() };
        let then = self.level(level, axis, &trip);
        let then = self.with_rest(then);
        let body = self.body(level);
        let pieces = grid::long_rows(self.kernel, level).ok().and_then(LongRows::pieces);
        let mut made = None;
        let mut in_pieces = |steps: u32, by: By| {
            let split = made.filter(|(own, _)| *own == steps).map(|(_, split)| split);
            let (pieces, piece) = split.unwrap_or_else(|| self.nest.split(levels, axis, SplitBy::Steps(steps)));
            made = Some((steps, (pieces, piece)));
            vec![each(pieces, by, vec![each(piece, By::WarpThreads, body.clone())])]
        };
        let mut otherwise = match pieces {
            None => vec![each(axis, By::WarpThreads, body.clone())],
            Some(steps) => in_pieces(steps, By::Serial),
        };
        let very_long = (cut > 0).then(|| in_pieces(BLOCK as u32, By::Warps(threads / WARP)));
        otherwise = self.with_rest(otherwise);
        if let Some(very_long) = very_long {
            let very_long = self.with_rest(very_long);
            otherwise =
                vec![Node::Choose { level: level as u32, fewer_than: cut, then: otherwise, otherwise: very_long }];
        }
        vec![Node::Choose { level: level as u32, fewer_than: least, then, otherwise }]
    }

    /// Levels numbered together, in blocks of 4,096 elements.
    fn in_blocks(&mut self, first: usize, count: usize, pieces: By, steps: By, body: Vec<Node>) -> Vec<Node> {
        let by = SplitBy::Steps(BLOCK as u32);
        let (blocks, block) = self.nest.split_together(self.kernel.levels.len(), first, count, by);
        vec![each(blocks, pieces, vec![each(block, steps, body)])]
    }
}
