//! What atomic instructions put in the place of a value.

use crate::code::Update;
use crate::lanes::exact::Rounding;
use crate::lanes::{Apply, float, integer};
use crate::types::Type;

/// An update, decoded once per instruction.
pub(super) struct Updater {
    update: Update,
    ty: Type,
    apply: Option<Apply>,
}

impl Updater {
    pub fn new(update: Update, ty: Type) -> Self {
        let apply = match update {
            Update::Add if ty.is_float() => float::rounded("add", ty, Rounding::Nearest),
            Update::Add => integer::plain("add", ty),
            Update::Min => integer::plain("min", ty),
            Update::Max => integer::plain("max", ty),
            Update::And => integer::bitwise("and", ty),
            Update::Or => integer::bitwise("or", ty),
            Update::Xor => integer::bitwise("xor", ty),
            Update::Inc | Update::Dec | Update::Exchange | Update::CompareAndSwap => None,
        };
        Self { update, ty, apply }
    }

    /// The new value; `new` is the third operand of `cas`.
    ///
    /// Additions of `f32` in device memory flush subnormals, those in shared memory do not.
    pub fn new_value(&self, old: u64, value: u64, new: u64, in_device: bool) -> u64 {
        match (self.update, self.apply) {
            (Update::Exchange, _) => value,
            (Update::CompareAndSwap, _) => {
                if old == value {
                    new
                } else {
                    old
                }
            }
            (Update::Inc, _) => {
                if old >= value {
                    0
                } else {
                    old + 1
                }
            }
            (Update::Dec, _) => {
                if old == 0 || old > value {
                    value
                } else {
                    old - 1
                }
            }
            (update, Some(_)) if !self.ty.is_float() => exact(update, self.ty, old, value),
            (_, Some(Apply::Two(f))) => {
                if self.ty != Type::F32 || !in_device {
                    return f(&[old; 32], &[value; 32])[0];
                }
                let flushed = |value: f32| if value.is_subnormal() { 0f32.copysign(value) } else { value };
                let of = |bits: u64| flushed(f32::from_bits(bits as u32));
                flushed(of(old) + of(value)).to_bits().into()
            }
            (_, _) => old,
        }
    }
}

/// An update that does not round, of one lane: rows of 32 would take many times as long.
fn exact(update: Update, ty: Type, old: u64, value: u64) -> u64 {
    let signed = |bits: u64| {
        let unused = 64 - ty.bits();
        (bits << unused) as i64 >> unused
    };
    let is_less = if ty.is_signed() { signed(value) < signed(old) } else { value & ty.mask() < old & ty.mask() };
    let new = match update {
        Update::Add => old.wrapping_add(value),
        Update::And => old & value,
        Update::Or => old | value,
        Update::Xor => old ^ value,
        Update::Min if is_less => value,
        Update::Max if !is_less => value,
        _ => old,
    };
    new & ty.mask()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// As the instructions that are no atomic ones.
    #[test]
    fn updates_of_one_lane_are_those_of_rows() {
        let mut random = Random(7);
        let mut compared = 0;
        for ty in [Type::U32, Type::S32, Type::U64, Type::S64, Type::B32, Type::B64] {
            for update in [Update::Add, Update::Min, Update::Max, Update::And, Update::Or, Update::Xor] {
                let updater = Updater::new(update, ty);
                let Some(Apply::Two(f)) = updater.apply else { continue };
                for round in 0..2000 {
                    let mut number = || {
                        let bits = random.below(usize::MAX) as u64;
                        // Small ones, ends of ranges, and any.
                        match round % 4 {
                            0 => bits % 3,
                            1 => (bits % 3).wrapping_sub(1),
                            2 => (ty.mask() >> 1).wrapping_add(bits % 3),
                            _ => bits,
                        }
                    };
                    let (old, value) = (number() & ty.mask(), number() & ty.mask());
                    let row = f(&[old; 32], &[value; 32])[0] & ty.mask();
                    assert_eq!(updater.new_value(old, value, 0, true), row, "{update:?} {ty:?} {old:#x} {value:#x}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 40_000, "{compared}");
    }
}
