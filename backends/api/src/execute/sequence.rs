//! Launches of rows one after the other, where the machine does them in strips.

use fusebox_ir::{
    Operand, Place, Step, ValueId,
    analysis::{RowLaunch, RowSequence},
};

use super::state::{Executor, Result, Value};
use crate::{asked::Few, machine::Machine, profile, turns::RowShape};

impl<M: Machine> Executor<'_, M> {
    /// Does the steps of a sequence, if the machine gains by doing its launches in strips; whether they are done. If not, they go on as others
    /// do: also if one of them fails, as the failure that a user sees is the first one of steps in order.
    ///
    /// Whoever asks for the times of launches gets those of each alone.
    pub(super) fn sequence(&mut self, sequence: &RowSequence, steps: &[Step]) -> Result<bool> {
        if profile::is_wanted() || !self.gains(sequence, steps) {
            return Ok(false);
        }
        let launches = (&sequence.launches[..], steps);
        let written = sequence.kept.iter().filter(|id| sequence.arrays.contains(id)).map(|&id| (None, id));
        // What is wrong with a step is said where its turn comes.
        let Ok(changing) = self.changing(launches, written, (&sequence.read, sequence.offsets)) else {
            return Ok(false);
        };
        for &position in &sequence.before {
            if self.step(&steps[position], &[]).is_err() {
                return Ok(false);
            }
        }
        let mut after: Few<Value> = Few::new();
        for &(_, number) in &changing.states {
            let (id, extents) = (changing.ids[number], changing.extents[number].clone());
            match self.allocate(id, extents, "sequence", &Place::default()) {
                Ok(value) => after.push(value),
                Err(_) => {
                    after.into_iter().for_each(|value| self.drop_value(value));
                    return Ok(false);
                }
            }
        }
        let Ok(Some(after)) = self.rows_into(1, launches, &changing, after) else { return Ok(false) };
        for (&(_, number), value) in changing.states.iter().zip(after) {
            self.set(changing.ids[number], value);
        }
        self.names(sequence, steps)?;
        Ok(true)
    }

    /// Whether the machine gains by strips: as far as sizes say, without lists.
    fn gains(&self, sequence: &RowSequence, steps: &[Step]) -> bool {
        let rows = |launch: &RowLaunch| match &steps[launch.step] {
            Step::Launch { sizes, .. } => Some(self.extent(*sizes.get(launch.rows)?).ok()? - launch.less),
            _ => None,
        };
        let bytes = |id: ValueId| {
            let extents = self.extents_of(id, None).ok()?;
            usize::try_from(extents.iter().product::<i64>()).ok()?.checked_mul(self.element(id).bytes())
        };
        let arrays = sequence.arrays.iter().chain(&sequence.read);
        let all = arrays.map(|&id| bytes(id)).try_fold(0usize, |all, own| all.checked_add(own?));
        let (Some(rows), Some(all)) = (sequence.launches.first().and_then(rows), all) else { return false };
        let row_bytes = all / usize::try_from(rows).unwrap_or_default().max(1);
        self.machine.gains_in_strips(RowShape { rows, row_bytes, reach: sequence.reach() })
    }

    /// Gives the arrays that are there afterwards their names, and frees what the steps free.
    fn names(&mut self, sequence: &RowSequence, steps: &[Step]) -> Result<()> {
        for (position, step) in steps.iter().enumerate() {
            let is_done = sequence.before.contains(&position);
            match step {
                Step::Allocate { value, .. } if !is_done => {
                    let is_kept = sequence.kept.contains(value);
                    if is_kept && !sequence.arrays.contains(value) {
                        self.step(step, &[])?;
                    }
                }
                // Of arrays that are not kept there is nothing to name.
                Step::Alias { source: Operand::Value(source), .. } if !is_done && self.value(*source).is_ok() => {
                    self.step(step, &[])?;
                }
                Step::Free { value } => self.free(*value),
                _ => {}
            }
        }
        Ok(())
    }
}
