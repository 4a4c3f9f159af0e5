//! Masks without AVX-512: lanes of ones and zeros, of the width of what they mask.

use fusebox_ir::{Binary, ElementType};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Registers, Select, codes};
use crate::machine::{Arg, Cond};

pub(super) const AND: C = C::VEX_Vpand_ymm_ymm_ymmm256;
pub(super) const OR: C = C::VEX_Vpor_ymm_ymm_ymmm256;
pub(super) const XOR: C = C::VEX_Vpxor_ymm_ymm_ymmm256;

impl Select<'_> {
    /// Two registers by one instruction.
    pub(super) fn two(&mut self, code: C, a: VReg, b: VReg) -> VReg {
        self.w(code, &[Arg::Use(a), Arg::Any(b)])
    }

    /// `b` where the mask has ones, else `a`.
    pub(super) fn by_ones(&mut self, mask: VReg, a: VReg, b: Arg) -> VReg {
        self.w(C::VEX_Vpblendvb_ymm_ymm_ymmm256_ymm, &[Arg::Use(a), b, Arg::Use(mask)])
    }

    /// A uniform integer in all lanes.
    pub(super) fn spread_int(&mut self, bytes: usize, one: VReg) -> VReg {
        if self.features.avx512 {
            return self.w(codes::broadcast_int(bytes), &[Arg::Use(one)]);
        }
        let into = if bytes == 8 { C::VEX_Vmovq_xmm_rm64 } else { C::VEX_Vmovd_xmm_rm32 };
        let low = self.w(into, &[Arg::Use(one)]);
        let spread = match bytes {
            1 => C::VEX_Vpbroadcastb_ymm_xmmm8,
            2 => C::VEX_Vpbroadcastw_ymm_xmmm16,
            4 => C::VEX_Vpbroadcastd_ymm_xmmm32,
            _ => C::VEX_Vpbroadcastq_ymm_xmmm64,
        };
        self.w(spread, &[Arg::Use(low)])
    }

    /// Ones in the lanes of so many bytes whose bits are set.
    pub(super) fn ones_of_bits(&mut self, bits: u64, bytes: u32) -> VReg {
        let lane = |byte: u32| if bits >> (byte / bytes) & 1 == 1 { 0xff } else { 0 };
        let all: Vec<u8> = (0..self.bytes).map(lane).collect();
        let at = self.m.constant(&all);
        self.w(C::VEX_Vmovdqu_ymm_ymmm256, &[Arg::Mem(at)])
    }

    /// Flags that say whether there are ones in any lane.
    pub(super) fn any_ones(&mut self, registers: &[VReg], per: u32, lanes: u32) -> (C, Vec<Arg>, Cond) {
        let mut all = registers[0];
        for &register in &registers[1..] {
            all = self.two(OR, all, register);
        }
        let inside = if lanes < per { self.ones_of_bits((1 << lanes) - 1, self.bytes / per) } else { all };
        (C::VEX_Vptest_ymm_ymmm256, vec![Arg::Use(all), Arg::Use(inside)], Cond::NotEqual)
    }

    /// The bits of a mask in lanes of a byte.
    pub(super) fn word_of_ones(&mut self, mask: &[VReg]) -> VReg {
        let low = self.i(C::VEX_Vpmovmskb_r32_ymm, &[Arg::Use(mask[0])]);
        let Some(&high) = mask.get(1) else { return low };
        let high = self.i(C::VEX_Vpmovmskb_r32_ymm, &[Arg::Use(high)]);
        let high = self.over(C::Shl_rm64_imm8, high, &[Arg::Imm(32)]);
        self.over(C::Or_r64_rm64, high, &[Arg::Use(low)])
    }

    /// A mask in lanes of a byte of bits.
    pub(super) fn ones_of_word(&mut self, word: VReg, lanes: u32) -> Registers {
        let picks: Vec<u8> = (0..32).map(|byte| byte / 8).collect();
        let bits: Vec<u8> = (0..32).map(|byte| 1 << (byte % 8)).collect();
        let (picks, bits) = (self.m.constant(&picks), self.m.constant(&bits));
        let mut masks = Vec::new();
        for register in 0..lanes.div_ceil(32) {
            let part = if register == 0 { word } else { self.over(C::Shr_rm64_imm8, word, &[Arg::Imm(32)]) };
            let all = self.spread_int(4, part);
            let own = self.w(C::VEX_Vpshufb_ymm_ymm_ymmm256, &[Arg::Use(all), Arg::Mem(picks)]);
            let bit = self.w(AND, &[Arg::Use(own), Arg::Mem(bits)]);
            masks.push(self.w(C::VEX_Vpcmpeqb_ymm_ymm_ymmm256, &[Arg::Use(bit), Arg::Mem(bits)]));
        }
        Registers::Mask(32, masks)
    }

    /// Ones where bytes are not 0.
    pub(super) fn ones_of_bytes(&mut self, bytes: VReg) -> VReg {
        let zero = self.zero();
        let none = self.two(C::VEX_Vpcmpeqb_ymm_ymm_ymmm256, bytes, zero);
        let ones = self.every(u64::MAX, 8);
        self.w(XOR, &[Arg::Use(none), ones])
    }

    fn is_equal(bytes: usize) -> C {
        match bytes {
            1 => C::VEX_Vpcmpeqb_ymm_ymm_ymmm256,
            2 => C::VEX_Vpcmpeqw_ymm_ymm_ymmm256,
            4 => C::VEX_Vpcmpeqd_ymm_ymm_ymmm256,
            _ => C::VEX_Vpcmpeqq_ymm_ymm_ymmm256,
        }
    }

    fn is_above(bytes: usize) -> C {
        match bytes {
            1 => C::VEX_Vpcmpgtb_ymm_ymm_ymmm256,
            2 => C::VEX_Vpcmpgtw_ymm_ymm_ymmm256,
            4 => C::VEX_Vpcmpgtd_ymm_ymm_ymmm256,
            _ => C::VEX_Vpcmpgtq_ymm_ymm_ymmm256,
        }
    }

    /// A comparison of integers: there are equal and, of signed ones, above.
    pub(super) fn compared(&mut self, function: Binary, element: ElementType, a: VReg, b: Arg) -> VReg {
        let bytes = element.bytes();
        let not = matches!(function, Binary::Ne | Binary::Le | Binary::Ge);
        let mut mask = if matches!(function, Binary::Eq | Binary::Ne) {
            self.w(Self::is_equal(bytes), &[Arg::Use(a), b])
        } else {
            let b = match b {
                Arg::Mem(_) => self.w(C::VEX_Vmovdqu_ymm_ymmm256, &[b]),
                Arg::Any(b) | Arg::Use(b) => b,
                _ => self.w(C::VEX_Vmovdqu_ymm_ymmm256, &[b]),
            };
            let (mut a, mut b) = (a, b);
            if !element.is_signed() {
                // The order of unsigned numbers is that of signed ones whose highest bits are changed.
                let sign = self.lanes_of(1 << (element.bits() - 1), bytes);
                a = self.w(XOR, &[Arg::Use(a), sign]);
                b = self.w(XOR, &[Arg::Use(b), sign]);
            }
            let (above, below) = if matches!(function, Binary::Gt | Binary::Le) { (a, b) } else { (b, a) };
            self.two(Self::is_above(bytes), above, below)
        };
        if not {
            let ones = self.every(u64::MAX, 8);
            mask = self.w(XOR, &[Arg::Use(mask), ones]);
        }
        mask
    }
}
