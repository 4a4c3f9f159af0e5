//! Floating-point arithmetic.

use super::exact::{Format, Rounding};
use super::{Apply, Row, bits, map1, map2, map3};
use crate::types::Type;

/// The format of one number of the type.
pub(crate) fn format(ty: Type) -> Option<Format> {
    match ty {
        Type::F16 | Type::F16x2 => Some(Format::Half),
        Type::F32 => Some(Format::Single),
        Type::F64 => Some(Format::Double),
        _ => None,
    }
}

fn single(value: f32) -> u64 {
    if value.is_nan() { Format::Single.nan() } else { u64::from(value.to_bits()) }
}

fn double(value: f64) -> u64 {
    value.to_bits()
}

fn of_single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Instructions that round: `add sub mul fma div sqrt rcp`.
pub(crate) fn rounded(name: &str, ty: Type, rounding: Rounding) -> Option<Apply> {
    match (ty, rounding) {
        (Type::F32, Rounding::Nearest) => Some(match name {
            "add" => bits!(|a, b| single(of_single(a) + of_single(b))),
            "sub" => bits!(|a, b| single(of_single(a) - of_single(b))),
            "mul" => bits!(|a, b| single(of_single(a) * of_single(b))),
            "div" => bits!(|a, b| single(of_single(a) / of_single(b))),
            "fma" => bits!(|a, b, c| single(of_single(a).mul_add(of_single(b), of_single(c)))),
            "sqrt" => bits!(|a| single(of_single(a).sqrt())),
            "rcp" => bits!(|a| single(1.0 / of_single(a))),
            _ => return None,
        }),
        (Type::F64, Rounding::Nearest) => Some(match name {
            "add" => bits!(|a, b| double(f64::from_bits(a) + f64::from_bits(b))),
            "sub" => bits!(|a, b| double(f64::from_bits(a) - f64::from_bits(b))),
            "mul" => bits!(|a, b| double(f64::from_bits(a) * f64::from_bits(b))),
            "div" => bits!(|a, b| double(f64::from_bits(a) / f64::from_bits(b))),
            "fma" => bits!(|a, b, c| double(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)))),
            "sqrt" => bits!(|a| double(f64::from_bits(a).sqrt())),
            "rcp" => bits!(|a| double(1.0 / f64::from_bits(a))),
            _ => return None,
        }),
        (Type::F32, Rounding::Zero) => directed::<1, 1>(name),
        (Type::F32, Rounding::Down) => directed::<1, 2>(name),
        (Type::F32, Rounding::Up) => directed::<1, 3>(name),
        (Type::F64, Rounding::Zero) => directed::<2, 1>(name),
        (Type::F64, Rounding::Down) => directed::<2, 2>(name),
        (Type::F64, Rounding::Up) => directed::<2, 3>(name),
        (Type::F16, Rounding::Nearest) if matches!(name, "add" | "sub" | "mul" | "fma") => directed::<0, 0>(name),
        (Type::F16x2, Rounding::Nearest) => Some(match name {
            "add" => bits!(|a, b| pairs2(a, b, add::<0, 0>)),
            "sub" => bits!(|a, b| pairs2(a, b, subtract::<0, 0>)),
            "mul" => bits!(|a, b| pairs2(a, b, multiply::<0, 0>)),
            "fma" => bits!(|a, b, c| {
                fma::<0, 0>(a & 0xffff, b & 0xffff, c & 0xffff) | fma::<0, 0>(a >> 16, b >> 16, c >> 16) << 16
            }),
            _ => return None,
        }),
        _ => None,
    }
}

fn pairs1(a: u64, f: fn(u64) -> u64) -> u64 {
    f(a & 0xffff) | f(a >> 16) << 16
}

fn pairs2(a: u64, b: u64, f: fn(u64, u64) -> u64) -> u64 {
    f(a & 0xffff, b & 0xffff) | f(a >> 16, b >> 16) << 16
}

const fn numbered(format: u8) -> Format {
    match format {
        0 => Format::Half,
        1 => Format::Single,
        _ => Format::Double,
    }
}

fn add<const F: u8, const R: u8>(a: u64, b: u64) -> u64 {
    let (format, rounding) = (numbered(F), Rounding::numbered(R));
    format.encode(format.decode(a).add(format.decode(b), rounding), rounding)
}

fn subtract<const F: u8, const R: u8>(a: u64, b: u64) -> u64 {
    add::<F, R>(a, b ^ sign(numbered(F)))
}

fn multiply<const F: u8, const R: u8>(a: u64, b: u64) -> u64 {
    let (format, rounding) = (numbered(F), Rounding::numbered(R));
    format.encode(format.decode(a).multiply(format.decode(b)), rounding)
}

fn divide<const F: u8, const R: u8>(a: u64, b: u64) -> u64 {
    let (format, rounding) = (numbered(F), Rounding::numbered(R));
    format.encode(format.decode(a).divide(format.decode(b)), rounding)
}

fn fma<const F: u8, const R: u8>(a: u64, b: u64, c: u64) -> u64 {
    let (format, rounding) = (numbered(F), Rounding::numbered(R));
    format.encode(format.decode(a).multiply(format.decode(b)).add(format.decode(c), rounding), rounding)
}

fn square_root<const F: u8, const R: u8>(a: u64) -> u64 {
    let (format, rounding) = (numbered(F), Rounding::numbered(R));
    format.encode(format.decode(a).square_root(), rounding)
}

fn directed<const F: u8, const R: u8>(name: &str) -> Option<Apply> {
    fn one<const F: u8, const R: u8>(a: &Row) -> Row {
        map1(a, square_root::<F, R>)
    }
    fn inverse<const F: u8, const R: u8>(a: &Row) -> Row {
        let unit = if F == 1 { u64::from(1f32.to_bits()) } else { 1f64.to_bits() };
        map1(a, |a| divide::<F, R>(unit, a))
    }
    fn sum<const F: u8, const R: u8>(a: &Row, b: &Row) -> Row {
        map2(a, b, add::<F, R>)
    }
    fn difference<const F: u8, const R: u8>(a: &Row, b: &Row) -> Row {
        map2(a, b, subtract::<F, R>)
    }
    fn product<const F: u8, const R: u8>(a: &Row, b: &Row) -> Row {
        map2(a, b, multiply::<F, R>)
    }
    fn quotient<const F: u8, const R: u8>(a: &Row, b: &Row) -> Row {
        map2(a, b, divide::<F, R>)
    }
    fn fused<const F: u8, const R: u8>(a: &Row, b: &Row, c: &Row) -> Row {
        map3(a, b, c, fma::<F, R>)
    }
    Some(match name {
        "add" => Apply::Two(sum::<F, R>),
        "sub" => Apply::Two(difference::<F, R>),
        "mul" => Apply::Two(product::<F, R>),
        "div" => Apply::Two(quotient::<F, R>),
        "fma" => Apply::Three(fused::<F, R>),
        "sqrt" => Apply::One(one::<F, R>),
        "rcp" => Apply::One(inverse::<F, R>),
        _ => return None,
    })
}

fn sign(format: Format) -> u64 {
    match format {
        Format::Half => 0x8000,
        Format::Single => 0x8000_0000,
        Format::Double => 1 << 63,
    }
}

fn is_nan(bits: u64, format: Format) -> bool {
    let infinity = match format {
        Format::Half => 0x7c00,
        Format::Single => 0x7f80_0000,
        Format::Double => 0x7ff0_0000_0000_0000,
    };
    bits & (sign(format) - 1) > infinity
}

/// A key by which numbers are ordered, the negative zero before the positive one.
fn key(bits: u64, format: Format) -> i64 {
    let magnitude = (bits & (sign(format) - 1)) as i64;
    if bits & sign(format) == 0 { magnitude } else { -magnitude - 1 }
}

/// `min` or `max`: of a NaN and a number, the number, or with `NAN` a NaN.
fn extreme<const F: u8, const MAX: bool, const NAN: bool>(a: u64, b: u64) -> u64 {
    let format = numbered(F);
    match (is_nan(a, format), is_nan(b, format)) {
        (true, true) => format.nan(),
        (true, false) | (false, true) if NAN => format.nan(),
        (true, false) => b,
        (false, true) => a,
        (false, false) if (key(a, format) < key(b, format)) != MAX => a,
        (false, false) => b,
    }
}

/// `min` and `max`.
pub(crate) fn min_max(max: bool, nan: bool, ty: Type) -> Option<Apply> {
    macro_rules! choose {
        ($apply:ident) => {
            match (max, nan) {
                (false, false) => $apply!(false, false),
                (false, true) => $apply!(false, true),
                (true, false) => $apply!(true, false),
                (true, true) => $apply!(true, true),
            }
        };
    }
    macro_rules! half {
        ($max:literal, $nan:literal) => {
            bits!(|a, b| extreme::<0, $max, $nan>(a, b))
        };
    }
    macro_rules! halves {
        ($max:literal, $nan:literal) => {
            bits!(|a, b| pairs2(a, b, extreme::<0, $max, $nan>))
        };
    }
    macro_rules! single {
        ($max:literal, $nan:literal) => {
            bits!(|a, b| extreme::<1, $max, $nan>(a, b))
        };
    }
    macro_rules! double {
        ($max:literal, $nan:literal) => {
            bits!(|a, b| extreme::<2, $max, $nan>(a, b))
        };
    }
    Some(match ty {
        Type::F16 => choose!(half),
        Type::F16x2 => choose!(halves),
        Type::F32 => choose!(single),
        Type::F64 if !nan => choose!(double),
        _ => return None,
    })
}

/// Instructions on the sign: `neg abs copysign`. The last puts the sign of its first source on the second.
pub(crate) fn signs(name: &str, ty: Type) -> Option<Apply> {
    Some(match (name, ty) {
        ("neg", Type::F16) => bits!(|a| a ^ 0x8000),
        ("neg", Type::F16x2) => bits!(|a| a ^ 0x8000_8000),
        ("neg", Type::F32) => bits!(|a| a ^ 0x8000_0000),
        ("neg", Type::F64) => bits!(|a| a ^ 1 << 63),
        ("abs", Type::F16) => bits!(|a| a & 0x7fff),
        ("abs", Type::F16x2) => bits!(|a| pairs1(a, |a| a & 0x7fff)),
        ("abs", Type::F32) => bits!(|a| a & 0x7fff_ffff),
        ("abs", Type::F64) => bits!(|a| a & !(1 << 63)),
        ("copysign", Type::F32) => bits!(|a, b| a & 0x8000_0000 | b & 0x7fff_ffff),
        ("copysign", Type::F64) => bits!(|a, b| a & 1 << 63 | b & !(1 << 63)),
        _ => return None,
    })
}

/// `testp`.
pub(crate) fn test(name: &str, ty: Type) -> Option<Apply> {
    macro_rules! of {
        ($t:ty, $convert:expr) => {
            match name {
                "finite" => bits!(|a| u64::from($convert(a).is_finite())),
                "infinite" => bits!(|a| u64::from($convert(a).is_infinite())),
                "number" => bits!(|a| u64::from(!$convert(a).is_nan())),
                "notanumber" => bits!(|a| u64::from($convert(a).is_nan())),
                "normal" => bits!(|a| u64::from($convert(a).is_normal())),
                "subnormal" => bits!(|a| u64::from($convert(a).is_subnormal())),
                _ => return None,
            }
        };
    }
    Some(match ty {
        Type::F32 => of!(f32, of_single),
        Type::F64 => of!(f64, f64::from_bits),
        _ => return None,
    })
}

/// Instructions that a GPU only estimates. Here they are as near as `f64` has it, so nobody may rely on their bits.
pub(crate) fn estimate(name: &str) -> Option<Apply> {
    macro_rules! of {
        (|$a:ident| $body:expr) => {
            bits!(|a| single({
                let $a = f64::from(of_single(a));
                $body as f32
            }))
        };
    }
    Some(match name {
        "rcp" => of!(|a| a.recip()),
        "sqrt" => of!(|a| a.sqrt()),
        "rsqrt" => of!(|a| a.sqrt().recip()),
        "sin" => of!(|a| a.sin()),
        "cos" => of!(|a| a.cos()),
        "lg2" => of!(|a| a.log2()),
        "ex2" => of!(|a| a.exp2()),
        "tanh" => of!(|a| a.tanh()),
        "div" => bits!(|a, b| single(of_single(a) / of_single(b))),
        _ => return None,
    })
}

/// `.ftz`: a subnormal becomes a zero of its sign.
pub(crate) fn flush() -> Apply {
    bits!(|a| if of_single(a).is_subnormal() { a & 0x8000_0000 } else { a })
}

/// `.sat`: into [0, 1]; a NaN becomes 0.
pub(crate) fn saturate(ty: Type) -> Option<Apply> {
    Some(match ty {
        Type::F32 => bits!(|a| single(if of_single(a) > 0.0 { of_single(a).min(1.0) } else { 0.0 })),
        Type::F64 => bits!(|a| double(if f64::from_bits(a) > 0.0 { f64::from_bits(a).min(1.0) } else { 0.0 })),
        Type::F16 => bits!(|a| saturated_half(a)),
        Type::F16x2 => bits!(|a| pairs1(a, saturated_half)),
        _ => return None,
    })
}

fn saturated_half(a: u64) -> u64 {
    if is_nan(a, Format::Half) || a & 0x8000 != 0 { 0 } else { a.min(0x3c00) }
}
