//! Scalars of functions under construction.

use crate::{ArrayId, Constant, ElementType, ScalarOperand};

/// A scalar while a function is built: an operand and its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalarValue {
    /// What instructions use.
    pub operand: ScalarOperand,
    /// Its type.
    pub ty: ElementType,
}

impl ScalarValue {
    /// A value of rank 0 bound outside of the function.
    pub fn outer(id: ArrayId, ty: ElementType) -> Self {
        Self { operand: ScalarOperand::Outer(id), ty }
    }

    /// An index, a size, or another `i64`.
    pub fn int(operand: ScalarOperand) -> Self {
        Self { operand, ty: ElementType::I64 }
    }
}

impl From<ScalarValue> for ScalarOperand {
    fn from(value: ScalarValue) -> Self {
        value.operand
    }
}

impl<T: Into<Constant>> From<T> for ScalarValue {
    fn from(value: T) -> Self {
        let constant = value.into();
        Self { operand: constant.into(), ty: constant.ty() }
    }
}
