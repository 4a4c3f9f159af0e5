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
        let (uniform, same_turns) = self.uniform_states(condition, step, &starts);
        if same_turns {
            let together = |this: &mut Self| match Counted::of(condition, step).filter(|counted| uniform[counted.state])
            {
                Some(counted) => this.repeat_counted(&counted, step, &starts, &uniform),
                None => this.repeat_together(condition, step, &starts, &uniform),
            };
            // Where no lane takes part, not even the first condition may be asked.
            let asks = self.mask.is_some_and(|mask| self.b.lanes(mask) > 1 && self.some_lane != Some(mask));
            return if asks { self.where_some_lane(together) } else { together(self) };
        }
        let used = |at: usize| self.used.contains(&results[at].id);
        let uniform = self.uniform_where_lanes_leave(condition, step, uniform, used);
        self.repeat_apart((condition, step), &starts, &uniform, results)
    }

    /// A loop of which each lane makes its own turns; the states at these places are the same in all lanes that still make them.
    fn repeat_apart(
        &mut self,
        (condition, step): (&Lambda, &Lambda),
        starts: &[Val],
        uniform: &[bool],
        results: &[Local],
    ) -> Result<Vec<Val>> {
        let lanes = self.lanes;
        let mut carried = self.as_states(starts, uniform);
        // Lanes leave with what such a state is in their last turn.
        let left = (0..uniform.len()).filter(|&at| uniform[at] && self.used.contains(&results[at].id));
        let left: Vec<usize> = left.collect();
        carried.extend(left.iter().map(|&at| self.gang(starts[at])));
        let everyone = self.b.constant(Constant::from(true));
        let active = self.mask.unwrap_or(everyone);
        carried.push(self.b.splat(active, lanes));
        let mut open = self.b.begin_while(&carried);
        let outer = self.mask;
        let (state, kept) = open.carried.split_at(uniform.len());
        let (state, kept, active) = (state.to_vec(), kept.to_vec(), kept[left.len()]);
        let arguments: Vec<Val> = state.iter().map(|&value| self.val(value)).collect();
        self.mask = Some(active);
        let holds = self.lambda(condition, &arguments)?[0];
        let holds = self.gang(holds);
        let active = self.b.binary(Binary::And, active, holds);
        let any = self.b.any(active);
        self.b.while_body(&mut open, any);
        self.mask = Some(active);
        let known = self.some_lane.replace(active);
        let next = self.lambda(step, &arguments)?;
        self.some_lane = known;
        let states = self.as_states(&next, uniform);
        let mut next: Vec<Value> = Vec::new();
        for (at, (&new, &old)) in states.iter().zip(&state).enumerate() {
            let kept = !uniform[at] && self.used.contains(&results[at].id);
            next.push(if kept { self.b.select(active, new, old) } else { new });
        }
        next.extend(left.iter().zip(&kept).map(|(&at, &old)| self.b.select(active, states[at], old)));
        next.push(active);
        self.mask = outer;
        let ended = self.b.end_while(open, next);
        let mut results: Vec<Val> = ended[..uniform.len()].iter().map(|&value| self.val(value)).collect();
        for (&at, &value) in left.iter().zip(&ended[uniform.len()..]) {
            results[at] = Val::Gang(value);
        }
        Ok(results)
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
