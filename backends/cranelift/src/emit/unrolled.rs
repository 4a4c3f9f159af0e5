//! Unrolled accumulators: a level across lanes whose accumulators all stay in registers runs in a loop that is unrolled so far that each
//! iteration gives every accumulator one element.

use fusebox_ir::Action;

use super::{Emitter, Result, levels::EmittedLevel, statement::reduce::Reduce};
use crate::vector::Value;

/// Statements of an unrolled iteration, at most: more of them cost more in code than accumulators in memory do.
const STATEMENTS: usize = 64;

/// How a level runs with unrolled accumulators.
#[derive(Clone, Debug)]
pub(super) struct Unrolled {
    /// The reduces, and scans for their totals.
    positions: Vec<usize>,
    /// Interleaved accumulators of each: the steps of an unrolled iteration.
    width: u32,
}

impl Unrolled {
    /// Unrolled iterations have so many steps.
    pub(super) fn width(&self) -> u32 {
        self.width
    }
}

impl Emitter<'_> {
    /// How a level, of which `blocked` are the reduces and scans with totals, runs unrolled in gangs of `gang`, if all accumulators fit.
    pub(super) fn unrolled(&self, nest: &EmittedLevel, blocked: &[usize], gang: u32) -> Option<Unrolled> {
        let statements = &self.kernel.statements[nest.inner.clone()];
        let flat = statements.iter().all(|statement| {
            let by_lanes = matches!(statement.action, Action::Append { .. } | Action::Scatter { .. });
            statement.depth as usize == nest.depth + 1 && !by_lanes
        });
        let positions: Vec<usize> =
            blocked.iter().copied().filter(|&position| !self.shares_reduction(position)).collect();
        let reduces: Vec<Reduce> = positions.iter().map(|&position| self.reduce_or_total(position)).collect();
        let width = reduces.first()?.width();
        let copies = (width / gang) as usize;
        let registers: usize = reduces.iter().map(|reduce| reduce.registers(gang) * copies).sum();
        let in_registers = reduces.iter().all(|reduce| reduce.may_be_in_registers() && reduce.width() == width);
        // Reduces in order, and scans that are not in tiles, go through gangs lane by lane.
        let gangs = nest.inner.clone().all(|position| match &self.kernel.statements[position].action {
            Action::Reduce { .. } => blocked.contains(&position),
            Action::Scan { .. } => self.scans.get(&position).is_some_and(|scan| scan.is_tiled()),
            _ => true,
        });
        let fits = copies > 0 && copies * statements.len() <= STATEMENTS && registers <= self.accumulator_registers();
        (flat && in_registers && gangs && fits).then_some(Unrolled { positions, width })
    }

    /// Steps `low..high`, a multiple of the width, in unrolled iterations.
    pub(super) fn run_unrolled(
        &mut self,
        nest: &EmittedLevel,
        unrolled: &Unrolled,
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
        self.gangs(nest, (low, high), None, gang, low, Some(unrolled))?;
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
