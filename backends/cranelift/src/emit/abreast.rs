//! Points abreast: the inner level runs for several points of the level around at once, step by step, while all of them have steps. Each point then
//! does the steps that it has more than others. So long chains of additions do not wait for themselves alone.

use std::{collections::HashMap, ops::Range};

use fusebox_ir::{Action, Association, Binary, LocalId};
use fusebox_schedule::{By, Loop, Node};

use super::{Emitter, Result, Val, emitted_level::EmittedLevel, statement::reduce::Reduce};
use crate::vector::Value;

/// What is done abreast, in a loop over the level around.
#[derive(Clone, Copy)]
pub(super) struct Abreast {
    /// How many points.
    points: u32,
    /// Of levels with fewer steps than this alone.
    fewer_than: Option<u32>,
}

/// A point of the level around.
struct Point {
    locals: HashMap<LocalId, Val>,
    reduces: HashMap<usize, Reduce>,
    from: Value,
    to: Value,
    steps: Value,
}

impl Abreast {
    /// What the body of a loop says.
    pub(super) fn of(body: &[Node]) -> Option<Self> {
        let points = |nodes: &[Node]| match nodes {
            [Node::Loop(Loop { by: By::Abreast(points), .. }), ..] => Some(*points),
            _ => None,
        };
        match body {
            [Node::Choose { fewer_than, then, .. }] => {
                Some(Self { points: points(then)?, fewer_than: Some(*fewer_than) })
            }
            nodes => Some(Self { points: points(nodes)?, fewer_than: None }),
        }
    }
}

impl<'k> Emitter<'k> {
    /// Steps `low..high` of a level, some of them abreast wherever all of these have an inner level that is short.
    pub(super) fn steps_abreast(
        &mut self,
        around: &EmittedLevel,
        (low, high): (Value, Value),
        abreast: Abreast,
    ) -> Result {
        // Lanes, if there are any, are those of long levels: no point abreast has them.
        let (nodes, gang) = (self.nodes, self.gang.take());
        let (before, inner, behind) = self.parts(around.depth + 1, around.inner.clone());
        let mut starts = self.states.clone();
        starts.push(low);
        let mut open = self.b.begin_while(&starts);
        let first = open.carried[starts.len() - 1];
        let go = self.b.less(first, high);
        self.b.while_body(&mut open, go);
        let states = open.carried[..starts.len() - 1].to_vec();
        self.states.clone_from(&states);
        let outer = self.locals.clone();
        let last = self.b.add_int(high, -1);
        let behind_all = self.b.add_int(first, i64::from(abreast.points));
        let mut all = self.b.binary(Binary::Le, behind_all, high);
        let mut points = Vec::new();
        for number in 0..abreast.points {
            let step = self.b.add_int(first, i64::from(number));
            let step = if number == 0 { step } else { self.b.binary(Binary::Min, step, last) };
            self.locals.clone_from(&outer);
            self.index(around, step);
            for position in before.clone() {
                self.statement(position, false)?;
            }
            let point = self.point(around.depth + 1)?;
            if let Some(least) = abreast.fewer_than {
                let least = self.b.int(least.into());
                let short = self.b.less(point.steps, least);
                all = self.b.binary(Binary::And, all, short);
            }
            points.push(point);
        }
        self.b.open();
        let alone = points[0].locals.clone();
        self.points(around.depth + 1, inner.clone(), &mut points)?;
        for point in points {
            self.locals = point.locals;
            for position in behind.clone() {
                self.statement(position, false)?;
            }
        }
        let mut next = std::mem::replace(&mut self.states, states.clone());
        next.push(behind_all);
        let together = (self.b.close(), next);
        self.b.open();
        self.locals = alone;
        (self.nodes, self.gang) = (nodes, gang);
        self.level(around.depth + 1, inner)?;
        for position in behind {
            self.statement(position, false)?;
        }
        let mut next = std::mem::replace(&mut self.states, states);
        next.push(self.b.add_int(first, 1));
        let one = (self.b.close(), next);
        let next = self.b.end_if(all, together, one);
        let mut states = self.b.end_while(open, next);
        states.pop();
        self.states = states;
        self.locals = outer;
        Ok(())
    }

    /// The bounds of level `depth` at a point, whose locals are those of now.
    fn point(&mut self, depth: usize) -> Result<Point> {
        let level = &self.kernel.levels[depth];
        let (from, to) = (self.operand(level.from)?, self.operand(level.to)?);
        let (from, to) = (self.plain(from), self.plain(to));
        let steps = self.b.sub(to, from);
        Ok(Point { locals: self.locals.clone(), reduces: HashMap::new(), from, to, steps })
    }

    /// Level `depth` around the statements `inner` for all points; what it reduces becomes locals of each.
    fn points(&mut self, depth: usize, inner: Range<usize>, points: &mut [Point]) -> Result {
        let kernel = self.kernel;
        let statements = inner.clone().filter(|&position| kernel.statements[position].depth as usize == depth + 1);
        let reduces: Vec<usize> = statements
            .filter(|&position| matches!(kernel.statements[position].action, Action::Reduce { .. }))
            .collect();
        let ragged: Vec<usize> = (reduces.iter().copied())
            .filter(|&position| {
                let action = &kernel.statements[position].action;
                matches!(action, Action::Reduce { association: Association::Ragged { .. }, .. })
            })
            .collect();
        self.short_trip.extend(ragged.iter().map(|&position| (position, true)));
        let zero = self.b.int(0);
        let mut together = None;
        for point in points.iter_mut() {
            self.locals.clone_from(&point.locals);
            for &position in &reduces {
                self.reduce_begin(position)?;
                point.reduces.extend(self.reduces.remove_entry(&position));
            }
            together = Some(match together {
                None => point.steps,
                Some(fewest) => self.b.binary(Binary::Min, fewest, point.steps),
            });
        }
        let together = together.unwrap_or(zero);
        let together = self.b.binary(Binary::Max, together, zero);
        self.steps_of_points(depth, inner.clone(), points, (zero, together))?;
        for point in points.iter_mut() {
            let to = point.steps;
            self.steps_of_points(depth, inner.clone(), std::slice::from_mut(point), (together, to))?;
        }
        for point in points.iter_mut().rev() {
            self.locals.clone_from(&point.locals);
            self.reduces.extend(point.reduces.drain());
            for &position in reduces.iter().rev() {
                self.reduce_end(position)?;
            }
            point.locals.clone_from(&self.locals);
        }
        self.short_trip.retain(|position, _| !ragged.contains(position));
        Ok(())
    }

    /// A loop over steps of a level, each of which is done for all of these points.
    fn steps_of_points(
        &mut self,
        depth: usize,
        inner: Range<usize>,
        points: &mut [Point],
        (low, high): (Value, Value),
    ) -> Result {
        let open = self.b.begin_loop(low, high, 1, &self.states.clone());
        self.states.clone_from(&open.carried);
        for point in points {
            self.locals.clone_from(&point.locals);
            self.reduces.extend(point.reduces.drain());
            let level = EmittedLevel::plain(depth, inner.clone(), point.from, point.to);
            self.step(&level, open.index, 1)?;
            point.reduces.extend(inner.clone().filter_map(|position| self.reduces.remove_entry(&position)));
        }
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        Ok(())
    }

    /// The index of a step of a level becomes a local.
    pub(super) fn index(&mut self, level: &EmittedLevel, step: Value) {
        let own = &self.kernel.levels[level.depth];
        if level.depth == 0 {
            self.outer_step = Some(step);
        }
        let index = self.index_at(level.depth, (level.from, level.to), step, 1);
        self.locals.insert(own.index.id, index);
    }
}
