//! What messages say of the lane in which they are true.

use fusebox_ir::ScalarOperand;

use crate::faults;

/// A message, and the lane of these coordinates in which it is true.
pub(super) fn in_lane(message: &str, lane: &[ScalarOperand]) -> (String, Vec<ScalarOperand>) {
    (faults::in_lane(message, lane.len()), lane.to_vec())
}
