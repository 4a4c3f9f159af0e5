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
