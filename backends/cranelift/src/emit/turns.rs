//! Levels across lanes whose accumulators all stay in registers: a step of the loop is a turn, in which each of them gets an element.

use fusebox_ir::Action;

use super::{Emitter, Result, levels::Nest, statement::reduce::Reduce};
use crate::vector::Value;

/// Statements of a turn, at most: for more, what code costs is more than what accumulators in memory do.
const STATEMENTS: usize = 64;

/// How a level runs in turns.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// The reduces, and scans for their totals.
    positions: Vec<usize>,
    /// Interleaved accumulators of each: the steps of a turn.
    width: u32,
}

impl Turns {
    /// Steps that run in turns come in multiples of this.
    pub(super) fn width(&self) -> u32 {
        self.width
    }
}

impl Emitter<'_> {
    /// How a level, of which `blocked` are the reduces and scans with totals, runs in turns, in gangs of `gang`, if all fits.
    pub(super) fn turns(&self, nest: &Nest, blocked: &[usize], gang: u32) -> Option<Turns> {
        let statements = &self.kernel.statements[nest.inner.clone()];
        let flat = statements.iter().all(|statement| {
            let by_lanes = matches!(statement.action, Action::Append { .. } | Action::Scatter { .. });
            statement.depth as usize == nest.depth + 1 && !by_lanes
        });
        let positions: Vec<usize> = blocked.iter().copied().filter(|&position| !self.has_twin(position)).collect();
        let reduces: Vec<Reduce> = positions.iter().filter_map(|&position| self.reduce_or_total(position)).collect();
        let width = reduces.first()?.width();
        let turns = (width / gang) as usize;
        let registers: usize = reduces.iter().map(|reduce| reduce.registers(gang) * turns).sum();
        let kept = reduces.iter().all(|reduce| reduce.is_kept() && reduce.width() == width);
        // Reduces in order, and scans that are not in tiles, go through gangs lane by lane.
        let gangs = nest.inner.clone().all(|position| match &self.kernel.statements[position].action {
            Action::Reduce { .. } => blocked.contains(&position),
            Action::Scan { .. } => self.scans.get(&position).is_some_and(|scan| scan.is_tiled()),
            _ => true,
        });
        let fits = turns > 0 && turns * statements.len() <= STATEMENTS && registers <= self.accumulator_registers();
        (flat && kept && gangs && fits).then_some(Turns { positions, width })
    }

    /// Steps `low..high`, a multiple of the width, in turns.
    pub(super) fn in_turns(&mut self, nest: &Nest, turns: &Turns, (low, high): (Value, Value), gang: u32) -> Result {
        let own = self.states.len();
        for number in 0..turns.width / gang {
            let slot = self.b.int(i64::from(number * gang));
            for &position in &turns.positions {
                let Some(reduce) = self.reduce_or_total(position) else { continue };
                let values = self.accumulators(&reduce, slot, gang);
                self.states.extend(values);
            }
        }
        self.gangs(nest, (low, high), None, gang, low, Some(turns))?;
        let mut kept = self.states.split_off(own).into_iter();
        for number in 0..turns.width / gang {
            let slot = self.b.int(i64::from(number * gang));
            for &position in &turns.positions {
                self.keep(position, None);
                let Some(reduce) = self.reduce_or_total(position) else { continue };
                let values: Vec<Value> = kept.by_ref().take(reduce.components()).collect();
                self.put_back(&reduce, slot, &values);
            }
        }
        Ok(())
    }

    /// The turn that begins at a step.
    pub(super) fn turn(&mut self, nest: &Nest, turns: &Turns, step: Value, gang: u32) -> Result {
        let reduces: Vec<usize> = (turns.positions.iter())
            .filter_map(|&position| self.reduce_or_total(position).map(|reduce| reduce.components()))
            .collect();
        let gangs = (turns.width / gang) as usize;
        let mut first = self.states.len() - gangs * reduces.iter().sum::<usize>();
        for number in 0..gangs {
            for (&position, components) in turns.positions.iter().zip(&reduces) {
                self.keep(position, Some(first));
                first += components;
            }
            let step = self.b.add_int(step, (number * gang as usize) as i64);
            self.step(nest, step, gang)?;
        }
        Ok(())
    }
}
