//! Loops of rows: several turns at once, where the machine does them in strips.

use fusebox_ir::{
    Constant, Place, PlanOperand, Step, ValueId,
    analysis::{RowLoop, kernels::RowUse},
};

use super::{
    buffers::BufferId,
    state::{Executor, Extents, Result, Value},
    steps::{Made, Moves},
};
use crate::{
    machine::{Few, Machine},
    profile::timed,
    turns::{RowShape, TurnArray, TurnLaunch, Turns},
};

/// The arrays of a loop that change.
struct Changing {
    ids: Vec<ValueId>,
    extents: Vec<Extents>,
    row_bytes: Vec<usize>,
    /// For each array of the state its number, and that of the array that stands there after a turn.
    states: Vec<(usize, usize)>,
    rows: i64,
}

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
        let Ok(changing) = self.changing(row_loop, body, moves) else { return Ok(false) };
        let row_bytes = changing.row_bytes.iter().sum();
        let Some(most) = self.machine.turns_at_once(RowShape { rows: changing.rows, row_bytes, row_loop }) else {
            return Ok(false);
        };
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

    /// What each array that changes is like, if all are of equally many rows.
    fn changing(&self, row_loop: &RowLoop, body: &[Step], moves: &Moves) -> Result<Changing> {
        let mut ids: Vec<ValueId> = Vec::new();
        let mut number = |id: ValueId| {
            ids.iter().position(|&own| own == id).unwrap_or_else(|| {
                ids.push(id);
                ids.len() - 1
            })
        };
        let states = row_loop.states.iter().map(|&(state, next)| (number(moves[state].0), number(next))).collect();
        for launch in &row_loop.launches {
            let Step::Launch { arrays, .. } = &body[launch.step] else { continue };
            for (&id, row_use) in arrays.iter().zip(&launch.uses) {
                if *row_use != RowUse::Anywhere {
                    number(id);
                }
            }
        }
        let extents = ids.iter().map(|&id| self.extents_of(id, None)).collect::<Result<Vec<Extents>>>()?;
        let rows = extents.first().map_or(0, |extents| extents[0]);
        let row_bytes = |(extents, &id): (&Extents, &ValueId)| {
            let elements = extents[1..].iter().product::<i64>();
            usize::try_from(elements).ok()?.checked_mul(self.element(id).bytes())
        };
        let row_bytes: Option<Vec<usize>> = extents.iter().zip(&ids).map(row_bytes).collect();
        match row_bytes {
            Some(row_bytes) if extents.iter().all(|extents| extents[0] == rows) => {
                Ok(Changing { ids, extents, row_bytes, states, rows })
            }
            _ => Err(self.bad_plan("arrays of a loop are of different rows".to_owned())),
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
        let mut after: Vec<Value> = Vec::new();
        for &(begin, _) in &changing.states {
            let (id, extents) = (changing.ids[begin], changing.extents[begin].clone());
            if self.value(id)?.extents != extents {
                return Err(self.bad_plan(format!("`{}` is of other extents than its type", self.name(id))));
            }
            after.push(self.allocate(id, extents, "while", &Place::default())?);
        }
        let taken: Vec<Option<(BufferId, M::Buffer)>> = after
            .iter()
            .map(|value| value.buffer.and_then(|buffer| Some((buffer, self.buffers.take(buffer)?))))
            .collect();
        let Some(mut taken) = taken.into_iter().collect::<Option<Vec<_>>>() else {
            return Err(self.bad_plan("a state without memory".to_owned()));
        };
        let ran =
            self.turns_into(turns, row_loop, body, changing, taken.iter_mut().map(|(_, buffer)| buffer).collect());
        for (id, buffer) in taken {
            self.buffers.put(id, buffer);
        }
        match ran {
            Ok(true) => {
                for (&(state, _), value) in row_loop.states.iter().zip(after) {
                    self.set(moves[state].0, value);
                }
                Ok(true)
            }
            failed => {
                after.into_iter().for_each(|value| self.drop_value(value));
                failed
            }
        }
    }

    fn turns_into(
        &mut self,
        turns: usize,
        row_loop: &RowLoop,
        body: &[Step],
        changing: &Changing,
        after: Vec<&mut M::Buffer>,
    ) -> Result<bool> {
        // Scalars get memory before anything is borrowed.
        for launch in &row_loop.launches {
            let Step::Launch { arrays, .. } = &body[launch.step] else { continue };
            for (&id, row_use) in arrays.iter().zip(&launch.uses) {
                if *row_use == RowUse::Anywhere {
                    self.bring(id)?;
                }
            }
        }
        let before: Few<BufferId> =
            changing.states.iter().map(|&(begin, _)| self.bring(changing.ids[begin])).collect::<Result<_>>()?;
        let executor = &*self;
        let mut launches = Vec::with_capacity(row_loop.launches.len());
        for launch in &row_loop.launches {
            let Step::Launch { kernel, sizes, arrays } = &body[launch.step] else { continue };
            let Some(declared) = executor.plan.kernels.get(*kernel) else {
                return Err(executor.bad_plan(format!("there is no kernel {kernel}")));
            };
            let sizes = executor.sizes_of(declared, sizes)?;
            if sizes.get(launch.rows) != Some(&changing.rows) || arrays.len() != declared.arrays.len() {
                return Ok(false);
            }
            let mut given = Few::new();
            for ((&id, &row_use), array) in arrays.iter().zip(&launch.uses).zip(&declared.arrays) {
                let own = if row_use == RowUse::Anywhere {
                    let value = executor.value(id)?;
                    executor.check_array(declared, &sizes, array, (value.element, &value.extents))?;
                    let buffer = value.buffer.map(|buffer| executor.buffer(buffer)).transpose()?;
                    TurnArray::Same(buffer.ok_or_else(|| executor.bad_plan("a scalar without memory".to_owned()))?)
                } else {
                    let Some(number) = changing.ids.iter().position(|&own| own == id) else { return Ok(false) };
                    executor.check_array(declared, &sizes, array, (executor.element(id), &changing.extents[number]))?;
                    TurnArray::Changing(number)
                };
                given.push((own, row_use));
            }
            launches.push(TurnLaunch { kernel: *kernel, sizes, arrays: given });
        }
        let Some(first) = launches.first() else { return Ok(false) };
        let before = before.iter().map(|&buffer| executor.buffer(buffer)).collect::<Result<Vec<_>>>()?;
        let (kernel, sizes) = (first.kernel, first.sizes.clone());
        let turns = Turns {
            turns,
            rows: changing.rows,
            launches,
            row_bytes: &changing.row_bytes,
            states: &changing.states,
            before,
            after,
        };
        timed(kernel, &sizes, || executor.machine.turns(turns))
    }
}
