//! Loops: a level as a plain loop, across lanes, in blocks of reduces, in tiles of scans.

use std::{collections::HashMap, ops::Range};

use fusebox_ir::{
    Access, Action, Association, Binary, DimBoundary, LevelOrder, LocalId,
    association::{BLOCK, TILE},
};

use super::{Emitter, Result, Val, strip_mined::StripMined, unrolled::Unrolled};
use crate::vector::Value;

/// A level that is being emitted.
#[derive(Clone)]
pub(super) struct EmittedLevel {
    pub(super) depth: usize,
    pub(super) inner: Range<usize>,
    /// The level's first index.
    pub(super) from: Value,
    to: Value,
}

impl Emitter<'_> {
    /// The loop of level `depth` around the statements `inner`.
    pub(super) fn level(&mut self, depth: usize, inner: Range<usize>) -> Result {
        let kernel = self.kernel;
        let level = &kernel.levels[depth];
        let (from, to) = (self.operand(level.from)?, self.operand(level.to)?);
        let (Val::Uniform(from), Val::Uniform(to)) = (from, to) else {
            return Err(self.broken("bounds of a level differ between lanes"));
        };
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
        let undecided: Vec<(usize, u32)> = (here.iter())
            .filter_map(|&position| match &kernel.statements[position] {
                statement if statement.depth as usize != depth + 1 || self.short_trip.contains_key(&position) => None,
                statement => match statement.action {
                    Action::Reduce { association: Association::Ragged { least, .. }, .. } => Some((position, least)),
                    _ => None,
                },
            })
            .collect();
        if let Some(&(_, least)) = undecided.first() {
            // Those of the same threshold are decided together.
            let alike: Vec<usize> =
                undecided.iter().filter(|&&(_, other)| other == least).map(|&(position, _)| position).collect();
            return self.short_or_long_trip(depth, inner, &alike, least, (from, to));
        }
        let known = self.bounded_before(depth, inner.clone())?;
        let zero = self.b.int(0);
        let steps = self.b.sub(to, from);
        let steps = self.b.binary(Binary::Max, steps, zero);
        let (low, high) = if depth == 0 && self.part.is_ranged() { self.range } else { (zero, steps) };
        let nest = EmittedLevel { depth, inner, from, to };
        for &position in &here {
            self.reduce_begin(position)?;
        }
        for &position in &scans {
            self.scan_begin(position, steps)?;
        }
        let tiled: Vec<usize> = scans.iter().copied().filter(|position| self.scans[position].is_tiled()).collect();
        let mut blocked: Vec<usize> =
            here.iter().copied().filter(|position| self.reduces[position].is_blocked()).collect();
        blocked.extend(tiled.iter().copied().filter(|position| self.scans[position].has_total()));
        if tiled.is_empty() {
            self.blocks(&nest, low, high, &blocked)?;
        } else {
            let open = self.b.begin_loop(low, high, TILE, &self.states.clone());
            self.states = open.carried.clone();
            let start = open.index;
            let end = self.b.add_int(start, TILE);
            let end = self.b.binary(Binary::Min, end, high);
            for &position in &tiled {
                self.tile_begin(position, start, end)?;
            }
            self.blocks(&nest, start, end, &blocked)?;
            for &position in &tiled {
                self.tile_end(position)?;
            }
            let next = std::mem::take(&mut self.states);
            self.states = self.b.end_loop(open, next);
        }
        for &position in scans.iter().rev() {
            self.scan_end(position)?;
        }
        for &position in here.iter().rev() {
            self.reduce_end(position)?;
        }
        self.bounded.truncate(known);
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

    /// The level in two versions: for short trips (fewer than `least` steps) the ragged reduces at these positions run in order, else by lanes.
    fn short_or_long_trip(
        &mut self,
        depth: usize,
        inner: Range<usize>,
        positions: &[usize],
        least: u32,
        (from, to): (Value, Value),
    ) -> Result {
        let kernel = self.kernel;
        let steps = self.b.sub(to, from);
        let least = self.b.int(least.into());
        let is_short = self.b.less(steps, least);
        let made: Vec<LocalId> = (inner.clone())
            .flat_map(|position| match &kernel.statements[position].action {
                Action::Reduce { results, to, .. } if *to as usize == depth => {
                    results.iter().map(|local| local.id).collect()
                }
                Action::Scan { totals, .. } if kernel.statements[position].depth as usize == depth + 1 => {
                    totals.iter().map(|local| local.id).collect()
                }
                _ => Vec::new(),
            })
            .collect();
        let states = self.states.clone();
        let mut sides = Vec::new();
        for side in [true, false] {
            self.states = states.clone();
            self.short_trip.extend(positions.iter().map(|&position| (position, side)));
            self.b.open();
            self.level(depth, inner.clone())?;
            let mut values = std::mem::take(&mut self.states);
            for &id in &made {
                let value = self.local(id)?;
                values.push(self.plain(value));
            }
            sides.push((self.b.close(), values));
        }
        self.short_trip.retain(|position, _| !positions.contains(position));
        let (Some(long), Some(short)) = (sides.pop(), sides.pop()) else { unreachable!("both versions were made") };
        let mut values = self.b.end_if(is_short, short, long);
        let locals = values.split_off(states.len());
        self.states = values;
        for (id, value) in made.into_iter().zip(locals) {
            let value = self.val(value);
            self.locals.insert(id, value);
        }
        Ok(())
    }

    /// Steps `low..high` in blocks, where a reduce asks for them.
    fn blocks(&mut self, nest: &EmittedLevel, low: Value, high: Value, blocked: &[usize]) -> Result {
        if blocked.is_empty() {
            return self.segment(nest, low, high, low, &[]);
        }
        let open = self.b.begin_loop(low, high, BLOCK, &self.states.clone());
        self.states = open.carried.clone();
        let start = open.index;
        let end = self.b.add_int(start, BLOCK);
        let end = self.b.binary(Binary::Min, end, high);
        let count = self.b.sub(end, start);
        for &position in blocked {
            if self.scans.contains_key(&position) {
                self.total_block_begin(position, count)?;
            } else {
                self.block_begin(position, count)?;
            }
        }
        self.segment(nest, start, end, start, blocked)?;
        let mut results = HashMap::new();
        for &position in blocked {
            if self.scans.contains_key(&position) {
                self.total_block_end(position, start, count, &results)?;
            } else {
                let result = self.block_result(position, count)?;
                self.block_end(position, start, result.clone())?;
                results.insert(position, result);
            }
        }
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        Ok(())
    }

    /// Steps `low..high`, elements numbered from `first`: in gangs if this level is across lanes, then the remainder.
    fn segment(&mut self, nest: &EmittedLevel, low: Value, high: Value, first: Value, blocked: &[usize]) -> Result {
        let Some(schedule) = self.schedule.filter(|schedule| schedule.level == nest.depth) else {
            return self.steps(nest, low, high, 1, first);
        };
        let lanes = schedule.lanes;
        let (mut main_from, mut main_to) = (low, high);
        if !schedule.masked {
            (main_from, main_to) = self.interior_of(nest, low, high, i64::from(lanes))?;
            if main_from != low {
                self.steps(nest, low, main_from, 1, first)?;
            }
        }
        let width = self.b.int(-i64::from(lanes));
        let length = self.b.sub(main_to, main_from);
        let full = self.b.binary(Binary::And, length, width);
        let zero = self.b.int(0);
        let full = self.b.binary(Binary::Max, full, zero);
        let mut main_end = self.b.add(main_from, full);
        self.lanes = lanes;
        self.interior = !schedule.masked;
        // Unrolled and strip-mined loops begin with the first accumulator.
        if main_from == first {
            let unrolled = self.unrolled(nest, blocked, lanes);
            let strip_mined = if unrolled.is_some() { None } else { self.strip_mined(nest, blocked, lanes) };
            if let Some(width) = unrolled.as_ref().map(Unrolled::width).or(strip_mined.as_ref().map(StripMined::width))
            {
                let width = self.b.int(-i64::from(width));
                let whole = self.b.binary(Binary::And, full, width);
                let end = self.b.add(main_from, whole);
                if let Some(unrolled) = &unrolled {
                    self.run_unrolled(nest, unrolled, (main_from, end), lanes)?;
                } else if let Some(strip_mined) = &strip_mined {
                    self.run_strip_mined(nest, strip_mined, (main_from, end), lanes, first)?;
                }
                main_from = end;
            }
        }
        let overlaps = !schedule.masked && self.may_run_twice(nest);
        main_end = self.gangs(nest, (main_from, main_end), overlaps.then_some(main_to), lanes, first, None)?;
        self.interior = false;
        if schedule.masked {
            let rest = self.b.less(main_end, high);
            self.b.open();
            let before = self.states.clone();
            let iota = self.b.iota(fusebox_ir::ElementType::I64, lanes);
            let left = self.b.sub(high, main_end);
            let mask = self.b.less(iota, left);
            self.mask = Some(mask);
            self.remainder = Some(left);
            let end = self.b.add_int(main_end, i64::from(lanes));
            self.steps(nest, main_end, end, lanes, first)?;
            self.mask = None;
            self.remainder = None;
            let then = self.b.close();
            let states = std::mem::replace(&mut self.states, before.clone());
            self.b.open();
            let otherwise = self.b.close();
            self.states = self.b.end_if(rest, (then, states), (otherwise, before));
            self.lanes = 1;
            Ok(())
        } else {
            self.lanes = 1;
            self.steps(nest, main_end, high, 1, first)
        }
    }

    /// Whether a step of the level may be run again: it only stores, and nothing that it loads.
    fn may_run_twice(&self, nest: &EmittedLevel) -> bool {
        let kernel = self.kernel;
        nest.inner.clone().map(|position| &kernel.statements[position]).all(|statement| match &statement.action {
            Action::Load { .. } | Action::Scalar(_) | Action::Check { .. } => true,
            Action::Reduce { to, .. } => *to as usize > nest.depth,
            Action::Scan { .. } => statement.depth as usize > nest.depth + 1,
            Action::Store { array, .. } => {
                let array = &kernel.arrays[array.index()];
                array.access == Access::Write && array.in_place_of.is_none()
            }
            Action::Append { .. } | Action::Scatter { .. } => false,
        })
    }

    /// The loop itself.
    pub(super) fn steps(&mut self, nest: &EmittedLevel, low: Value, high: Value, lanes: u32, first: Value) -> Result {
        self.steps_up_to(nest, (low, high), None, lanes, first)
    }

    /// The same, where no gang begins behind `last`: the last one may run steps again.
    pub(super) fn steps_up_to(
        &mut self,
        nest: &EmittedLevel,
        (low, high): (Value, Value),
        last: Option<Value>,
        lanes: u32,
        first: Value,
    ) -> Result {
        let open = self.b.begin_loop(low, high, i64::from(lanes), &self.states.clone());
        self.states = open.carried.clone();
        let step = last.map_or(open.index, |last| self.b.binary(Binary::Min, open.index, last));
        let element = self.b.sub(step, first);
        self.numbered(nest, element);
        self.step(nest, step, lanes)?;
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        Ok(())
    }

    /// The statements at a step, or a gang of steps.
    pub(super) fn step(&mut self, nest: &EmittedLevel, step: Value, lanes: u32) -> Result {
        let kernel = self.kernel;
        let level = &kernel.levels[nest.depth];
        if nest.depth == 0 {
            self.outer_step = Some(step);
        }
        for position in nest.inner.clone().filter(|&p| kernel.statements[p].depth as usize == nest.depth + 1) {
            if let Some(scan) = self.scans.get_mut(&position) {
                scan.step = Some(step);
            }
        }
        let index = if level.order == LevelOrder::Down {
            let last = self.b.add_int(nest.to, -1);
            self.b.sub(last, step)
        } else {
            self.b.add(nest.from, step)
        };
        let index = if lanes == 1 {
            Val::Uniform(index)
        } else {
            let stride = self.b.int(if level.order == LevelOrder::Down { -1 } else { 1 });
            Val::Linear(index, stride)
        };
        self.locals.insert(level.index.id, index);
        self.depth(nest.depth + 1, nest.inner.clone())?;
        self.locals.remove(&level.index.id);
        Ok(())
    }

    /// Tells reduces and totals of this level which element of the block comes.
    fn numbered(&mut self, nest: &EmittedLevel, element: Value) {
        for position in nest.inner.clone() {
            if self.kernel.statements[position].depth as usize != nest.depth + 1 {
                continue;
            }
            if let Some(reduce) = self.reduces.get_mut(&position) {
                reduce.element = Some(element);
            }
            if let Some(total) = self.scans.get_mut(&position).and_then(|scan| scan.total.as_mut()) {
                total.element = Some(element);
            }
        }
    }

    /// The steps for which every tap along this level is inside, from a whole number of gangs behind `low` on.
    fn interior_of(&mut self, nest: &EmittedLevel, low: Value, high: Value, lanes: i64) -> Result<(Value, Value)> {
        let kernel = self.kernel;
        let own = kernel.levels[nest.depth].index.id;
        let (mut first, mut last) = (low, high);
        for position in nest.inner.clone() {
            let Action::Load { array, map, outside, .. } = &kernel.statements[position].action else { continue };
            for (dim, extent) in map.dims.iter().zip(&kernel.arrays[array.index()].extents) {
                let varies = dim.terms.iter().any(|&(_, local)| local == own);
                if !varies || (outside.is_none() && dim.boundary == DimBoundary::None) {
                    continue;
                }
                // index + offset is inside for offset' <= step < extent - offset'; the schedule has seen to the form.
                let mut offset = nest.from;
                for &(factor, local) in dim.terms.iter().filter(|&&(_, local)| local != own) {
                    let local = self.local(local)?;
                    let local = self.plain(local);
                    let factor = self.b.int(factor);
                    let term = self.b.mul(local, factor);
                    offset = self.b.add(offset, term);
                }
                offset = self.b.add_int(offset, dim.offset);
                let zero = self.b.int(0);
                let from = self.b.sub(zero, offset);
                let extent = self.extent(*extent)?;
                let to = self.b.sub(extent, offset);
                first = self.b.binary(Binary::Max, first, from);
                last = self.b.binary(Binary::Min, last, to);
            }
        }
        if first == low {
            return Ok((low, last));
        }
        // Gangs start at whole numbers of gangs where that keeps lanes of accumulators together, or what is stored at multiples of vectors.
        let together = nest.inner.clone().any(|position| {
            matches!(kernel.statements[position].action, Action::Reduce { to, .. } if to as usize == nest.depth)
        });
        let unit = self.b.int(lanes);
        let one = self.b.int(1);
        let out_of_cache = self.out_of_cache();
        let unit = if together { unit } else { self.b.select(out_of_cache, unit, one) };
        let ahead = self.b.sub(first, low);
        let ahead = self.b.add(ahead, unit);
        let ahead = self.b.add_int(ahead, -1);
        let zero = self.b.int(0);
        let whole = self.b.sub(zero, unit);
        let ahead = self.b.binary(Binary::And, ahead, whole);
        let first = self.b.add(low, ahead);
        let first = self.b.binary(Binary::Min, first, high);
        let last = self.b.binary(Binary::Max, last, first);
        Ok((first, last))
    }
}
