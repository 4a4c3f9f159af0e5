//! Unrolled accumulators: a level across lanes whose accumulators all stay in registers runs in a loop that is unrolled so far that each
//! iteration gives every accumulator one element.

use fusebox_ir::{Binary, Kernel, analysis::algebra::built_ins};
use fusebox_schedule::accumulate::{may_unroll, own_accumulators};

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

    /// The reduces, and scans for their totals.
    pub(super) fn positions(&self) -> &[usize] {
        &self.positions
    }
}

impl<'k> Emitter<'k> {
    /// The accumulators of a block that has begun, those of the first gang of each reduce first.
    pub(super) fn load_accumulators(&mut self, unrolled: &Unrolled, gang: u32) -> Vec<Value> {
        let mut all = Vec::new();
        for number in 0..unrolled.width / gang {
            let slot = self.b.int(i64::from(number * gang));
            for &position in &unrolled.positions {
                let reduce = self.reduce_or_total(position);
                all.extend(self.accumulators(&reduce, slot, gang));
            }
        }
        all
    }

    /// The accumulators of a block are these now.
    pub(super) fn store_accumulators(&mut self, unrolled: &Unrolled, mut all: &[Value], gang: u32) {
        for number in 0..unrolled.width / gang {
            let slot = self.b.int(i64::from(number * gang));
            for &position in &unrolled.positions {
                let reduce = self.reduce_or_total(position);
                let (own, others) = all.split_at(reduce.components());
                self.put_back(&reduce, slot, own);
                all = others;
            }
        }
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

    /// Behind unrolled iterations: the least, or greatest, of the accumulators of all gangs takes the place of each. So it is asked once whether any element
    /// was NaN, for two of them at once. Taken several times it is the same.
    pub(super) fn extremes_become_one(&mut self, unrolled: &Unrolled, gang: u32) {
        let gangs = (unrolled.width / gang) as usize;
        let functions: Vec<Option<Binary>> = (unrolled.positions.iter())
            .flat_map(|&position| {
                let reduce = self.reduce_or_total(position);
                match built_ins(reduce.combine()) {
                    Some(all) => all.into_iter().map(Some).collect(),
                    None => vec![None; reduce.components()],
                }
            })
            .collect();
        let first = self.states.len() - gangs * functions.len();
        for (component, function) in functions.iter().enumerate() {
            let Some(function @ (Binary::Min | Binary::Max)) = *function else { continue };
            let own = |gang: usize| first + gang * functions.len() + component;
            let mut all = (0..gangs).map(|gang| self.states[own(gang)]).collect::<Vec<_>>().into_iter();
            let Some(one) = all.next() else { continue };
            let one = all.fold(one, |one, next| self.b.binary(function, one, next));
            (0..gangs).for_each(|gang| self.states[own(gang)] = one);
        }
    }
}
