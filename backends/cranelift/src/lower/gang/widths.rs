//! Lanes of other widths: integers and masks, wider and narrower.

use cranelift_codegen::ir::{InstBuilder, Type as ClifType, Value as Clif, types};
use fusebox_ir::bug;

use crate::{
    lower::{Lower, Registers, int_vector, registers},
    vector::Value,
};

impl Lower<'_> {
    /// A mask's registers with lanes of `bytes`.
    pub(in crate::lower) fn mask(&mut self, value: Value, bytes: u32) -> Vec<Clif> {
        let lanes = self.ty(value).lanes;
        match self.registers_of(value) {
            Registers::Mask(own, registers) => self.resized_mask(registers, own, bytes, lanes),
            Registers::One(_) | Registers::Gang(_) => bug!(self.function, "{value} should be a mask"),
        }
    }

    fn resized_mask(&mut self, mut registers: Vec<Clif>, from: u32, to: u32, lanes: u32) -> Vec<Clif> {
        let mut bytes = from;
        while bytes < to {
            registers = self.widened(&registers, bytes, true, lanes);
            bytes *= 2;
        }
        while bytes > to {
            registers = self.narrowed(&registers, bytes);
            bytes /= 2;
        }
        registers
    }

    /// Integer lanes of another width, wrapped or extended.
    pub(super) fn resized(
        &mut self,
        mut registers: Vec<Clif>,
        from: u32,
        to: u32,
        signed: bool,
        lanes: u32,
    ) -> Vec<Clif> {
        let mut bytes = from;
        while bytes < to {
            registers = self.widened(&registers, bytes, signed, lanes);
            bytes *= 2;
        }
        while bytes > to {
            registers = self.narrowed(&registers, bytes);
            bytes /= 2;
        }
        registers
    }

    /// Integer lanes twice as wide.
    fn widened(&mut self, from: &[Clif], bytes: u32, signed: bool, lanes: u32) -> Vec<Clif> {
        let wanted = registers(lanes, bytes * 2);
        let mut wide = Vec::new();
        for &register in from {
            wide.push(if signed { self.b.ins().swiden_low(register) } else { self.b.ins().uwiden_low(register) });
            if wide.len() < wanted {
                wide.push(if signed { self.b.ins().swiden_high(register) } else { self.b.ins().uwiden_high(register) });
            }
        }
        wide.truncate(wanted);
        wide
    }

    /// The low halves of integer lanes of `bytes`.
    pub(super) fn narrowed(&mut self, from: &[Clif], bytes: u32) -> Vec<Clif> {
        let half = bytes as usize / 2;
        let ty = int_vector(bytes / 2);
        from.chunks(2)
            .map(|pair| {
                let picks: Vec<u8> =
                    (0..32).filter(|byte| byte % bytes as usize / half == 0).map(|byte| byte as u8).collect();
                self.shuffled(ty, pair[0], pair[pair.len() - 1], picks)
            })
            .collect()
    }

    /// Bytes picked out of two registers.
    pub(super) fn shuffled(&mut self, ty: ClifType, a: Clif, b: Clif, picks: Vec<u8>) -> Clif {
        let (a, b) = (self.reinterpret(types::I8X16, a), self.reinterpret(types::I8X16, b));
        let picks = self.b.func.dfg.immediates.push(picks.into());
        let bytes = self.b.ins().shuffle(a, b, picks);
        self.reinterpret(ty, bytes)
    }
}
