//! Shifts and rotations of the bits of each lane.

use fusebox_ir::{Binary, ElementType};
use fusebox_vector::Value;
use iced_x86::Code as C;

use super::{Outcome, Registers, Select, codes};
use crate::machine::Arg;

impl Select<'_> {
    /// Shifts by the width or more leave nothing, or signs: so do the processor's, of lanes.
    pub(super) fn shift_gang(&mut self, function: Binary, a: Value, b: Value) -> Outcome<Registers> {
        let (element, amount) = (self.ty(a).element, self.ty(b));
        let bytes = element.bytes();
        let arithmetic = element.is_signed();
        let rotates = matches!(function, Binary::RotateLeft | Binary::RotateRight);
        if bytes == 1 || (bytes == 2 && rotates) {
            return self.by_lanes(function, a, b);
        }
        if !self.features.avx512 && !self.shifts_here(function, a, b) {
            return self.by_lanes(function, a, b);
        }
        if let Some(known) = self.constant_of(b) {
            let width = u64::from(element.bits());
            let by = if rotates { known.bits() % width } else { known.bits().min(width) };
            let by = if function == Binary::Shr && arithmetic { by.min(width - 1) } else { by };
            let Some(code) = codes::shift_by_number(function, bytes, arithmetic) else {
                return self.lacks("a shift");
            };
            if !self.has(code) {
                return self.each(a, |this, a| Ok(this.shift_without(function, bytes, a, by as i64)));
            }
            return self.each(a, |this, a| Ok(this.w(code, &[Arg::Any(a), Arg::Imm(by as i64)])));
        }
        if amount.lanes == 1 && !rotates {
            let Some(code) = codes::shift_by_one(function, bytes, arithmetic) else { return self.lacks("a shift") };
            let by = self.one(b)?;
            let by = self.w(C::EVEX_Vmovq_xmm_rm64, &[Arg::Any(by)]);
            return self.each(a, |this, a| Ok(this.w(code, &[Arg::Use(a), Arg::Any(by)])));
        }
        let Some(code) = codes::shift_by_lane(function, bytes, arithmetic) else { return self.lacks("a shift") };
        let amounts = if amount.lanes == 1 {
            let by = self.one(b)?;
            vec![self.spread_int(bytes, by); self.count(a)]
        } else if amount.element.bytes() == bytes {
            self.gang(b)?
        } else {
            let own = amount.element.bytes();
            let mut amounts = self.gang(b)?;
            if own > bytes && !rotates {
                // Large amounts must stay large when they are cut to the width.
                let most = self.lanes_of(u64::from(element.bits()), own);
                let unsigned = if own == 8 {
                    ElementType::U64
                } else if own == 4 {
                    ElementType::U32
                } else {
                    ElementType::U16
                };
                let code = codes::binary(Binary::Min, unsigned).expect("there is one of each width");
                amounts = amounts.into_iter().map(|amount| self.w(code, &[Arg::Use(amount), most])).collect();
            }
            self.resized(&amounts, own, bytes, false, amount.lanes)?
        };
        if rotates && !self.has(code) {
            let mut all = Vec::new();
            let mut by = None;
            for (register, own) in amounts.into_iter().enumerate() {
                // One amount for all lanes is the same in each register.
                let known = by.filter(|_| amount.lanes == 1);
                let shifts = known.unwrap_or_else(|| self.rotation(function, bytes, own));
                by = Some(shifts);
                let a = self.reg(a, register)?;
                all.push(self.rotated(bytes, a, shifts));
            }
            return Ok(Registers::Gang(all));
        }
        let mut all = Vec::new();
        for (register, amount) in amounts.into_iter().enumerate() {
            let a = self.reg(a, register)?;
            all.push(self.w(code, &[Arg::Use(a), Arg::Any(amount)]));
        }
        Ok(Registers::Gang(all))
    }
}
