//! Masks: a bit for each lane, in mask registers of as many lanes as a vector register has of what is compared.

use fusebox_ir::Binary;
use fusebox_vector::{Type, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select, codes};
use crate::machine::{Arg, Cond};

impl Select<'_> {
    /// A mask of these bits for lanes of so many bytes.
    pub(super) fn mask_bits(&mut self, bits: u64, bytes: u32) -> VReg {
        if !self.features.avx512 {
            return self.ones_of_bits(bits, bytes);
        }
        let number = self.number(bits as i64);
        self.k(C::VEX_Kmovq_kr_r64, &[Arg::Use(number)])
    }

    /// A mask's registers of `per` lanes each.
    pub(super) fn mask(&mut self, value: Value, per: u32) -> Outcome<Vec<VReg>> {
        let lanes = self.ty(value).lanes;
        match self.registers_of(value)?.clone() {
            Registers::Mask(own, registers) => self.resized_mask(registers, own, per, lanes),
            Registers::Known => {
                let Some(all) = self.constant_of(value).and_then(fusebox_ir::Constant::as_bool) else {
                    self.wrong(value, "a mask");
                };
                let register = self.mask_bits(if all { u64::MAX } else { 0 }, self.bytes / per);
                Ok(vec![register; lanes.div_ceil(per) as usize])
            }
            _ => self.wrong(value, "a mask"),
        }
    }

    fn resized_mask(&mut self, mut registers: Vec<VReg>, from: u32, to: u32, lanes: u32) -> Outcome<Vec<VReg>> {
        if !self.features.avx512 {
            // Ones stay ones when a sign is extended, and when halves are dropped.
            let (from, to) = (self.bytes / from, self.bytes / to);
            return self.resized(&registers, from as usize, to as usize, true, lanes);
        }
        let mut per = from;
        while per < to {
            let code = match per {
                8 => C::VEX_Kunpckbw_kr_kr_kr,
                16 => C::VEX_Kunpckwd_kr_kr_kr,
                _ => C::VEX_Kunpckdq_kr_kr_kr,
            };
            registers = registers
                .chunks(2)
                .map(|pair| match *pair {
                    [low, high] => self.k(code, &[Arg::Use(high), Arg::Use(low)]),
                    _ => pair[0],
                })
                .collect();
            per *= 2;
        }
        while per > to {
            let half = per / 2;
            let wanted = lanes.div_ceil(half) as usize;
            let mut parts = Vec::new();
            for register in registers {
                parts.push(register);
                if parts.len() < wanted {
                    parts.push(self.k(C::VEX_Kshiftrq_kr_kr_imm8, &[Arg::Use(register), Arg::Imm(half.into())]));
                }
            }
            registers = parts;
            per = half;
        }
        Ok(registers)
    }

    /// The mask in mask registers for lanes of so many bytes, with zeros beyond the last lane.
    pub(super) fn exact_mask(&mut self, value: Value, bytes: u32) -> Outcome<Vec<VReg>> {
        let lanes = self.ty(value).lanes;
        let per = self.bytes / bytes;
        let mask = self.mask(value, per)?;
        if lanes >= per {
            return Ok(mask);
        }
        let inside = self.mask_bits((1 << lanes) - 1, bytes);
        Ok(mask.into_iter().map(|mask| self.k(C::VEX_Kandq_kr_kr_kr, &[Arg::Use(mask), Arg::Use(inside)])).collect())
    }

    /// Flags that say whether a mask holds anywhere.
    pub(super) fn any_flags(&mut self, value: Value) -> Outcome<(C, Vec<Arg>, Cond)> {
        let lanes = self.ty(value).lanes;
        if lanes == 1 {
            return self.test(value);
        }
        let (per, registers) = match self.registers_of(value)?.clone() {
            Registers::Mask(per, registers) => (per, registers),
            _ => (self.bytes, self.mask(value, self.bytes)?),
        };
        if !self.features.avx512 {
            return Ok(self.any_ones(&registers, per, lanes));
        }
        let mut all = registers[0];
        for &register in &registers[1..] {
            all = self.k(C::VEX_Korq_kr_kr_kr, &[Arg::Use(all), Arg::Use(register)]);
        }
        let (code, args) = match lanes.min(per) {
            64.. => (C::VEX_Kortestq_kr_kr, vec![Arg::Use(all), Arg::Use(all)]),
            32 => (C::VEX_Kortestd_kr_kr, vec![Arg::Use(all), Arg::Use(all)]),
            16 => (C::VEX_Kortestw_kr_kr, vec![Arg::Use(all), Arg::Use(all)]),
            8 => (C::VEX_Kortestb_kr_kr, vec![Arg::Use(all), Arg::Use(all)]),
            few => {
                let bits = self.i(C::VEX_Kmovd_r32_kr, &[Arg::Use(all)]);
                (C::Test_rm32_imm32, vec![Arg::Use(bits), Arg::Imm((1 << few) - 1)])
            }
        };
        Ok((code, args, Cond::NotEqual))
    }

    /// A uniform `bool` in every lane of a mask register.
    pub(super) fn spread(&mut self, one: VReg) -> VReg {
        let ones = self.over(C::Neg_rm64, one, &[]);
        if !self.features.avx512 {
            return self.spread_int(8, ones);
        }
        self.k(C::VEX_Kmovq_kr_r64, &[Arg::Use(ones)])
    }

    pub(super) fn not_mask(&mut self, value: Value) -> Outcome<Registers> {
        let Registers::Mask(per, registers) = self.registers_of(value)?.clone() else {
            let per = self.per;
            let registers = self.mask(value, per)?;
            return Ok(Registers::Mask(per, self.not_each(&registers)));
        };
        Ok(Registers::Mask(per, self.not_each(&registers)))
    }

    fn not_each(&mut self, registers: &[VReg]) -> Vec<VReg> {
        if !self.features.avx512 {
            return registers
                .iter()
                .map(|&mask| {
                    let ones = self.every(u64::MAX, 8);
                    self.w(C::VEX_Vpxor_ymm_ymm_ymmm256, &[Arg::Use(mask), ones])
                })
                .collect();
        }
        registers.iter().map(|&mask| self.k(C::VEX_Knotq_kr_kr, &[Arg::Use(mask)])).collect()
    }

    pub(super) fn binary_mask(&mut self, function: Binary, a: Value, b: Value) -> Outcome<Registers> {
        if matches!(function, Binary::And | Binary::LogicalAnd) {
            // What is known first is the mask: the comparison waits for it, as long as a comparison takes.
            let (mask, comparison) = if a < b { (a, b) } else { (b, a) };
            if let Some(both) = self.and_compared(mask, comparison)? {
                return Ok(both);
            }
        }
        let per = match (self.registers_of(a)?, self.registers_of(b)?) {
            (Registers::Mask(per, _), _) | (_, Registers::Mask(per, _)) => *per,
            _ => self.per,
        };
        let (left, right) = (self.mask(a, per)?, self.mask(b, per)?);
        // `VEX_Kandnq` is `!first & second`; false is below true.
        let (code, swapped, not) = match function {
            Binary::And | Binary::LogicalAnd | Binary::Min => (C::VEX_Kandq_kr_kr_kr, false, false),
            Binary::Or | Binary::LogicalOr | Binary::Max => (C::VEX_Korq_kr_kr_kr, false, false),
            Binary::Xor | Binary::Ne => (C::VEX_Kxorq_kr_kr_kr, false, false),
            Binary::Eq if !self.features.avx512 => (C::VEX_Kxorq_kr_kr_kr, false, true),
            Binary::Eq => (C::VEX_Kxnorq_kr_kr_kr, false, false),
            Binary::Lt => (C::VEX_Kandnq_kr_kr_kr, false, false),
            Binary::Gt => (C::VEX_Kandnq_kr_kr_kr, true, false),
            Binary::Le => (C::VEX_Kandnq_kr_kr_kr, true, true),
            Binary::Ge => (C::VEX_Kandnq_kr_kr_kr, false, true),
            _ => return self.lacks("a function of masks"),
        };
        let mut result: Vec<VReg> = Vec::new();
        for (&left, &right) in left.iter().zip(&right) {
            let (first, second) = if swapped { (right, left) } else { (left, right) };
            result.push(self.k(code, &[Arg::Use(first), Arg::Use(second)]));
        }
        Ok(Registers::Mask(per, if not { self.not_each(&result) } else { result }))
    }

    pub(super) fn choose_mask(&mut self, condition: Value, a: Value, b: Value) -> Outcome<Registers> {
        let per = match self.registers_of(condition)? {
            Registers::Mask(per, _) => *per,
            _ => self.per,
        };
        let (left, right) = (self.mask(a, per)?, self.mask(b, per)?);
        let condition = if self.ty(condition).lanes == 1 {
            let one = self.one(condition)?;
            vec![self.spread(one); left.len()]
        } else {
            self.mask(condition, per)?
        };
        let mut chosen = Vec::new();
        for ((condition, a), b) in condition.into_iter().zip(left).zip(right) {
            let yes = self.k(C::VEX_Kandq_kr_kr_kr, &[Arg::Use(condition), Arg::Use(a)]);
            let no = self.k(C::VEX_Kandnq_kr_kr_kr, &[Arg::Use(condition), Arg::Use(b)]);
            chosen.push(self.k(C::VEX_Korq_kr_kr_kr, &[Arg::Use(yes), Arg::Use(no)]));
        }
        Ok(Registers::Mask(per, chosen))
    }

    /// A mask of at most 64 lanes as bits of an integer register, with anything beyond.
    pub(super) fn mask_word(&mut self, value: Value) -> Outcome<VReg> {
        if self.ty(value).lanes > 64 {
            return self.lacks("a mask of more than 64 lanes as a word");
        }
        let mask = self.mask(value, self.bytes)?;
        if !self.features.avx512 {
            return Ok(self.word_of_ones(&mask));
        }
        Ok(self.i(C::VEX_Kmovq_r64_kr, &[Arg::Use(mask[0])]))
    }

    pub(super) fn mask_of_word(&mut self, word: VReg, lanes: u32) -> Registers {
        if !self.features.avx512 {
            return self.ones_of_word(word, lanes);
        }
        Registers::Mask(self.bytes, vec![self.k(C::VEX_Kmovq_kr_r64, &[Arg::Use(word)])])
    }

    pub(super) fn extract_mask(&mut self, value: Value, lane: u32) -> Outcome<VReg> {
        let Registers::Mask(per, registers) = self.registers_of(value)?.clone() else {
            let word = self.mask_word(value)?;
            return Ok(self.bit(word, lane));
        };
        let register = registers[(lane / per) as usize];
        if !self.features.avx512 {
            let word = self.i(C::VEX_Vpmovmskb_r32_ymm, &[Arg::Use(register)]);
            return Ok(self.bit(word, lane % per * (self.bytes / per)));
        }
        let word = self.i(C::VEX_Kmovq_r64_kr, &[Arg::Use(register)]);
        Ok(self.bit(word, lane % per))
    }

    pub(super) fn bit(&mut self, word: VReg, at: u32) -> VReg {
        let moved = if at == 0 { word } else { self.over(C::Shr_rm64_imm8, word, &[Arg::Imm(i64::from(at))]) };
        self.over(C::And_rm32_imm8, moved, &[Arg::Imm(1)])
    }

    pub(super) fn insert_mask(&mut self, value: Value, lane: u32, new: VReg) -> Outcome<Registers> {
        let lanes = self.ty(value).lanes;
        let word = self.mask_word(value)?;
        let without = self.number(!(1i64 << lane));
        let kept = self.over(C::And_r64_rm64, word, &[Arg::Use(without)]);
        let bit = if lane == 0 { new } else { self.over(C::Shl_rm64_imm8, new, &[Arg::Imm(i64::from(lane))]) };
        let word = self.over(C::Or_r64_rm64, kept, &[Arg::Use(bit)]);
        Ok(self.mask_of_word(word, lanes))
    }

    /// Lane l is lane `l - by`, below that of `fill`.
    pub(super) fn half_mask(&mut self, value: Value, upper: bool) -> Outcome<Registers> {
        let half = self.ty(value).lanes / 2;
        let mut word = self.mask_word(value)?;
        if upper {
            word = self.over(C::Shr_rm64_imm8, word, &[Arg::Imm(i64::from(half))]);
        }
        Ok(self.mask_of_word(word, half))
    }

    pub(super) fn shift_mask(&mut self, value: Value, by: u32, fill: Value) -> Outcome<Registers> {
        let lanes = self.ty(value).lanes;
        let (word, fill) = (self.mask_word(value)?, self.mask_word(fill)?);
        if by >= 64 {
            return Ok(self.mask_of_word(fill, lanes));
        }
        let below = self.number(((1u64 << by) - 1) as i64);
        let fill = self.over(C::And_r64_rm64, fill, &[Arg::Use(below)]);
        let moved = self.over(C::Shl_rm64_imm8, word, &[Arg::Imm(i64::from(by))]);
        let word = self.over(C::Or_r64_rm64, moved, &[Arg::Use(fill)]);
        Ok(self.mask_of_word(word, lanes))
    }

    /// Bytes of 0 and 1, as masks lie in memory: registers of 64 lanes.
    pub(super) fn mask_bytes(&mut self, value: Value) -> Outcome<Vec<VReg>> {
        let ones = self.m.constant(&vec![1; self.bytes as usize]);
        let masks = self.mask(value, self.bytes)?;
        Ok(masks.into_iter().map(|mask| self.zeroed(codes::masked_load(1), mask, &[Arg::Mem(ones)])).collect())
    }

    /// Masks of bytes that are not 0.
    pub(super) fn mask_of_bytes(&mut self, registers: &[VReg]) -> Registers {
        let masks = registers
            .iter()
            .map(|&bytes| match self.features.avx512 {
                true => self.k(C::EVEX_Vptestmb_kr_k1_zmm_zmmm512, &[Arg::Use(bytes), Arg::Use(bytes)]),
                false => self.ones_of_bytes(bytes),
            })
            .collect();
        Registers::Mask(self.bytes, masks)
    }

    pub(super) fn splat_mask(&mut self, value: Value, ty: Type) -> Outcome<Registers> {
        let one = self.one(value)?;
        let register = self.spread(one);
        Ok(Registers::Mask(self.per, vec![register; ty.lanes.div_ceil(self.per) as usize]))
    }

    /// A mask register whose first lane alone counts, as a uniform `bool`.
    pub(super) fn first_bit(&mut self, code: C, args: &[Arg]) -> VReg {
        let mask = self.k(code, args);
        let word = if self.features.avx512 { C::VEX_Kmovd_r32_kr } else { C::VEX_Vmovd_rm32_xmm };
        let word = self.i(word, &[Arg::Use(mask)]);
        self.over(C::And_rm32_imm8, word, &[Arg::Imm(1)])
    }
}
