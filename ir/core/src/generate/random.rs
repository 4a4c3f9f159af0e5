//! What programs are generated from.

use crate::{Constant, ElementType, SplitMix64};

/// Numbers that depend on the seed alone.
#[derive(Clone, Debug)]
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed ^ 0x5851_f42d_4c95_7f2d))
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `n`; 0 if `n` is 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.bits() % n as u64) as usize }
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low).max(0) as usize + 1) as i64
    }

    /// True `times` out of `of` times.
    pub(super) fn chance(&mut self, times: usize, of: usize) -> bool {
        self.below(of) < times
    }

    /// One of a list that is not empty.
    pub(super) fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    /// A position, as often as its weight says; `None` if all are 0.
    pub(super) fn weighted(&mut self, weights: &[u32]) -> Option<usize> {
        let total: u32 = weights.iter().sum();
        let mut at = self.below(total as usize) as u32;
        weights.iter().position(|&weight| {
            let here = at < weight;
            at = at.saturating_sub(weight);
            here
        })
    }

    pub(super) fn element(&mut self) -> ElementType {
        self.pick(&ElementType::ALL)
    }

    /// A value of a type: small numbers, extremes, and for floats zeros of both signs, infinities, NaN of any payload, subnormals.
    pub(super) fn constant(&mut self, ty: ElementType) -> Constant {
        if !ty.is_float() {
            return match self.below(8) {
                0 => Constant::from_bits(ty, self.bits()),
                1 if ty.is_signed() => Constant::from_bits(ty, 1 << (ty.bits() - 1)),
                1 => Constant::from_bits(ty, u64::MAX),
                2 if ty.is_signed() => Constant::from_bits(ty, u64::MAX >> (65 - ty.bits())),
                _ => {
                    let small = self.range(-4, 9);
                    Constant::from_i64(ty, if ty.is_unsigned() { small.abs() } else { small })
                }
            };
        }
        let digits = match ty {
            ElementType::F16 => 10,
            ElementType::F32 => 23,
            _ => 52,
        };
        let sign = self.bits() << (ty.bits() - 1);
        let infinity = (u64::MAX >> (65 - ty.bits())) >> digits << digits;
        let fraction = self.bits() & ((1 << digits) - 1);
        match self.below(24) {
            0 => Constant::from_bits(ty, sign),
            1 => Constant::from_bits(ty, sign | infinity),
            2 => Constant::from_bits(ty, sign | infinity | 1 << (digits - 1)),
            3 => Constant::from_bits(ty, sign | infinity | fraction | 1),
            4 => Constant::from_bits(ty, sign | fraction),
            5 => Constant::from_bits(ty, sign | (infinity - 1)),
            6 => Constant::from_bits(ty, sign | 1 << digits),
            7 | 8 => Constant::from_bits(ty, self.bits()),
            9..12 => {
                let value = self.range(-999, 999) as f64 / self.pick(&[10.0, 8.0, 3.0]);
                crate::primitive::float(ty, value)
            }
            _ => Constant::from_i64(ty, self.range(-9, 9)),
        }
    }
}
