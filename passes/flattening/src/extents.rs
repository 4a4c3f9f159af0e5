//! Extents where operations and scalar code want numbers.

use fusebox_ir::{Extent, Operand, ScalarValue};

/// An extent as an operand.
pub(crate) fn operand(extent: Extent) -> Operand {
    match extent {
        Extent::Constant(value) => Operand::Constant(value.into()),
        Extent::Value(id) => Operand::Value(id),
        Extent::Unknown => Operand::Constant(0i64.into()),
    }
}

/// Extents as operands.
pub(crate) fn operands(extents: &[Extent]) -> Vec<Operand> {
    extents.iter().map(|&extent| operand(extent)).collect()
}

/// An extent as a scalar of code.
pub(crate) fn scalar(extent: Extent) -> ScalarValue {
    ScalarValue::int(operand(extent).in_scalar())
}
