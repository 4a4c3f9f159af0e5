//! Leaving a function with a failure.

use fusebox_ir::{Failure, ScalarOperand};

use super::{Emitter, Result, Val};
use crate::vector::{Site, Value};

impl Emitter<'_> {
    /// A check: fails where the condition does not hold.
    pub(super) fn check(&mut self, condition: ScalarOperand, when: Option<Value>, failure: &Failure) -> Result {
        let condition = self.operand(condition)?;
        let condition = self.plain(condition);
        let failed = self.b.not(condition);
        let failed = self.b.both(Some(failed), when);
        let operands = failure.fault.operands().into_iter().map(|&operand| self.operand(operand));
        let operands = operands.collect::<Result<Vec<_>>>()?;
        if let Some(failed) = failed {
            self.fail(failed, failure.clone(), &operands);
        }
        Ok(())
    }

    /// Leaves with a failure where `failed` holds of a lane that takes part.
    pub(super) fn fail(&mut self, failed: Value, failure: Failure, operands: &[Val]) {
        // Where some lane is known to take part, what is the same in all lanes fails in that one: the mask is not asked.
        let same = |value: &Val| matches!(value, Val::Uniform(_));
        let all = self.b.lanes(failed) == 1 && self.some_lane == self.mask && operands.iter().all(same);
        let mask = self.mask.filter(|_| !all);
        let failed = self.b.both(Some(failed), mask).unwrap_or(failed);
        let lanes = self.b.lanes(failed);
        let operands: Vec<Value> =
            operands.iter().map(|&value| if lanes == 1 { self.plain(value) } else { self.gang(value) }).collect();
        // A uniform condition on operands that differ: those of the first lane.
        let operands: Vec<Value> =
            operands.into_iter().map(|value| if lanes == 1 { self.b.extract(value, 0) } else { value }).collect();
        let site = self.b.site(Site { failure, lanes, operands: operands.len() });
        self.b.fail_if(failed, site, operands);
    }
}
