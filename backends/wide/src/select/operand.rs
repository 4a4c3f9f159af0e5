//! Values as operands of machine instructions: the registers they are in, or numbers where those can stand in the instruction.

use fusebox_ir::{Constant, ElementType};
use fusebox_vector::Value;
use iced_x86::Code as C;
use regalloc2::{RegClass, VReg};

use super::{Outcome, Registers, Select, extended};
use crate::machine::{Address, Arg, INT, Inst as Made, WIDE};

impl<'a> Select<'a> {
    /// A number in a register of 64 bits.
    pub(super) fn number(&mut self, value: i64) -> VReg {
        if u32::try_from(value).is_ok() {
            self.i(C::Mov_r32_imm32, &[Arg::Imm(value)])
        } else if i32::try_from(value).is_ok() {
            self.i(C::Mov_rm64_imm32, &[Arg::Imm(value)])
        } else {
            self.i(C::Mov_r64_imm64, &[Arg::Imm(value)])
        }
    }

    /// A uniform value's register.
    pub(super) fn one(&mut self, value: Value) -> Outcome<VReg> {
        match self.registers_of(value)? {
            Registers::One(one) => Ok(*one),
            Registers::Known if self.ty(value).lanes == 1 => {
                let Some(constant) = self.constant_of(value) else { self.wrong(value, "a number") };
                Ok(match constant.ty() {
                    ElementType::F32 | ElementType::F64 if constant.bits() == 0 => self.zero(),
                    ElementType::F32 => {
                        let at = self.m.constant(&(constant.bits() as u32).to_le_bytes());
                        self.w(C::EVEX_Vmovss_xmm_k1z_m32, &[Arg::Mem(at)])
                    }
                    ElementType::F64 => {
                        let at = self.m.constant(&constant.bits().to_le_bytes());
                        self.w(C::EVEX_Vmovsd_xmm_k1z_m64, &[Arg::Mem(at)])
                    }
                    _ => self.number(extended(constant)),
                })
            }
            _ => self.wrong(value, "uniform"),
        }
    }

    /// A uniform integer as an operand that may be a small number.
    pub(super) fn small(&mut self, value: Value) -> Outcome<Arg> {
        if let Some(constant) = self.constant_of(value)
            && i32::try_from(extended(constant)).is_ok()
        {
            return Ok(Arg::Imm(extended(constant)));
        }
        Ok(Arg::Any(self.one(value)?))
    }

    /// A vector register of zeros.
    pub(super) fn zero(&mut self) -> VReg {
        let out = self.m.fresh(WIDE);
        // Reads nothing, for all that the processor cares.
        let args = [Arg::Def(out), Arg::Use(out), Arg::Use(out)];
        self.m.push(Made::new().then(C::EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32, &args));
        out
    }

    /// The bytes of a register of a constant gang.
    pub(super) fn known_bytes(&self, value: Value, register: usize) -> Option<Vec<u8>> {
        let ty = self.ty(value);
        let width = ty.element.bytes();
        let lanes = self.bytes as usize / width;
        let bits = |lane: usize| match self.constant_of(value) {
            Some(constant) => constant.bits(),
            None => Constant::from_i64(ty.element, (register * lanes + lane) as i64).bits(),
        };
        (ty.element != ElementType::Bool)
            .then(|| (0..lanes).flat_map(|lane| bits(lane).to_le_bytes().into_iter().take(width)).collect())
    }

    /// One register of a gang as the last operand of an instruction on its lanes: maybe memory.
    pub(super) fn src(&mut self, value: Value, register: usize) -> Outcome<Arg> {
        match self.registers_of(value)? {
            Registers::Gang(registers) => Ok(Arg::Any(registers[register])),
            Registers::One(one) if one.class() == WIDE => Ok(Arg::Any(*one)),
            Registers::Known => {
                let ty = self.ty(value);
                if let (Some(constant), width @ (4 | 8)) = (self.constant_of(value), ty.element.bytes())
                    && self.features.avx512
                {
                    let at = self.m.constant(&constant.bits().to_le_bytes()[..width]);
                    return Ok(Arg::Mem(Address { broadcast: true, ..at }));
                }
                let Some(bytes) = self.known_bytes(value, register) else { self.wrong(value, "a gang") };
                Ok(Arg::Mem(self.m.constant(&bytes)))
            }
            _ => self.wrong(value, "a gang"),
        }
    }

    /// One register of a gang.
    pub(super) fn reg(&mut self, value: Value, register: usize) -> Outcome<VReg> {
        match self.registers_of(value)? {
            Registers::Gang(registers) => Ok(registers[register]),
            Registers::One(one) if one.class() == WIDE => Ok(*one),
            Registers::Known => {
                let ty = self.ty(value);
                if let Some(constant) = self.constant_of(value) {
                    if constant.bits() == 0 && ty.element != ElementType::Bool {
                        return Ok(self.zero());
                    }
                    let code = match ty.element.bytes() {
                        4 => Some(C::EVEX_Vbroadcastss_zmm_k1z_xmmm32),
                        8 => Some(C::EVEX_Vbroadcastsd_zmm_k1z_xmmm64),
                        _ => None,
                    };
                    if let Some(code) = code {
                        let at = self.m.constant(&constant.bits().to_le_bytes()[..ty.element.bytes()]);
                        return Ok(self.w(code, &[Arg::Mem(at)]));
                    }
                }
                let Some(bytes) = self.known_bytes(value, register) else { self.wrong(value, "a gang") };
                let at = self.m.constant(&bytes);
                Ok(self.w(C::EVEX_Vmovdqu64_zmm_k1z_zmmm512, &[Arg::Mem(at)]))
            }
            _ => self.wrong(value, "a gang"),
        }
    }

    /// How many registers a gang has.
    pub(super) fn count(&self, value: Value) -> usize {
        let ty = self.ty(value);
        self.registers(ty.lanes, ty.element.bytes() as u32).max(1)
    }

    /// All registers of a gang.
    pub(super) fn gang(&mut self, value: Value) -> Outcome<Vec<VReg>> {
        (0..self.count(value)).map(|register| self.reg(value, register)).collect()
    }

    /// A constant number as the last operand of instructions on lanes of 4 or 8 bytes.
    pub(super) fn every(&mut self, bits: u64, bytes: usize) -> Arg {
        let one = &bits.to_le_bytes()[..bytes];
        if !self.features.avx512 {
            let all = one.repeat(self.bytes as usize / bytes);
            return Arg::Mem(self.m.constant(&all));
        }
        let at = self.m.constant(one);
        Arg::Mem(Address { broadcast: true, ..at })
    }

    /// Registers that hold a value, masks in the common form.
    pub(super) fn flat(&mut self, value: Value) -> Outcome<Vec<VReg>> {
        let ty = self.ty(value);
        if ty.lanes == 1 {
            Ok(vec![self.one(value)?])
        } else if ty.element == ElementType::Bool {
            let per = self.per;
            self.mask(value, per)
        } else {
            self.gang(value)
        }
    }

    pub(super) fn arguments(&mut self, values: &[Value]) -> Outcome<Vec<VReg>> {
        let mut all = Vec::new();
        for &value in values {
            all.extend(self.flat(value)?);
        }
        Ok(all)
    }

    /// The register class of uniform values.
    pub(super) fn class(element: ElementType) -> RegClass {
        if matches!(element, ElementType::F32 | ElementType::F64) { WIDE } else { INT }
    }
}
