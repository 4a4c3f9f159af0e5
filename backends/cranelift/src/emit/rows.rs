//! Short rows: a level of at most one block, whose accumulators are in registers from its first element to its result.
//!
//! Whole iterations of gangs come first, as many gangs as there are accumulators, and then one iteration in which lanes behind the end do
//! nothing. Where the level has no more steps than such an iteration, it is that one alone: no loop, and no branch, and the accumulators of one point are
//! folded before those of the next come. Where the first iteration is whole, it is outside of the loop, and its elements are the accumulators. Nothing is in
//! scratch memory.

use std::{collections::HashMap, ops::Range};

use fusebox_ir::{Action, Association, Binary, ElementType, LevelOrder, LocalId};
use fusebox_schedule::{By, Loop, Node};

use super::{
    Emitter, Result, Val,
    clamped::as_wide,
    emitted_level::EmittedLevel,
    statement::reduce::{Maybe, Reduce},
};
use crate::vector::Value;

/// An iteration of a row.
struct Gangs {
    /// Lanes of a gang.
    lanes: u32,
    /// Gangs of an iteration, of each point.
    count: u32,
    /// What is known at the points of which gangs stand in an iteration.
    points: Vec<HashMap<LocalId, Val>>,
    /// Reduces of the level.
    reduces: Vec<usize>,
    /// Where the states of the first gang begin.
    states: usize,
}

/// Where a gang of a row is.
#[derive(Clone, Copy)]
struct GangPlace {
    /// Its first step.
    first: Value,
    /// The lanes that take part; none: all.
    mask: Option<Value>,
    /// Whether the row has a step, so that what is the same in all lanes may be read.
    has_steps: bool,
    /// How many steps are known to be behind it.
    behind: i64,
}

/// What the gangs of a row have combined, of one reduce.
#[derive(Clone)]
pub(super) struct Folded {
    pub(super) position: usize,
    pub(super) reduce: Reduce,
    /// One gang of accumulators.
    pub(super) total: Maybe,
}

/// What rows have combined, of one reduce: one value for each of the steps that run at once.
struct Results {
    position: usize,
    reduce: Reduce,
    totals: Vec<Maybe>,
}

impl Gangs {
    /// Steps of an iteration.
    fn width(&self) -> i64 {
        i64::from(self.lanes) * i64::from(self.count)
    }
}

impl<'k> Emitter<'k> {
    /// The loop over a row that these nodes are, whoever takes its shares.
    pub(super) fn row_of(&self, nodes: &'k [Node]) -> Option<&'k Loop> {
        match nodes {
            [Node::Loop(each), ..] if each.by == By::Threads => self.row_of(&each.body),
            [Node::Loop(each), ..] => self.nest.is_row(self.kernel, each).then_some(each),
            _ => None,
        }
    }

    /// From where to where a row goes: of the outermost level, the range that the caller says.
    pub(super) fn bounds_of_row(&mut self, depth: usize, (from, to): (Value, Value)) -> (Value, Value) {
        if depth > 0 || !self.part.is_ranged() {
            return (from, to);
        }
        let (low, high) = self.range;
        (self.b.add(from, low), self.b.add(from, high))
    }

    /// The level `depth` around the statements `inner`, from its first index to the one behind its last, in gangs of which the last are masked.
    pub(super) fn row(&mut self, depth: usize, inner: Range<usize>, each: &'k Loop, bounds: (Value, Value)) -> Result {
        if self.lanes > 1 {
            return self.rows_together(depth, inner, each, bounds);
        }
        for Results { position, reduce, totals } in self.row_results(depth, inner, each, bounds)? {
            for (step, total) in totals.into_iter().enumerate() {
                if depth == 0 && self.part.is_body() {
                    let start = self.range.0;
                    self.leave_result(position, start, &total);
                } else {
                    self.at_step(step, position, |this| this.reduce_results(position, &reduce, total))?;
                }
            }
        }
        Ok(())
    }

    /// Steps `start` to `end` of a level, which are a block, as a row; what the row combines is the result of the block.
    pub(super) fn row_of_block(
        &mut self,
        level: &EmittedLevel,
        each: &'k Loop,
        (start, end): (Value, Value),
    ) -> Result {
        let bounds = (self.b.add(level.from, start), self.b.add(level.from, end));
        // The reduces of all blocks wait while the row has its own.
        let open = std::mem::take(&mut self.reduces);
        let results = self.row_results(level.depth, level.inner.clone(), each, bounds)?;
        self.reduces = open;
        for Results { position, totals, .. } in results {
            let mut totals = totals.into_iter();
            self.reduce_at_steps(position, |this| match totals.next() {
                Some(total) => this.block_end(position, start, total),
                None => Err(this.broken("a block without a result")),
            })?;
        }
        Ok(())
    }

    /// What a row combines, of each of the steps that run at once.
    fn row_results(
        &mut self,
        depth: usize,
        inner: Range<usize>,
        each: &'k Loop,
        bounds: (Value, Value),
    ) -> Result<Vec<Results>> {
        let here = self.locals.clone();
        let mut points = self.locals_of_steps();
        points.iter_mut().for_each(|own| own.extend(here.iter().map(|(&id, &value)| (id, value))));
        let jam = self.jam.take();
        let folded = self.row_gangs(depth, inner, each, bounds, points)?;
        (self.locals, self.jam) = (here, jam);
        let mut results = Vec::new();
        for number in 0..folded.first().map_or(0, Vec::len) {
            let Folded { position, reduce, .. } = folded[0][number].clone();
            self.operation = self.kernel.operation(&self.kernel.statements[position]);
            let totals = folded.iter().map(|own| own[number].total.clone()).collect();
            let totals = self.fold_each(&reduce, totals)?;
            results.push(Results { position, reduce, totals });
        }
        Ok(results)
    }

    /// The gangs of the rows of some points, of which these locals are known: what they combine, of each point and each reduce.
    pub(super) fn row_gangs(
        &mut self,
        depth: usize,
        inner: Range<usize>,
        each: &'k Loop,
        (from, to): (Value, Value),
        points: Vec<HashMap<LocalId, Val>>,
    ) -> Result<Vec<Vec<Folded>>> {
        let kernel = self.kernel;
        let By::Lanes(lanes) = each.by else { return Err(self.broken("a row that is not in gangs")) };
        if kernel.levels[depth].order == LevelOrder::Down {
            return Err(self.broken("a row that runs down"));
        }
        let reduces =
            inner.clone().filter(|&position| matches!(kernel.statements[position].action, Action::Reduce { .. }));
        let (count, states) = (each.unroll, self.states.len());
        let gangs = Gangs { lanes, count, points, reduces: reduces.collect(), states };
        let zero = self.b.int(0);
        let steps = self.b.sub(to, from);
        let steps = self.b.binary(Binary::Max, steps, zero);
        for _ in 0..gangs.count as usize * gangs.points.len() {
            for &position in &gangs.reduces {
                self.row_begin(position, &gangs)?;
            }
        }
        let row = EmittedLevel::plain(depth, inner, from, to);
        self.nodes = &each.body;
        self.lanes = lanes;
        let (least, most, width) = (self.least_steps(depth), self.most_steps(depth), gangs.width());
        let mask = self.row_mask_type(&row);
        // Accumulators that hold nothing take the first elements as they are.
        let behind = |ahead: i64| width - ahead - i64::from(lanes);
        let whole = |this: &mut Self, ahead| {
            Ok(GangPlace { first: this.b.int(ahead), mask: None, has_steps: true, behind: behind(ahead) })
        };
        // Without steps nothing is known of where elements would be.
        let masked = |this: &mut Self, ahead| this.gang_of_rest((mask, lanes), ahead, (zero, steps), least > 0);
        if most.is_some_and(|most| most <= width) {
            let some_steps = (least == 0).then(|| self.b.less(zero, steps));
            let places = (0..count).map(|number| {
                let ahead = i64::from(number) * i64::from(lanes);
                if each.first_whole { whole(self, ahead) } else { masked(self, ahead) }
            });
            let places = places.collect::<Result<Vec<_>>>()?;
            self.some_steps = some_steps;
            let folded = self.row_of_one_iteration(&row, &gangs, &places);
            self.some_steps = None;
            return folded;
        }
        let mut start = zero;
        if each.first_whole {
            self.row_iteration(&row, &gangs, whole)?;
            start = self.b.int(width);
        }
        let to_width = self.b.int(-width);
        let end = self.b.binary(Binary::And, steps, to_width);
        self.untouched(&gangs, false);
        let open = self.b.begin_loop(start, end, width, &self.states.clone());
        self.states.clone_from(&open.carried);
        let index = open.index;
        self.row_iteration(&row, &gangs, |this, ahead| {
            Ok(GangPlace { first: this.b.add_int(index, ahead), mask: None, has_steps: true, behind: behind(ahead) })
        })?;
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        let left = self.b.sub(steps, end);
        let rest = |this: &mut Self, ahead| this.gang_of_rest((mask, lanes), ahead, (end, steps), true);
        let appends =
            row.inner.clone().any(|position| matches!(kernel.statements[position].action, Action::Append { .. }));
        if depth > 0 && !appends {
            self.where_more_than(left, 0, |this| this.row_iteration(&row, &gangs, rest))?;
        } else {
            // A kernel that is launched again and again has as many steps as before, so that each of these branches is foreseen; and to put nothing
            // behind what was put takes as long as a branch that is not.
            for number in 0..count {
                let ahead = number * lanes;
                self.where_more_than(left, ahead, |this| {
                    let place = rest(this, ahead.into())?;
                    this.row_gang(&row, &gangs, place, number as usize)
                })?;
            }
        }
        let states = self.states.split_off(gangs.states);
        let points = (0..gangs.points.len()).map(|point| self.folded(&gangs, &states, point));
        let folded = points.collect::<Result<Vec<_>>>()?;
        self.row_is_done(&gangs);
        Ok(folded)
    }

    /// A gang of the iteration that begins at `start`, `ahead` of its first step: where it begins, and its mask. Lanes behind the end do nothing.
    fn gang_of_rest(
        &mut self,
        (width, lanes): (ElementType, u32),
        ahead: i64,
        (start, steps): (Value, Value),
        has_steps: bool,
    ) -> Result<GangPlace> {
        // The last gang begins at the end of the row at most: behind that as much can be read as a gang has.
        let own = self.b.add_int(start, ahead);
        let own = if ahead == 0 { own } else { self.b.binary(Binary::Min, own, steps) };
        let left = self.b.sub(steps, own);
        // No more than a block.
        let lanes_left = self.b.int(lanes.into());
        let left = if width == ElementType::I8 { self.b.binary(Binary::Min, left, lanes_left) } else { left };
        Ok(GangPlace { first: own, mask: Some(self.lanes_below(left, (width, lanes))), has_steps, behind: 0 })
    }

    /// A type of lanes that is as wide as what is loaded: the mask then needs no other width.
    fn row_mask_type(&self, row: &EmittedLevel) -> ElementType {
        let bytes = row.inner.clone().filter_map(|position| match &self.kernel.statements[position].action {
            Action::Load { array, .. } | Action::Store { array, .. } => {
                Some(self.kernel.arrays[array.index()].element.bytes())
            }
            _ => None,
        });
        bytes.max().map_or(ElementType::I32, as_wide)
    }

    /// An iteration that is all of the row, with its gangs at these places: each point has its gangs one behind the other, and folds them then. What
    /// is held in registers are the accumulators of one point, and one gang of each that is done.
    fn row_of_one_iteration(
        &mut self,
        row: &EmittedLevel,
        gangs: &Gangs,
        places: &[GangPlace],
    ) -> Result<Vec<Vec<Folded>>> {
        let mut folded = Vec::new();
        for point in 0..gangs.points.len() {
            for (number, &place) in places.iter().enumerate() {
                self.row_gang(row, gangs, place, number * gangs.points.len() + point)?;
            }
            let states = self.states[gangs.states..].to_vec();
            folded.push(self.folded(gangs, &states, point)?);
        }
        self.states.truncate(gangs.states);
        self.row_is_done(gangs);
        Ok(folded)
    }

    /// The gangs of an iteration; `place` gives the first step of each, by how far it is behind that of the first, and which lanes take part.
    fn row_iteration(
        &mut self,
        row: &EmittedLevel,
        gangs: &Gangs,
        place: impl Fn(&mut Self, i64) -> Result<GangPlace>,
    ) -> Result {
        let points = gangs.points.len();
        for number in 0..gangs.count as usize {
            let place = place(self, number as i64 * i64::from(gangs.lanes))?;
            for point in 0..points {
                self.row_gang(row, gangs, place, number * points + point)?;
            }
        }
        Ok(())
    }

    /// One gang of an iteration, by its number: those of all points come before the next of the first one.
    fn row_gang(&mut self, row: &EmittedLevel, gangs: &Gangs, place: GangPlace, number: usize) -> Result {
        // Of a gang that is behind the end of its row: what is the same in all lanes is where the gang before reads, and fails there first.
        (self.mask, self.some_lane) = (place.mask, place.mask.filter(|_| place.has_steps));
        let before = (number / gangs.points.len()) as i64 * i64::from(gangs.lanes);
        let around = std::mem::replace(&mut self.around, (before, place.behind));
        self.locals.clone_from(&gangs.points[number % gangs.points.len()]);
        let own: usize = gangs.reduces.iter().map(|&position| self.reduce_or_total(position).states()).sum();
        let mut state = gangs.states + number * own;
        for &position in &gangs.reduces {
            self.set_registers(position, Some(state));
            state += self.reduce_or_total(position).states();
        }
        self.step(row, place.first, gangs.lanes)?;
        (self.mask, self.some_lane, self.around) = (None, None, around);
        Ok(())
    }

    /// The accumulators of one gang of a reduce: they hold nothing.
    fn row_begin(&mut self, position: usize, gangs: &Gangs) -> Result {
        let kernel = self.kernel;
        let Action::Reduce { association, combine, values, .. } = &kernel.statements[position].action else {
            return Err(self.broken("a row with a statement that is no reduce"));
        };
        let Association::Interleaved { lanes } = *association else {
            return Err(self.broken("a row with a reduce that is not interleaved"));
        };
        let types = combine.params.iter().take(values.len()).map(|param| param.ty).collect();
        let reduce = Reduce::in_registers(combine, types, lanes);
        for nothing in reduce.nothing() {
            let nothing = self.b.constant(nothing);
            let nothing = self.b.splat(nothing, gangs.lanes);
            self.states.push(nothing);
        }
        self.reduces.insert(position, reduce);
        Ok(())
    }

    /// Whether the accumulators of a row's reduces hold nothing when its gangs come.
    fn untouched(&mut self, gangs: &Gangs, untouched: bool) {
        for position in &gangs.reduces {
            if let Some(reduce) = self.reduces.get_mut(position) {
                reduce.untouched = untouched;
            }
        }
    }

    /// What the gangs of a point have combined together, of each reduce; these are the states of the row.
    fn folded(&mut self, gangs: &Gangs, states: &[Value], point: usize) -> Result<Vec<Folded>> {
        let kernel = self.kernel;
        let points = gangs.points.len();
        let stride = states.len() / (gangs.count as usize * points);
        let mut first = 0;
        let mut folded = Vec::new();
        for &position in &gangs.reduces {
            let reduce = self.reduce_or_total(position).clone();
            self.operation = kernel.operation(&kernel.statements[position]);
            let own = (0..gangs.count as usize).map(|gang| (gang * points + point) * stride + first);
            let all = own.map(|at| reduce.of_states(&states[at..][..reduce.states()])).collect();
            let total = self.fold_gangs(&reduce, all)?;
            first += reduce.states();
            folded.push(Folded { position, reduce, total });
        }
        Ok(folded)
    }

    /// The reduces of a row are closed.
    fn row_is_done(&mut self, gangs: &Gangs) {
        for position in &gangs.reduces {
            self.reduces.remove(position);
        }
        self.lanes = 1;
    }
}
