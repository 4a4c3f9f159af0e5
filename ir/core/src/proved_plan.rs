//! Plans whose accesses are proved.

use std::{ops::Deref, sync::Arc};

use crate::Plan;

/// A valid plan whose runs touch no memory but that of its arrays, whatever the inputs: every index that is not checked is inside of its array, and
/// arrays of appends have room for what is appended. Backends add no guards to it.
///
/// Lowering makes it of a program, with the proofs. It cannot be changed: whoever edits a plan has a [`Plan`], which backends guard.
#[derive(Clone, Debug)]
pub struct ProvedPlan(Arc<Plan>);

impl ProvedPlan {
    /// Vouches for a plan.
    ///
    /// # Safety
    /// The plan is as the type says: valid ([`crate::validate_plan`]), every index that is not checked inside of its array whatever the inputs,
    /// and room for what is appended.
    #[allow(unsafe_code)]
    pub unsafe fn new(plan: Plan) -> Self {
        Self(Arc::new(plan))
    }

    /// The plan, for any use; a clone if others have it too.
    pub fn into_plan(self) -> Plan {
        Arc::unwrap_or_clone(self.0)
    }

    /// The plan, shared.
    pub fn shared(&self) -> Arc<Plan> {
        Arc::clone(&self.0)
    }
}

impl Deref for ProvedPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.0
    }
}
