//! What steps make.

use fusebox_ir::{Step, ValueId};
use smallvec::SmallVec;

/// Values that are made in the turns of a loop.
pub(super) type Made = SmallVec<[ValueId; 64]>;

/// The values that steps make, in branches and loops too.
pub(super) fn makes(steps: &[Step], made: &mut Made) {
    for step in steps {
        made.extend(step.makes().iter().copied());
        match step {
            Step::While { state, .. } => made.extend(state.iter().copied()),
            Step::Lanes { lane, .. } => made.push(*lane),
            _ => {}
        }
        step.inner().into_iter().for_each(|steps| makes(steps, made));
    }
}
