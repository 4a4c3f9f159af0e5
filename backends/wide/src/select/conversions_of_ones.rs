//! Conversions without AVX-512: those that AVX2 lacks go lane by lane.

use fusebox_ir::ElementType;
use fusebox_vector::{Type, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{
    Outcome, Registers, Select,
    lanes_of_ones::{AND, OR, XOR},
};
use crate::machine::Arg;

impl Select<'_> {
    /// Whether a conversion is done lane by lane.
    pub(super) fn converts_by_lanes(&self, from: ElementType, to: ElementType) -> bool {
        use ElementType::{F32, I32};
        match (from.is_float(), to.is_float()) {
            (false, true) => to == F32 && from.bytes() == 8,
            (true, false) => from != F32 || !(to == I32 || to.bytes() < 4),
            _ => false,
        }
    }

    /// Floats of integers of 8 bytes, or of unsigned ones of 4; of the former only `f64`.
    pub(super) fn floats_of_long(&mut self, from: ElementType, to: Type, registers: &[VReg]) -> Outcome<Vec<VReg>> {
        // Both halves are the low bits of powers of two; what they stand for is exact, and their sum is rounded once.
        let power = |power: i32| 2f64.powi(power).to_bits();
        let long = self.resized(registers, from.bytes(), 8, from.is_signed(), to.lanes)?;
        let mut all = Vec::new();
        for mut register in long {
            let mut offset = 2f64.powi(84) + 2f64.powi(52);
            if from.is_signed() {
                let sign = self.every(1 << 63, 8);
                register = self.w(XOR, &[Arg::Use(register), sign]);
                offset += 2f64.powi(63);
            }
            let (high_power, low_power, low_bits) = (power(84), power(52), self.every(0xffff_ffff, 8));
            let high = self.w(C::VEX_Vpsrlq_ymm_ymm_imm8, &[Arg::Use(register), Arg::Imm(32)]);
            let high_power = self.every(high_power, 8);
            let high = self.w(OR, &[Arg::Use(high), high_power]);
            let low = self.w(AND, &[Arg::Use(register), low_bits]);
            let low_power = self.every(low_power, 8);
            let low = self.w(OR, &[Arg::Use(low), low_power]);
            let offset = self.every(offset.to_bits(), 8);
            let high = self.w(C::VEX_Vsubpd_ymm_ymm_ymmm256, &[Arg::Use(high), offset]);
            all.push(self.w(C::VEX_Vaddpd_ymm_ymm_ymmm256, &[Arg::Use(high), Arg::Any(low)]));
        }
        if to.element == ElementType::F32 {
            // Of 4 bytes `f64` has all bits.
            let halves: Vec<VReg> =
                all.into_iter().map(|register| self.w(C::VEX_Vcvtpd2ps_xmm_ymmm256, &[Arg::Any(register)])).collect();
            all = halves.chunks(2).map(|pair| self.together(pair, 2)).collect();
        }
        Ok(all)
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
}
