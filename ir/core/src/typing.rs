//! Which scalar functions exist for which element types, and the types of their results.

use crate::{Binary, ElementType, Unary};

impl Unary {
    /// The type of the result for an operand of type `a`; `None` where the type has no such function.
    pub fn result_type(self, a: ElementType) -> Option<ElementType> {
        let (fits, result) = match self {
            Self::Neg | Self::Abs | Self::Sign => (a.is_number(), a),
            Self::Not => (a == ElementType::Bool, a),
            Self::Complement | Self::Popcount | Self::Clz | Self::Ctz => (a.is_integer(), a),
            Self::IsNan | Self::IsInf => (a.is_float(), ElementType::Bool),
            Self::Sqrt
            | Self::Cbrt
            | Self::Exp
            | Self::Exp2
            | Self::Expm1
            | Self::Log
            | Self::Log2
            | Self::Log10
            | Self::Log1p
            | Self::Sin
            | Self::Cos
            | Self::Tan
            | Self::Asin
            | Self::Acos
            | Self::Atan
            | Self::Sinh
            | Self::Cosh
            | Self::Tanh
            | Self::Asinh
            | Self::Acosh
            | Self::Atanh
            | Self::Erf
            | Self::Erfc
            | Self::Floor
            | Self::Ceil
            | Self::Trunc
            | Self::Round => (a.is_float(), a),
        };
        fits.then_some(result)
    }
}

impl Binary {
    /// The type of the result for operands of types `a` and `b`; `None` where the types have no such function.
    pub fn result_type(self, a: ElementType, b: ElementType) -> Option<ElementType> {
        if self.is_shift() {
            return (a.is_integer() && b.is_integer()).then_some(a);
        }
        if a != b {
            return None;
        }
        let fits = match self {
            Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Rem => a.is_number(),
            Self::DivFloor | Self::ModFloor => a.is_integer(),
            Self::Min | Self::Max | Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => true,
            Self::And | Self::Or | Self::Xor => !a.is_float(),
            Self::LogicalAnd | Self::LogicalOr => a == ElementType::Bool,
            Self::Pow | Self::Atan2 | Self::Hypot => a.is_float(),
            Self::Shl | Self::Shr | Self::RotateLeft | Self::RotateRight => false,
        };
        fits.then_some(if self.is_comparison() { ElementType::Bool } else { a })
    }
}

impl ElementType {
    /// Whether values convert to `to`: all do to numbers; to `bool` only `bool` itself, numbers become one by comparing.
    pub fn converts_to(self, to: Self) -> bool {
        to.is_number() || self == to
    }

    /// Whether the bits of a value are those of a value of type `to`: numbers of one width, and every type itself.
    pub fn has_bits_of(self, to: Self) -> bool {
        self == to || (self.is_number() && to.is_number() && self.bytes() == to.bytes())
    }
}
