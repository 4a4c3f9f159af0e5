//! Loops of rows: several turns at once, where the machine does them in strips.

use fusebox_ir::{Constant, Place, PlanOperand, Step, ValueId, analysis::RowLoop};

use super::{
    by_row::Changing,
    made::Made,
    state::{Executor, Result, Value},
    steps::Moves,
};
use crate::{asked::Few, machine::Machine};

impl<M: Machine> Executor<'_, M> {
    /// Does turns of a loop many at once, as long as there are more; whether the loop is over. If not, it goes on as others do, from the state
    /// that is there then: then the machine does not do the turns at once, or one of them fails, and the failure that a user sees is the one
    /// of steps in order.
    pub(super) fn in_strips(
        &mut self,
        row_loop: &RowLoop,
        condition: (&[Step], PlanOperand),
        (body, made): (&[Step], &Made),
        moves: &Moves,
    ) -> Result<bool> {
        let states = row_loop.states.iter().map(|&(state, next)| (Some(moves[state].0), next));
        let Ok(changing) = self.changing((&row_loop.launches, body), states, (&[], None)) else { return Ok(false) };
        let Some(most) = self.machine.turns_at_once(changing.shape(row_loop.reach())) else { return Ok(false) };
        let is_array = |state: usize| row_loop.states.iter().any(|&(own, _)| own == state);
        let scalars: Moves =
            moves.iter().enumerate().filter(|(state, _)| !is_array(*state)).map(|(_, &own)| own).collect();
        loop {
            let before: Few<(ValueId, Constant)> =
                scalars.iter().map(|&(id, _)| Ok((id, self.element_of(id)?))).collect::<Result<_>>()?;
            let counted = self.count_turns(most, row_loop, condition, (body, made), &scalars);
            let done = counted.and_then(|(turns, more)| {
                let done = turns == 0 || self.turns(turns, row_loop, body, &changing, moves)?;
                Ok((done, more))
            });
            match done {
                Ok((true, true)) => {}
                Ok((true, false)) => return Ok(true),
                Ok((false, _)) | Err(_) => {
                    for (id, constant) in before {
                        let number = self.number(constant);
                        self.set(id, number);
                    }
                    return Ok(false);
                }
            }
        }
    }

    /// Runs the scalar steps of up to `most` turns ahead: how many turns there are, and whether there may be more.
    fn count_turns(
        &mut self,
        most: usize,
        row_loop: &RowLoop,
        (condition_steps, condition): (&[Step], PlanOperand),
        (body, made): (&[Step], &Made),
        scalars: &Moves,
    ) -> Result<(usize, bool)> {
        for turn in 0..most {
            self.steps(condition_steps)?;
            if !self.truth(condition)? {
                return Ok((turn, false));
            }
            for &position in &row_loop.scalars {
                self.step(&body[position], &body[position + 1..])?;
            }
            self.advance(scalars, made)?;
        }
        Ok((most, true))
    }

    /// Does turns at once; whether it did. Only then the arrays of the state are others.
    fn turns(
        &mut self,
        turns: usize,
        row_loop: &RowLoop,
        body: &[Step],
        changing: &Changing,
        moves: &Moves,
    ) -> Result<bool> {
        let mut after: Few<Value> = Few::new();
        for &(begin, _) in &changing.states {
            let Some(begin) = begin else { continue };
            let (id, extents) = (changing.ids[begin], changing.extents[begin].clone());
            if self.value(id)?.extents != extents {
                return Err(self.bad_plan(format!("`{}` is of other extents than its type", self.name(id))));
            }
            after.push(self.allocate(id, extents, "while", &Place::default())?);
        }
        let Some(after) = self.rows_into(turns, (&row_loop.launches, body), changing, after)? else {
            return Ok(false);
        };
        for (&(state, _), value) in row_loop.states.iter().zip(after) {
            self.set(moves[state].0, value);
        }
        Ok(true)
    }
}
