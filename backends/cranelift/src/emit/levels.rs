//! Loops: the nest of a schedule, carried out. What is done when is the schedule's to say; here is how.

use std::{collections::HashMap, ops::Range};

use fusebox_ir::{
    Action, Binary,
    analysis::kernels::{idle_without, trip_count},
    association::{BLOCK, TILE},
};
use fusebox_schedule::{By, Loop, Node, SplitBy};

use super::{
    Emitter, Result, Val, abreast::Abreast, emitted_level::EmittedLevel, statement::reduce::Reduce,
    strip_mined::StripMined,
};
use crate::vector::Value;

/// Some steps of a level: from, to, and the first that is counted in its block.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    pub(super) low: Value,
    pub(super) high: Value,
    pub(super) first: Value,
}

impl<'k> Emitter<'k> {
    /// The loops of level `depth` around the statements `inner`.
    pub(super) fn level(&mut self, depth: usize, inner: Range<usize>) -> Result {
        let kernel = self.kernel;
        let nodes = self.nodes;
        let level = &kernel.levels[depth];
        let (from, to) = (self.operand(level.from)?, self.operand(level.to)?);
        let (Val::Uniform(from), Val::Uniform(to)) = (from, to) else {
            return Err(self.broken("bounds of a level differ between lanes"));
        };
        let to = self.idle.filter(|_| depth == 0).map_or(to, |idle| self.b.select(idle, from, to));
        if let [Node::Choose { level, fewer_than, then, otherwise }] = nodes {
            let counted = &kernel.levels[*level as usize];
            let (from, to) = (self.operand(counted.from)?, self.operand(counted.to)?);
            let (from, to) = (self.plain(from), self.plain(to));
            let counted = *level as usize;
            return self.short_or_long_trip((depth, counted), inner, *fewer_than, (then, otherwise), (from, to));
        }
        if let Some((pieces, length)) = self.pieces_of_inner(depth, nodes) {
            self.in_windows(depth, inner, (pieces, length))?;
            self.nodes = nodes;
            return Ok(());
        }
        if let Some(each) = self.row_of(nodes) {
            let bounds = self.bounds_of_row(depth, (from, to));
            self.row(depth, inner, each, bounds)?;
            self.nodes = nodes;
            return Ok(());
        }
        if let [Node::Loop(each), ..] = nodes
            && each.by == By::Serial
            && each.unroll > 1
            && depth + 1 == kernel.levels.len()
            && self.part.is_hot()
        {
            self.few(depth, inner, each, (from, to))?;
            self.nodes = nodes;
            return Ok(());
        }
        let panels = self.panels_before(depth, nodes)?;
        let positions = inner.clone();
        let here: Vec<usize> = positions
            .clone()
            .filter(|&p| matches!(&kernel.statements[p].action, Action::Reduce { to, .. } if *to as usize == depth))
            .collect();
        let scans: Vec<usize> = positions
            .filter(|&p| {
                matches!(kernel.statements[p].action, Action::Scan { .. })
                    && kernel.statements[p].depth as usize == depth + 1
            })
            .collect();
        let known = self.bounded_before(depth, inner.clone())?;
        let zero = self.b.int(0);
        let steps = self.b.sub(to, from);
        let steps = self.b.binary(Binary::Max, steps, zero);
        let (low, high) = match self.window {
            Some((level, window)) if level == depth => window,
            _ if depth == 0 && self.part.is_ranged() => self.range,
            _ => (zero, steps),
        };
        for &position in &here {
            self.reduce_begin_at_steps(position)?;
        }
        for &position in &scans {
            self.scan_begin(position, steps)?;
        }
        let tiled: Vec<usize> = scans.iter().copied().filter(|position| self.scans[position].is_tiled()).collect();
        let mut blocked: Vec<usize> = here
            .iter()
            .copied()
            .filter(|&position| self.open_reduce(position).is_some_and(Reduce::is_blocked))
            .collect();
        blocked.extend(tiled.iter().copied().filter(|position| self.scans[position].has_total()));
        let nest = EmittedLevel { depth, inner, from, to, tiled, blocked, held: false };
        self.tiles(&nest, nodes, Steps { low, high, first: low })?;
        self.nodes = nodes;
        for &position in scans.iter().rev() {
            self.scan_end(position)?;
        }
        for &position in here.iter().rev() {
            self.reduce_end_at_steps(position)?;
        }
        self.bounded.truncate(known);
        for position in panels {
            self.panels.remove(&position);
        }
        Ok(())
    }

    /// Whether no step of the outermost level does anything, for sizes of this launch: then a range of it is none.
    pub(super) fn find_idle(&mut self) -> Result {
        let kernel = self.kernel;
        for inner in idle_without(kernel, 1) {
            let level = &kernel.levels[inner];
            let (from, to) = (self.operand(level.from)?, self.operand(level.to)?);
            let (from, to) = (self.plain(from), self.plain(to));
            let empty = self.b.binary(Binary::Le, to, from);
            self.idle = Some(self.idle.map_or(empty, |idle| self.b.binary(Binary::Or, idle, empty)));
        }
        if let Some(idle) = self.idle {
            self.range.1 = self.b.select(idle, self.range.0, self.range.1);
        }
        Ok(())
    }

    /// Leaves the number of steps of the outermost level where the caller finds it.
    pub(super) fn steps_of_outermost(&mut self) -> Result {
        let level = &self.kernel.levels[0];
        let (from, to) = (self.operand(level.from)?, self.operand(level.to)?);
        let (from, to) = (self.plain(from), self.plain(to));
        let zero = self.b.int(0);
        let steps = self.b.sub(to, from);
        let steps = self.b.binary(Binary::Max, steps, zero);
        let place = self.scratch;
        self.b.store(place, zero, steps, None);
        Ok(())
    }

    /// The split by which a loop's axis is the pieces of another, with the length of a piece.
    pub(super) fn piece(&self, each: &Loop) -> Option<i64> {
        match self.nest.made_by(self.kernel.levels.len(), each.axis)? {
            (split, true) => match split.by {
                SplitBy::Steps(steps) => Some(steps.into()),
                SplitBy::Shares(_) | SplitBy::Elements | SplitBy::Chunks => None,
            },
            (_, false) => None,
        }
    }

    /// A loop over pieces of so many steps; `body` gets each.
    pub(super) fn in_pieces(
        &mut self,
        length: i64,
        steps: Steps,
        body: impl FnOnce(&mut Self, Value, Value) -> Result,
    ) -> Result {
        let open = self.b.begin_loop(steps.low, steps.high, length, &self.states.clone());
        self.states.clone_from(&open.carried);
        let start = open.index;
        let end = self.b.add_int(start, length);
        let end = self.b.binary(Binary::Min, end, steps.high);
        body(self, start, end)?;
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        Ok(())
    }

    /// All steps of a level, of which there are no more than `length`, as one piece; without steps there is no piece.
    fn in_one_piece(
        &mut self,
        nest: &EmittedLevel,
        length: i64,
        steps: Steps,
        body: impl FnOnce(&mut Self, Value, Value) -> Result,
    ) -> Result {
        match trip_count(&self.kernel.levels[nest.depth]) {
            Some(1..) => body(self, steps.low, steps.high),
            _ => self.in_pieces(length, steps, body),
        }
    }

    /// Steps in the tiles of scans, where there are any.
    fn tiles(&mut self, nest: &EmittedLevel, nodes: &'k [Node], steps: Steps) -> Result {
        // Which range of the outermost level it is, the caller says.
        if let [Node::Loop(each), ..] = nodes
            && each.by == By::Threads
        {
            return self.tiles(nest, &each.body, steps);
        }
        if nest.tiled.is_empty() {
            return self.blocks(nest, nodes, steps);
        }
        let tile = |this: &mut Self, nodes: &'k [Node], start: Value, end: Value| {
            for &position in &nest.tiled {
                this.tile_begin(position, start, end)?;
            }
            this.blocks(nest, nodes, Steps { low: start, high: end, first: start })?;
            nest.tiled.iter().try_for_each(|&position| this.tile_end(position))
        };
        match nodes {
            [Node::Loop(each), ..] if self.piece(each) == Some(TILE) => {
                self.in_pieces(TILE, steps, |this, start, end| tile(this, &each.body, start, end))
            }
            _ => self.in_one_piece(nest, TILE, steps, |this, start, end| tile(this, nodes, start, end)),
        }
    }

    /// Steps in the blocks of reduces, where there are any.
    fn blocks(&mut self, nest: &EmittedLevel, nodes: &'k [Node], steps: Steps) -> Result {
        if nest.blocked.is_empty() {
            return self.piece_of(nest, nodes, steps);
        }
        let block = |this: &mut Self, nodes: &'k [Node], start: Value, end: Value| {
            let count = this.b.sub(end, start);
            let held = this.holds(nest, nodes);
            for &position in nest.blocked.iter().filter(|_| !held) {
                if this.scans.contains_key(&position) {
                    this.total_block_begin(position, count)?;
                } else {
                    this.reduce_at_steps(position, |this| this.block_begin(position, count))?;
                }
            }
            let own = EmittedLevel { held, ..nest.clone() };
            this.piece_of(&own, nodes, Steps { low: start, high: end, first: start })?;
            let mut results = HashMap::new();
            for &position in &nest.blocked {
                if this.scans.contains_key(&position) {
                    this.total_block_end(position, start, count, &results)?;
                } else {
                    this.reduce_at_steps(position, |this| {
                        let result = this.block_result(position, count)?;
                        this.block_end(position, start, result.clone())?;
                        results.insert(position, result);
                        Ok(())
                    })?;
                }
            }
            Ok(())
        };
        match nodes {
            [Node::Loop(each), ..] if self.piece(each) == Some(BLOCK) => {
                if let Some(row) = self.row_of(&each.body) {
                    return self.in_pieces(BLOCK, steps, |this, start, end| this.row_of_block(nest, row, (start, end)));
                }
                self.in_pieces(BLOCK, steps, |this, start, end| block(this, &each.body, start, end))
            }
            _ => self.in_one_piece(nest, BLOCK, steps, |this, start, end| block(this, nodes, start, end)),
        }
    }

    /// Steps of which no tile and no block ends but the last: pieces of pieces, strips, gangs, single steps.
    fn piece_of(&mut self, nest: &EmittedLevel, nodes: &'k [Node], steps: Steps) -> Result {
        match nodes {
            [Node::Loop(each), ..] => match (each.by, self.piece(each), StripMined::of(self.kernel, each)) {
                (_, Some(length), Some(strips)) => {
                    self.in_gangs(nest, strips.tail, strips.lanes, steps, Some((&strips, length)))
                }
                (By::Lanes(lanes), ..) => self.in_gangs(nest, each, lanes, steps, None),
                (_, Some(length), None) => self.in_pieces(length, steps, |this, low, high| {
                    this.piece_of(nest, &each.body, Steps { low, high, ..steps })
                }),
                (_, None, _) => {
                    self.nodes = &each.body;
                    if let Some(abreast) = Abreast::of(&each.body).filter(|_| self.part.is_hot()) {
                        return self.steps_abreast(nest, (steps.low, steps.high), abreast);
                    }
                    if each.unroll > 1 && self.part.is_hot() {
                        return self.steps_jammed(nest, (steps.low, steps.high), each, steps.first);
                    }
                    self.steps(nest, steps.low, steps.high, 1, steps.first)
                }
            },
            _ => Err(self.broken("a level without a loop")),
        }
    }
}
