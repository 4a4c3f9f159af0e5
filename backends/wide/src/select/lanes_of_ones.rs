//! What is done otherwise without AVX-512: masks are lanes of ones, and several instructions stand for one.

use fusebox_ir::{Binary, ElementType, Unary};
use fusebox_vector::{Type, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select, codes};
use crate::machine::{Address, Arg, Cond, Inst as Made, WIDE};

const AND: C = C::VEX_Vpand_ymm_ymm_ymmm256;
const OR: C = C::VEX_Vpor_ymm_ymm_ymmm256;
const XOR: C = C::VEX_Vpxor_ymm_ymm_ymmm256;

impl Select<'_> {
    /// Two registers by one instruction.
    fn two(&mut self, code: C, a: VReg, b: VReg) -> VReg {
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

    // Masks.

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

    // Comparisons and what is made of them.

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

    /// The lesser or greater of lanes of 8 bytes, or the low part of their product.
    pub(super) fn long(&mut self, function: Binary, element: ElementType, a: VReg, b: VReg) -> VReg {
        if function == Binary::Mul {
            let high = |this: &mut Self, a: VReg| this.w(C::VEX_Vpsrlq_ymm_ymm_imm8, &[Arg::Use(a), Arg::Imm(32)]);
            let (high_a, high_b) = (high(self, a), high(self, b));
            let low = self.two(C::VEX_Vpmuludq_ymm_ymm_ymmm256, a, b);
            let first = self.two(C::VEX_Vpmuludq_ymm_ymm_ymmm256, high_a, b);
            let second = self.two(C::VEX_Vpmuludq_ymm_ymm_ymmm256, a, high_b);
            let mixed = self.two(C::VEX_Vpaddq_ymm_ymm_ymmm256, first, second);
            let mixed = self.w(C::VEX_Vpsllq_ymm_ymm_imm8, &[Arg::Use(mixed), Arg::Imm(32)]);
            return self.two(C::VEX_Vpaddq_ymm_ymm_ymmm256, low, mixed);
        }
        let above = self.compared(Binary::Gt, element, a, Arg::Use(b));
        let (otherwise, there) = if function == Binary::Max { (b, a) } else { (a, b) };
        self.by_ones(above, otherwise, Arg::Any(there))
    }

    /// The lesser or greater of floats: -0 is below +0, and a NaN stays one.
    pub(super) fn nearest(&mut self, function: Binary, element: ElementType, a: VReg, b: VReg) -> VReg {
        let single = element == ElementType::F32;
        let (code, compare, add) = match (function, single) {
            (Binary::Min, true) => {
                (C::VEX_Vminps_ymm_ymm_ymmm256, C::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, C::VEX_Vaddps_ymm_ymm_ymmm256)
            }
            (Binary::Min, false) => {
                (C::VEX_Vminpd_ymm_ymm_ymmm256, C::VEX_Vcmppd_ymm_ymm_ymmm256_imm8, C::VEX_Vaddpd_ymm_ymm_ymmm256)
            }
            (_, true) => {
                (C::VEX_Vmaxps_ymm_ymm_ymmm256, C::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, C::VEX_Vaddps_ymm_ymm_ymmm256)
            }
            (_, false) => {
                (C::VEX_Vmaxpd_ymm_ymm_ymmm256, C::VEX_Vcmppd_ymm_ymm_ymmm256_imm8, C::VEX_Vaddpd_ymm_ymm_ymmm256)
            }
        };
        // Of two zeros each gives its second: together they have both signs.
        let (first, second) = (self.two(code, a, b), self.two(code, b, a));
        let both = self.two(if function == Binary::Min { OR } else { AND }, first, second);
        let unordered = self.w(compare, &[Arg::Use(a), Arg::Any(b), Arg::Imm(3)]);
        let sum = self.two(add, a, b);
        self.by_ones(unordered, both, Arg::Any(sum))
    }

    /// The comparison that says which lanes are infinite.
    pub(super) fn infinite_of(&mut self, element: ElementType, a: VReg) -> Outcome<(C, Vec<Arg>)> {
        let (code, bytes, infinity) = match element {
            ElementType::F32 => (C::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, 4, u64::from(f32::INFINITY.to_bits())),
            ElementType::F64 => (C::VEX_Vcmppd_ymm_ymm_ymmm256_imm8, 8, f64::INFINITY.to_bits()),
            _ => return self.lacks(&format!("{} of {element}", Unary::IsInf.text())),
        };
        let rest = self.every(u64::MAX >> (65 - 8 * bytes), bytes);
        let positive = self.w(AND, &[Arg::Use(a), rest]);
        let infinity = self.every(infinity, bytes);
        Ok((code, vec![Arg::Use(positive), infinity, Arg::Imm(0)]))
    }

    /// Absolute values, or signs, of lanes of 8 bytes.
    pub(super) fn signs(&mut self, function: Unary, element: ElementType, a: VReg) -> VReg {
        let zero = self.zero();
        if !element.is_signed() {
            if function == Unary::Abs {
                return a;
            }
            // Ones are -1.
            let one = self.every(1, 8);
            let none = self.two(C::VEX_Vpcmpeqq_ymm_ymm_ymmm256, a, zero);
            return self.w(C::VEX_Vpaddq_ymm_ymm_ymmm256, &[Arg::Use(none), one]);
        }
        let negative = self.two(C::VEX_Vpcmpgtq_ymm_ymm_ymmm256, zero, a);
        if function == Unary::Abs {
            let flipped = self.two(XOR, a, negative);
            return self.two(C::VEX_Vpsubq_ymm_ymm_ymmm256, flipped, negative);
        }
        let positive = self.two(C::VEX_Vpcmpgtq_ymm_ymm_ymmm256, a, zero);
        self.two(C::VEX_Vpsubq_ymm_ymm_ymmm256, negative, positive)
    }

    /// Zeros above the highest one: all bits below it become ones, and what are still zeros are counted.
    pub(super) fn zeros_above_spread(&mut self, bytes: usize, a: VReg) -> VReg {
        let mut spread = a;
        for by in [1, 2, 4, 8, 16, 32].into_iter().take_while(|&by| by < bytes as i64 * 8) {
            let code = match bytes {
                2 => C::VEX_Vpsrlw_ymm_ymm_imm8,
                4 => C::VEX_Vpsrld_ymm_ymm_imm8,
                _ => C::VEX_Vpsrlq_ymm_ymm_imm8,
            };
            let moved = self.w(code, &[Arg::Use(spread), Arg::Imm(by)]);
            spread = self.two(OR, spread, moved);
        }
        let ones = self.every(u64::MAX, 8);
        let above = self.w(XOR, &[Arg::Use(spread), ones]);
        self.ones(bytes, above)
    }

    // Shifts of bits.

    /// Whether a shift of a gang is some instructions; else it is done lane by lane.
    pub(super) fn shifts_here(&self, function: Binary, a: Value, b: Value) -> bool {
        let (element, amount) = (self.ty(a).element, self.ty(b));
        let (bytes, arithmetic) = (element.bytes(), element.is_signed());
        let rotates = matches!(function, Binary::RotateLeft | Binary::RotateRight);
        if self.constant_of(b).is_some() {
            return true;
        }
        let there = |code: Option<C>| code.is_some_and(|code| self.has(code));
        if amount.lanes == 1 && !rotates {
            return there(codes::shift_by_one(function, bytes, arithmetic));
        }
        // Amounts of 8 bytes have no instruction that bounds them.
        let fits = amount.lanes == 1 || amount.element.bytes() == bytes || amount.element.bytes() < 8;
        fits && there(codes::shift_by_lane(function, bytes, arithmetic))
    }

    /// Shifts by a number for which there is no instruction: rotations, and signed lanes of 8 bytes to the right.
    pub(super) fn shift_without(&mut self, function: Binary, bytes: usize, a: VReg, by: i64) -> VReg {
        let width = bytes as i64 * 8;
        let (left, right) = if bytes == 8 {
            (C::VEX_Vpsllq_ymm_ymm_imm8, C::VEX_Vpsrlq_ymm_ymm_imm8)
        } else {
            (C::VEX_Vpslld_ymm_ymm_imm8, C::VEX_Vpsrld_ymm_ymm_imm8)
        };
        // A shift by the width leaves nothing.
        let (up, down, from) = match function {
            Binary::RotateLeft => (by, width - by, a),
            Binary::RotateRight => (width - by, by, a),
            _ => {
                let zero = self.zero();
                (width - by, by, self.two(C::VEX_Vpcmpgtq_ymm_ymm_ymmm256, zero, a))
            }
        };
        let high = self.w(left, &[Arg::Use(from), Arg::Imm(up)]);
        let low = self.w(right, &[Arg::Use(a), Arg::Imm(down)]);
        self.two(OR, high, low)
    }

    // Moves between lanes.

    /// What begins at a byte, a multiple of 4, in the low part of a register: at most to the end of its 16 bytes.
    pub(super) fn shifted_by_bytes(&mut self, register: VReg, at: u32) -> VReg {
        let half = if at < 16 {
            register
        } else {
            self.w(C::VEX_Vextracti128_xmmm128_ymm_imm8, &[Arg::Use(register), Arg::Imm(1)])
        };
        if at.is_multiple_of(16) {
            return half;
        }
        self.w(C::VEX_Vpsrldq_xmm_xmm_imm8, &[Arg::Use(half), Arg::Imm(i64::from(at % 16))])
    }

    /// The bytes from `at` on of two registers one behind the other: at least one of each.
    pub(super) fn joined_halves(&mut self, low: Arg, high: VReg, at: i64) -> VReg {
        let middle = self.w(C::VEX_Vperm2i128_ymm_ymm_ymmm256_imm8, &[Arg::Use(high), low, Arg::Imm(3)]);
        let code = C::VEX_Vpalignr_ymm_ymm_ymmm256_imm8;
        match at {
            16 => middle,
            ..16 => self.w(code, &[Arg::Use(middle), low, Arg::Imm(at)]),
            _ => self.w(code, &[Arg::Use(high), Arg::Use(middle), Arg::Imm(at - 16)]),
        }
    }

    /// The low parts of integer lanes; of masks, which are ones or zeros, masks.
    pub(super) fn halved_lanes(&mut self, from: &[VReg], bytes: usize, to: usize) -> Vec<VReg> {
        let (mut all, mut bytes) = (from.to_vec(), bytes);
        while bytes > to {
            let mut next = Vec::new();
            for pair in all.chunks(2) {
                let (low, high) = (pair[0], *pair.last().unwrap_or(&pair[0]));
                let mixed = match bytes {
                    8 => self.w(C::VEX_Vshufps_ymm_ymm_ymmm256_imm8, &[Arg::Use(low), Arg::Any(high), Arg::Imm(0x88)]),
                    _ => {
                        let (rest, pack) = if bytes == 4 {
                            (0x0000_ffff, C::VEX_Vpackusdw_ymm_ymm_ymmm256)
                        } else {
                            (0x00ff_00ff, C::VEX_Vpackuswb_ymm_ymm_ymmm256)
                        };
                        let rest = self.every(rest, 4);
                        let low = self.w(AND, &[Arg::Use(low), rest]);
                        let high = self.w(AND, &[Arg::Use(high), rest]);
                        self.two(pack, low, high)
                    }
                };
                // Each 16 bytes have 8 of the first and 8 of the second.
                next.push(self.w(C::VEX_Vpermq_ymm_ymmm256_imm8, &[Arg::Any(mixed), Arg::Imm(0xd8)]));
            }
            (all, bytes) = (next, bytes / 2);
        }
        all
    }

    // Conversions.

    /// Whether a conversion is done lane by lane.
    pub(super) fn converts_by_lanes(&self, from: ElementType, to: ElementType) -> bool {
        use ElementType::{F32, I32, U32};
        match (from.is_float(), to.is_float()) {
            (false, true) => from == U32 || from.bytes() == 8,
            (true, false) => from != F32 || !(to == I32 || to.bytes() < 4),
            _ => false,
        }
    }

    pub(super) fn convert_by_lanes(&mut self, a: Value, to: Type) -> Outcome<Registers> {
        let from = self.ty(a).element;
        let registers = self.gang(a)?;
        let out = self.nth(registers.len());
        self.m.room(out as usize + self.registers(to.lanes, to.element.bytes() as u32).max(1) * self.bytes as usize);
        self.put(0, &registers);
        for lane in 0..i64::from(to.lanes) {
            let one = self.take(from, lane * from.bytes() as i64);
            let converted = self.converted(one, from, to.element)?;
            self.store_one(to.element, Self::framed(out + lane * to.element.bytes() as i64), converted);
        }
        Ok(self.get(out, to))
    }

    /// A float of an unsigned integer of 64 bits: of a large one, twice that of its half, whose lowest bit says that there was more.
    pub(super) fn float_of_u64(&mut self, one: VReg, to: ElementType) -> VReg {
        let (code, add) = if to == ElementType::F32 {
            (C::VEX_Vcvtsi2ss_xmm_xmm_rm64, C::VEX_Vaddss_xmm_xmm_xmmm32)
        } else {
            (C::VEX_Vcvtsi2sd_xmm_xmm_rm64, C::VEX_Vaddsd_xmm_xmm_xmmm64)
        };
        let zero = self.zero();
        let small = self.w(code, &[Arg::Use(zero), Arg::Any(one)]);
        let half = self.over(C::Shr_rm64_imm8, one, &[Arg::Imm(1)]);
        let lowest = self.over(C::And_rm32_imm8, one, &[Arg::Imm(1)]);
        let half = self.over(C::Or_r64_rm64, half, &[Arg::Use(lowest)]);
        let half = self.w(code, &[Arg::Use(zero), Arg::Any(half)]);
        let large = self.two(add, half, half);
        let sign = self.over(C::Sar_rm64_imm8, one, &[Arg::Imm(63)]);
        let is_large = self.spread_int(8, sign);
        self.by_ones(is_large, small, Arg::Any(large))
    }

    /// A uniform float as an integer, saturating, NaN to 0.
    pub(super) fn whole_one(&mut self, one: VReg, from: ElementType, to: ElementType) -> VReg {
        let mut x = one;
        if from == ElementType::F32 {
            x = self.w(C::VEX_Vcvtss2sd_xmm_xmm_xmmm32, &[Arg::Use(one), Arg::Use(one)]);
        }
        let number = self.w(C::VEX_Vcmppd_ymm_ymm_ymmm256_imm8, &[Arg::Use(x), Arg::Use(x), Arg::Imm(7)]);
        x = self.two(AND, x, number);
        let (low, high) = (C::VEX_Vmaxpd_ymm_ymm_ymmm256, C::VEX_Vminpd_ymm_ymm_ymmm256);
        let (signed, width) = (to.is_signed(), to.bits() as i32);
        if !signed {
            let least = self.every(0f64.to_bits(), 8);
            x = self.w(low, &[Arg::Use(x), least]);
        }
        let beyond = |this: &mut Self, x: VReg, power: i32| {
            let limit = this.every(2f64.powi(power).to_bits(), 8);
            this.first_bit(C::VEX_Vcmppd_ymm_ymm_ymmm256_imm8, &[Arg::Use(x), limit, Arg::Imm(0x1d)])
        };
        if width < 64 {
            let most = if signed { 2f64.powi(width - 1) - 1.0 } else { 2f64.powi(width) - 1.0 };
            if signed {
                let least = self.every((-(2f64.powi(width - 1))).to_bits(), 8);
                x = self.w(low, &[Arg::Use(x), least]);
            }
            let most = self.every(most.to_bits(), 8);
            x = self.w(high, &[Arg::Use(x), most]);
            let whole = self.i(C::VEX_Vcvttsd2si_r64_xmmm64, &[Arg::Use(x)]);
            return self.canonical(to, whole);
        }
        // What does not fit gives the smallest number: one less is the largest.
        if signed {
            let whole = self.i(C::VEX_Vcvttsd2si_r64_xmmm64, &[Arg::Use(x)]);
            let over = beyond(self, x, 63);
            return self.over(C::Sub_r64_rm64, whole, &[Arg::Use(over)]);
        }
        let (upper, over) = (beyond(self, x, 63), beyond(self, x, 64));
        let mask = self.spread(upper);
        let half = self.every(2f64.powi(63).to_bits(), 8);
        let taken = self.w(AND, &[Arg::Use(mask), half]);
        let rest = self.two(C::VEX_Vsubsd_xmm_xmm_xmmm64, x, taken);
        let whole = self.i(C::VEX_Vcvttsd2si_r64_xmmm64, &[Arg::Use(rest)]);
        let upper = self.over(C::Shl_rm64_imm8, upper, &[Arg::Imm(63)]);
        let sum = self.over(C::Xor_r64_rm64, whole, &[Arg::Use(upper)]);
        self.over(C::Sub_r64_rm64, sum, &[Arg::Use(over)])
    }

    // Memory.

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
        debug_assert!(registers.iter().all(|register| register.class() == WIDE));
        Ok(last)
    }
}
