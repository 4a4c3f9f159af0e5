//! Conversions: integers wrap, to floats rounds to nearest even, floats to integers saturate with NaN to 0.

use fusebox_ir::{ElementType, primitive};

use super::suffix;
use crate::{text::Code, value::Val};

impl Code {
    /// `a` as another type; from numbers to `bool` there is no conversion.
    pub(crate) fn convert(&mut self, to: ElementType, a: Val) -> Val {
        if let Some(folded) = a.constant().and_then(|a| primitive::convert(to, a)) {
            return folded.into();
        }
        let from = a.ty;
        if from == to {
            return a;
        }
        if from == ElementType::Bool {
            let condition = self.in_reg(a);
            return self.select(condition, Self::number(to, 1), Self::number(to, 0));
        }
        match (from.is_float(), to.is_float()) {
            (false, false) => self.integer_to_integer(to, a),
            (false, true) => {
                let x = self.in_reg(a);
                self.make(to, &format!("cvt.rn.{}.{}", suffix(to), suffix(from)), &[&x.to_string()])
            }
            (true, true) => {
                // To more digits it is exact, and PTX wants no rounding.
                let rounding = if to.bits() < from.bits() { ".rn" } else { "" };
                let x = self.in_reg(a);
                self.make(to, &format!("cvt{rounding}.{}.{}", suffix(to), suffix(from)), &[&x.to_string()])
            }
            (true, false) => self.float_to_integer(to, a),
        }
    }

    fn integer_to_integer(&mut self, to: ElementType, a: Val) -> Val {
        let x = self.in_reg(a).to_string();
        match (a.ty.bits() == 64, to.bits() == 64) {
            (true, true) => self.in_type(to, a),
            // What is extended stands in 32 bits as its own type says.
            (false, true) if a.ty.is_signed() => self.make(to, "cvt.s64.s32", &[&x]),
            (false, true) => self.make(to, "cvt.u64.u32", &[&x]),
            (true, false) => {
                let low = self.make(ElementType::U32, "cvt.u32.u64", &[&x]);
                self.narrowed(to, low)
            }
            (false, false) => self.narrowed(to, a),
        }
    }

    fn float_to_integer(&mut self, to: ElementType, a: Val) -> Val {
        let a = if a.ty == ElementType::F16 { self.convert(ElementType::F32, a) } else { a };
        let x = self.in_reg(a).to_string();
        let wide = if to.bits() >= 32 { to } else { ElementType::I32 };
        let mut whole = self.make(wide, &format!("cvt.rzi.{}.{}", suffix(wide), suffix(a.ty)), &[&x]);
        if to.bits() < 32 {
            let (low, high) = if to.is_signed() {
                (-(1i64 << (to.bits() - 1)), (1i64 << (to.bits() - 1)) - 1)
            } else {
                (0, (1i64 << to.bits()) - 1)
            };
            let text = self.text(whole);
            whole = self.make(to, "max.s32", &[&text, &low.to_string()]);
            let text = self.text(whole);
            whole = self.make(to, "min.s32", &[&text, &high.to_string()]);
        }
        let nan = self.is_nan(a);
        self.select(nan, Self::number(to, 0), whole)
    }

    /// The same bits as another type of the same width.
    pub(crate) fn bits(&mut self, to: ElementType, a: Val) -> Val {
        if let Some(same) = a.constant().and_then(|a| primitive::reinterpret(to, a)) {
            return same.into();
        }
        let x = self.in_reg(a).to_string();
        match (a.ty, to) {
            (from, to) if from == to => a,
            (ElementType::F16, ElementType::I16) => self.make(to, "cvt.s32.s16", &[&x]),
            (ElementType::F16, _) => self.make(to, "cvt.u32.u16", &[&x]),
            (_, ElementType::F16) => self.make(to, "cvt.u16.u32", &[&x]),
            _ if to.bits() < 32 => self.narrowed(to, a),
            _ => self.in_type(to, a),
        }
    }
}
