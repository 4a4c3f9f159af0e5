//! Control: loops, branches, and leaving at a failure.

use fusebox_ir::{Binary, ElementType, Unary};
use fusebox_vector::{If, Inst, Loop, Op, Region, Value, While};
use iced_x86::Code as C;
use regalloc2::{RegClass, VReg};

use super::{Outcome, Registers, Select, Test, codes};
use crate::machine::{Address, Arg, BlockId, Cond, INT, Inst as Made, WIDE};

/// Bytes of the masks that the error slot takes before operands, and of each operand: 64 lanes of 8 bytes.
const SLOT_STRIDE: i64 = 512;

impl<'a> Select<'a> {
    /// Parameters of `block` for `values`, which are then defined by them.
    fn parameters(&mut self, block: BlockId, values: &[Value]) {
        for &value in values {
            let ty = self.ty(value);
            let (mask, count) = (self.mask_class(), self.registers(ty.lanes, ty.element.bytes() as u32));
            let mut fresh = |class: RegClass, count: usize| {
                let all: Vec<VReg> = (0..count).map(|_| self.m.fresh(class)).collect();
                self.m.blocks[block.0].params.extend(&all);
                all
            };
            let registers = if ty.lanes == 1 {
                Registers::One(fresh(Self::class(ty.element), 1)[0])
            } else if ty.element == ElementType::Bool {
                Registers::Mask(self.per, fresh(mask, ty.lanes.div_ceil(self.per) as usize))
            } else {
                Registers::Gang(fresh(WIDE, count))
            };
            self.set(value, registers);
        }
    }

    /// Sets flags by an instruction that stays before the branch that follows.
    pub(super) fn flags(&mut self, (code, args, condition): (C, Vec<Arg>, Cond)) -> Cond {
        self.m.push(Made::new().then(code, &args).kept());
        condition
    }

    /// The instruction that sets flags by a `bool` or a mask, and the condition under which it holds.
    pub(super) fn test(&mut self, condition: Value) -> Outcome<(C, Vec<Arg>, Cond)> {
        match self.tests.get(&condition) {
            Some(&Test::Ints(holds, a, b)) => Ok(Self::compare(holds, a, b)),
            Some(&Test::Any(mask)) => self.any_flags(mask),
            None if self.ty(condition).lanes > 1 => self.any_flags(condition),
            None => {
                let one = self.one(condition)?;
                Ok((C::Test_rm32_r32, vec![Arg::Use(one), Arg::Use(one)], Cond::NotEqual))
            }
        }
    }

    /// A `bool` by flags.
    pub(super) fn set_by(&mut self, (code, args, condition): (C, Vec<Arg>, Cond)) -> VReg {
        let out = self.m.fresh(INT);
        let inst = Made::new()
            .then(code, &args)
            .then(codes::set(condition), &[Arg::Def(out)])
            .then(C::Movzx_r32_rm8, &[Arg::Def(out), Arg::Use(out)]);
        self.m.push(inst);
        out
    }

    /// Words of the argument table that the body of a loop uses, loaded again for it: in registers from the beginning of the function on, those of
    /// inner loops would be moved to the stack and back in every turn. Gives where they were.
    fn words_of(&mut self, body: &'a Region) -> Vec<(Value, Registers)> {
        let mut words = Vec::new();
        let mut regions = vec![body];
        while let Some(region) = regions.pop() {
            for inst in &region.0 {
                words.extend(inst.op.operands());
                if let Op::If(own) = &inst.op {
                    regions.extend([&own.then, &own.otherwise]);
                }
            }
        }
        words.sort_unstable();
        words.dedup();
        let mut outside = Vec::new();
        for word in words {
            let Some(&Op::Argument(position)) = self.defs[word.0 as usize] else { continue };
            let Some(before) = self.values[word.0 as usize].clone() else { continue };
            outside.push((word, before));
            let again = self.word(position);
            self.set(word, again);
        }
        outside
    }

    /// A loop or a branch, with what is inside of it.
    pub(super) fn control(&mut self, inst: &'a Inst) -> Outcome<()> {
        match &inst.op {
            Op::Loop(own) => {
                let Loop { from, to, step, index, starts, carried, body, next } = &**own;
                let [enter, skip, inside, again, leave, after] = [(); 6].map(|()| self.m.block());
                let first = self.one(*from)?;
                let starts = self.arguments(starts)?;
                let end = self.small(*to)?;
                self.tests.insert(*index, Test::Ints(Cond::Less, first, end));
                let test = self.test(*index)?;
                self.tests.remove(index);
                let enters = self.flags(test);
                self.m.branch(enters, enter, skip);
                self.m.fill(enter);
                let outside = self.words_of(body);
                self.m.jump(inside, std::iter::once(first).chain(starts.iter().copied()).collect());
                self.m.fill(skip);
                self.m.jump(after, starts);
                self.m.fill(inside);
                self.parameters(inside, std::slice::from_ref(index));
                self.parameters(inside, carried);
                self.region(body)?;
                let next = self.arguments(next)?;
                let at = self.one(*index)?;
                let end = self.small(*to)?;
                let following = if i32::try_from(*step).is_ok() {
                    self.i(C::Lea_r64_m, &[Arg::Mem(Address::at(at, *step))])
                } else {
                    let step = self.number(*step);
                    self.over(C::Add_r64_rm64, at, &[Arg::Use(step)])
                };
                self.tests.insert(*index, Test::Ints(Cond::Less, following, end));
                let test = self.test(*index)?;
                self.tests.remove(index);
                let more = self.flags(test);
                self.m.branch(more, again, leave);
                self.m.fill(again);
                self.m.jump(inside, std::iter::once(following).chain(next.iter().copied()).collect());
                for (word, registers) in outside {
                    self.set(word, registers);
                }
                self.m.fill(leave);
                self.m.jump(after, next);
                self.m.fill(after);
                self.parameters(after, &inst.results);
            }
            Op::While(own) => {
                let While { starts, carried, header, condition, body, next } = &**own;
                let [test, inside, leave, after] = [(); 4].map(|()| self.m.block());
                let starts = self.arguments(starts)?;
                self.m.jump(test, starts);
                self.m.fill(test);
                self.parameters(test, carried);
                self.region(header)?;
                let results = self.arguments(carried)?;
                let holds = self.test(*condition)?;
                let holds = self.flags(holds);
                self.m.branch(holds, inside, leave);
                self.m.fill(inside);
                self.region(body)?;
                let next = self.arguments(next)?;
                self.m.jump(test, next);
                self.m.fill(leave);
                self.m.jump(after, results);
                self.m.fill(after);
                self.parameters(after, &inst.results);
            }
            Op::If(own) => {
                let If { condition, then, then_results, otherwise, otherwise_results } = &**own;
                let [yes, no, after] = [(); 3].map(|()| self.m.block());
                let holds = self.test(*condition)?;
                let holds = self.flags(holds);
                self.m.branch(holds, yes, no);
                for (block, region, results) in [(yes, then, then_results), (no, otherwise, otherwise_results)] {
                    self.m.fill(block);
                    self.region(region)?;
                    let results = self.arguments(results)?;
                    self.m.jump(after, results);
                }
                self.m.fill(after);
                self.parameters(after, &inst.results);
            }
            _ => return self.lacks("control of another kind"),
        }
        Ok(())
    }

    /// Fences and returns.
    pub(super) fn leave(&mut self, code: VReg) {
        if self.streams {
            self.m.push(Made::new().then(C::Sfence, &[]).kept());
        }
        self.m.ret(code);
    }

    /// Leaves the function where the condition holds: mask and operands go to the error slot, the caller finds the lane.
    pub(super) fn fail_if(&mut self, condition: Value, site: usize, operands: &[Value]) -> Outcome<()> {
        let [leave, stay] = [(); 2].map(|()| self.m.block());
        if let Some(tests) = self.either_fails(condition) {
            // Two branches that are foreseen cost less than to make one condition of both.
            for test in tests {
                let [fails, next] = [(); 2].map(|()| self.m.block());
                let test = self.flags(test);
                self.m.branch(test, fails, next);
                self.m.blocks[fails.0].cold = true;
                self.m.fill(fails);
                self.m.jump(leave, Vec::new());
                self.m.fill(next);
            }
            self.m.jump(stay, Vec::new());
        } else {
            let test = self.test(condition)?;
            let fails = self.flags(test);
            self.m.branch(fails, leave, stay);
        }
        self.m.blocks[leave.0].cold = true;
        self.m.fill(leave);
        let slot = self.params[4];
        if self.ty(condition).lanes > 1 {
            if self.ty(condition).lanes > 64 {
                return self.lacks("a failure of more than 64 lanes");
            }
            self.widths[site] = 1;
            for (position, mask) in self.mask(condition, self.bytes)?.into_iter().enumerate() {
                let bytes =
                    if self.features.avx512 { self.w(C::EVEX_Vpmovm2b_zmm_kr, &[Arg::Use(mask)]) } else { mask };
                self.keep_at(slot, self.nth(position), bytes);
            }
        }
        for (position, &operand) in operands.iter().enumerate() {
            let at = SLOT_STRIDE * (position as i64 + 1);
            for (register, value) in self.flat(operand)?.into_iter().enumerate() {
                self.keep_at(slot, at + self.nth(register), value);
            }
        }
        let code = self.number(site as i64 + 1);
        self.leave(code);
        self.m.fill(stay);
        Ok(())
    }

    /// Of a failure where not both of two comparisons hold: the flags of each that say that it does not.
    fn either_fails(&self, condition: Value) -> Option<[(C, Vec<Arg>, Cond); 2]> {
        let Some(&Op::Unary(Unary::Not, both)) = self.defs[condition.0 as usize] else { return None };
        let Some(&Op::Binary(Binary::And | Binary::LogicalAnd, a, b)) = self.defs[both.0 as usize] else { return None };
        let not = |value: Value| match self.tests.get(&value) {
            Some(&Test::Ints(holds, x, y)) => Some(Self::compare(holds.inverse(), x, y)),
            _ => None,
        };
        Some([not(a)?, not(b)?])
    }

    /// A comparison of integers, as flags.
    fn compare(holds: Cond, a: VReg, b: Arg) -> (C, Vec<Arg>, Cond) {
        let code = match b {
            Arg::Imm(b) if i8::try_from(b).is_ok() => C::Cmp_rm64_imm8,
            Arg::Imm(_) => C::Cmp_rm64_imm32,
            _ => C::Cmp_r64_rm64,
        };
        let first = if matches!(b, Arg::Imm(_)) { Arg::Any(a) } else { Arg::Use(a) };
        (code, vec![first, b], holds)
    }

    fn keep_at(&mut self, base: VReg, offset: i64, value: VReg) {
        let code = if value.class() == WIDE { C::EVEX_Vmovdqu64_zmmm512_k1z_zmm } else { C::Mov_rm64_r64 };
        let at = Arg::Mem(Address::at(base, offset));
        self.m.push(Made::new().then(code, &[at, Arg::Use(value)]).kept());
    }
}
