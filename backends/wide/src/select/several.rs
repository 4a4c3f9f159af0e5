//! Functions of lanes that are one instruction of AVX-512 and several of AVX2.

use fusebox_ir::{Binary, ElementType, Unary};
use fusebox_vector::Value;
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{
    Outcome, Select, codes,
    lanes_of_ones::{AND, OR, XOR},
};
use crate::machine::{Address, Arg};

impl Select<'_> {
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
        let (compare, add) = if element == ElementType::F32 {
            (C::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, C::VEX_Vaddps_ymm_ymm_ymmm256)
        } else {
            (C::VEX_Vcmppd_ymm_ymm_ymmm256_imm8, C::VEX_Vaddpd_ymm_ymm_ymmm256)
        };
        let both = self.nearest_number(function, element, a, b);
        let unordered = self.w(compare, &[Arg::Use(a), Arg::Any(b), Arg::Imm(3)]);
        let sum = self.two(add, a, b);
        self.by_ones(unordered, both, Arg::Any(sum))
    }

    /// The lesser or greater of numbers: -0 is below +0.
    pub(super) fn nearest_number(&mut self, function: Binary, element: ElementType, a: VReg, b: VReg) -> VReg {
        let code = match (function, element) {
            (Binary::Min, ElementType::F32) => C::VEX_Vminps_ymm_ymm_ymmm256,
            (Binary::Min, _) => C::VEX_Vminpd_ymm_ymm_ymmm256,
            (_, ElementType::F32) => C::VEX_Vmaxps_ymm_ymm_ymmm256,
            _ => C::VEX_Vmaxpd_ymm_ymm_ymmm256,
        };
        // Of two zeros each gives its second: together they have both signs.
        let (first, second) = (self.two(code, a, b), self.two(code, b, a));
        self.two(if function == Binary::Min { OR } else { AND }, first, second)
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
        // A rotation is two shifts.
        let own = if rotates { Binary::Shl } else { function };
        fits && there(codes::shift_by_lane(own, bytes, arithmetic && !rotates))
    }

    /// How far a rotation shifts up and down: what goes out at one end comes in at the other. A shift by the width leaves nothing.
    pub(super) fn rotation(&mut self, function: Binary, bytes: usize, amount: VReg) -> [VReg; 2] {
        let width = bytes as u64 * 8;
        let subtract = if bytes == 8 { C::VEX_Vpsubq_ymm_ymm_ymmm256 } else { C::VEX_Vpsubd_ymm_ymm_ymmm256 };
        let (inside, whole) = (self.every(width - 1, bytes), self.every(width, bytes));
        let by = self.w(AND, &[Arg::Use(amount), inside]);
        let whole = self.w(C::VEX_Vmovdqu_ymm_ymmm256, &[whole]);
        let rest = self.two(subtract, whole, by);
        if function == Binary::RotateLeft { [by, rest] } else { [rest, by] }
    }

    /// Lanes shifted up and down by amounts of [`Self::rotation`].
    pub(super) fn rotated(&mut self, bytes: usize, a: VReg, [up, down]: [VReg; 2]) -> VReg {
        let (left, right) = if bytes == 8 {
            (C::VEX_Vpsllvq_ymm_ymm_ymmm256, C::VEX_Vpsrlvq_ymm_ymm_ymmm256)
        } else {
            (C::VEX_Vpsllvd_ymm_ymm_ymmm256, C::VEX_Vpsrlvd_ymm_ymm_ymmm256)
        };
        let high = self.two(left, a, up);
        let low = self.two(right, a, down);
        self.two(OR, high, low)
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

    /// Lanes of 4 or 8 bytes, each from its own place.
    pub(super) fn lanes_from(&mut self, bytes: u32, places: &[Address]) -> Vec<VReg> {
        let (first, next) = if bytes == 4 {
            (C::EVEX_Vmovd_xmm_rm32, C::EVEX_Vpinsrd_xmm_xmm_rm32_imm8)
        } else {
            (C::EVEX_Vmovq_xmm_rm64, C::EVEX_Vpinsrq_xmm_xmm_rm64_imm8)
        };
        let mut halves = Vec::new();
        for places in places.chunks(16 / bytes as usize) {
            let mut half = self.w(first, &[Arg::Mem(places[0])]);
            for (lane, &place) in places.iter().enumerate().skip(1) {
                half = self.w(next, &[Arg::Use(half), Arg::Mem(place), Arg::Imm(lane as i64)]);
            }
            halves.push(half);
        }
        halves.chunks(2).map(|pair| self.together(pair, 2)).collect()
    }

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
}
