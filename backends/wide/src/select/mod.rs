//! The vector IR to machine instructions: gangs as vector registers, masks as mask registers, or, without AVX-512, as lanes of ones.
//!
//! Instructions are chosen as those of AVX-512. Without it they are replaced by those of AVX2 that do the same on 32 bytes (`short`); where
//! there is none, something else is chosen here.

mod across;
mod append;
mod codes;
mod control;
mod conversions_of_ones;
mod convert;
mod counts;
mod gang;
mod lanes;
mod lanes_of_ones;
mod low_bits;
mod masks;
mod memory;
mod scalar;
mod several;
mod shifts;
mod short;
mod stores_of_ones;

use std::collections::HashMap;

use fusebox_ir::{Binary, Constant, ElementType, Unary, bug};
use fusebox_vector::{Function, Inst, Op, Region, Type, Value};
use iced_x86::Code as C;
use regalloc2::{Operand, PReg, RegClass, VReg};

use crate::{
    Features, Refusal,
    machine::{Address, Arg, Cond, INT, Inst as Made, MASK, Machine, WIDE},
};

pub(crate) type Outcome<T> = Result<T, Refusal>;

/// The registers that a value of the vector IR is in.
#[derive(Clone, Debug)]
enum Registers {
    /// A uniform value: integers extended to 64 bits by their sign, `bool` as 0 or 1; floats in the low lane of a vector register.
    One(VReg),
    /// A gang that is no mask (a short one in the low part of one).
    Gang(Vec<VReg>),
    /// A mask of so many lanes in each register: bits of a mask register, or lanes of ones and zeros in a vector register. Lanes beyond the last
    /// are anything.
    Mask(u32, Vec<VReg>),
    /// A number in every lane, or the number of the lane: made where it is needed.
    Known,
}

/// What sets flags, again wherever they are needed.
#[derive(Clone, Copy, Debug)]
enum Test {
    Ints(Cond, VReg, Arg),
    Any(Value),
}

pub(crate) struct Select<'a> {
    function: &'a Function,
    m: Machine,
    values: Vec<Option<Registers>>,
    defs: Vec<Option<&'a Op>>,
    uses: Vec<u32>,
    constants: Vec<Option<Constant>>,
    tests: HashMap<Value, Test>,
    /// Of uniform integers whether nobody reads more than their own bits: then what is above those may be anything.
    low: Vec<bool>,
    /// Whether that is so of the value that is made just now.
    loose: bool,
    params: Vec<VReg>,
    features: Features,
    widths: Vec<u32>,
    /// Bytes of a vector register.
    bytes: u32,
    /// Lanes of a mask's register where masks meet.
    per: u32,
    streams: bool,
}

/// A function as machine instructions, and for each site the bytes of a lane of its mask (0: uniform).
pub(crate) fn select(function: &Function, features: Features) -> Outcome<(Machine, Vec<u32>)> {
    let mut m = Machine::default();
    m.bytes = features.vector_bytes();
    let entry = m.block();
    m.fill(entry);
    // Arguments: table, range, scratch memory, error slot, in rdi, rsi, rdx, rcx, r8.
    let mut arguments = Made::new().kept();
    let mut params = Vec::new();
    for register in [7, 6, 2, 1, 8] {
        let reg = m.fresh(INT);
        arguments.operands.push(Operand::reg_fixed_def(reg, PReg::new(register, INT)));
        params.push(reg);
    }
    m.push(arguments);
    let count = function.types.len();
    let mut select = Select {
        function,
        m,
        values: vec![None; count],
        defs: vec![None; count],
        uses: vec![0; count],
        constants: vec![None; count],
        tests: HashMap::new(),
        low: low_bits::low_bits(function),
        loose: false,
        params,
        features,
        widths: vec![0; function.sites.len()],
        bytes: features.vector_bytes() as u32,
        per: 16,
        streams: false,
    };
    select.survey();
    select.region(&function.body)?;
    let none = select.number(0);
    select.leave(none);
    select.m.sweep();
    if !features.avx512 {
        short::shorten(&mut select.m)?;
    }
    Ok((select.m, select.widths))
}

/// A constant's bits as integers are held.
fn extended(constant: Constant) -> i64 {
    if constant.ty().is_signed() && constant.ty().is_integer() {
        constant.as_i64().unwrap_or_default()
    } else {
        constant.bits() as i64
    }
}

impl<'a> Select<'a> {
    /// What has to be known before: how often values are used, how wide masks usually are.
    fn survey(&mut self) {
        let mut counts = [0usize; 9];
        for inst in self.function.instructions() {
            for used in inst.op.operands() {
                self.uses[used.0 as usize] += 1;
            }
            match inst.op {
                Op::Binary(f, a, _) if f.is_comparison() => {
                    let ty = self.ty(a);
                    if ty.lanes > 1 && ty.element != ElementType::Bool {
                        counts[ty.element.bytes()] += 1;
                    }
                }
                Op::Store { streaming: true, .. } => self.streams = true,
                _ => {}
            }
        }
        let bytes = (1..=8u32).rev().max_by_key(|&bytes| counts[bytes as usize]);
        let bytes = bytes.filter(|&bytes| counts[bytes as usize] > 0).unwrap_or(4);
        self.per = self.bytes / bytes;
    }

    /// Registers for lanes of as many bytes.
    fn registers(&self, lanes: u32, bytes: u32) -> usize {
        (lanes * bytes).div_ceil(self.bytes) as usize
    }

    /// Where a register lies in memory, of those one behind the other.
    fn nth(&self, register: usize) -> i64 {
        register as i64 * i64::from(self.bytes)
    }

    /// Whether there is an instruction for vectors of this length.
    fn has(&self, code: C) -> bool {
        self.features.avx512 || short::short(code, false).is_some()
    }

    fn ty(&self, value: Value) -> Type {
        self.function.types[value.0 as usize]
    }

    fn lacks<T>(&self, what: &str) -> Outcome<T> {
        Err(Refusal::Lacks(what.to_owned()))
    }

    fn registers_of(&self, value: Value) -> Outcome<&Registers> {
        match &self.values[value.0 as usize] {
            Some(registers) => Ok(registers),
            None => bug!(self.function, "{value} is used before it is defined"),
        }
    }

    fn wrong(&self, value: Value, should: &str) -> ! {
        bug!(self.function, "{value} should be {should}")
    }

    fn set(&mut self, value: Value, registers: Registers) {
        self.values[value.0 as usize] = Some(registers);
    }

    fn constant_of(&self, value: Value) -> Option<Constant> {
        self.constants[value.0 as usize]
    }

    // Instructions with one result.

    fn make(&mut self, class: RegClass, code: C, args: &[Arg]) -> VReg {
        let out = self.m.fresh(class);
        let mut all = vec![Arg::Def(out)];
        all.extend_from_slice(args);
        self.m.push(Made::new().then(code, &all));
        out
    }

    fn i(&mut self, code: C, args: &[Arg]) -> VReg {
        self.make(INT, code, args)
    }

    fn w(&mut self, code: C, args: &[Arg]) -> VReg {
        self.make(WIDE, code, args)
    }

    fn k(&mut self, code: C, args: &[Arg]) -> VReg {
        self.make(self.mask_class(), code, args)
    }

    /// The class of registers that masks are in.
    fn mask_class(&self) -> RegClass {
        if self.features.avx512 { MASK } else { WIDE }
    }

    /// Written over `from`.
    fn over(&mut self, code: C, from: VReg, args: &[Arg]) -> VReg {
        let out = self.m.fresh(from.class());
        let mut all = vec![Arg::Over(out, from)];
        all.extend_from_slice(args);
        self.m.push(Made::new().then(code, &all));
        out
    }

    /// Where the mask holds, else 0.
    fn zeroed(&mut self, code: C, mask: VReg, args: &[Arg]) -> VReg {
        if !self.features.avx512 {
            let out = self.w(code, args);
            return self.w(C::VEX_Vpand_ymm_ymm_ymmm256, &[Arg::Use(out), Arg::Any(mask)]);
        }
        let out = self.m.fresh(WIDE);
        let mut all = vec![Arg::Def(out)];
        all.extend_from_slice(args);
        self.m.push(Made::new().then(code, &all).masked(mask, true));
        out
    }

    /// Where the mask holds, else `from`.
    fn merged(&mut self, code: C, mask: VReg, from: VReg, args: &[Arg]) -> VReg {
        if !self.features.avx512 {
            let new = self.w(code, args);
            return self.by_ones(mask, from, Arg::Any(new));
        }
        let out = self.m.fresh(from.class());
        let mut all = vec![Arg::Over(out, from)];
        all.extend_from_slice(args);
        self.m.push(Made::new().then(code, &all).masked(mask, false));
        out
    }

    /// A number in a register of 64 bits.
    fn number(&mut self, value: i64) -> VReg {
        if u32::try_from(value).is_ok() {
            self.i(C::Mov_r32_imm32, &[Arg::Imm(value)])
        } else if i32::try_from(value).is_ok() {
            self.i(C::Mov_rm64_imm32, &[Arg::Imm(value)])
        } else {
            self.i(C::Mov_r64_imm64, &[Arg::Imm(value)])
        }
    }

    /// A uniform value's register.
    fn one(&mut self, value: Value) -> Outcome<VReg> {
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
    fn small(&mut self, value: Value) -> Outcome<Arg> {
        if let Some(constant) = self.constant_of(value)
            && i32::try_from(extended(constant)).is_ok()
        {
            return Ok(Arg::Imm(extended(constant)));
        }
        Ok(Arg::Any(self.one(value)?))
    }

    /// A vector register of zeros.
    fn zero(&mut self) -> VReg {
        let out = self.m.fresh(WIDE);
        // Reads nothing, for all that the processor cares.
        let args = [Arg::Def(out), Arg::Use(out), Arg::Use(out)];
        self.m.push(Made::new().then(C::EVEX_Vpxord_xmm_k1z_xmm_xmmm128b32, &args));
        out
    }

    /// The bytes of a register of a constant gang.
    fn known_bytes(&self, value: Value, register: usize) -> Option<Vec<u8>> {
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
    fn src(&mut self, value: Value, register: usize) -> Outcome<Arg> {
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
    fn reg(&mut self, value: Value, register: usize) -> Outcome<VReg> {
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
    fn count(&self, value: Value) -> usize {
        let ty = self.ty(value);
        self.registers(ty.lanes, ty.element.bytes() as u32).max(1)
    }

    /// All registers of a gang.
    fn gang(&mut self, value: Value) -> Outcome<Vec<VReg>> {
        (0..self.count(value)).map(|register| self.reg(value, register)).collect()
    }

    /// A constant number as the last operand of instructions on lanes of 4 or 8 bytes.
    fn every(&mut self, bits: u64, bytes: usize) -> Arg {
        let one = &bits.to_le_bytes()[..bytes];
        if !self.features.avx512 {
            let all = one.repeat(self.bytes as usize / bytes);
            return Arg::Mem(self.m.constant(&all));
        }
        let at = self.m.constant(one);
        Arg::Mem(Address { broadcast: true, ..at })
    }

    /// Registers that hold a value, masks in the common form.
    fn flat(&mut self, value: Value) -> Outcome<Vec<VReg>> {
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

    fn arguments(&mut self, values: &[Value]) -> Outcome<Vec<VReg>> {
        let mut all = Vec::new();
        for &value in values {
            all.extend(self.flat(value)?);
        }
        Ok(all)
    }

    /// The register class of uniform values.
    fn class(element: ElementType) -> RegClass {
        if matches!(element, ElementType::F32 | ElementType::F64) { WIDE } else { INT }
    }

    fn region(&mut self, region: &'a Region) -> Outcome<()> {
        for inst in &region.0 {
            self.inst(inst)?;
        }
        Ok(())
    }

    fn inst(&mut self, inst: &'a Inst) -> Outcome<()> {
        match &inst.op {
            Op::Loop { .. } | Op::While { .. } | Op::If { .. } => self.control(inst)?,
            Op::FailIf { condition, site, operands } => self.fail_if(*condition, *site, operands)?,
            Op::Store { base, index, value, mask, streaming } => {
                self.store(*base, *index, *value, *mask, *streaming)?;
            }
            Op::Prefetch { base, index, element, bytes } => {
                let address = self.address(*base, *index, 0, element.bytes() as u32)?.plus(*bytes);
                self.m.push(Made::new().then(C::Prefetcht0_m8, &[Arg::Mem(address)]).kept());
            }
            op => {
                let Some(&result) = inst.results.first() else { return self.lacks("an instruction without a result") };
                if let Op::Constant(constant) = op {
                    self.constants[result.0 as usize] = Some(*constant);
                }
                self.defs[result.0 as usize] = Some(op);
                self.loose = self.low[result.0 as usize];
                let registers = self.pure(op, result)?;
                self.loose = false;
                self.set(result, registers);
            }
        }
        Ok(())
    }

    /// A word of the argument table.
    fn word(&mut self, position: u32) -> Registers {
        let table = Address::at(self.params[0], i64::from(position) * 8);
        Registers::One(self.i(C::Mov_r64_rm64, &[Arg::Mem(table)]))
    }

    /// An instruction with one result.
    fn pure(&mut self, op: &'a Op, result: Value) -> Outcome<Registers> {
        let ty = self.ty(result);
        Ok(match op {
            Op::Parameter(position) => Registers::One(self.params[*position as usize + 1]),
            Op::Argument(position) => self.word(*position),
            Op::Constant(_) => Registers::Known,
            Op::Iota if ty.lanes == 1 => {
                self.constants[result.0 as usize] = Some(Constant::zero(ty.element));
                Registers::Known
            }
            Op::Iota => Registers::Known,
            Op::Splat(value) => self.splat(*value, ty)?,
            Op::Load { base, index, offset, .. } => self.load(ty, *base, *index, *offset)?,
            Op::LoadStrided { base, index, stride, .. } => self.load_strided(ty, *base, *index, *stride)?,
            Op::Append { bases, count, values, mask, .. } => Registers::One(self.append(bases, *count, values, *mask)?),
            Op::Any(mask) => {
                self.tests.insert(result, Test::Any(*mask));
                let test = self.test(result)?;
                Registers::One(self.set_by(test))
            }
            Op::Extract(value, lane) => Registers::One(self.extract(*value, *lane)?),
            Op::Insert(value, lane, new) => self.insert(*value, *lane, *new)?,
            Op::Half { value, upper } => self.half(*value, *upper)?,
            Op::Shift { value, by, fill } => self.shift(*value, *by, *fill)?,
            Op::Select(condition, a, b) => self.choose(*condition, *a, *b)?,
            Op::Unary(function, a) if ty.lanes == 1 => {
                if let (Unary::Not, Some(&Test::Ints(holds, x, y))) = (function, self.tests.get(a)) {
                    self.tests.insert(result, Test::Ints(holds.inverse(), x, y));
                }
                Registers::One(self.unary_one(*function, *a)?)
            }
            Op::Unary(function, a) => self.unary_gang(*function, *a)?,
            Op::Binary(function, a, b) if ty.lanes == 1 => Registers::One(self.binary_one(*function, *a, *b, result)?),
            Op::Binary(function, a, b) => self.binary_gang(*function, *a, *b)?,
            Op::Fma(a, b, c) => self.fma(ty, *a, *b, *c)?,
            Op::Convert(a) if ty.lanes == 1 => Registers::One(self.convert_one(*a, ty.element)?),
            Op::Convert(a) => self.convert_gang(*a, ty)?,
            Op::Bits(a) => self.bits(*a, ty)?,
            _ => return self.lacks("an instruction without a single result"),
        })
    }

    /// Where an element is: of an index that is a sum with a number, that is part of the address.
    fn address(&mut self, base: Value, index: Value, offset: i64, bytes: u32) -> Outcome<Address> {
        // Displacements have 32 bits.
        let near = |sum: &i64| (-1 << 24..1 << 24).contains(sum);
        if !near(&offset) {
            return self.lacks("an element far from its index");
        }
        let mut index = index;
        let mut offset = offset;
        for _ in 0..8 {
            let Some(Op::Binary(Binary::Add, a, b)) = self.defs[index.0 as usize] else { break };
            if self.ty(index).element != ElementType::I64 {
                break;
            }
            let (a, b) = (*a, *b);
            let (rest, known) = match (self.constant_of(a), self.constant_of(b)) {
                (_, Some(known)) => (a, known),
                (Some(known), _) => (b, known),
                _ => break,
            };
            let Some(sum) = offset.checked_add(extended(known)).filter(near) else { break };
            offset = sum;
            index = rest;
        }
        let base = self.one(base)?;
        if let Some(known) = self.constant_of(index)
            && let Some(sum) = offset.checked_add(extended(known)).filter(near)
        {
            return Ok(Address::at(base, sum * i64::from(bytes)));
        }
        let index = self.one(index)?;
        Ok(Address { index: Some(index), scale: bytes, offset: offset * i64::from(bytes), ..Address::at(base, 0) })
    }
}
