//! Which element types each scalar function is for.

use super::*;

/// What a function is for.
#[derive(Clone, Copy)]
pub(in crate::text) enum Takes {
    Numbers,
    Integers,
    Floats,
    Bits,
    Bools,
    All,
}

pub(in crate::text) fn unary_takes(function: Unary) -> Takes {
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

pub(in crate::text) fn binary_takes(function: Binary) -> Takes {
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
    pub fn what(self) -> &'static str {
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

impl Lower<'_, '_> {
    pub(super) fn takes(&self, takes: Takes, name: &str, ty: ElementType, span: Span) -> Parsed<()> {
        let (fits, what) = match takes {
            Takes::Numbers => (ty.is_number(), "numbers"),
            Takes::Integers => (ty.is_integer(), "integers"),
            Takes::Floats => (ty.is_float(), "floats"),
            Takes::Bits => (ty.is_integer() || ty == ElementType::Bool, "integers and `bool`"),
            Takes::Bools => (ty == ElementType::Bool, "`bool`"),
            Takes::All => (true, ""),
        };
        if fits {
            return Ok(());
        }
        let fault = fault(span, format!("`{name}` is for {what}, and `{ty}` is given"));
        Err(match (name, ty) {
            ("!", _) if ty.is_integer() => fault.help("`~` turns the bits of an integer round"),
            ("~", ElementType::Bool) => fault.help("`!` is the other `bool`"),
            (_, _) if matches!(takes, Takes::Floats) && ty.is_integer() => fault.help("`f32(x)` or `f64(x)` converts"),
            _ => fault,
        })
    }
}
