//! Lanes one after the other, each with a body of its own.

use fusebox_ir::{Fault, Operand, Place, PlanOperand, RunError, Step, ValueId};

use super::{PlanRun, counts::bytes};
use crate::{
    Error,
    val::{self, Val},
};

/// A step of lanes.
pub(super) struct Lanes<'p> {
    pub(super) lane: ValueId,
    pub(super) body: &'p [Step],
    pub(super) given: &'p [PlanOperand],
    pub(super) results: &'p [ValueId],
}

impl PlanRun<'_> {
    pub(super) fn lanes(&mut self, count: i64, step: &Lanes<'_>, at: (&str, &Place)) -> Result<(), Error> {
        let mut all: Vec<Vec<Val>> = vec![Vec::new(); step.given.len()];
        for number in 0..count {
            self.make(step.lane, Val::scalar(number.into()), None);
            self.steps(step.body).map_err(|error| in_lane(error, number))?;
            for (&given, all) in step.given.iter().zip(&mut all) {
                all.push(self.operand(given));
            }
            self.forget(step.lane);
            for made in step.body.iter().flat_map(Step::makes) {
                if step.given.contains(&Operand::Value(*made)) {
                    self.forget(*made);
                }
            }
        }
        for (values, pair) in all.into_iter().zip(step.results.chunks_exact(2)) {
            let total: i64 = values.iter().map(|value| value.len() as i64).sum();
            let memory = self.meter.memory(8);
            self.make(pair[0], Val::scalar(total.into()), Some(memory));
            let (extents, element) = self.shape(pair[1]);
            let extents = val::checked(self.name(pair[1]), extents).map_err(|fault| failed(at, fault))?;
            let elements = values.iter().flat_map(|value| value.scalars().iter().copied()).collect();
            let joined = Val::new(element, extents, elements);
            self.counts.moved(std::slice::from_ref(&joined));
            let memory = self.meter.memory(bytes(&joined));
            self.make(pair[1], joined, Some(memory));
        }
        Ok(())
    }
}

fn failed((operation, place): (&str, &Place), fault: Fault) -> Error {
    RunError { operation: operation.to_owned(), place: place.clone(), fault }.into()
}

/// What fails in a lane says in which.
fn in_lane(error: Error, lane: i64) -> Error {
    match error {
        Error::Run(RunError { operation, place, fault }) => {
            RunError { operation, place, fault: fault.in_lane(vec![lane]) }.into()
        }
        other => other,
    }
}
