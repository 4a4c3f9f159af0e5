//! Comparisons and selections.

use super::float::format;
use super::{Apply, bits};
use crate::types::Type;

/// The comparison of this name. Of floats, the names in `u` hold where a source is a NaN, the others do not.
pub(crate) fn compare(name: &str, ty: Type) -> Option<Apply> {
    macro_rules! integers {
        ($t:ty) => {
            match name {
                "eq" => bits!(|a, b| u64::from(a as $t == b as $t)),
                "ne" => bits!(|a, b| u64::from(a as $t != b as $t)),
                "lt" | "lo" => bits!(|a, b| u64::from((a as $t) < b as $t)),
                "le" | "ls" => bits!(|a, b| u64::from(a as $t <= b as $t)),
                "gt" | "hi" => bits!(|a, b| u64::from(a as $t > b as $t)),
                "ge" | "hs" => bits!(|a, b| u64::from(a as $t >= b as $t)),
                _ => return None,
            }
        };
    }
    macro_rules! floats {
        ($of:expr) => {
            match name {
                "eq" => bits!(|a, b| u64::from($of(a) == $of(b))),
                "ne" => bits!(|a, b| u64::from($of(a) < $of(b) || $of(a) > $of(b))),
                "lt" => bits!(|a, b| u64::from($of(a) < $of(b))),
                "le" => bits!(|a, b| u64::from($of(a) <= $of(b))),
                "gt" => bits!(|a, b| u64::from($of(a) > $of(b))),
                "ge" => bits!(|a, b| u64::from($of(a) >= $of(b))),
                "equ" => bits!(|a, b| u64::from($of(a) == $of(b) || $of(a).is_nan() || $of(b).is_nan())),
                "neu" => bits!(|a, b| u64::from($of(a) != $of(b))),
                "ltu" => bits!(|a, b| u64::from($of(a) < $of(b) || $of(a).is_nan() || $of(b).is_nan())),
                "leu" => bits!(|a, b| u64::from($of(a) <= $of(b) || $of(a).is_nan() || $of(b).is_nan())),
                "gtu" => bits!(|a, b| u64::from($of(a) > $of(b) || $of(a).is_nan() || $of(b).is_nan())),
                "geu" => bits!(|a, b| u64::from($of(a) >= $of(b) || $of(a).is_nan() || $of(b).is_nan())),
                "num" => bits!(|a, b| u64::from(!$of(a).is_nan() && !$of(b).is_nan())),
                "nan" => bits!(|a, b| u64::from($of(a).is_nan() || $of(b).is_nan())),
                _ => return None,
            }
        };
    }
    let is_order = matches!(name, "lt" | "le" | "gt" | "ge");
    let is_unsigned_order = matches!(name, "lo" | "ls" | "hi" | "hs");
    Some(match ty {
        Type::B16 | Type::B32 | Type::B64 if is_order || is_unsigned_order => return None,
        Type::S16 | Type::S32 | Type::S64 if is_unsigned_order => return None,
        Type::B16 | Type::B32 | Type::B64 | Type::U16 | Type::U32 | Type::U64 => integers!(u64),
        Type::S16 => integers!(i16),
        Type::S32 => integers!(i32),
        Type::S64 => integers!(i64),
        Type::F16 => floats!(half),
        Type::F32 => floats!(|a: u64| f32::from_bits(a as u32)),
        Type::F64 => floats!(f64::from_bits),
        _ => return None,
    })
}

/// A half as a larger number; all of them fit.
fn half(bits: u64) -> f64 {
    let format_of_half = format(Type::F16).expect("f16 has a format");
    let wide = format(Type::F64).expect("f64 has a format");
    f64::from_bits(wide.encode(format_of_half.decode(bits), super::exact::Rounding::Nearest))
}

/// How `setp` and `set` combine the comparison with a predicate.
pub(crate) fn combine(name: &str) -> Option<Apply> {
    Some(match name {
        "and" => bits!(|a, b| a & b),
        "or" => bits!(|a, b| a | b),
        "xor" => bits!(|a, b| a ^ b),
        _ => return None,
    })
}

/// What `set` gives for true and false: all bits or none, or 1.0 and 0.0.
pub(crate) fn set(ty: Type) -> Option<Apply> {
    Some(match ty {
        Type::U32 | Type::S32 | Type::B32 => bits!(|p| p * 0xffff_ffff),
        Type::F32 => bits!(|p| p * 0x3f80_0000),
        _ => return None,
    })
}

/// `slct`: the first source where the third is not negative; a NaN selects the second.
pub(crate) fn select_by_sign(float: bool) -> Apply {
    if float {
        bits!(|a, b, c| if f32::from_bits(c as u32) >= 0.0 { a } else { b })
    } else {
        bits!(|a, b, c| if c as i32 >= 0 { a } else { b })
    }
}

/// The predicate and its opposite.
pub(crate) fn invert() -> Apply {
    bits!(|p| 1 - p)
}
