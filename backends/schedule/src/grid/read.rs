//! What grid the loops of a nest mean.

use fusebox_ir::{Action, Kernel, association::BLOCK};

use super::{
    Grid, Tiled,
    facts::{free_levels, is_one_chunk},
    long_rows::long_rows,
};
use crate::schedule::{Axis, By, Loop, Nest, Node, Split, SplitBy};

/// The grid of a nest.
///
/// # Errors
/// What of its loops is no way in which a GPU shares a kernel.
pub fn read(kernel: &Kernel, nest: &Nest) -> Result<Grid, String> {
    if let Some(grid) = short_or_long(kernel, nest) {
        return grid;
    }
    let path = path(&nest.nodes)?;
    let way = Way { nest, levels: kernel.levels.len(), path: &path };
    match path.first().map(|each| each.by) {
        None => Ok(Grid::One),
        Some(By::GridThreads(threads)) => way.points(threads),
        Some(By::Blocks) => way.blocks(kernel),
        Some(By::Warps(warps)) => {
            let (outer, inner) = way.rows(By::Warps(warps), &|by| by == By::WarpThreads)?;
            Ok(Grid::WarpRows { outer, inner, warps })
        }
        Some(By::BlockThreads(threads)) => {
            let levels = way.together(0, 0, By::BlockThreads(threads));
            if levels == 0 || levels < path.len() || !is_one_chunk(kernel) {
                return Err("one block takes all steps, which is for scatters in the order of all of them".to_owned());
            }
            Ok(Grid::Chunks { levels, threads })
        }
        Some(other) => Err(format!("a GPU has no loops by {other:?}")),
    }
}

/// Threads that take points with few steps alone, and those with more together with their warp; none of nests without such a choice.
fn short_or_long(kernel: &Kernel, nest: &Nest) -> Option<Result<Grid, String>> {
    let levels = kernel.levels.len();
    let (mut outer, mut threads) = (0, None);
    let mut nodes = &nest.nodes;
    while let [Node::Loop(each)] = &nodes[..]
        && let By::GridThreads(own) = each.by
        && each.axis == Axis(outer as u32)
        && each.unroll == 1
        && threads.is_none_or(|threads| threads == own)
    {
        (outer, threads, nodes) = (outer + 1, Some(own), &each.body);
    }
    let [Node::Choose { level, fewer_than, then, otherwise }] = &nodes[..] else { return None };
    let threads = threads.filter(|_| is_shared(then) || is_shared(otherwise))?;
    let rows = match long_rows(kernel, outer) {
        Ok(rows) => rows,
        Err(why) => return Some(Err(format!("short rows are not taken apart from long ones: {why}"))),
    };
    let cut = |axis: Axis, wanted: Option<u32>| {
        let wanted = SplitBy::Steps(wanted?);
        nest.made_by(levels, axis).filter(|(split, _)| split.more == 0 && split.by == wanted)
    };
    // Pieces by one way, and the steps of each by the threads of a warp.
    let in_pieces = |nodes: &[Node], pieces: Option<u32>, by: &dyn Fn(By) -> bool| {
        let [Node::Loop(first)] = nodes else { return false };
        let [Node::Loop(steps)] = &first.body[..] else { return false };
        let (Some((split, true)), Some((same, false))) = (cut(first.axis, pieces), cut(steps.axis, pieces)) else {
            return false;
        };
        std::ptr::eq(split, same)
            && split.axis == Axis(*level)
            && by(first.by)
            && steps.by == By::WarpThreads
            && !is_shared(&steps.body)
    };
    let by_warp = |nodes: &[Node]| match (nodes, rows.pieces()) {
        ([Node::Loop(first)], None) => {
            first.axis == Axis(*level) && first.by == By::WarpThreads && !is_shared(&first.body)
        }
        (nodes, pieces) => in_pieces(nodes, pieces, &|by| by == By::Serial),
    };
    let (long, very_long) = match &otherwise[..] {
        [Node::Choose { level: same, fewer_than: cut, then, otherwise }] if same == level => {
            // Of no whole number of warps that is said elsewhere.
            let all =
                |by: By| matches!(by, By::Warps(warps) if threads % super::WARP != 0 || warps == threads / super::WARP);
            if !in_pieces(otherwise, Some(BLOCK as u32), &all) {
                return Some(Err("all warps of the grid share pieces of 4,096 of very long rows".to_owned()));
            }
            (then, *cut)
        }
        _ => (otherwise, 0),
    };
    Some(if *level as usize == outer && !is_shared(then) && by_warp(long) {
        Ok(Grid::ShortOrLong { outer, threads, least: *fewer_than, cut: very_long })
    } else {
        Err(match rows.pieces() {
            Some(steps) => format!(
                "a thread goes through short rows alone, and the threads of its warp share pieces of {steps} of long ones"
            ),
            None => "a thread goes through short rows alone, and the threads of its warp share long ones".to_owned(),
        })
    })
}

/// The loops on the way to the innermost that several threads share, from the outermost; the ways beside them have none.
fn path(nodes: &[Node]) -> Result<Vec<&Loop>, String> {
    let mut path: Vec<&Loop> = Vec::new();
    let mut shared = 0;
    let mut nodes = nodes;
    loop {
        let mut next = None;
        for node in nodes {
            match node {
                Node::Loop(each) if next.is_none() => next = Some(each),
                other if is_shared(std::slice::from_ref(other)) => {
                    return Err("loops that threads share stand beside each other, or in a choice".to_owned());
                }
                _ => {}
            }
        }
        let Some(each) = next else { break };
        path.push(each);
        if each.by != By::Serial {
            shared = path.len();
        }
        nodes = &each.body;
    }
    path.truncate(shared);
    if path.first().is_some_and(|each| each.by == By::Serial) {
        return Err("a loop that threads share is inside of one that they do not".to_owned());
    }
    Ok(path)
}

/// Whether a loop among nodes, or in them, is shared by threads.
fn is_shared(nodes: &[Node]) -> bool {
    let mut nodes: Vec<&Node> = nodes.iter().collect();
    while let Some(node) = nodes.pop() {
        match node {
            Node::Loop(each) if each.by != By::Serial => return true,
            Node::Loop(each) => nodes.extend(&each.body),
            Node::Do(_) => {}
            Node::Choose { then, otherwise, .. } => nodes.extend(then.iter().chain(otherwise)),
        }
    }
    false
}

struct Way<'n> {
    nest: &'n Nest,
    levels: usize,
    path: &'n [&'n Loop],
}

impl Way<'_> {
    /// How many loops from `at` on run over the levels from `level` on, one inside of the other, in the same way.
    fn together(&self, at: usize, level: usize, by: By) -> usize {
        let each = |(position, each): (usize, &&Loop)| each.by == by && each.axis == Axis((level + position) as u32);
        self.path[at..]
            .iter()
            .enumerate()
            .take_while(|&(position, own)| level + position < self.levels && each((position, own)))
            .count()
    }

    fn points(&self, threads: u32) -> Result<Grid, String> {
        let levels = self.together(0, 0, By::GridThreads(threads));
        if levels == 0 || levels < self.path.len() {
            return Err(
                "the threads of a grid take points of the outermost levels, and nothing else is shared".to_owned()
            );
        }
        let items = self.path.last().map_or(1, |each| each.unroll);
        Ok(Grid::Points { levels, threads, items })
    }

    /// The split whose pieces a loop is over.
    fn pieces(&self, at: usize) -> Option<&Split> {
        let each = self.path.get(at)?;
        let (split, pieces) = self.nest.made_by(self.levels, each.axis)?;
        pieces.then_some(split)
    }

    /// The split whose steps a loop is over.
    fn steps(&self, at: usize) -> Option<&Split> {
        let each = self.path.get(at)?;
        let (split, pieces) = self.nest.made_by(self.levels, each.axis)?;
        (!pieces).then_some(split)
    }

    /// The threads of a block that take the steps of a loop.
    fn threads(&self, at: usize) -> Option<u32> {
        match self.path.get(at)?.by {
            By::BlockThreads(threads) => Some(threads),
            _ => None,
        }
    }

    /// A tile of points of one level or of two, and what is inside of it.
    fn tiled(&self, kernel: &Kernel) -> Option<Tiled> {
        let outer = self.together(0, 0, By::Blocks);
        let split = |each: &Loop, level: usize, wanted: bool| match self.nest.made_by(self.levels, each.axis)? {
            (&Split { axis, by: SplitBy::Steps(steps), more: 0 }, pieces) => {
                (axis == Axis(level as u32) && pieces == wanted).then_some(steps)
            }
            _ => None,
        };
        // Pieces, and steps of a piece, of a level.
        let both = |pieces: &Loop, steps: &Loop, level: usize| {
            let extent = split(pieces, level, true)?;
            let same = split(steps, level, false)? == extent;
            (same && pieces.by == By::Blocks && pieces.unroll == 1).then_some(extent)
        };
        let (levels, extents, points, last) = match self.path.get(outer..)? {
            [columns, column] => (1, (1, both(columns, column, outer)?), (1, column.unroll), column),
            [rows, columns, row, column] => {
                let extents = (both(rows, row, outer)?, both(columns, column, outer + 1)?);
                (2, extents, (row.unroll, column.unroll), if row.by == column.by { column } else { return None })
            }
            _ => return None,
        };
        let By::BlockThreads(threads) = last.by else { return None };
        let inside = outer + levels;
        // Pieces of a level that combines or carries are no tiles.
        if inside > free_levels(kernel) {
            return None;
        }
        let steps = match (&last.body[..], self.levels - inside) {
            (_, 0) => 0,
            ([Node::Loop(pieces)], 1) if pieces.unroll == 1 => match &pieces.body[..] {
                [Node::Loop(step)] if step.unroll == 1 => {
                    split(pieces, inside, true).filter(|&steps| split(step, inside, false) == Some(steps))?
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Tiled { outer, levels, extents, points, steps, threads })
    }

    fn blocks(&self, kernel: &Kernel) -> Result<Grid, String> {
        if let Some(tiled) = self.tiled(kernel) {
            return Ok(Grid::Tiled(tiled));
        }
        match self.pieces(0) {
            None => {
                let (outer, inner) = self.rows(By::Blocks, &|by| matches!(by, By::BlockThreads(_)))?;
                let threads = self.threads(self.path.len() - 1).unwrap_or(0);
                Ok(Grid::Rows { outer, inner, threads })
            }
            Some(Split { axis: Axis(0), by: SplitBy::Chunks, more: 0 }) => self.chunks(),
            Some(&Split { axis: Axis(0), by: SplitBy::Steps(steps), more }) if is_carried(kernel) && more == 0 => {
                let innermost = self.path.len() - 1;
                let (Some(threads), 1..=2) = (self.threads(innermost), innermost) else {
                    return Err(
                        "the threads of a block share the steps of a tile, or of its blocks of 4,096".to_owned()
                    );
                };
                let cut = self.path[1].by == By::Serial;
                let own = if cut { self.pieces(1).is_some_and(|split| split.by == block()) } else { true };
                let whole = self
                    .steps(innermost)
                    .is_some_and(|split| !cut && split.axis == Axis(0) || cut && split.by == block());
                if !own || !whole {
                    return Err("the steps of a tile are cut otherwise than by 4,096".to_owned());
                }
                Ok(Grid::Tiles { steps, threads })
            }
            Some(&Split { axis: Axis(0), by, more }) if by == block() => {
                let own = self.steps(1).is_some_and(|split| split.axis == Axis(0));
                let (true, Some(threads), 2) = (own, self.threads(1), self.path.len()) else {
                    return Err("the threads of a block share the 4,096 elements of a piece".to_owned());
                };
                Ok(Grid::Fold { inner: more as usize + 1, threads })
            }
            Some(_) => {
                Err("blocks take points, pieces of 4,096 elements, chunks or tiles of the outermost level".to_owned())
            }
        }
    }

    /// How many levels those that combine together share, and how many levels each of them goes over.
    fn rows(&self, outer: By, is_inner: &dyn Fn(By) -> bool) -> Result<(usize, usize), String> {
        let outer = self.together(0, 0, outer);
        let wrong = || Err("a block or a warp takes a point, and its threads the steps of the next levels".to_owned());
        let Some(each) = self.path.get(outer).filter(|_| outer > 0) else { return wrong() };
        if each.by == By::Serial {
            // Blocks of 4,096 by themselves.
            let Some(&Split { axis, by, more }) = self.pieces(outer) else { return wrong() };
            let own = self.steps(outer + 1).is_some_and(|split| split.axis == axis && split.by == by);
            let inner = self.path.get(outer + 1).is_some_and(|each| is_inner(each.by));
            return if own && inner && axis == Axis(outer as u32) && by == block() && self.path.len() == outer + 2 {
                Ok((outer, more as usize + 1))
            } else {
                wrong()
            };
        }
        let inner = self.together(outer, outer, each.by);
        if is_inner(each.by) && inner > 0 && self.path.len() == outer + inner { Ok((outer, inner)) } else { wrong() }
    }

    fn chunks(&self) -> Result<Grid, String> {
        if self.path.len() == 1 {
            return Ok(Grid::Chunks { levels: 0, threads: 1 });
        }
        let own = self.steps(1).is_some_and(|split| split.by == SplitBy::Chunks);
        let levels = 1 + self.together(2.min(self.path.len()), 1, self.path[1].by);
        match self.threads(1) {
            Some(threads) if own && self.path.len() == 1 + levels => Ok(Grid::Chunks { levels, threads }),
            _ => Err("the threads of a block share the steps of a chunk".to_owned()),
        }
    }
}

/// Whether something is carried from step to step of the outermost level.
fn is_carried(kernel: &Kernel) -> bool {
    kernel.statements.iter().any(|statement| match &statement.action {
        Action::Scan { .. } => statement.depth == 1,
        Action::Append { .. } => statement.depth > 0,
        _ => false,
    })
}

/// The cut where results of elements are combined.
fn block() -> SplitBy {
    SplitBy::Steps(BLOCK as u32)
}
