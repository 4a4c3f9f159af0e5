//! Functions of two and three operands on gangs, choices and bits: one or some instructions on each register.

use fusebox_ir::{Binary, Constant, ElementType};
use fusebox_vector::{Op, Type, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select, codes};
use crate::machine::Arg;

impl Select<'_> {
    /// A number in lanes of any width, as the last operand.
    pub(super) fn lanes_of(&mut self, bits: u64, bytes: usize) -> Arg {
        if bytes >= 4 {
            return self.every(bits, bytes);
        }
        let all: Vec<u8> = (0..self.bytes as usize).map(|byte| bits.to_le_bytes()[byte % bytes]).collect();
        Arg::Mem(self.m.constant(&all))
    }

    /// The last where the mask holds, else `a`.
    pub(super) fn blended(&mut self, bytes: usize, mask: VReg, a: VReg, b: Arg) -> VReg {
        if !self.features.avx512 {
            return self.by_ones(mask, a, b);
        }
        let out = self.m.fresh(crate::machine::WIDE);
        let inst =
            crate::machine::Inst::new().then(codes::blend(bytes), &[Arg::Def(out), Arg::Use(a), b]).masked(mask, false);
        self.m.push(inst);
        out
    }

    pub(super) fn binary_gang(&mut self, function: Binary, a: Value, b: Value) -> Outcome<Registers> {
        let element = self.ty(a).element;
        if element == ElementType::Bool {
            return self.binary_mask(function, a, b);
        }
        if function.is_shift() {
            return self.shift_gang(function, a, b);
        }
        if function.is_comparison() {
            return self.compare_gang(function, a, b, None);
        }
        if let Some(counted) = self.count_condition(function, a, b)? {
            return Ok(counted);
        }
        let (mut a, mut b) = (a, b);
        if codes::commutes(function) && matches!(self.registers_of(a)?, Registers::Known) {
            (a, b) = (b, a);
        }
        let mut all = Vec::new();
        for register in 0..self.count(a) {
            if let Some(code) = codes::binary(function, element).filter(|&code| self.has(code)) {
                let (left, right) = (self.reg(a, register)?, self.src(b, register)?);
                all.push(self.w(code, &[Arg::Use(left), right]));
            } else {
                let (left, right) = (self.reg(a, register)?, self.reg(b, register)?);
                match self.binary_registers(function, element, left, right) {
                    Ok(done) => all.push(done),
                    Err(crate::Refusal::Lacks(_)) => return self.by_lanes(function, a, b),
                    Err(other) => return Err(other),
                }
            }
        }
        Ok(Registers::Gang(all))
    }

    /// A condition as a number that is added or taken away: one where its mask holds, in a single instruction.
    fn count_condition(&mut self, function: Binary, a: Value, b: Value) -> Outcome<Option<Registers>> {
        let ty = self.ty(a);
        let inverse = match function {
            Binary::Add => Binary::Sub,
            Binary::Sub => Binary::Add,
            _ => return Ok(None),
        };
        let masks = Type { element: ElementType::Bool, lanes: ty.lanes };
        // What others use too is there as a number.
        let once = |value: Value| self.uses[value.0 as usize] == 1;
        let condition = |value: Value| match self.defs[value.0 as usize] {
            Some(&Op::Convert(from)) if self.ty(from) == masks && once(value) => Some(from),
            _ => None,
        };
        let (from, condition) = match (condition(b), condition(a)) {
            (Some(condition), _) => (a, condition),
            (None, Some(condition)) if function == Binary::Add => (b, condition),
            _ => return Ok(None),
        };
        let code = |function: Binary| codes::binary(function, ty.element).filter(|_| ty.element.is_integer());
        let (Some(code), Some(inverse)) = (code(function), code(inverse)) else { return Ok(None) };
        let bytes = ty.element.bytes();
        let masks = self.mask(condition, self.bytes / bytes as u32)?;
        let one = Constant::from_i64(ty.element, 1).bits().to_le_bytes();
        let ones: Vec<u8> = (0..self.bytes as usize).map(|byte| one[byte % bytes]).collect();
        let mut all = Vec::new();
        for (register, mask) in masks.into_iter().enumerate() {
            let from = self.reg(from, register)?;
            all.push(if self.features.avx512 {
                let ones = self.m.constant(&ones);
                self.merged(code, mask, from, &[Arg::Use(from), Arg::Mem(ones)])
            } else {
                // Where it holds the mask is -1.
                self.w(inverse, &[Arg::Use(from), Arg::Use(mask)])
            });
        }
        Ok(Some(Registers::Gang(all)))
    }

    /// Functions of lanes that take several instructions.
    pub(super) fn binary_registers(
        &mut self,
        function: Binary,
        element: ElementType,
        a: VReg,
        b: VReg,
    ) -> Outcome<VReg> {
        match (function, element) {
            (Binary::Min | Binary::Max, ElementType::F32 | ElementType::F64) if !self.features.avx512 => {
                Ok(self.nearest(function, element, a, b))
            }
            (Binary::Min | Binary::Max | Binary::Mul, ElementType::I64 | ElementType::U64) if !self.features.avx512 => {
                Ok(self.long(function, element, a, b))
            }
            (Binary::Min | Binary::Max, ElementType::F32 | ElementType::F64) => {
                // A NaN beside a number is dropped: sums bring it back.
                let (compare, add) = if element == ElementType::F32 {
                    (C::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, C::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er)
                } else {
                    (C::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae, C::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er)
                };
                let out = self.range(function, element, a, Arg::Use(b));
                let unordered = self.k(compare, &[Arg::Use(a), Arg::Use(b), Arg::Imm(3)]);
                Ok(self.merged(add, unordered, out, &[Arg::Use(a), Arg::Use(b)]))
            }
            (Binary::Mul, ElementType::I8 | ElementType::U8) => {
                let even = self.w(C::EVEX_Vpmullw_zmm_k1z_zmm_zmmm512, &[Arg::Use(a), Arg::Use(b)]);
                let high =
                    |this: &mut Self, a: VReg| this.w(C::EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8, &[Arg::Use(a), Arg::Imm(8)]);
                let (above_a, above_b) = (high(self, a), high(self, b));
                let odd = self.w(C::EVEX_Vpmullw_zmm_k1z_zmm_zmmm512, &[Arg::Use(above_a), Arg::Use(above_b)]);
                let odd = self.w(C::EVEX_Vpsllw_zmm_k1z_zmmm512_imm8, &[Arg::Use(odd), Arg::Imm(8)]);
                let low = self.every(0x00ff_00ff, 4);
                let even = self.w(C::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, &[Arg::Use(even), low]);
                Ok(self.w(C::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, &[Arg::Use(even), Arg::Use(odd)]))
            }
            _ => self.lacks(&format!("{} of {element}", function.text())),
        }
    }

    /// The lesser or greater of numbers: `VRANGE` knows that -0 is below +0.
    fn range(&mut self, function: Binary, element: ElementType, a: VReg, b: Arg) -> VReg {
        let code = if element == ElementType::F32 {
            C::EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae
        } else {
            C::EVEX_Vrangepd_zmm_k1z_zmm_zmmm512b64_imm8_sae
        };
        let mode = if function == Binary::Min { 4 } else { 5 };
        self.w(code, &[Arg::Use(a), b, Arg::Imm(mode)])
    }

    /// The lesser or greater of numbers, of which none is NaN.
    pub(super) fn of_numbers(&mut self, function: Binary, a: Value, b: Value) -> Outcome<Registers> {
        let element = self.ty(a).element;
        if !matches!(element, ElementType::F32 | ElementType::F64) {
            return self.binary_gang(function, a, b);
        }
        let (mut a, mut b) = (a, b);
        if matches!(self.registers_of(a)?, Registers::Known) {
            (a, b) = (b, a);
        }
        let mut all = Vec::new();
        for register in 0..self.count(a) {
            let left = self.reg(a, register)?;
            all.push(if self.features.avx512 {
                let right = self.src(b, register)?;
                self.range(function, element, left, right)
            } else {
                let right = self.reg(b, register)?;
                self.nearest_number(function, element, left, right)
            });
        }
        Ok(Registers::Gang(all))
    }

    pub(super) fn fma(&mut self, ty: Type, a: Value, b: Value, c: Value) -> Outcome<Registers> {
        let single = match ty.element {
            ElementType::F32 => true,
            ElementType::F64 => false,
            _ => return self.lacks("fma of f16"),
        };
        // By 213 the first is written over (a = b * a + c), by 231 the third (c = a * b + c).
        let (by_213, by_231) = match (single, ty.lanes == 1) {
            (true, false) => {
                (C::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er, C::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er)
            }
            (false, false) => {
                (C::EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er, C::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er)
            }
            (true, true) => (C::EVEX_Vfmadd213ss_xmm_k1z_xmm_xmmm32_er, C::EVEX_Vfmadd231ss_xmm_k1z_xmm_xmmm32_er),
            (false, true) => (C::EVEX_Vfmadd213sd_xmm_k1z_xmm_xmmm64_er, C::EVEX_Vfmadd231sd_xmm_k1z_xmm_xmmm64_er),
        };
        let known = |this: &Self, value: Value| matches!(this.values[value.0 as usize], Some(Registers::Known));
        let (mut a, mut b) = (a, b);
        if known(self, a) {
            (a, b) = (b, a);
        }
        let once = |this: &Self, value: Value| this.uses[value.0 as usize] == 1;
        if !known(self, b) && once(self, b) && !once(self, a) {
            (a, b) = (b, a);
        }
        let over_c = !known(self, c) && (known(self, b) || !once(self, a) || once(self, c));
        let count = if ty.lanes == 1 { 1 } else { self.count(a) };
        let memory = ty.lanes > 1;
        let mut all = Vec::new();
        for register in 0..count {
            let last = |this: &mut Self, value: Value| -> Outcome<Arg> {
                if memory { this.src(value, register) } else { Ok(Arg::Any(this.one(value)?)) }
            };
            let one = |this: &mut Self, value: Value| -> Outcome<VReg> {
                if memory { this.reg(value, register) } else { this.one(value) }
            };
            all.push(if over_c {
                let (c, a, b) = (one(self, c)?, one(self, a)?, last(self, b)?);
                self.over(by_231, c, &[Arg::Use(a), b])
            } else {
                let (a, b, c) = (one(self, a)?, one(self, b)?, last(self, c)?);
                self.over(by_213, a, &[Arg::Use(b), c])
            });
        }
        Ok(if ty.lanes == 1 { Registers::One(all[0]) } else { Registers::Gang(all) })
    }

    pub(super) fn choose(&mut self, condition: Value, a: Value, b: Value) -> Outcome<Registers> {
        let ty = self.ty(a);
        if ty.lanes == 1 {
            return Ok(Registers::One(self.choose_one(condition, a, b)?));
        }
        if ty.element == ElementType::Bool {
            return self.choose_mask(condition, a, b);
        }
        if let Some(loaded) = self.load_over(condition, a, b)? {
            return Ok(loaded);
        }
        let bytes = ty.element.bytes();
        let count = self.count(a);
        let masks = if self.ty(condition).lanes == 1 {
            let one = self.one(condition)?;
            vec![self.spread(one); count]
        } else {
            self.mask(condition, self.bytes / bytes as u32)?
        };
        let zero = self.constant_of(b).is_some_and(|b| b.bits() == 0);
        let mut all = Vec::new();
        for (register, mask) in masks.into_iter().enumerate() {
            if zero && !matches!(self.registers_of(a)?, Registers::Known) {
                let a = self.reg(a, register)?;
                all.push(self.zeroed(codes::masked_load(bytes), mask, &[Arg::Any(a)]));
            } else {
                let (b, a) = (self.reg(b, register)?, self.src(a, register)?);
                all.push(self.blended(bytes, mask, b, a));
            }
        }
        Ok(Registers::Gang(all))
    }

    pub(super) fn bits(&mut self, a: Value, ty: Type) -> Outcome<Registers> {
        let from = self.ty(a).element;
        if ty.lanes > 1 {
            if ty.element == ElementType::Bool || from == ElementType::Bool {
                return self.lacks("bits of a mask");
            }
            return Ok(Registers::Gang(self.gang(a)?));
        }
        let one = self.one(a)?;
        let float = |element: ElementType| matches!(element, ElementType::F32 | ElementType::F64);
        Ok(Registers::One(match (float(from), float(ty.element)) {
            (true, true) => one,
            (false, false) => self.canonical(ty.element, one),
            (false, true) if ty.element == ElementType::F32 => self.w(C::EVEX_Vmovd_xmm_rm32, &[Arg::Any(one)]),
            (false, true) => self.w(C::EVEX_Vmovq_xmm_rm64, &[Arg::Any(one)]),
            (true, false) => self.low_lane(ty.element, one),
        }))
    }

    /// The low lane of a register as a uniform integer.
    pub(super) fn low_lane(&mut self, element: ElementType, register: VReg) -> VReg {
        if element.bytes() == 8 {
            return self.i(C::EVEX_Vmovq_rm64_xmm, &[Arg::Use(register)]);
        }
        let word = self.i(C::EVEX_Vmovd_rm32_xmm, &[Arg::Use(register)]);
        self.canonical(element, word)
    }

    /// Integers as they are held: extended to 64 bits by their sign.
    pub(super) fn canonical(&mut self, element: ElementType, one: VReg) -> VReg {
        if self.loose {
            return one;
        }
        let code = match (element.bytes(), element.is_signed() && element.is_integer()) {
            (8, _) => return one,
            (4, true) => C::Movsxd_r64_rm32,
            (4, false) => C::Mov_r32_rm32,
            (2, true) => C::Movsx_r64_rm16,
            (2, false) => C::Movzx_r32_rm16,
            (_, true) => C::Movsx_r64_rm8,
            (_, false) => C::Movzx_r32_rm8,
        };
        self.i(code, &[Arg::Any(one)])
    }
}
