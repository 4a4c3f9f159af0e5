//! Conversions between element types.

use cranelift_codegen::ir::{InstBuilder, Value as Clif, types};
use fusebox_ir::{Constant, ElementType};

use crate::{
    lower::{Lower, Registers},
    vector::{Type, Value},
};

impl Lower<'_> {
    pub(in crate::lower) fn convert_gang(&mut self, a: Value, to: Type) -> Registers {
        use ElementType::{Bool, F16, F32, F64};
        let from = self.ty(a).element;
        let (wide, narrow) = (from.bytes() as u32, to.element.bytes() as u32);
        let lanes = to.lanes;
        if from == Bool && to.element != F16 {
            let bytes = if to.element.is_float() { 4 } else { narrow };
            let mask = self.mask(a, bytes);
            let ones = self.each(&mask, |this, mask| this.b.ins().ineg(mask));
            return match to.element {
                F32 => Registers::Gang(self.each(&ones, |this, a| this.b.ins().fcvt_from_sint(types::F32X4, a))),
                F64 => Registers::Gang(self.doubles(&ones, true, lanes)),
                _ => Registers::Gang(ones),
            };
        }
        if from == F16 || to.element == F16 {
            return self.lanes(to, &[a], |this, operands| this.convert_one(from, to.element, operands[0]));
        }
        let registers = self.gang(a);
        match (from.is_float(), to.element.is_float()) {
            (false, false) => Registers::Gang(self.resized(registers, wide, narrow, from.is_signed(), lanes)),
            (false, true) if wide <= 4 => {
                let ints = self.resized(registers, wide, 4, from.is_signed(), lanes);
                let signed = from.is_signed() || wide < 4;
                if to.element == F64 {
                    return Registers::Gang(self.doubles(&ints, signed, lanes));
                }
                Registers::Gang(self.each(&ints, |this, a| {
                    if signed {
                        this.b.ins().fcvt_from_sint(types::F32X4, a)
                    } else {
                        this.b.ins().fcvt_from_uint(types::F32X4, a)
                    }
                }))
            }
            (true, false) if from == F32 && narrow <= 4 => {
                let signed = to.element.is_signed() || narrow < 4;
                let mut ints = self.each(&registers, |this, a| {
                    if signed {
                        this.b.ins().fcvt_to_sint_sat(types::I32X4, a)
                    } else {
                        this.b.ins().fcvt_to_uint_sat(types::I32X4, a)
                    }
                });
                if narrow < 4 {
                    let bits = narrow * 8;
                    let (low, high) = if to.element.is_signed() {
                        (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
                    } else {
                        (0, (1i64 << bits) - 1)
                    };
                    let lows = self.constant(Constant::from_i64(ElementType::I32, low), 4);
                    let highs = self.constant(Constant::from_i64(ElementType::I32, high), 4);
                    if let (Registers::Gang(low), Registers::Gang(high)) = (lows, highs) {
                        ints = self.each(&ints, |this, a| {
                            let raised = this.b.ins().smax(a, low[0]);
                            this.b.ins().smin(raised, high[0])
                        });
                    }
                }
                Registers::Gang(self.resized(ints, 4, narrow, false, lanes))
            }
            (true, true) if from == F32 && to.element == F64 => {
                let mut wide = Vec::new();
                for register in registers {
                    wide.push(self.b.ins().fvpromote_low(register));
                    if lanes > 2 {
                        let high = self.shuffled(types::F32X4, register, register, (8..16).chain(8..16).collect());
                        wide.push(self.b.ins().fvpromote_low(high));
                    }
                }
                Registers::Gang(wide)
            }
            (true, true) if from == F64 && to.element == F32 => {
                let halves = self.each(&registers, |this, a| this.b.ins().fvdemote(a));
                let narrow = halves
                    .chunks(2)
                    .map(|pair| {
                        if pair.len() == 1 {
                            return pair[0];
                        }
                        self.shuffled(types::F32X4, pair[0], pair[1], (0..8).chain(16..24).collect())
                    })
                    .collect();
                Registers::Gang(narrow)
            }
            _ if from == to.element => Registers::Gang(registers),
            _ => self.lanes(to, &[a], |this, operands| this.convert_one(from, to.element, operands[0])),
        }
    }

    /// 32-bit integers as f64.
    fn doubles(&mut self, ints: &[Clif], signed: bool, lanes: u32) -> Vec<Clif> {
        let mut wide = Vec::new();
        for &register in ints {
            let mut halves = vec![register];
            if lanes > 2 {
                halves.push(self.shuffled(types::I32X4, register, register, (8..16).chain(8..16).collect()));
            }
            for half in halves {
                wide.push(if signed {
                    let long = self.b.ins().swiden_low(half);
                    self.b.ins().fcvt_from_sint(types::F64X2, long)
                } else {
                    let long = self.b.ins().uwiden_low(half);
                    self.b.ins().fcvt_from_uint(types::F64X2, long)
                });
            }
        }
        wide
    }
}
