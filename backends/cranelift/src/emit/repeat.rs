//! Loops of scalar code: of one point, of a gang of which all lanes make the same turns, and of one of which each lane makes its own.

use fusebox_ir::{Binary, Constant, Lambda, Local, ScalarOperand};

use super::{Emitter, Result, Val, counted::Counted};
use crate::vector::Value;

impl Emitter<'_> {
    /// A loop. Lanes that have left it are computed with the others. What they leave it with is kept where something uses it: what nobody uses is
    /// whatever comes out, and the next turn does not wait until it is known which lanes go on.
    pub(super) fn repeat(
        &mut self,
        condition: &Lambda,
        step: &Lambda,
        starts: &[ScalarOperand],
        results: &[Local],
    ) -> Result<Vec<Val>> {
        let starts = starts.iter().map(|&start| self.operand(start)).collect::<Result<Vec<_>>>()?;
        if let Some(uniform) = self.uniform_states(condition, step, &starts) {
            let same_turns =
                |this: &mut Self| match Counted::of(condition, step).filter(|counted| uniform[counted.state]) {
                    Some(counted) => this.repeat_counted(&counted, step, &starts, &uniform),
                    None => this.repeat_together(condition, step, &starts, &uniform),
                };
            // Where no lane takes part, not even the first condition may be asked.
            let asks = self.mask.is_some_and(|mask| self.b.lanes(mask) > 1 && self.some_lane != Some(mask));
            return if asks { self.where_some_lane(same_turns) } else { same_turns(self) };
        }
        let lanes = self.lanes;
        let mut carried: Vec<Value> = starts.into_iter().map(|start| self.gang(start)).collect();
        let everyone = self.b.constant(Constant::from(true));
        let active = self.mask.unwrap_or(everyone);
        carried.push(self.b.splat(active, lanes));
        let mut open = self.b.begin_while(&carried);
        let outer = self.mask;
        let (state, active) = open.carried.split_at(open.carried.len() - 1);
        let (state, active) = (state.to_vec(), active[0]);
        let arguments: Vec<Val> = state.iter().map(|&value| Val::Gang(value)).collect();
        self.mask = Some(active);
        let holds = self.lambda(condition, &arguments)?[0];
        let holds = self.gang(holds);
        let active = self.b.binary(Binary::And, active, holds);
        let any = self.b.any(active);
        self.b.while_body(&mut open, any);
        self.mask = Some(active);
        let next = self.lambda(step, &arguments)?;
        let mut next: Vec<Value> = next
            .into_iter()
            .zip(&state)
            .zip(results)
            .map(|((new, &old), result)| {
                let new = self.gang(new);
                if self.used.contains(&result.id) { self.b.select(active, new, old) } else { new }
            })
            .collect();
        next.push(active);
        self.mask = outer;
        let mut results = self.b.end_while(open, next);
        results.pop();
        Ok(results.into_iter().map(Val::Gang).collect())
    }

    /// Whether the only point takes part, where that is asked.
    pub(super) fn masked_point(&self) -> Option<Value> {
        self.mask.filter(|&mask| self.b.lanes(mask) == 1)
    }

    /// A loop that makes so many turns, as their bodies in a row.
    pub(super) fn unrolled_loop(
        &mut self,
        (condition, step): (&Lambda, &Lambda),
        starts: &[ScalarOperand],
        turns: u32,
        results: &[Local],
    ) -> Result {
        let mut states = starts.iter().map(|&start| self.operand(start)).collect::<Result<Vec<_>>>()?;
        for _ in 0..turns {
            // Its value is known; what it checks on the way is not.
            self.lambda(condition, &states)?;
            states = self.lambda(step, &states)?;
        }
        self.lambda(condition, &states)?;
        self.locals.extend(results.iter().map(|local| local.id).zip(states));
        Ok(())
    }

    /// States that a loop carries, of which these are the same in all lanes.
    pub(super) fn as_states(&mut self, values: &[Val], uniform: &[bool]) -> Vec<Value> {
        let states = values.iter().zip(uniform);
        states.map(|(&value, &uniform)| if uniform { self.plain(value) } else { self.gang(value) }).collect()
    }

    /// A loop of which all lanes make the same turns; the states at these places are the same in all of them.
    fn repeat_together(
        &mut self,
        condition: &Lambda,
        step: &Lambda,
        starts: &[Val],
        uniform: &[bool],
    ) -> Result<Vec<Val>> {
        let starts = self.as_states(starts, uniform);
        let outer = self.mask;
        let mut open = self.b.begin_while(&starts);
        let state: Vec<Val> = open.carried.iter().map(|&value| self.val(value)).collect();
        let holds = self.lambda(condition, &state)?[0];
        let holds = self.plain(holds);
        // A masked point makes no turn.
        let point = self.masked_point();
        let holds = self.b.both(Some(holds), point).unwrap_or(holds);
        self.b.while_body(&mut open, holds);
        let next = self.lambda(step, &state)?;
        let next = self.as_states(&next, uniform);
        self.mask = outer;
        Ok(self.b.end_while(open, next).into_iter().map(|value| self.val(value)).collect())
    }
}
