//! Which element types each scalar function is for.

use crate::{Binary, Unary};

/// What a function is for.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    Numbers,
    Integers,
    Floats,
    Bits,
    Bools,
    All,
}

pub(super) fn unary_takes(function: Unary) -> Takes {
    use Unary::*;
    match function {
        Neg | Abs | Sign => Takes::Numbers,
        Not => Takes::Bools,
        Complement | Popcount | Clz | Ctz => Takes::Integers,
        Sqrt | Cbrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Tan | Asin | Acos | Atan | Sinh
        | Cosh | Tanh | Asinh | Acosh | Atanh | Erf | Erfc | Floor | Ceil | Trunc | Round | IsNan | IsInf => {
            Takes::Floats
        }
    }
}

pub(super) fn binary_takes(function: Binary) -> Takes {
    use Binary::*;
    match function {
        Add | Sub | Mul | Div | Rem => Takes::Numbers,
        DivFloor | ModFloor | Shl | Shr | RotateLeft | RotateRight => Takes::Integers,
        Min | Max | Eq | Ne | Lt | Le | Gt | Ge => Takes::All,
        And | Or | Xor => Takes::Bits,
        LogicalAnd | LogicalOr => Takes::Bools,
        Pow | Atan2 | Hypot => Takes::Floats,
    }
}

impl Takes {
    /// For people.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Integers => "integers",
            Self::Floats => "floats",
            Self::Bits => "integers, bool",
            Self::Bools => "bool",
            Self::All => "any",
        }
    }
}
