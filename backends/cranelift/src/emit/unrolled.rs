//! Unrolled accumulators: a level across lanes whose accumulators all stay in registers runs in a loop that is unrolled so far that each
//! iteration gives every accumulator one element.

use fusebox_ir::Kernel;
use fusebox_schedule::{
    Loop,
    accumulate::{may_unroll, own_accumulators},
};

use super::{Emitter, Result, emitted_level::EmittedLevel};
use crate::vector::Value;

/// How a level runs with unrolled accumulators.
#[derive(Clone, Debug)]
pub(super) struct Unrolled {
    /// The reduces, and scans for their totals.
    positions: Vec<usize>,
    /// Interleaved accumulators of each: the steps of an unrolled iteration.
    width: u32,
}

impl Unrolled {
    /// Those of a level in `gangs` gangs of `lanes` an iteration; none where that are not as many as it has accumulators.
    pub(super) fn of(kernel: &Kernel, level: usize, lanes: u32, gangs: u32) -> Option<Self> {
        may_unroll(kernel, level, lanes, gangs).ok()?;
        let positions = own_accumulators(kernel, level).into_iter().map(|(position, _)| position).collect();
        Some(Self { positions, width: lanes * gangs })
    }

    /// Unrolled iterations have so many steps.
    pub(super) fn width(&self) -> u32 {
        self.width
    }
}

impl<'k> Emitter<'k> {
    /// Steps `low..high`, a multiple of the width, in unrolled iterations.
    pub(super) fn run_unrolled(
        &mut self,
        nest: &EmittedLevel,
        unrolled: &Unrolled,
        each: &'k Loop,
        (low, high): (Value, Value),
        gang: u32,
    ) -> Result {
        let own = self.states.len();
        for number in 0..unrolled.width / gang {
            let slot = self.b.int(i64::from(number * gang));
            for &position in &unrolled.positions {
                let reduce = self.reduce_or_total(position);
                let values = self.accumulators(&reduce, slot, gang);
                self.states.extend(values);
            }
        }
        self.gangs(nest, (low, high), None, gang, low, (each, Some(unrolled)))?;
        let mut in_registers = self.states.split_off(own).into_iter();
        for number in 0..unrolled.width / gang {
            let slot = self.b.int(i64::from(number * gang));
            for &position in &unrolled.positions {
                self.set_registers(position, None);
                let reduce = self.reduce_or_total(position);
                let values: Vec<Value> = in_registers.by_ref().take(reduce.components()).collect();
                self.put_back(&reduce, slot, &values);
            }
        }
        Ok(())
    }

    /// The unrolled iteration that begins at a step.
    pub(super) fn unrolled_step(&mut self, nest: &EmittedLevel, unrolled: &Unrolled, step: Value, gang: u32) -> Result {
        let reduces: Vec<usize> =
            (unrolled.positions.iter()).map(|&position| self.reduce_or_total(position).components()).collect();
        let gangs = (unrolled.width / gang) as usize;
        let mut first = self.states.len() - gangs * reduces.iter().sum::<usize>();
        for number in 0..gangs {
            for (&position, components) in unrolled.positions.iter().zip(&reduces) {
                self.set_registers(position, Some(first));
                first += components;
            }
            let step = self.b.add_int(step, (number * gang as usize) as i64);
            self.step(nest, step, gang)?;
        }
        Ok(())
    }
}
