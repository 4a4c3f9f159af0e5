//! The meaning of the scalar functions that are exact, on constants.
//!
//! The one place for it: the interpreter runs these, simplification folds constants by them. Functions such as `exp`, whose results are
//! within a bound and not to the bit, are not here ([`is_exact`]).

use crate::{Binary, Constant, ElementType, Unary, round_to_f16};

/// Integer division or remainder by zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("division by zero")]
pub struct DivisionByZero;

/// Whether the results of a function are fixed to the bit, so that [`unary`] knows them.
pub fn is_exact(function: Unary) -> bool {
    matches!(
        function,
        Unary::Neg
            | Unary::Not
            | Unary::Complement
            | Unary::Abs
            | Unary::Sign
            | Unary::Popcount
            | Unary::Clz
            | Unary::Ctz
            | Unary::Sqrt
            | Unary::Floor
            | Unary::Ceil
            | Unary::Trunc
            | Unary::Round
            | Unary::IsNan
            | Unary::IsInf
    )
}

/// Whether the results of a function are fixed to the bit, so that [`binary`] knows them.
pub fn is_exact_binary(function: Binary) -> bool {
    !matches!(function, Binary::Pow | Binary::Atan2 | Binary::Hypot)
}

/// The result of an exact function; `None` for inexact ones, and where the operand's type has no such function.
pub fn unary(function: Unary, a: Constant) -> Option<Constant> {
    let ty = a.ty();
    if ty.is_float() {
        return float_unary(function, a);
    }
    if let Some(a) = a.as_bool() {
        return (function == Unary::Not).then(|| Constant::from(!a));
    }
    let (bits, width) = (a.bits(), ty.bits());
    let value = signed(a);
    let result = match function {
        Unary::Neg => value.wrapping_neg() as u64,
        Unary::Complement => !bits,
        Unary::Abs if ty.is_signed() => value.wrapping_abs() as u64,
        Unary::Abs => bits,
        Unary::Sign if ty.is_signed() => value.signum() as u64,
        Unary::Sign => u64::from(bits != 0),
        Unary::Popcount => u64::from(bits.count_ones()),
        Unary::Clz => u64::from(bits.leading_zeros() - (64 - width)),
        Unary::Ctz => u64::from(bits.trailing_zeros().min(width)),
        _ => return None,
    };
    Some(Constant::from_bits(ty, result))
}

/// The sign-extended value of a signed integer; an unsigned one's bits.
fn signed(a: Constant) -> i64 {
    if a.ty().is_signed() { a.as_i64().unwrap_or_default() } else { a.bits() as i64 }
}

fn float_unary(function: Unary, a: Constant) -> Option<Constant> {
    let ty = a.ty();
    let x = a.as_f64()?;
    let sign_bit = 1u64 << (ty.bits() - 1);
    Some(match function {
        Unary::Neg => Constant::from_bits(ty, a.bits() ^ sign_bit),
        Unary::Abs => Constant::from_bits(ty, a.bits() & !sign_bit),
        Unary::Sign if x.is_nan() || x == 0.0 => a,
        Unary::Sign => float(ty, x.signum()),
        // The square root of an f32 or f16, computed in f64 and rounded, is correctly rounded: f64 has more than 2p + 2 digits.
        Unary::Sqrt => float(ty, x.sqrt()),
        Unary::Floor => float(ty, x.floor()),
        Unary::Ceil => float(ty, x.ceil()),
        Unary::Trunc => float(ty, x.trunc()),
        Unary::Round => float(ty, x.round_ties_even()),
        Unary::IsNan => Constant::from(x.is_nan()),
        Unary::IsInf => Constant::from(x.is_infinite()),
        _ => return None,
    })
}

/// `x` rounded to a float type.
pub fn float(ty: ElementType, x: f64) -> Constant {
    match ty {
        ElementType::F16 => Constant::from(round_to_f16(x)),
        ElementType::F32 => Constant::from(x as f32),
        _ => Constant::from(x),
    }
}

/// The result of an exact function of two operands; `Ok(None)` for inexact ones, and where the operands' types have no such function.
///
/// # Errors
/// [`DivisionByZero`] of integers.
pub fn binary(function: Binary, a: Constant, b: Constant) -> Result<Option<Constant>, DivisionByZero> {
    let ty = a.ty();
    if function.is_shift() {
        return Ok((ty.is_integer() && b.ty().is_integer()).then(|| shift(function, a, b)));
    }
    if ty != b.ty() {
        return Ok(None);
    }
    if function.is_comparison() {
        return Ok(Some(Constant::from(compare(function, a, b))));
    }
    if let (Some(x), Some(y)) = (a.as_f64(), b.as_f64()) {
        return Ok(float_binary(function, ty, x, y));
    }
    if let (Some(x), Some(y)) = (a.as_bool(), b.as_bool()) {
        return Ok(match function {
            Binary::And | Binary::LogicalAnd | Binary::Min => Some(x & y),
            Binary::Or | Binary::LogicalOr | Binary::Max => Some(x | y),
            Binary::Xor => Some(x ^ y),
            _ => None,
        }
        .map(Constant::from));
    }
    let result = match function {
        Binary::Add => a.bits().wrapping_add(b.bits()),
        Binary::Sub => a.bits().wrapping_sub(b.bits()),
        Binary::Mul => a.bits().wrapping_mul(b.bits()),
        Binary::And => a.bits() & b.bits(),
        Binary::Or => a.bits() | b.bits(),
        Binary::Xor => a.bits() ^ b.bits(),
        Binary::Min => {
            if less(a, b) {
                a.bits()
            } else {
                b.bits()
            }
        }
        Binary::Max => {
            if less(a, b) {
                b.bits()
            } else {
                a.bits()
            }
        }
        Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor if b.bits() == 0 => return Err(DivisionByZero),
        Binary::Div | Binary::DivFloor if ty.is_unsigned() => a.bits() / b.bits(),
        Binary::Rem | Binary::ModFloor if ty.is_unsigned() => a.bits() % b.bits(),
        Binary::Div => signed(a).wrapping_div(signed(b)) as u64,
        Binary::Rem => signed(a).wrapping_rem(signed(b)) as u64,
        Binary::DivFloor => {
            let (x, y) = (signed(a), signed(b));
            let (quotient, remainder) = (x.wrapping_div(y), x.wrapping_rem(y));
            quotient.wrapping_sub(i64::from(remainder != 0 && (remainder < 0) != (y < 0))) as u64
        }
        Binary::ModFloor => {
            let (x, y) = (signed(a), signed(b));
            let remainder = x.wrapping_rem(y);
            if remainder != 0 && (remainder < 0) != (y < 0) { (remainder + y) as u64 } else { remainder as u64 }
        }
        _ => return Ok(None),
    };
    Ok(Some(Constant::from_bits(ty, result)))
}

fn float_binary(function: Binary, ty: ElementType, x: f64, y: f64) -> Option<Constant> {
    // Sums, products and quotients of f16 or f32 computed in f64 and rounded are correctly rounded: f64 has more than 2p + 2 digits.
    let result = match function {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::Rem => x % y,
        Binary::Min | Binary::Max if x.is_nan() || y.is_nan() => f64::NAN,
        Binary::Min => {
            if x < y || (x == y && x.is_sign_negative()) {
                x
            } else {
                y
            }
        }
        Binary::Max => {
            if x > y || (x == y && x.is_sign_positive()) {
                x
            } else {
                y
            }
        }
        _ => return None,
    };
    Some(float(ty, result))
}

fn less(a: Constant, b: Constant) -> bool {
    if a.ty().is_signed() { signed(a) < signed(b) } else { a.bits() < b.bits() }
}

fn compare(function: Binary, a: Constant, b: Constant) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) => x.partial_cmp(&y),
        _ if less(a, b) => Some(Less),
        _ if less(b, a) => Some(Greater),
        _ => Some(Equal),
    };
    match function {
        Binary::Eq => order == Some(Equal),
        Binary::Ne => order != Some(Equal),
        Binary::Lt => order == Some(Less),
        Binary::Le => matches!(order, Some(Less | Equal)),
        Binary::Gt => order == Some(Greater),
        _ => matches!(order, Some(Greater | Equal)),
    }
}

/// The amount is read as unsigned by shifts, modulo the width by rotations.
fn shift(function: Binary, a: Constant, b: Constant) -> Constant {
    let (ty, width) = (a.ty(), a.ty().bits());
    let amount = b.bits();
    let rotation = (amount % u64::from(width)) as u32;
    let rotate_left = |by: u32| if by == 0 { a.bits() } else { a.bits() << by | a.bits() >> (width - by) };
    let beyond = amount >= u64::from(width);
    let bits = match function {
        Binary::Shl if beyond => 0,
        Binary::Shl => a.bits() << amount,
        Binary::Shr if ty.is_signed() => (signed(a) >> amount.min(63)) as u64,
        Binary::Shr if beyond => 0,
        Binary::Shr => a.bits() >> amount,
        Binary::RotateLeft => rotate_left(rotation),
        _ => rotate_left((width - rotation) % width),
    };
    Constant::from_bits(ty, bits)
}

/// `a * b + c`, rounded once; `None` if they are not floats of one type.
pub fn fma(a: Constant, b: Constant, c: Constant) -> Option<Constant> {
    let ty = a.ty();
    if b.ty() != ty || c.ty() != ty {
        return None;
    }
    let (x, y, z) = (a.as_f64()?, b.as_f64()?, c.as_f64()?);
    Some(match ty {
        ElementType::F16 => Constant::from(round_to_f16(sum_to_odd(x * y, z))),
        ElementType::F32 => Constant::from((x as f32).mul_add(y as f32, z as f32)),
        _ => Constant::from(x.mul_add(y, z)),
    })
}

/// `x + y` rounded to odd, so that rounding once more, to f16, gives what rounding the exact sum gives.
fn sum_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if !sum.is_finite() {
        return sum;
    }
    let (from_x, from_y) = (sum - y, sum - (sum - y));
    let error = (x - from_x) + (y - from_y);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    // The exact sum lies between `sum`, which is even, and its neighbour on the side of the error, which is odd.
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

/// Conversion to another type; `None` from numbers to `bool`.
pub fn convert(to: ElementType, a: Constant) -> Option<Constant> {
    if to == ElementType::Bool {
        return (a.ty() == to).then_some(a);
    }
    if let Some(x) = a.as_f64() {
        return Some(if to.is_float() {
            float(to, x)
        } else if to == ElementType::U64 {
            Constant::from(x as u64)
        } else {
            let bits = to.bits();
            let (low, high) = if to.is_signed() {
                (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))
            } else {
                (0, (1i64 << bits) - 1)
            };
            Constant::from_bits(to, (x as i64).clamp(low, high) as u64)
        });
    }
    let unsigned = a.ty() == ElementType::U64;
    Some(match to {
        ElementType::F16 if unsigned => Constant::from(round_to_f16(a.bits() as f64)),
        ElementType::F32 if unsigned => Constant::from(a.bits() as f32),
        ElementType::F64 if unsigned => Constant::from(a.bits() as f64),
        _ => Constant::from_i64(to, signed(a)),
    })
}

/// The same bits as another type of the same width; `None` if the widths differ.
pub fn reinterpret(to: ElementType, a: Constant) -> Option<Constant> {
    let bool_involved = to == ElementType::Bool || a.ty() == ElementType::Bool;
    (to.bits() == a.ty().bits() && (!bool_involved || to == a.ty())).then(|| Constant::from_bits(to, a.bits()))
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn int(function: Binary, a: i32, b: i32) -> Option<i64> {
        binary(function, a.into(), b.into()).ok().flatten().and_then(Constant::as_i64)
    }

    #[test]
    fn integers_wrap_and_divide_to_zero_or_down() {
        assert_eq!(int(Binary::Div, i32::MIN, -1), Some(i32::MIN.into()));
        assert_eq!(int(Binary::Rem, i32::MIN, -1), Some(0));
        assert_eq!((int(Binary::Div, -7, 2), int(Binary::Rem, -7, 2)), (Some(-3), Some(-1)));
        assert_eq!((int(Binary::DivFloor, -7, 2), int(Binary::ModFloor, -7, 2)), (Some(-4), Some(1)));
        assert_eq!((int(Binary::DivFloor, 7, -2), int(Binary::ModFloor, 7, -2)), (Some(-4), Some(-1)));
        assert_eq!(int(Binary::DivFloor, i32::MIN, -1), Some(i32::MIN.into()));
        assert_eq!(binary(Binary::Div, 1i8.into(), 0i8.into()), Err(DivisionByZero));
        assert_eq!(unary(Unary::Abs, i8::MIN.into()), Some(i8::MIN.into()));
    }

    #[test]
    fn shifts_beyond_the_width_give_zero_or_sign_bits() {
        assert_eq!(int(Binary::Shl, 1, 32), Some(0));
        assert_eq!(int(Binary::Shr, -8, 40), Some(-1));
        assert_eq!(int(Binary::Shr, -8, -1), Some(-1));
        assert_eq!(binary(Binary::Shr, 8u8.into(), 8i64.into()), Ok(Some(0u8.into())));
        assert_eq!(binary(Binary::RotateLeft, 0x81u8.into(), 1u8.into()), Ok(Some(0x03u8.into())));
        assert_eq!(binary(Binary::RotateRight, 0x81u8.into(), 8u8.into()), Ok(Some(0x81u8.into())));
        assert_eq!(binary(Binary::RotateRight, 0x81u8.into(), (-1i32).into()), Ok(Some(0x03u8.into())));
    }

    #[test]
    fn minimum_propagates_nan_and_orders_zeros() {
        let of = |f, a: f32, b: f32| binary(f, a.into(), b.into()).unwrap().unwrap();
        assert_eq!(of(Binary::Min, 0.0, -0.0), (-0.0f32).into());
        assert_eq!(of(Binary::Max, -0.0, 0.0), 0.0f32.into());
        assert!(of(Binary::Min, f32::NAN, 1.0).as_f64().unwrap().is_nan());
        assert!(of(Binary::Max, 1.0, f32::NAN).as_f64().unwrap().is_nan());
    }

    #[test]
    fn conversions_saturate_and_wrap() {
        assert_eq!(convert(ElementType::I8, 300.0f32.into()), Some(127i8.into()));
        assert_eq!(convert(ElementType::U32, (-1.0f64).into()), Some(0u32.into()));
        assert_eq!(convert(ElementType::I64, f64::NAN.into()), Some(0i64.into()));
        assert_eq!(convert(ElementType::U64, 1e30f64.into()), Some(u64::MAX.into()));
        assert_eq!(convert(ElementType::I8, 300i32.into()), Some(44i8.into()));
        assert_eq!(convert(ElementType::F32, u64::MAX.into()), Some(18446744073709551616.0f32.into()));
        assert_eq!(convert(ElementType::U16, (-1i8).into()), Some(u16::MAX.into()));
    }

    #[test]
    fn fma_of_f16_rounds_once() {
        // 1 + 2^-11 + 2^-24 lies just above the middle of 1 and its successor; rounding to f64 first loses nothing here, to f32 it would.
        let (a, b, c) =
            (f16::from_f64(2f64.powi(-12)), f16::from_f64(2f64.powi(-12)), f16::from_f64(1.0 + 2f64.powi(-10)));
        assert_eq!(fma(a.into(), b.into(), c.into()), Some(c.into()));
        let half_ulp = f16::from_f64(2f64.powi(-11));
        let tiny = f16::from_bits(1);
        // 1 + 2^-11 exactly is a tie (to even: 1); any more must round up.
        let above = sum_to_odd(half_ulp.to_f64() + 1.0, tiny.to_f64() * 2f64.powi(-24) * 2f64.powi(-24));
        assert_eq!(round_to_f16(above), f16::from_f64(1.0 + 2f64.powi(-10)));
    }
}
