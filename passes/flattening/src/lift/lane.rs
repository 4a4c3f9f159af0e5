//! What messages say of the lane in which they are true.

use fusebox_ir::ScalarOperand;

/// A message, and the lane of these coordinates in which it is true.
pub(super) fn in_lane(message: &str, lane: &[ScalarOperand]) -> (String, Vec<ScalarOperand>) {
    match lane {
        [] => (message.to_owned(), Vec::new()),
        [one] => (format!("{message}, in lane {{}}"), vec![*one]),
        lane => (format!("{message}, in lane [{}]", vec!["{}"; lane.len()].join(", ")), lane.to_vec()),
    }
}
