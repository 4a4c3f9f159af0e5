//! Conversions, and integer lanes of other widths.

use fusebox_ir::{Constant, ElementType};
use fusebox_vector::{Type, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select, codes};
use crate::machine::Arg;

/// Integer lanes made wider.
fn widening(from: usize, to: usize, signed: bool) -> C {
    match (from, to, signed) {
        (1, 2, true) => C::EVEX_Vpmovsxbw_zmm_k1z_ymmm256,
        (1, 2, false) => C::EVEX_Vpmovzxbw_zmm_k1z_ymmm256,
        (1, 4, true) => C::EVEX_Vpmovsxbd_zmm_k1z_xmmm128,
        (1, 4, false) => C::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
        (1, _, true) => C::EVEX_Vpmovsxbq_zmm_k1z_xmmm64,
        (1, _, false) => C::EVEX_Vpmovzxbq_zmm_k1z_xmmm64,
        (2, 4, true) => C::EVEX_Vpmovsxwd_zmm_k1z_ymmm256,
        (2, 4, false) => C::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
        (2, _, true) => C::EVEX_Vpmovsxwq_zmm_k1z_xmmm128,
        (2, _, false) => C::EVEX_Vpmovzxwq_zmm_k1z_xmmm128,
        (_, _, true) => C::EVEX_Vpmovsxdq_zmm_k1z_ymmm256,
        (_, _, false) => C::EVEX_Vpmovzxdq_zmm_k1z_ymmm256,
    }
}

/// The low parts of integer lanes.
pub(super) fn narrowing(from: usize, to: usize) -> C {
    match (from, to) {
        (2, _) => C::EVEX_Vpmovwb_ymmm256_k1z_zmm,
        (4, 1) => C::EVEX_Vpmovdb_xmmm128_k1z_zmm,
        (4, _) => C::EVEX_Vpmovdw_ymmm256_k1z_zmm,
        (_, 1) => C::EVEX_Vpmovqb_xmmm64_k1z_zmm,
        (_, 2) => C::EVEX_Vpmovqw_xmmm128_k1z_zmm,
        _ => C::EVEX_Vpmovqd_ymmm256_k1z_zmm,
    }
}

impl Select<'_> {
    /// Part `part` of a register that is cut into `parts`, in the low part of one.
    pub(super) fn part(&mut self, register: VReg, part: usize, parts: usize) -> VReg {
        let from = Arg::Use(register);
        if !self.features.avx512 && part > 0 {
            return self.shifted_by_bytes(register, (part * self.bytes as usize / parts) as u32);
        }
        match (part, parts) {
            (0, _) => register,
            (_, 2) => self.w(C::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, &[from, Arg::Imm(1)]),
            (_, 4) => self.w(C::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8, &[from, Arg::Imm(part as i64)]),
            _ => {
                let quarter = self.part(register, part / 2, 4);
                if part.is_multiple_of(2) {
                    quarter
                } else {
                    self.w(C::EVEX_Vpsrldq_xmm_xmmm128_imm8, &[Arg::Use(quarter), Arg::Imm(8)])
                }
            }
        }
    }

    /// Low parts of up to `parts` registers, one behind the other.
    pub(super) fn together(&mut self, pieces: &[VReg], parts: usize) -> VReg {
        match (pieces, parts) {
            ([one], _) => *one,
            ([low, high], 2) => {
                self.w(C::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8, &[Arg::Use(*low), Arg::Use(*high), Arg::Imm(1)])
            }
            (_, 8) => {
                let pairs: Vec<VReg> = pieces
                    .chunks(2)
                    .map(|pair| match *pair {
                        [low, high] => {
                            self.w(C::EVEX_Vpunpcklqdq_xmm_k1z_xmm_xmmm128b64, &[Arg::Use(low), Arg::Use(high)])
                        }
                        _ => pair[0],
                    })
                    .collect();
                self.together(&pairs, 4)
            }
            _ => {
                let mut all = pieces[0];
                for (position, &piece) in pieces.iter().enumerate().skip(1) {
                    let args = [Arg::Use(all), Arg::Use(piece), Arg::Imm(position as i64)];
                    all = self.w(C::EVEX_Vinserti32x4_zmm_k1z_zmm_xmmm128_imm8, &args);
                }
                all
            }
        }
    }

    /// Integer lanes of another width, wrapped or extended.
    pub(super) fn resized(
        &mut self,
        from: &[VReg],
        bytes: usize,
        to: usize,
        signed: bool,
        lanes: u32,
    ) -> Outcome<Vec<VReg>> {
        let wanted = self.registers(lanes, to as u32).max(1);
        if to > bytes {
            let parts = to / bytes;
            let code = widening(bytes, to, signed);
            return Ok((0..wanted)
                .map(|register| {
                    let part = self.part(from[register / parts], register % parts, parts);
                    self.w(code, &[Arg::Any(part)])
                })
                .collect());
        }
        if to == bytes {
            return Ok(from.to_vec());
        }
        if !self.features.avx512 {
            return Ok(self.halved_lanes(from, bytes, to));
        }
        let parts = bytes / to;
        let code = narrowing(bytes, to);
        let mut all = Vec::new();
        for group in from.chunks(parts) {
            let pieces: Vec<VReg> = group.iter().map(|&register| self.w(code, &[Arg::Use(register)])).collect();
            all.push(self.together(&pieces, parts));
        }
        Ok(all)
    }

    /// One instruction to lanes of `to` bytes from lanes of half as many.
    pub(super) fn doubled(&mut self, code: C, from: &[VReg], to: u32, lanes: u32) -> Vec<VReg> {
        (0..self.registers(lanes, to).max(1))
            .map(|register| {
                let half = self.part(from[register / 2], register % 2, 2);
                self.w(code, &[Arg::Any(half)])
            })
            .collect()
    }

    /// One instruction from lanes of 8 bytes to lanes of 4.
    pub(super) fn halved(&mut self, code: C, from: &[VReg]) -> Vec<VReg> {
        let halves: Vec<VReg> = from.iter().map(|&register| self.w(code, &[Arg::Any(register)])).collect();
        self.in_pairs(&halves)
    }

    /// Low halves of registers, two in each.
    pub(super) fn in_pairs(&mut self, halves: &[VReg]) -> Vec<VReg> {
        halves.chunks(2).map(|pair| self.together(pair, 2)).collect()
    }

    pub(super) fn convert_gang(&mut self, a: Value, to: Type) -> Outcome<Registers> {
        use ElementType::{Bool, F16, F32, F64};
        let from = self.ty(a).element;
        let lanes = to.lanes;
        let (wide, narrow) = (from.bytes(), to.element.bytes());
        if to.element == Bool {
            return self.lacks(&format!("conversion of {from} to {}", to.element));
        }
        if from == F16 || to.element == F16 {
            return self.convert_gang_of_halves(a, to);
        }
        if from == Bool {
            let one = Constant::from_i64(to.element, 1).bits();
            let ones: Vec<u8> = (0..self.bytes as usize).map(|byte| one.to_le_bytes()[byte % narrow]).collect();
            let ones = self.m.constant(&ones);
            let masks = self.mask(a, self.bytes / narrow as u32)?;
            let code = codes::masked_load(narrow);
            return Ok(Registers::Gang(
                masks.into_iter().map(|mask| self.zeroed(code, mask, &[Arg::Mem(ones)])).collect(),
            ));
        }
        if !self.features.avx512 && self.converts_by_lanes(from, to.element) {
            return self.convert_by_lanes(a, to);
        }
        let registers = self.gang(a)?;
        if !self.features.avx512
            && to.element.is_float()
            && (from == ElementType::U32 || from.is_integer() && wide == 8)
        {
            return Ok(Registers::Gang(self.floats_of_long(from, to, &registers)?));
        }
        let each = |this: &mut Self, code: C, from: &[VReg]| -> Vec<VReg> {
            from.iter().map(|&register| this.w(code, &[Arg::Any(register)])).collect()
        };
        Ok(Registers::Gang(match (from.is_float(), to.element) {
            (false, F32) if wide <= 4 => {
                let ints = self.resized(&registers, wide, 4, from.is_signed(), lanes)?;
                let unsigned = from == ElementType::U32;
                let code = if unsigned {
                    C::EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er
                } else {
                    C::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er
                };
                each(self, code, &ints)
            }
            (false, F64) if wide <= 4 => {
                let ints = self.resized(&registers, wide, 4, from.is_signed(), lanes)?;
                let unsigned = from == ElementType::U32;
                let code = if unsigned {
                    C::EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er
                } else {
                    C::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er
                };
                self.doubled(code, &ints, 8, lanes)
            }
            (false, F32) if from.is_signed() => self.halved(C::EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er, &registers),
            (false, F32) => self.halved(C::EVEX_Vcvtuqq2ps_ymm_k1z_zmmm512b64_er, &registers),
            (false, F64) if from.is_signed() => each(self, C::EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er, &registers),
            (false, F64) => each(self, C::EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er, &registers),
            (false, _) => self.resized(&registers, wide, narrow, from.is_signed(), lanes)?,
            (true, F64) if from == F32 => self.doubled(C::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, &registers, 8, lanes),
            (true, F32) if from == F64 => self.halved(C::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er, &registers),
            (true, F32 | F64) => registers,
            (true, _) => self.whole(&registers, from, to.element, lanes)?,
        }))
    }

    /// Floats to integers, saturating, NaN to 0.
    fn whole(&mut self, from: &[VReg], element: ElementType, to: ElementType, lanes: u32) -> Outcome<Vec<VReg>> {
        use ElementType::{F32, F64};
        let mut registers = from.to_vec();
        let mut element = element;
        if element == F32 && to.bytes() == 8 {
            registers = self.doubled(C::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, &registers, 8, lanes);
            element = F64;
        }
        let bytes = element.bytes();
        let bits = |x: f64| if bytes == 4 { u64::from((x as f32).to_bits()) } else { x.to_bits() };
        let (compare, low, high) = if bytes == 4 {
            (
                C::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
                C::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
                C::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
            )
        } else {
            (
                C::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
                C::EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae,
                C::EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae,
            )
        };
        let signed = to.is_signed();
        let width = to.bits() as i32;
        let mut all = Vec::new();
        for register in registers {
            if to.bytes() == bytes && !signed {
                // Above -1 all is well: what is too large gives all ones. Else, and of NaN, 0.
                let code = if bytes == 4 {
                    C::EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae
                } else {
                    C::EVEX_Vcvttpd2uqq_zmm_k1z_zmmm512b64_sae
                };
                let minus = self.every(bits(-1.0), bytes);
                let inside = self.k(compare, &[Arg::Use(register), minus, Arg::Imm(0x1e)]);
                all.push(self.zeroed(code, inside, &[Arg::Any(register)]));
                continue;
            }
            let code = if bytes == 4 {
                C::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae
            } else {
                C::EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae
            };
            let number = self.k(compare, &[Arg::Use(register), Arg::Use(register), Arg::Imm(7)]);
            if to.bytes() == bytes {
                // What is too small gives the smallest; what is too large does too, and is put right.
                let whole = self.zeroed(code, number, &[Arg::Any(register)]);
                let limit = self.every(bits(2f64.powi(width - 1)), bytes);
                let beyond = self.k(compare, &[Arg::Use(register), limit, Arg::Imm(0x1d)]);
                let most = self.every((1u64 << (width - 1)) - 1, bytes);
                all.push(self.blended(bytes, beyond, whole, most));
                continue;
            }
            let (least, most) = if signed {
                (-(2f64.powi(width - 1)), 2f64.powi(width - 1) - 1.0)
            } else {
                (0.0, 2f64.powi(width) - 1.0)
            };
            let (least, most) = (self.every(bits(least), bytes), self.every(bits(most), bytes));
            let raised = self.w(low, &[Arg::Use(register), least]);
            let clamped = self.w(high, &[Arg::Use(raised), most]);
            all.push(self.zeroed(code, number, &[Arg::Use(clamped)]));
        }
        self.resized(&all, bytes, to.bytes(), false, lanes)
    }

    pub(super) fn convert_one(&mut self, a: Value, to: ElementType) -> Outcome<VReg> {
        use ElementType::{Bool, F16};
        let from = self.ty(a).element;
        if to == Bool {
            return self.lacks(&format!("conversion of {from} to {to}"));
        }
        let one = self.one(a)?;
        if from == F16 || to == F16 {
            return self.converted_half(one, from, to);
        }
        self.converted(one, from, to)
    }

    /// A uniform value of another type.
    pub(super) fn converted(&mut self, one: VReg, from: ElementType, to: ElementType) -> Outcome<VReg> {
        use ElementType::{F32, F64, U64};
        Ok(match (from.is_float(), to) {
            (false, F32 | F64) if from == U64 && !self.features.avx512 => self.float_of_u64(one, to),
            (true, _) if to.is_integer() && !self.features.avx512 => self.whole_one(one, from, to),
            (false, F32 | F64) => {
                let code = match (to == F32, from == ElementType::U64) {
                    (true, false) => C::EVEX_Vcvtsi2ss_xmm_xmm_rm64_er,
                    (true, true) => C::EVEX_Vcvtusi2ss_xmm_xmm_rm64_er,
                    (false, false) => C::EVEX_Vcvtsi2sd_xmm_xmm_rm64_er,
                    (false, true) => C::EVEX_Vcvtusi2sd_xmm_xmm_rm64_er,
                };
                let zero = self.zero();
                self.w(code, &[Arg::Use(zero), Arg::Any(one)])
            }
            (false, _) => self.canonical(to, one),
            (true, F64) if from == F32 => {
                self.w(C::EVEX_Vcvtss2sd_xmm_k1z_xmm_xmmm32_sae, &[Arg::Use(one), Arg::Use(one)])
            }
            (true, F32) if from == F64 => {
                self.w(C::EVEX_Vcvtsd2ss_xmm_k1z_xmm_xmmm64_er, &[Arg::Use(one), Arg::Use(one)])
            }
            (true, F32 | F64) => one,
            (true, _) => {
                let whole = self.whole(&[one], from, to, 1)?;
                self.low_lane(to, whole[0])
            }
        })
    }
}
