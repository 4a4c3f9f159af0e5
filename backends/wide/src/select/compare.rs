//! Comparisons of gangs: masks, or masks of those lanes alone in which another mask holds.

use fusebox_ir::{Binary, ElementType};
use fusebox_vector::{Op, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Registers, Select, codes};
use crate::machine::{Arg, Inst};

/// The masks under which a comparison is made, one for each of its registers.
type Under<'u> = Option<&'u [VReg]>;

impl Select<'_> {
    pub(super) fn compare_gang(
        &mut self,
        function: Binary,
        a: Value,
        b: Value,
        under: Under<'_>,
    ) -> Outcome<Registers> {
        let element = self.ty(a).element;
        let (mut function, mut a, mut b) = (function, a, b);
        if matches!(self.registers_of(a)?, Registers::Known) {
            (a, b) = (b, a);
            function = match function {
                Binary::Lt => Binary::Gt,
                Binary::Le => Binary::Ge,
                Binary::Gt => Binary::Lt,
                Binary::Ge => Binary::Le,
                other => other,
            };
        }
        if let Some(masks) = self.compare_bits(function, a, b, under)? {
            return Ok(masks);
        }
        if element.is_integer() && !self.features.avx512 {
            let mut masks = Vec::new();
            for register in 0..self.count(a) {
                let (left, right) = (self.reg(a, register)?, self.src(b, register)?);
                masks.push(self.compared(function, element, left, right));
            }
            return Ok(Registers::Mask(self.bytes / element.bytes() as u32, masks));
        }
        match codes::float_compare(element) {
            Some(code) => self.compare_by(code, codes::float_predicate(function), a, b, under),
            None if element.is_integer() => {
                self.compare_by(codes::int_compare(element), codes::int_predicate(function), a, b, under)
            }
            None => self.lacks("a comparison of f16"),
        }
    }

    /// Whether neither is NaN.
    pub(super) fn are_numbers(&mut self, a: Value, b: Value, under: Under<'_>) -> Outcome<Registers> {
        let element = self.ty(a).element;
        let (a, b) = if matches!(self.registers_of(a)?, Registers::Known) { (b, a) } else { (a, b) };
        match codes::float_compare(element) {
            Some(code) => self.compare_by(code, codes::ORDERED, a, b, under),
            None => self.lacks(&format!("whether {element} are numbers")),
        }
    }

    fn compare_by(&mut self, code: C, predicate: i64, a: Value, b: Value, under: Under<'_>) -> Outcome<Registers> {
        let mut masks = Vec::new();
        for register in 0..self.count(a) {
            let (left, right) = (self.reg(a, register)?, self.src(b, register)?);
            let args = [Arg::Use(left), right, Arg::Imm(predicate)];
            masks.push(self.compared_under(code, &args, under.map(|masks| masks[register])));
        }
        Ok(Registers::Mask(self.bytes / self.ty(a).element.bytes() as u32, masks))
    }

    /// Whether two integers have a bit in common: no `and` by itself.
    fn compare_bits(
        &mut self,
        function: Binary,
        a: Value,
        zero: Value,
        under: Under<'_>,
    ) -> Outcome<Option<Registers>> {
        let element = self.ty(a).element;
        let Some(&Op::Binary(Binary::And, x, y)) = self.defs[a.0 as usize] else { return Ok(None) };
        let is_zero = self.constant_of(zero).is_some_and(|zero| zero.bits() == 0);
        let Some(code) = codes::common_bits(function, element).filter(|_| is_zero && self.features.avx512) else {
            return Ok(None);
        };
        let (x, y) = if matches!(self.registers_of(x)?, Registers::Known) { (y, x) } else { (x, y) };
        let mut masks = Vec::new();
        for register in 0..self.count(a) {
            let (left, right) = (self.reg(x, register)?, self.src(y, register)?);
            masks.push(self.compared_under(code, &[Arg::Use(left), right], under.map(|masks| masks[register])));
        }
        Ok(Some(Registers::Mask(self.bytes / element.bytes() as u32, masks)))
    }

    /// A comparison of registers: false where the mask, if there is one, does not hold.
    fn compared_under(&mut self, code: C, args: &[Arg], under: Option<VReg>) -> VReg {
        let Some(under) = under else { return self.k(code, args) };
        let out = self.m.fresh(self.mask_class());
        let mut all = vec![Arg::Def(out)];
        all.extend_from_slice(args);
        self.m.push(Inst::new().then(code, &all).masked(under, false));
        out
    }

    /// A condition and a comparison that nobody else asks for: one instruction for both.
    pub(super) fn and_compared(&mut self, mask: Value, comparison: Value) -> Outcome<Option<Registers>> {
        let own = comparison.0 as usize;
        let alone = self.uses[own] == 1 && self.homes[own] == self.home;
        let (Some(op), Some(Registers::Mask(per, _))) = (self.defs[own], &self.values[own]) else { return Ok(None) };
        let per = *per;
        if !alone
            || !self.features.avx512
            || !matches!(&self.values[mask.0 as usize], Some(Registers::Mask(own, _)) if *own == per)
        {
            return Ok(None);
        }
        let under = self.mask(mask, per)?;
        Ok(Some(match *op {
            Op::AreNumbers(a, b) => self.are_numbers(a, b, Some(&under))?,
            Op::Binary(function, a, b) if function.is_comparison() && self.ty(a).element != ElementType::Bool => {
                self.compare_gang(function, a, b, Some(&under))?
            }
            _ => return Ok(None),
        }))
    }
}
