//! Few steps: those of an innermost level, in a row. Each step has accumulators of its own, in registers, and the results of steps are combined by
//! the tree that the association fixes.

use std::ops::Range;

use fusebox_ir::{Action, Association, Constant};
use fusebox_schedule::Loop;

use super::{
    Emitter, Result,
    emitted_level::EmittedLevel,
    statement::reduce::{Maybe, Reduce},
};
use crate::vector::Value;

/// A reduce of few steps: its statement, and where the states of the first step begin among those of all its steps.
struct Combined {
    position: usize,
    association: Association,
    first: usize,
}

impl<'k> Emitter<'k> {
    /// The level `depth` around the statements `inner`, from its first index to the one behind its last: at most as many steps as the loop
    /// is unrolled.
    pub(super) fn few(
        &mut self,
        depth: usize,
        inner: Range<usize>,
        each: &'k Loop,
        (from, to): (Value, Value),
    ) -> Result {
        let kernel = self.kernel;
        let mut in_order = Vec::new();
        let mut combined: Vec<Combined> = Vec::new();
        for position in inner.clone() {
            let Action::Reduce { association, .. } = kernel.statements[position].action else { continue };
            if association == Association::InOrder || self.is_chain(position) {
                self.reduce_begin(position)?;
                in_order.push(position);
            } else {
                combined.push(Combined { position, association, first: 0 });
            }
        }
        let outer = self.states.len();
        for own in &mut combined {
            own.first = self.states.len();
            self.few_begin(own.position, own.association, each.unroll)?;
        }
        let steps = match self.steps_by_choices(depth) {
            Some(steps) => self.b.int(steps),
            None => {
                let zero = self.b.int(0);
                let steps = self.b.sub(to, from);
                self.b.binary(fusebox_ir::Binary::Max, steps, zero)
            }
        };
        self.nodes = &each.body;
        let level = EmittedLevel::plain(depth, inner, from, to);
        for number in 0..each.unroll {
            for own in &combined {
                let states = self.reduce_or_total(own.position).states();
                self.set_registers(own.position, Some(own.first + number as usize * states));
            }
            self.where_more_than(steps, number, |this| {
                let step = this.b.int(number.into());
                this.step(&level, step, 1)
            })?;
        }
        let mut totals = Vec::new();
        for own in &combined {
            totals.push(self.few_total(own, each.unroll, steps)?);
        }
        self.states.truncate(outer);
        for (own, (reduce, total)) in combined.iter().zip(totals) {
            self.reduces.remove(&own.position);
            self.reduce_results(own.position, &reduce, total)?;
        }
        for &position in in_order.iter().rev() {
            self.reduce_end(position)?;
        }
        Ok(())
    }

    /// Code that runs where there are more than `number` steps; elsewhere the states stay as they are.
    pub(super) fn where_more_than(
        &mut self,
        steps: Value,
        number: u32,
        code: impl FnOnce(&mut Self) -> Result,
    ) -> Result {
        if let Some(known) = self.b.constant_of(steps).and_then(Constant::as_i64) {
            return if known > i64::from(number) { code(self) } else { Ok(()) };
        }
        let number = self.b.int(number.into());
        let more = self.b.less(number, steps);
        let before = self.states.clone();
        self.b.open();
        code(self)?;
        let then = (self.b.close(), std::mem::replace(&mut self.states, before.clone()));
        self.b.open();
        let otherwise = (self.b.close(), before);
        self.states = self.b.end_if(more, then, otherwise);
        Ok(())
    }

    /// The accumulators of all steps of a reduce: they hold nothing.
    fn few_begin(&mut self, position: usize, association: Association, steps: u32) -> Result {
        let Action::Reduce { combine, values, .. } = &self.kernel.statements[position].action else {
            return Err(self.broken("a reduce that is none"));
        };
        let width = match association {
            Association::Interleaved { lanes } | Association::Runs { lanes } => lanes,
            _ => return Err(self.broken("few steps of a reduce that is neither interleaved nor in runs")),
        };
        let types = combine.params.iter().take(values.len()).map(|param| param.ty).collect();
        let reduce = Reduce::in_registers(combine, types, width).in_lanes(self.lanes);
        let nothing = reduce.nothing();
        for _ in 0..steps {
            for &nothing in &nothing {
                let nothing = self.b.constant(nothing);
                let nothing = self.b.splat(nothing, self.lanes);
                self.states.push(nothing);
            }
        }
        self.reduces.insert(position, reduce);
        Ok(())
    }

    /// What the steps of a reduce make together. Interleaved accumulators are combined by halves, runs with their neighbours; where there are
    /// fewer steps, what is combined with nothing stays as it is.
    fn few_total(&mut self, own: &Combined, count: u32, steps: Value) -> Result<(Reduce, Maybe)> {
        let kernel = self.kernel;
        self.operation = kernel.operation(&kernel.statements[own.position]);
        let reduce = self.reduce_or_total(own.position);
        let width = reduce.states();
        let by_halves = matches!(own.association, Association::Interleaved { .. });
        let strides = (0..count.trailing_zeros()).map(|bit| 1u32 << bit);
        let strides: Vec<u32> = if by_halves { strides.rev().collect() } else { strides.collect() };
        for stride in strides {
            let lefts: Vec<u32> =
                if by_halves { (0..stride).collect() } else { (0..count).step_by(2 * stride as usize).collect() };
            self.where_more_than(steps, stride, |this| {
                for left in lefts {
                    let at = |slot: u32| own.first + slot as usize * width;
                    let (left, right) = (at(left), at(left + stride));
                    let [one, other] = [left, right].map(|at| reduce.of_states(&this.states[at..at + width]));
                    let (values, has) = this.combine_maybe(reduce.combine(), &one, &other, false)?;
                    for (component, value) in values.into_iter().chain(has).enumerate() {
                        this.states[left + component] = this.b.splat(value, this.lanes);
                    }
                }
                Ok(())
            })?;
        }
        let total = reduce.of_states(&self.states[own.first..own.first + width]);
        Ok((reduce, total))
    }
}
