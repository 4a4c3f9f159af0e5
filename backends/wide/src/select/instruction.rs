//! One instruction of the vector IR: which room chooses its machine instructions.

use fusebox_ir::{Constant, Unary};
use fusebox_vector::{Inst, Op, Region, Value};
use iced_x86::Code as C;

use super::{Outcome, Registers, Select, Test};
use crate::machine::{Address, Arg, Inst as Made};

impl<'a> Select<'a> {
    pub(super) fn region(&mut self, region: &'a Region) -> Outcome<()> {
        self.begun += 1;
        let around = std::mem::replace(&mut self.home, self.begun);
        for inst in &region.0 {
            self.inst(inst)?;
        }
        self.home = around;
        Ok(())
    }

    pub(super) fn inst(&mut self, inst: &'a Inst) -> Outcome<()> {
        match &inst.op {
            Op::Loop(_) | Op::While(_) | Op::If(_) => self.control(inst)?,
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
                self.homes[result.0 as usize] = self.home;
                self.loose = self.low[result.0 as usize];
                let registers = self.pure(op, result)?;
                self.loose = false;
                self.set(result, registers);
            }
        }
        Ok(())
    }

    /// A word of the argument table.
    pub(super) fn word(&mut self, position: u32) -> Registers {
        let table = Address::at(self.params[0], i64::from(position) * 8);
        Registers::One(self.i(C::Mov_r64_rm64, &[Arg::Mem(table)]))
    }

    /// An instruction with one result.
    pub(super) fn pure(&mut self, op: &'a Op, result: Value) -> Outcome<Registers> {
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
            Op::LoadMasked { base, index, mask, .. } => self.load_masked(ty, *base, *index, *mask)?,
            Op::Append(own) => Registers::One(self.append(own)?),
            Op::Any(mask) => {
                self.tests.insert(result, Test::Any(*mask));
                let test = self.test(result)?;
                Registers::One(self.set_by(test))
            }
            Op::Extract(value, lane) => Registers::One(self.extract(*value, *lane)?),
            Op::Insert(value, lane, new) => self.insert(*value, *lane, *new)?,
            Op::Half { value, upper } => self.half(*value, *upper)?,
            Op::Reverse(value) => self.reversed(*value)?,
            Op::Shift { value, by, fill } => self.shift(*value, *by, *fill)?,
            Op::Unzip { first, second, run, odd } => self.unzipped(*first, *second, *run, *odd)?,
            Op::Select(condition, a, b) => self.choose(*condition, *a, *b)?,
            Op::Unary(function, a) if ty.lanes == 1 => {
                if let (Unary::Not, Some(&Test::Ints(holds, x, y))) = (function, self.tests.get(a)) {
                    self.tests.insert(result, Test::Ints(holds.inverse(), x, y));
                }
                Registers::One(self.unary_one(*function, *a)?)
            }
            Op::Unary(function, a) => self.unary_gang(*function, *a)?,
            Op::Binary(function, a, b) | Op::OfNumbers(function, a, b) if ty.lanes == 1 => {
                Registers::One(self.binary_one(*function, *a, *b, result)?)
            }
            Op::Binary(function, a, b) => self.binary_gang(*function, *a, *b)?,
            Op::OfNumbers(function, a, b) => self.of_numbers(*function, *a, *b)?,
            Op::AreNumbers(a, b) => self.are_numbers(*a, *b, None)?,
            Op::Fma(a, b, c) => self.fma(ty, *a, *b, *c)?,
            Op::Convert(a) if ty.lanes == 1 => Registers::One(self.convert_one(*a, ty.element)?),
            Op::Convert(a) => self.convert_gang(*a, ty)?,
            Op::Bits(a) => self.bits(*a, ty)?,
            _ => return self.lacks("an instruction without a single result"),
        })
    }
}
