//! Element types and constants: what arrays are made of.

use std::fmt;

use half::f16;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The type of a scalar, and of every element of an array.
///
/// Tuples, records and enums exist in embedded languages alone; here they are several arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElementType {
    /// Truth values; one byte, 0 or 1.
    Bool,
    /// 8-bit two's complement integers.
    I8,
    /// 16-bit two's complement integers.
    I16,
    /// 32-bit two's complement integers.
    I32,
    /// 64-bit two's complement integers; the type of sizes and indices.
    I64,
    /// 8-bit unsigned integers.
    U8,
    /// 16-bit unsigned integers.
    U16,
    /// 32-bit unsigned integers.
    U32,
    /// 64-bit unsigned integers.
    U64,
    /// IEEE 754 binary16; every operation rounds to it.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl ElementType {
    /// Every element type, in the order of declaration.
    pub const ALL: [Self; 12] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
    ];

    /// The spelling in text and JSON, such as `f32`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The type that [`Self::name`] spells so.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// Bytes of one element in memory; a `bool` takes one.
    pub fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Bits of one element: eight per byte, for `bool` too.
    pub fn bits(self) -> u32 {
        self.bytes() as u32 * 8
    }

    /// `f16`, `f32`, `f64`.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// `i8` to `i64` and `u8` to `u64`.
    pub fn is_integer(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    /// `i8` to `i64`.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// `u8` to `u64`.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Everything but `bool`.
    pub fn is_number(self) -> bool {
        self != Self::Bool
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `x` rounded once to binary16, half to even.
///
/// Not `f16::from_f64`, which drops the low 32 bits or goes through `f32`, and so may round a number just beside a tie as the tie.
pub fn round_to_f16(x: f64) -> f16 {
    let bits = x.to_bits();
    let sticky = u64::from(bits as u32 != 0) << 32;
    f16::from_f64(f64::from_bits(bits >> 32 << 32 | sticky))
}

/// A scalar known when the program is built: a type and the bits of a value of it.
///
/// Bits beyond the type's width are zero, for signed types too, so `==` on constants is `==` on bits
/// (NaN equals itself, 0.0 and -0.0 differ).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Constant {
    ty: ElementType,
    bits: u64,
}

impl Constant {
    /// The value of type `ty` with the low bits of `bits`; a `bool` is true if the lowest bit is set.
    pub fn from_bits(ty: ElementType, bits: u64) -> Self {
        let mask = match ty {
            ElementType::Bool => 1,
            _ => u64::MAX >> (64 - ty.bits()),
        };
        Self { ty, bits: bits & mask }
    }

    /// Zero of a number type, `false` of `bool`.
    pub fn zero(ty: ElementType) -> Self {
        Self { ty, bits: 0 }
    }

    /// The integer `value`, wrapped to the width of `ty`; for floats rounded to nearest even; for `bool` whether it is not 0.
    pub fn from_i64(ty: ElementType, value: i64) -> Self {
        match ty {
            ElementType::Bool => Self::from(value != 0),
            ElementType::F16 => Self::from(round_to_f16(value as f64)),
            ElementType::F32 => Self::from(value as f32),
            ElementType::F64 => Self::from(value as f64),
            _ => Self::from_bits(ty, value as u64),
        }
    }

    /// The type.
    pub fn ty(self) -> ElementType {
        self.ty
    }

    /// The bits, zero-extended.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// Of which power of two an integer is, if it is one.
    pub fn power_of_two(self) -> Option<u32> {
        let bits = self.bits();
        let is_number =
            self.ty().is_integer() && (!self.ty().is_signed() || self.as_i64().is_some_and(|value| value > 0));
        (is_number && bits.is_power_of_two()).then(|| bits.trailing_zeros())
    }

    /// The value of an integer or `bool`, sign-extended where the type is signed; `u64` above `i64::MAX` and floats give `None`.
    pub fn as_i64(self) -> Option<i64> {
        let shift = 64 - self.ty.bits();
        if self.ty.is_signed() {
            Some(((self.bits << shift) as i64) >> shift)
        } else if self.ty.is_float() {
            None
        } else {
            i64::try_from(self.bits).ok()
        }
    }

    /// The value of a float, exactly; `None` for other types.
    pub fn as_f64(self) -> Option<f64> {
        match self.ty {
            ElementType::F16 => Some(f16::from_bits(self.bits as u16).to_f64()),
            ElementType::F32 => Some(f64::from(f32::from_bits(self.bits as u32))),
            ElementType::F64 => Some(f64::from_bits(self.bits)),
            _ => None,
        }
    }

    /// The value of a `bool`; `None` for other types.
    pub fn as_bool(self) -> Option<bool> {
        (self.ty == ElementType::Bool).then_some(self.bits != 0)
    }
}

macro_rules! constant_from {
    ($($rust:ty => $ty:ident, |$x:ident| $bits:expr;)*) => {$(
        impl From<$rust> for Constant {
            fn from($x: $rust) -> Self {
                Self { ty: ElementType::$ty, bits: $bits }
            }
        }
    )*};
}
constant_from! {
    bool => Bool, |x| u64::from(x);
    i8 => I8, |x| u64::from(x as u8);
    i16 => I16, |x| u64::from(x as u16);
    i32 => I32, |x| u64::from(x as u32);
    i64 => I64, |x| x as u64;
    u8 => U8, |x| u64::from(x);
    u16 => U16, |x| u64::from(x);
    u32 => U32, |x| u64::from(x);
    u64 => U64, |x| x;
    f16 => F16, |x| u64::from(x.to_bits());
    f32 => F32, |x| u64::from(x.to_bits());
    f64 => F64, |x| x.to_bits();
}

/// As in text, always with its type: `3i64`, `1.5f32`, `-inf_f64`, `nan_f32`, `true`; a NaN of other bits as `bits_f32(0x7fc00001)`.
impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = self.ty;
        match ty {
            ElementType::Bool => return write!(f, "{}", self.bits != 0),
            ElementType::U64 => return write!(f, "{}{ty}", self.bits),
            _ => {}
        }
        if let Some(value) = self.as_i64() {
            return write!(f, "{value}{ty}");
        }
        let (quiet, sign) = match ty {
            ElementType::F16 => (0x7e00, 0x8000),
            ElementType::F32 => (0x7fc0_0000, 0x8000_0000),
            _ => (0x7ff8_0000_0000_0000, 0x8000_0000_0000_0000),
        };
        let minus = if self.bits & sign == 0 { "" } else { "-" };
        let value = self.as_f64().unwrap_or_default();
        if value.is_infinite() {
            write!(f, "{minus}inf_{ty}")
        } else if value.is_nan() && self.bits & !sign == quiet {
            write!(f, "{minus}nan_{ty}")
        } else if value.is_nan() {
            write!(f, "bits_{ty}({:#x})", self.bits)
        } else {
            let shortest = match ty {
                ElementType::F16 => format!("{:?}", shortest_f16(f16::from_bits(self.bits as u16))),
                ElementType::F32 => format!("{:?}", f32::from_bits(self.bits as u32)),
                _ => format!("{value:?}"),
            };
            write!(f, "{shortest}{ty}")
        }
    }
}

/// The decimal with the fewest digits that rounds to `value`, as an `f64` that prints so.
fn shortest_f16(value: f16) -> f64 {
    let exact = value.to_f64();
    (1..=5)
        .map(|digits| format!("{exact:.*e}", digits - 1).parse::<f64>().unwrap_or(exact))
        .find(|&decimal| round_to_f16(decimal).to_bits() == value.to_bits())
        .unwrap_or(exact)
}

/// Reads what `Display` prints.
impl std::str::FromStr for Constant {
    type Err = ConstantError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ConstantError { text: text.chars().take(60).collect() };
        if let "true" | "false" = text {
            return Ok(Self::from(text == "true"));
        }
        let hex = |rest: &str| rest.strip_suffix(')').and_then(|digits| u64::from_str_radix(digits, 16).ok());
        for ty in ElementType::ALL {
            if let Some(rest) = text.strip_prefix(&format!("bits_{ty}(0x")) {
                let bits = hex(rest).ok_or_else(error)?;
                let constant = Self::from_bits(ty, bits);
                return if constant.bits == bits { Ok(constant) } else { Err(error()) };
            }
        }
        let ty = ElementType::ALL.into_iter().find(|ty| text.ends_with(ty.name())).ok_or_else(error)?;
        let digits = &text[..text.len() - ty.name().len()];
        let float = |value: f64| match ty {
            ElementType::F16 => Self::from(round_to_f16(value)),
            ElementType::F32 => Self::from(value as f32),
            _ => Self::from(value),
        };
        match ty {
            ElementType::Bool => Err(error()),
            ElementType::U64 => digits.parse::<u64>().map(Self::from).map_err(|_| error()),
            _ if ty.is_integer() => {
                let value: i64 = digits.parse().map_err(|_| error())?;
                let constant = Self::from_i64(ty, value);
                if constant.as_i64() == Some(value) { Ok(constant) } else { Err(error()) }
            }
            _ => match digits {
                "inf_" => Ok(float(f64::INFINITY)),
                "-inf_" => Ok(float(f64::NEG_INFINITY)),
                "nan_" | "-nan_" => {
                    let quiet = match ty {
                        ElementType::F16 => 0x7e00,
                        ElementType::F32 => 0x7fc0_0000,
                        _ => 0x7ff8_0000_0000_0000,
                    };
                    let sign = if digits.starts_with('-') { 1u64 << (ty.bits() - 1) } else { 0 };
                    Ok(Self::from_bits(ty, quiet | sign))
                }
                // Through the type itself: rounding to f64 first would round twice.
                _ if ty == ElementType::F32 => {
                    digits.parse::<f32>().ok().filter(|x| x.is_finite()).map(Self::from).ok_or_else(error)
                }
                _ => digits
                    .parse::<f64>()
                    .ok()
                    .map(float)
                    .filter(|c| c.as_f64().is_some_and(f64::is_finite))
                    .ok_or_else(error),
            },
        }
    }
}

/// Not a constant with its type.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a constant: write a value and its type, such as `1.5f32`")]
pub struct ConstantError {
    text: String,
}

crate::debug_is_message!(struct ConstantError { text });

/// In JSON a constant is a string, as text spells it.
impl Serialize for Constant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Constant {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Constant {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Constant".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "A value and its type, as in text: 1.5f32, 3i64, true, nan_f32, bits_f32(0x7fc00001)" })
    }
}
