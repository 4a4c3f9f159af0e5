//! The vector IR to machine instructions: gangs as vector registers, masks as mask registers, or, without AVX-512, as lanes of ones.
//!
//! Instructions are chosen as those of AVX-512. Without it they are replaced by those of AVX2 that do the same on 32 bytes (`short`); where
//! there is none, something else is chosen here.

mod across;
mod append;
mod codes;
mod compare;
mod control;
mod conversions_of_ones;
mod convert;
mod counts;
mod gang;
mod halves;
mod instruction;
mod lanes;
mod lanes_of_ones;
mod low_bits;
mod masks;
mod memory;
mod memory_of_ones;
mod operand;
mod scalar;
mod several;
mod shifts;
mod short;
mod unary;
mod unzip;

use std::collections::HashMap;

use fusebox_ir::{Constant, ElementType, Unary, bug};
use fusebox_vector::{Function, Op, Type, Value};
use iced_x86::Code as C;
use regalloc2::{Operand, PReg, RegClass, VReg};

use crate::{
    Features, Refusal, broadcasts,
    machine::{Arg, Cond, INT, Inst as Made, MASK, Machine, WIDE},
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
    /// Of each value the region that computes it, by the order in which they begin.
    homes: Vec<u32>,
    /// The region that is being gone through, and how many have begun.
    home: u32,
    begun: u32,
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
        homes: vec![0; count],
        home: 0,
        begun: 0,
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
    if features.avx512 {
        broadcasts::into_readers(&mut select.m);
        select.m.sweep();
    } else {
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
            let compared = match inst.op {
                Op::Binary(f, a, _) if f.is_comparison() => Some(self.ty(a)),
                Op::Unary(Unary::IsNan | Unary::IsInf, a) | Op::AreNumbers(a, _) => Some(self.ty(a)),
                _ => None,
            };
            if let Some(ty) = compared.filter(|ty| ty.lanes > 1 && ty.element != ElementType::Bool) {
                counts[ty.element.bytes()] += 1;
            }
            self.streams |= matches!(inst.op, Op::Store { streaming: true, .. });
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
}
