//! Loads, stores and appends under masks that are lanes of ones.

use fusebox_vector::{Type, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select};
use crate::machine::{Address, Arg, Inst as Made};

impl Select<'_> {
    /// A store of neighbouring lanes where the mask holds.
    pub(super) fn store_of_ones(&mut self, at: Address, ty: Type, registers: &[VReg], mask: Value) -> Outcome<()> {
        let bytes = ty.element.bytes() as u32;
        if bytes >= 4 {
            let code = if bytes == 4 { C::VEX_Vpmaskmovd_m256_ymm_ymm } else { C::VEX_Vpmaskmovq_m256_ymm_ymm };
            let masks = self.exact_mask(mask, bytes)?;
            for (position, (&register, mask)) in registers.iter().zip(masks).enumerate() {
                let args = [Arg::Mem(at.plus(self.nth(position))), Arg::Use(mask), Arg::Use(register)];
                self.m.push(Made::new().then(code, &args).kept());
            }
            return Ok(());
        }
        let word = self.mask_word(mask)?;
        self.m.room(registers.len() * self.bytes as usize);
        self.put(0, registers);
        for lane in 0..ty.lanes {
            self.where_bit(word, lane, |this| {
                let one = this.take(ty.element, i64::from(lane * bytes));
                this.store_one(ty.element, at.plus(i64::from(lane * bytes)), one);
            });
        }
        Ok(())
    }

    /// The lanes of which the mask holds, from neighbouring positions; the others are 0, and what is there is not touched.
    pub(super) fn load_of_ones(&mut self, at: Address, ty: Type, mask: Value) -> Outcome<Registers> {
        let bytes = ty.element.bytes() as u32;
        if bytes >= 4 {
            let code = if bytes == 4 { C::VEX_Vpmaskmovd_ymm_ymm_m256 } else { C::VEX_Vpmaskmovq_ymm_ymm_m256 };
            let masks = self.exact_mask(mask, bytes)?.into_iter().enumerate();
            let registers = masks.map(|(position, mask)| {
                let place = Arg::Mem(at.plus(self.nth(position)));
                self.w(code, &[Arg::Use(mask), place])
            });
            return Ok(Registers::Gang(registers.collect()));
        }
        let word = self.mask_word(mask)?;
        let count = self.registers(ty.lanes, bytes).max(1);
        self.m.room(count * self.bytes as usize);
        let nothing = self.mask_bits(0, 1);
        self.put(0, &vec![nothing; count]);
        for lane in 0..ty.lanes {
            self.where_bit(word, lane, |this| {
                let one = this.load_one(ty.element, at.plus(i64::from(lane * bytes)));
                this.store_one(ty.element, Self::framed(i64::from(lane * bytes)), one);
            });
        }
        Ok(self.get(0, ty))
    }

    /// Does something where a bit of a word is set.
    fn where_bit(&mut self, word: VReg, bit: u32, inside: impl FnOnce(&mut Self)) {
        let [then, skip, after] = [(); 3].map(|()| self.m.block());
        self.branch_on_bit(word, bit, then, skip);
        self.m.fill(skip);
        self.m.jump(after, Vec::new());
        self.m.fill(then);
        inside(self);
        self.m.jump(after, Vec::new());
        self.m.fill(after);
    }

    /// Lanes of which a mask holds, one behind the other from `start` on; gives the new count.
    pub(super) fn append_of_ones(
        &mut self,
        base: VReg,
        start: VReg,
        ty: Type,
        registers: &[VReg],
        mask: Value,
    ) -> Outcome<VReg> {
        let bytes = ty.element.bytes() as u32;
        let mut last = start;
        if bytes < 4 {
            let word = if self.ty(mask).lanes > 1 {
                self.mask_word(mask)?
            } else {
                let one = self.one(mask)?;
                self.over(C::Neg_rm64, one, &[])
            };
            self.m.room(registers.len() * self.bytes as usize);
            self.put(0, registers);
            for lane in 0..ty.lanes {
                let place = Address { index: Some(last), scale: bytes, ..Address::at(base, 0) };
                self.where_bit(word, lane, |this| {
                    let one = this.take(ty.element, i64::from(lane * bytes));
                    this.store_one(ty.element, place, one);
                });
                let bit = self.bit(word, lane);
                last = self.i(C::Lea_r64_m, &[Arg::Mem(Address { index: Some(bit), ..Address::at(last, 0) })]);
            }
            return Ok(last);
        }
        let masks = self.lane_masks(mask, ty.lanes, bytes)?;
        let numbers: Vec<u8> = (0..8u32).flat_map(u32::to_le_bytes).collect();
        for (&register, &mask) in registers.iter().zip(&masks) {
            // The numbers of the 4 bytes that are kept, which a byte each of a word says, move down to its low end.
            let bits = self.i(C::VEX_Vmovmskps_r32_ymm, &[Arg::Use(mask)]);
            let (spread, all) = (self.number(0x0101_0101_0101_0101), self.number(0x0706_0504_0302_0100));
            let kept = self.i(C::VEX_Pdep_r64_r64_rm64, &[Arg::Use(bits), Arg::Use(spread)]);
            let kept = self.i(C::Imul_r64_rm64_imm32, &[Arg::Use(kept), Arg::Imm(255)]);
            let picks = self.i(C::VEX_Pext_r64_r64_rm64, &[Arg::Use(all), Arg::Use(kept)]);
            let picks = self.w(C::VEX_Vmovq_xmm_rm64, &[Arg::Use(picks)]);
            let picks = self.w(C::VEX_Vpmovzxbd_ymm_xmmm64, &[Arg::Use(picks)]);
            let moved = self.two(C::VEX_Vpermd_ymm_ymm_ymmm256, picks, register);
            let mut number = self.i(C::Popcnt_r64_rm64, &[Arg::Use(bits)]);
            let end = self.spread_int(4, number);
            let below = self.m.constant(&numbers);
            let below = self.w(C::VEX_Vpcmpgtd_ymm_ymm_ymmm256, &[Arg::Use(end), Arg::Mem(below)]);
            let place = Address { index: Some(last), scale: bytes, ..Address::at(base, 0) };
            let args = [Arg::Mem(place), Arg::Use(below), Arg::Use(moved)];
            self.m.push(Made::new().then(C::VEX_Vpmaskmovd_m256_ymm_ymm, &args).kept());
            if bytes == 8 {
                number = self.over(C::Shr_rm64_imm8, number, &[Arg::Imm(1)]);
            }
            last = self.i(C::Lea_r64_m, &[Arg::Mem(Address { index: Some(number), ..Address::at(last, 0) })]);
        }
        Ok(last)
    }
}
