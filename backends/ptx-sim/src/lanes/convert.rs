//! `cvt`, between any two types in any rounding.

use super::Row;
use super::exact::{Exact, Format, Rounding};
use super::float::format;
use crate::types::Type;

/// A conversion; it is looked at for every lane, which the common ones avoid (see [`Conversion::apply`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    pub from: Type,
    pub to: Type,
    /// To which neighbour a value without a place in the target goes.
    pub rounding: Rounding,
    /// Whether a float becomes a whole number (`.rni` and its like), also where the target is a float.
    pub whole: bool,
    /// Whether integers stay in the range of the target, and floats in [0, 1].
    pub saturate: bool,
}

impl Conversion {
    /// All lanes.
    pub fn apply(&self, source: &Row) -> Row {
        let Self { from, to, .. } = *self;
        if !from.is_float() && !to.is_float() && !self.saturate {
            let (mask, unused) = (to.mask(), 64 - from.bits());
            return if from.is_signed() {
                source.map(|bits| ((bits << unused) as i64 >> unused) as u64 & mask)
            } else {
                source.map(|bits| bits & from.mask() & mask)
            };
        }
        source.map(|bits| self.one(bits))
    }

    /// One value.
    fn one(&self, bits: u64) -> u64 {
        match (format(self.from), format(self.to)) {
            (None, None) => self.clamp(self.integer(bits)),
            (None, Some(to)) => self.finish(Exact::integer(self.integer(bits)), to),
            (Some(from), None) => match from.decode(bits).to_integer(self.rounding) {
                None => self.nan(),
                Some((negative, magnitude)) => {
                    let magnitude = magnitude.min(1 << 100) as i128;
                    self.clamp(if negative { -magnitude } else { magnitude })
                }
            },
            (Some(from), Some(to)) => {
                let value = from.decode(bits);
                self.finish(if self.whole { value.integral(self.rounding) } else { value }, to)
            }
        }
    }

    fn integer(&self, bits: u64) -> i128 {
        let unused = 64 - self.from.bits();
        if self.from.is_signed() {
            i128::from((bits << unused) as i64 >> unused)
        } else {
            i128::from(bits & self.from.mask())
        }
    }

    /// Floats always, integers with `.sat`: to the nearest value of the target; else the low bits.
    fn clamp(&self, value: i128) -> u64 {
        let mask = self.to.mask();
        if !self.saturate && !self.from.is_float() {
            return value as u64 & mask;
        }
        let (least, most) = match self.to.is_signed() {
            true => (-(i128::from(mask >> 1)) - 1, i128::from(mask >> 1)),
            false => (0, i128::from(mask)),
        };
        value.clamp(least, most) as u64 & mask
    }

    /// What a NaN becomes as an integer.
    fn nan(&self) -> u64 {
        if self.from == Type::F64 || self.to.bits() == 64 { 1 << (self.to.bits() - 1) } else { 0 }
    }

    fn finish(&self, value: Exact, to: Format) -> u64 {
        let value = match value {
            _ if !self.saturate => value,
            Exact::Nan | Exact::Infinite { negative: true } | Exact::Finite { negative: true, .. } => Exact::integer(0),
            Exact::Infinite { negative: false } => Exact::integer(1),
            // Above one where a whole number is left.
            Exact::Finite { .. } => match value.to_integer(Rounding::Zero) {
                Some((_, 0)) => value,
                _ => Exact::integer(1),
            },
        };
        to.encode(value, self.rounding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(from: Type, to: Type, rounding: Rounding, bits: u64) -> u64 {
        let conversion = Conversion { from, to, rounding, whole: false, saturate: false };
        conversion.apply(&[bits; 32])[7]
    }

    #[test]
    fn integers_keep_low_bits_and_signs() {
        let n = Rounding::Nearest;
        assert_eq!(convert(Type::S8, Type::S32, n, 0xff), 0xffff_ffff);
        assert_eq!(convert(Type::U8, Type::S32, n, 0x1ff), 0xff);
        assert_eq!(convert(Type::S32, Type::S64, n, 0x8000_0000), 0xffff_ffff_8000_0000);
        assert_eq!(convert(Type::U64, Type::U16, n, 0x12_3456), 0x3456);
    }

    #[test]
    fn floats_to_integers_are_clamped() {
        let bits = |value: f32| u64::from(value.to_bits());
        assert_eq!(convert(Type::F32, Type::S32, Rounding::Zero, bits(-1.5)), 0xffff_ffff);
        assert_eq!(convert(Type::F32, Type::S32, Rounding::Down, bits(-1.5)), 0xffff_fffe);
        assert_eq!(convert(Type::F32, Type::S32, Rounding::Zero, bits(3e9)), 0x7fff_ffff);
        assert_eq!(convert(Type::F32, Type::U8, Rounding::Zero, bits(-7.0)), 0);
        assert_eq!(convert(Type::F32, Type::S32, Rounding::Zero, bits(f32::NAN)), 0);
        assert_eq!(convert(Type::F64, Type::S32, Rounding::Zero, f64::NAN.to_bits()), 0x8000_0000);
    }

    #[test]
    fn integers_to_floats_are_rounded_once() {
        for value in [0u64, 1, u64::MAX, (1 << 53) + 1, 0x0100_0001, 0x8000_0000_0000_0401] {
            let n = Rounding::Nearest;
            assert_eq!(convert(Type::U64, Type::F64, n, value), (value as f64).to_bits());
            assert_eq!(convert(Type::U64, Type::F32, n, value), u64::from((value as f32).to_bits()));
            assert_eq!(convert(Type::S64, Type::F32, n, value), u64::from((value as i64 as f32).to_bits()));
        }
    }
}
