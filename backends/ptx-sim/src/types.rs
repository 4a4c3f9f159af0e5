//! The types of instructions and registers.

/// A type as PTX names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    F32,
    F64,
}

/// What a type's bits mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Pred,
    Bits,
    Unsigned,
    Signed,
    Float,
}

impl Type {
    /// The type of this name, without its dot.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "pred" => Self::Pred,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    /// Bits of a value; a predicate has one.
    pub fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            Self::B8 | Self::U8 | Self::S8 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 => 16,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 64,
        }
    }

    /// Bytes that a value takes in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// What the bits mean.
    pub fn class(self) -> Class {
        match self {
            Self::Pred => Class::Pred,
            Self::B8 | Self::B16 | Self::B32 | Self::B64 => Class::Bits,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Class::Unsigned,
            Self::S8 | Self::S16 | Self::S32 | Self::S64 => Class::Signed,
            Self::F16 | Self::F16x2 | Self::F32 | Self::F64 => Class::Float,
        }
    }

    /// Whether values are numbers with a sign.
    pub fn is_signed(self) -> bool {
        self.class() == Class::Signed
    }

    /// Whether values are floating-point numbers.
    pub fn is_float(self) -> bool {
        self.class() == Class::Float
    }

    /// The bits that a value of this type may have set.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Whether an instruction of type `self` takes a register of type `register` of the same size.
    pub fn takes(self, register: Self) -> bool {
        use Class::{Bits, Float, Pred, Signed, Unsigned};
        match (self.class(), register.class()) {
            (Pred, Pred) | (Bits, Bits | Unsigned | Signed | Float) => true,
            (Unsigned | Signed, Bits | Unsigned | Signed) | (Float, Bits | Float) => true,
            (Pred, _) | (_, Pred) | (Unsigned | Signed, Float) | (Float, Unsigned | Signed) => false,
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", format!("{self:?}").to_lowercase())
    }
}
