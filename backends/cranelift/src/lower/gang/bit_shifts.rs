//! Shifts and rotations of the bits of lanes.

use cranelift_codegen::ir::{InstBuilder, condcodes::IntCC, types};
use fusebox_ir::{Binary, ElementType};

use crate::{
    lower::{Lower, Registers, vector_type},
    vector::Value,
};

impl Lower<'_> {
    /// Shifts and rotations: of all lanes by one amount, else lane by lane.
    pub(super) fn shift_gang(&mut self, function: Binary, a: Value, b: Value) -> Registers {
        let ty = self.ty(a);
        let (element, amount) = (ty.element, self.ty(b).element);
        let known = self.constants[b.0 as usize];
        let Registers::One(by) = self.registers_of(b) else {
            return self.lanes(ty, &[a, b], |this, operands| {
                this.binary_one(function, element, amount, operands[0], operands[1], known)
            });
        };
        let registers = self.gang(a);
        let width = i64::from(element.bits());
        let arithmetic = function == Binary::Shr && element.is_signed();
        let wide = self.convert_one(amount_unsigned(amount), ElementType::U64, by);
        let limit = self.b.ins().iconst(types::I64, width);
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, wide, limit);
        let by = self.b.ins().ireduce(types::I32, wide);
        match function {
            Binary::RotateLeft | Binary::RotateRight => {
                let by = self.b.ins().band_imm_u(by, width - 1);
                let back = self.b.ins().ineg(by);
                let back = self.b.ins().band_imm_u(back, width - 1);
                let (left, right) = if function == Binary::RotateLeft { (by, back) } else { (back, by) };
                let rotated = self.each(&registers, |this, a| {
                    let high = this.b.ins().ishl(a, left);
                    let low = this.b.ins().ushr(a, right);
                    this.b.ins().bor(high, low)
                });
                Registers::Gang(rotated)
            }
            _ if arithmetic => {
                let most = self.b.ins().iconst(types::I32, width - 1);
                let by = self.b.ins().select(beyond, most, by);
                Registers::Gang(self.each(&registers, |this, a| this.b.ins().sshr(a, by)))
            }
            _ => {
                let shifted = self.each(&registers, |this, a| {
                    if function == Binary::Shl { this.b.ins().ishl(a, by) } else { this.b.ins().ushr(a, by) }
                });
                if known.is_some_and(|known| known.bits() < width as u64) {
                    return Registers::Gang(shifted);
                }
                // All ones where the amount is below the width: one `and` for each register.
                let inside = self.b.ins().bxor_imm_u(beyond, 1);
                let vector = vector_type(element);
                let inside =
                    if element.bytes() == 1 { inside } else { self.b.ins().uextend(vector.lane_type(), inside) };
                let ones = self.b.ins().ineg(inside);
                let keep = self.b.ins().splat(vector, ones);
                Registers::Gang(self.each(&shifted, |this, a| this.b.ins().band(a, keep)))
            }
        }
    }
}

/// Amounts of shifts are read as unsigned.
fn amount_unsigned(amount: ElementType) -> ElementType {
    match amount {
        ElementType::I8 => ElementType::U8,
        ElementType::I16 => ElementType::U16,
        ElementType::I32 => ElementType::U32,
        ElementType::I64 => ElementType::U64,
        other => other,
    }
}
