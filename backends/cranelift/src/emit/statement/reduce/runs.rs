//! Runs: the elements of a block in as many stretches of neighbours as there are lanes, each combined in order; then neighbours of those.

use fusebox_ir::{Binary, ElementType};

use super::{Maybe, Presence, Reduce};
use crate::{
    emit::{Emitter, Result},
    vector::{Memory, Value},
};

/// Where the results of runs are: in place of the elements, where each run is one of them, or beside them.
struct Runs {
    /// The address of each component.
    values: Vec<Value>,
    /// The address of the flags, where a run may have nothing.
    flags: Option<Value>,
    /// The first, in values.
    first: Value,
    /// How many have elements.
    count: Value,
}

impl Emitter<'_> {
    /// Combines `count` elements of a tree level by runs. Runs behind the last element have nothing, and are not looked at.
    pub(super) fn fold_runs(&mut self, reduce: &Reduce, tree_level: Value, count: Value) -> Result<Maybe> {
        let width = self.b.int(reduce.width.into());
        let short = self.b.binary(Binary::Le, count, width);
        let runs = self.runs(reduce, tree_level, count, short)?;
        for stride in (0..reduce.width.trailing_zeros()).map(|bit| 1i64 << bit) {
            // The last one has a neighbour or not.
            let up = self.b.add_int(runs.count, stride - 1);
            let shift = self.b.int(i64::from(stride.trailing_zeros()) + 1);
            let pairs = self.b.binary(Binary::Shr, up, shift);
            let zero = self.b.int(0);
            let pair = self.b.begin_loop(zero, pairs, 1, &[]);
            let twice = self.b.int(2 * stride * i64::from(reduce.lanes));
            let left_at = self.b.mul(pair.index, twice);
            let left_at = self.b.add(runs.first, left_at);
            let right_at = self.b.add_int(left_at, stride * i64::from(reduce.lanes));
            let (left, right) = (self.run(reduce, &runs, left_at), self.run(reduce, &runs, right_at));
            let both = self.combine_maybe(&reduce.combine, &left, &right, reduce.swap)?;
            self.set_run(&runs, left_at, &both);
            self.b.end_loop(pair, Vec::new());
        }
        Ok(self.run(reduce, &runs, runs.first))
    }

    /// The result of each run.
    fn runs(&mut self, reduce: &Reduce, tree_level: Value, count: Value, short: Value) -> Result<Runs> {
        let zero = self.b.int(0);
        let up = self.b.int(i64::from(reduce.width) - 1);
        let rounded = self.b.add(count, up);
        let shift = self.b.int(reduce.width.trailing_zeros().into());
        let length = self.b.binary(Binary::Shr, rounded, shift);
        let elements = self.b.select(short, zero, count);
        let beside = Runs {
            values: reduce.layout.runs.iter().map(|&place| self.scratch_at(place)).collect(),
            flags: (reduce.presence == Presence::Flags).then(|| self.scratch_at(reduce.layout.run_flags)),
            first: zero,
            count,
        };
        let mut run = self.b.begin_while(&[zero, zero]);
        let (number, from) = (run.carried[0], run.carried[1]);
        let more = self.b.less(from, elements);
        self.b.while_body(&mut run, more);
        let to = self.b.add(from, length);
        let to = self.b.binary(Binary::Min, to, count);
        let starts = self.element(reduce, tree_level, from);
        let second = self.b.add_int(from, 1);
        let flagged = starts.1.is_some();
        let each = self.b.begin_loop(second, to, 1, &starts.0.into_iter().chain(starts.1).collect::<Vec<_>>());
        let mut before = each.carried.clone();
        let had = if flagged { before.pop() } else { None };
        let element = self.element(reduce, tree_level, each.index);
        let (next, has) = self.combine_maybe(&reduce.combine, &(before, had), &element, reduce.swap)?;
        let mut result = self.b.end_loop(each, next.into_iter().chain(has).collect());
        let has = if flagged { result.pop() } else { None };
        let lanes = self.b.int(reduce.lanes.into());
        let at = self.b.mul(number, lanes);
        self.set_run(&beside, at, &(result, has));
        let next = self.b.add_int(number, 1);
        let made = self.b.end_while(run, vec![next, to])[0];
        // Runs of one element are there already.
        let place = |this: &mut Self, element: i64, run: Value| {
            let element = this.scratch_at(element);
            this.b.select(short, element, run)
        };
        let values = reduce.layout.slots.iter().zip(beside.values).map(|(&slot, run)| place(self, slot, run)).collect();
        let flags = beside.flags.map(|run| place(self, reduce.layout.flags, run));
        let first = self.slot(reduce, tree_level, zero);
        Ok(Runs { values, flags, first: self.b.select(short, first, zero), count: self.b.select(short, count, made) })
    }

    fn run(&mut self, reduce: &Reduce, runs: &Runs, at: Value) -> Maybe {
        let components = runs.values.iter().zip(&reduce.types);
        let values = components.map(|(&base, &ty)| self.b.load(ty, reduce.lanes, base, at, Memory::Shared)).collect();
        (values, runs.flags.map(|base| self.b.load(ElementType::Bool, reduce.lanes, base, at, Memory::Shared)))
    }

    fn set_run(&mut self, runs: &Runs, at: Value, (values, has): &Maybe) {
        for (&base, &value) in runs.values.iter().zip(values) {
            self.b.store(base, at, value, None);
        }
        if let (Some(base), &Some(has)) = (runs.flags, has) {
            self.b.store(base, at, has, None);
        }
    }
}
