//! Short rows: a level of at most one block, whose accumulators are in registers from its first element to its result.
//!
//! Whole iterations of gangs come first, as many gangs as there are accumulators, and then one iteration in which lanes behind the end do
//! nothing. Where the level has no more steps than such an iteration, it is that one alone: no loop, and no branch. Nothing is in scratch memory.

use std::ops::Range;

use fusebox_ir::{Action, Association, Binary, ElementType, LevelOrder, analysis::kernels::trip_count};
use fusebox_schedule::{By, Loop};

use super::{
    Emitter, Result,
    emitted_level::EmittedLevel,
    statement::reduce::{Maybe, Reduce},
};
use crate::vector::Value;

/// An iteration of a row.
struct Gangs {
    /// Lanes of a gang.
    lanes: u32,
    /// Gangs of an iteration.
    count: u32,
    /// Reduces of the level.
    reduces: Vec<usize>,
    /// Where the states of the first gang begin.
    states: usize,
}

impl Gangs {
    /// Steps of an iteration.
    fn width(&self) -> i64 {
        i64::from(self.lanes) * i64::from(self.count)
    }
}

impl<'k> Emitter<'k> {
    /// The level `depth` around the statements `inner`, from its first index to the one behind its last, in gangs of which the last are masked.
    pub(super) fn row(
        &mut self,
        depth: usize,
        inner: Range<usize>,
        each: &'k Loop,
        (from, to): (Value, Value),
    ) -> Result {
        let kernel = self.kernel;
        let By::Lanes(lanes) = each.by else { return Err(self.broken("a row that is not in gangs")) };
        if kernel.levels[depth].order == LevelOrder::Down {
            return Err(self.broken("a row that runs down"));
        }
        let reduces =
            inner.clone().filter(|&position| matches!(kernel.statements[position].action, Action::Reduce { .. }));
        let gangs = Gangs { lanes, count: each.unroll, reduces: reduces.collect(), states: self.states.len() };
        let zero = self.b.int(0);
        let steps = self.b.sub(to, from);
        let steps = self.b.binary(Binary::Max, steps, zero);
        for _ in 0..gangs.count {
            for &position in &gangs.reduces {
                self.row_begin(position, &gangs)?;
            }
        }
        let row = EmittedLevel::plain(depth, inner, from, to);
        self.nodes = &each.body;
        self.lanes = lanes;
        let bound = self.fewer_than.iter().filter(|(level, _)| *level == depth).map(|&(_, than)| i64::from(than) - 1);
        let most = bound.chain(trip_count(&kernel.levels[depth])).min();
        let mut start = zero;
        if most.is_none_or(|most| most > gangs.width()) {
            let whole = self.b.int(-gangs.width());
            start = self.b.binary(Binary::And, steps, whole);
            self.untouched(&gangs, false);
            let open = self.b.begin_loop(zero, start, gangs.width(), &self.states.clone());
            self.states.clone_from(&open.carried);
            let index = open.index;
            self.row_iteration(&row, &gangs, |this, ahead| Ok((this.b.add_int(index, ahead), None)))?;
            let next = std::mem::take(&mut self.states);
            self.states = self.b.end_loop(open, next);
        }
        // Without steps nothing is known of where elements would be.
        self.some_steps = Some(self.b.less(zero, steps));
        let width = self.row_mask_type(&row);
        self.row_iteration(&row, &gangs, |this, ahead| {
            // The last gang begins at the end of the row at most: behind that as much can be read as a gang has.
            let own = this.b.add_int(start, ahead);
            let own = if ahead == 0 { own } else { this.b.binary(Binary::Min, own, steps) };
            let left = this.b.sub(steps, own);
            let lanes_left = this.b.int(lanes.into());
            let left = if width == ElementType::I8 { this.b.binary(Binary::Min, left, lanes_left) } else { left };
            let left = this.b.convert(width, left);
            let iota = this.b.iota(width, lanes);
            Ok((own, Some(this.b.less(iota, left))))
        })?;
        self.some_steps = None;
        self.row_end(&gangs)
    }

    /// A type of lanes that is as wide as what is loaded: the mask then needs no other width.
    fn row_mask_type(&self, row: &EmittedLevel) -> ElementType {
        let bytes = row.inner.clone().filter_map(|position| match &self.kernel.statements[position].action {
            Action::Load { array, .. } | Action::Store { array, .. } => {
                Some(self.kernel.arrays[array.index()].element.bytes())
            }
            _ => None,
        });
        match bytes.max() {
            Some(1) => ElementType::I8,
            Some(2) => ElementType::I16,
            Some(8) => ElementType::I64,
            _ => ElementType::I32,
        }
    }

    /// The gangs of an iteration; `place` gives the first step of each, by how far it is behind that of the first, and which lanes take part.
    fn row_iteration(
        &mut self,
        row: &EmittedLevel,
        gangs: &Gangs,
        mut place: impl FnMut(&mut Self, i64) -> Result<(Value, Option<Value>)>,
    ) -> Result {
        let mut state = gangs.states;
        for number in 0..gangs.count {
            for &position in &gangs.reduces {
                self.set_registers(position, Some(state));
                state += self.reduce_or_total(position).states();
            }
            let (step, mask) = place(self, i64::from(number) * i64::from(gangs.lanes))?;
            self.mask = mask;
            self.step(row, step, gangs.lanes)?;
            self.mask = None;
        }
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

    /// The results of a row's reduces become locals.
    fn row_end(&mut self, gangs: &Gangs) -> Result {
        let kernel = self.kernel;
        let states = self.states.split_off(gangs.states);
        let mut first = 0;
        for &position in &gangs.reduces {
            let Some(reduce) = self.reduces.remove(&position) else { self.misplaced(position) };
            let stride = states.len() / gangs.count as usize;
            let all: Vec<Maybe> = (0..gangs.count as usize)
                .map(|gang| reduce.of_states(&states[gang * stride + first..][..reduce.states()]))
                .collect();
            first += reduce.states();
            self.operation = kernel.operation(&kernel.statements[position]);
            let total = self.fold_registers(&reduce, all, gangs.lanes)?;
            self.reduce_results(position, &reduce, total)?;
        }
        self.lanes = 1;
        Ok(())
    }
}
