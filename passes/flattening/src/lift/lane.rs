//! What messages say of the lane in which they are true, and which types things have in a lane.

use fusebox_ir::{ScalarOperand, Type};

use crate::faults;

/// A message, and the lane of these coordinates in which it is true.
pub(super) fn in_lane(message: &str, lane: &[ScalarOperand]) -> (String, Vec<ScalarOperand>) {
    (faults::in_lane(message, lane.len()), lane.to_vec())
}

/// The type in a lane of a result of a nest.
pub(super) fn type_in_lane(ty: &Type) -> Type {
    let mut levels = ty.inner.iter().cloned();
    let extents = levels.next().unwrap_or_default();
    Type { inner: levels.collect(), ..Type::array(extents, ty.element) }
}
