//! The scalar functions that are not exact: correctly rounded here, by `core-math`.

use fusebox_ir::{Binary, Constant, ElementType, Unary, primitive};

/// The result for a float; `None` if there is no such function of the operand's type.
pub(crate) fn unary(function: Unary, a: Constant) -> Option<Constant> {
    let x = a.as_f64()?;
    if a.ty() == ElementType::F64 {
        return unary64(function, x).map(Constant::from);
    }
    // f16 functions are those of f32, rounded.
    let result = unary32(function, x as f32)?;
    Some(primitive::float(a.ty(), f64::from(result)))
}

macro_rules! functions {
    ($($function:ident => $f32:ident, $f64:ident;)*) => {
        fn unary32(function: Unary, x: f32) -> Option<f32> {
            match function {
                $(Unary::$function => Some(core_math::$f32(x)),)*
                _ => None,
            }
        }
        fn unary64(function: Unary, x: f64) -> Option<f64> {
            match function {
                $(Unary::$function => Some(core_math::$f64(x)),)*
                _ => None,
            }
        }
    };
}
functions! {
    Cbrt => cbrtf, cbrt;
    Exp => expf, exp;
    Exp2 => exp2f, exp2;
    Expm1 => expm1f, expm1;
    Log => logf, log;
    Log2 => log2f, log2;
    Log10 => log10f, log10;
    Log1p => log1pf, log1p;
    Sin => sinf, sin;
    Cos => cosf, cos;
    Tan => tanf, tan;
    Asin => asinf, asin;
    Acos => acosf, acos;
    Atan => atanf, atan;
    Sinh => sinhf, sinh;
    Cosh => coshf, cosh;
    Tanh => tanhf, tanh;
    Asinh => asinhf, asinh;
    Acosh => acoshf, acosh;
    Atanh => atanhf, atanh;
    Erf => erff, erf;
    Erfc => erfcf, erfc;
}

/// The result for two floats of one type; `None` if there is no such function of them.
pub(crate) fn binary(function: Binary, a: Constant, b: Constant) -> Option<Constant> {
    let (x, y) = (a.as_f64()?, b.as_f64()?);
    if a.ty() == ElementType::F64 {
        return Some(Constant::from(match function {
            Binary::Pow => core_math::pow(x, y),
            Binary::Atan2 => core_math::atan2(x, y),
            Binary::Hypot => core_math::hypot(x, y),
            _ => return None,
        }));
    }
    let (x, y) = (x as f32, y as f32);
    let result = match function {
        Binary::Pow => core_math::powf(x, y),
        Binary::Atan2 => core_math::atan2f(x, y),
        Binary::Hypot => core_math::hypotf(x, y),
        _ => return None,
    };
    Some(primitive::float(a.ty(), f64::from(result)))
}
