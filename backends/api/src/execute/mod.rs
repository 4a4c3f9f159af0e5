//! Runs the steps of a plan on a machine.

mod at_once;
mod buffers;
mod by_row;
mod lanes;
mod launch;
mod made;
mod memory;
mod on_host;
mod sequence;
mod sizes;
mod sort;
mod state;
mod steps;
mod turns;

pub use self::{
    lanes::LaneRun,
    state::{Statistics, Values},
};

use fusebox_ir::{Constant, Output, Plan, ValueId};

use self::state::{Executor, Result, Value};
use crate::{
    asked::{Given, Stored},
    machine::Machine,
};

/// Runs a plan on its inputs and on the sizes that they bind, both checked; hands its results over, in order, and gives what it took.
///
/// # Errors
/// [`crate::BackendError::Run`] for what fails inside; [`crate::BackendError::BadPlan`] if the plan breaks its own rules; the first of `result`.
pub fn execute<M: Machine>(
    machine: &M,
    plan: &Plan,
    values: &mut Values<M::Buffer>,
    sizes: &[(ValueId, i64)],
    inputs: impl Iterator<Item = Result<Stored<M::Buffer>>>,
    mut result: impl FnMut(Stored<Given<'_, M::Buffer>>, &Output<ValueId>) -> Result<()>,
) -> Result<Statistics> {
    let Values { values, buffers, .. } = values;
    values.clear();
    values.resize_with(plan.values.len(), || None);
    let mut executor = Executor { machine, plan, values, buffers, live_bytes: 0, statistics: Statistics::default() };
    for &(id, size) in sizes {
        executor.set(id, Value::scalar(Constant::from(size), 0));
    }
    let mut ran = executor.take(inputs).and_then(|()| executor.run());
    for (at, (&id, output)) in plan.results.iter().zip(&plan.outputs).enumerate() {
        if ran.is_err() {
            break;
        }
        let again = plan.results[at + 1..].contains(&id);
        ran = executor.hand_over(id, again, |stored| result(stored, output));
    }
    let statistics = executor.statistics;
    values.clear();
    buffers.drain().for_each(|buffer| machine.release(buffer));
    ran.map(|()| statistics)
}

impl<M: Machine> Executor<'_, M> {
    fn take(&mut self, inputs: impl Iterator<Item = Result<Stored<M::Buffer>>>) -> Result<()> {
        let plan = self.plan;
        for (&id, input) in plan.inputs.iter().zip(inputs) {
            self.bind(id, input?);
        }
        Ok(())
    }

    /// All steps; then the results are looked at, and all else goes: a result that nothing else is in keeps its memory.
    fn run(&mut self) -> Result<()> {
        let plan = self.plan;
        self.steps(&plan.steps)?;
        for (&id, output) in plan.results.iter().zip(&plan.outputs) {
            self.bring(id)?;
            self.check_result(self.value(id)?, output)?;
        }
        for position in 0..self.values.len() {
            let id = ValueId::at(position);
            if !plan.results.contains(&id) {
                self.free(id);
            }
        }
        Ok(())
    }

    /// Hands a result over; whether it is a result `again`.
    fn hand_over(
        &mut self,
        id: ValueId,
        again: bool,
        result: impl FnOnce(Stored<Given<'_, M::Buffer>>) -> Result<()>,
    ) -> Result<()> {
        let buffer = self.bring(id)?;
        let value = self.value(id)?;
        let (element, extents, scalar) = (value.element, value.extents.clone(), value.known());
        if again || self.buffers.is_shared(buffer) {
            result(Stored { buffer: Given::Shared(self.buffer(buffer)?), element, extents, scalar })?;
            if !again {
                self.free(id);
            }
            return Ok(());
        }
        self.values[id.index()] = None;
        match self.buffers.leave(buffer) {
            Some((buffer, _)) => result(Stored { buffer: Given::Own(buffer), element, extents, scalar }),
            None => Err(self.bad_plan(format!("result `{}` is in no memory", self.name(id)))),
        }
    }
}
