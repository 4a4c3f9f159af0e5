//! Steps in order, branches and loops.

use fusebox_ir::{Operand, PlanOperand, Step, ValueId};
use smallvec::SmallVec;

use super::{
    made::{Made, makes},
    state::{Executor, Result, Value},
};
use crate::{asked::LaneStep, machine::Machine};

impl<M: Machine> Executor<'_, M> {
    /// Runs steps in order.
    pub(super) fn steps(&mut self, steps: &[Step]) -> Result<()> {
        let mut position = 0;
        while let Some(step) = steps.get(position) {
            if let Some(sequence) = self.machine.row_sequence(step)
                && self.sequence(sequence, &steps[position..][..sequence.steps])?
            {
                position += sequence.steps;
                continue;
            }
            if let Some(count) = self.machine.independent(step)
                && self.independent(&steps[position..][..count])?
            {
                position += count;
                continue;
            }
            self.step(step, &steps[position + 1..])?;
            position += 1;
        }
        Ok(())
    }

    /// Runs a step; `rest` are those that follow it in its list.
    pub(super) fn step(&mut self, step: &Step, rest: &[Step]) -> Result<()> {
        match step {
            Step::Allocate { value, in_place_of, operation, place } => {
                self.make(*value, *in_place_of, operation, place)?;
            }
            Step::Constant { value, data } => self.written_out(*value, data)?,
            Step::Launch { kernel, sizes, arrays } => self.launch(*kernel, sizes, arrays)?,
            Step::Alias { value, source, operation, place } => self.alias(*value, *source, operation, place)?,
            Step::Truncate { value, source } => self.truncate(*value, *source)?,
            Step::Copy { value, source } => self.copy(*value, *source, rest)?,
            Step::CheckEqual { left, left_name, right, right_name, operation, place } => {
                self.check_equal((*left, left_name), (*right, right_name), operation, place)?;
            }
            Step::CheckAtMost { extent, name, available, array, operation, place } => {
                self.check_at_most((*extent, name), (*available, array), operation, place)?;
            }
            Step::CheckNotNegative { extent, array, operation, place } => {
                self.check_not_negative(*extent, array, operation, place)?;
            }
            Step::Sort { keys, carry, results } => self.sort(keys, carry, results)?,
            Step::If { condition, then, otherwise, results: _ } => {
                if self.truth(*condition)? {
                    self.steps(then)?;
                } else {
                    self.steps(otherwise)?;
                }
            }
            Step::While { state, condition_steps, condition, body, next } => {
                self.repeat(state, condition_steps, *condition, body, next)?
            }
            Step::Lanes { lane, count, body, given, results, operation, place } => {
                let step = LaneStep { lane: *lane, body, given };
                self.lanes(step, *count, results, (operation, place))?;
            }
            Step::Free { value } => self.free(*value),
        }
        Ok(())
    }

    /// Runs a loop. Its state moves from iteration to iteration and is not copied.
    fn repeat(
        &mut self,
        state: &[ValueId],
        condition_steps: &[Step],
        condition: PlanOperand,
        body: &[Step],
        next: &[PlanOperand],
    ) -> Result<()> {
        let mut made = Made::new();
        makes(body, &mut made);
        let moves: Moves = state.iter().copied().zip(next.iter().copied()).collect();
        if let Some(&first) = state.first()
            && let Some(row_loop) = self.machine.row_loop(first)
            && self.in_strips(row_loop, (condition_steps, condition), (body, &made), &moves)?
        {
            return Ok(());
        }
        loop {
            self.steps(condition_steps)?;
            if !self.truth(condition)? {
                return Ok(());
            }
            self.steps(body)?;
            self.advance(&moves, &made)?;
        }
    }

    /// What a turn made becomes the state.
    pub(super) fn advance(&mut self, moves: &[(ValueId, PlanOperand)], made: &Made) -> Result<()> {
        let mut new: SmallVec<[Value; 8]> = SmallVec::new();
        for &(_, operand) in moves {
            new.push(match operand {
                Operand::Value(id) => self.again(id)?,
                Operand::Constant(constant) => self.number(constant),
            });
        }
        // What the body made moves: otherwise it would keep a second name, and nothing could be written in place.
        for &(_, operand) in moves {
            if let Operand::Value(id) = operand
                && made.contains(&id)
            {
                self.free(id);
            }
        }
        for (&(id, _), stored) in moves.iter().zip(new) {
            self.set(id, stored);
        }
        Ok(())
    }
}

/// The state of a loop, and what moves there at the end of a turn.
pub(super) type Moves = SmallVec<[(ValueId, PlanOperand); 8]>;
