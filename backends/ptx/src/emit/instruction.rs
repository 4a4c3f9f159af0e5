//! Instructions of scalar code, branches and loops.

use fusebox_ir::{
    Binary, Constant, ElementType, FailureKind, Instruction, KernelArrayId, Lambda, ScalarOp, ScalarOperand,
    analysis::kernels::is_cheap,
};

use super::{Emitter, Result};
use crate::{text::Reg, value::Val};

impl Emitter<'_> {
    /// A function's results for these arguments.
    pub(crate) fn lambda(&mut self, lambda: &Lambda, arguments: &[Val]) -> Result<Vec<Val>> {
        for (param, &value) in lambda.params.iter().zip(arguments) {
            self.locals.insert(param.id, value);
        }
        for instruction in &lambda.instructions {
            self.instruction(instruction)?;
        }
        self.operands(&lambda.results)
    }

    /// One instruction; its results become locals.
    pub(crate) fn instruction(&mut self, instruction: &Instruction) -> Result {
        let Instruction { results, op, place } = instruction;
        let values = match op {
            ScalarOp::Unary { function, a } => {
                let a = self.operand(*a)?;
                let result = self.c.unary(*function, a);
                vec![self.expanded(result)?]
            }
            ScalarOp::Binary { function, a, b } => {
                let (a, b) = (self.operand(*a)?, self.operand(*b)?);
                let divides = matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor);
                if divides && a.ty.is_integer() && b.constant().is_none_or(|b| b.bits() == 0) {
                    let failed = self.c.compare("eq", b, Constant::zero(b.ty).into());
                    let failure = self.failure(place, FailureKind::DivisionByZero);
                    self.fail(failed, failure, &[]);
                }
                let result = self.c.binary(*function, a, b);
                vec![self.expanded(result)?]
            }
            ScalarOp::Fma { a, b, c } => {
                let (a, b, c) = (self.operand(*a)?, self.operand(*b)?, self.operand(*c)?);
                let result = self.c.fma(a, b, c);
                vec![self.expanded(result)?]
            }
            ScalarOp::Convert { to, a } => {
                let a = self.operand(*a)?;
                vec![self.c.convert(*to, a)]
            }
            ScalarOp::Bits { to, a } => {
                let a = self.operand(*a)?;
                vec![self.c.bits(*to, a)]
            }
            ScalarOp::Read { array, index } => {
                let index = self.operands(index)?;
                vec![self.checked_read(KernelArrayId::of_code(*array), &index, place)?]
            }
            ScalarOp::ReadFlat { array, position } => {
                let position = self.operand(*position)?;
                vec![self.flat_read(KernelArrayId::of_code(*array), position, place)?]
            }
            ScalarOp::If { condition, then, otherwise } => self.branch(*condition, then, otherwise)?,
            ScalarOp::While { condition, step, starts } => self.repeat(condition, step, starts)?,
            ScalarOp::Assert { condition, message, shown, value } => {
                let condition = self.condition(*condition)?;
                let failed = self.c.not(condition);
                let numbers = self.operands(shown)?;
                let fault = FailureKind::Assertion { message: message.clone(), shown: shown.clone() };
                let failure = self.failure(place, fault);
                self.fail(failed, failure, &numbers);
                vec![self.operand(*value)?]
            }
        };
        for (local, value) in results.iter().zip(values) {
            self.locals.insert(local.id, value);
        }
        Ok(())
    }

    fn branch(&mut self, condition: ScalarOperand, then: &Lambda, otherwise: &Lambda) -> Result<Vec<Val>> {
        let condition = self.operand(condition)?;
        if let Some(known) = condition.constant().and_then(Constant::as_bool) {
            return self.lambda(if known { then } else { otherwise }, &[]);
        }
        let condition = self.c.in_reg(condition);
        let count = then.instructions.len() + otherwise.instructions.len();
        if count <= 24 && then.instructions.iter().chain(&otherwise.instructions).all(is_cheap) {
            let (a, b) = (self.lambda(then, &[])?, self.lambda(otherwise, &[])?);
            return Ok(a.into_iter().zip(b).map(|(a, b)| self.c.select(condition, a, b)).collect());
        }
        let (other, behind) = (self.c.label(), self.c.label());
        self.c.op(format_args!("@!{condition} bra {other}"));
        let values = self.lambda(then, &[])?;
        let results: Vec<Reg> = values.iter().map(|&value| self.c.variable(value)).collect();
        self.c.op(format_args!("bra {behind}"));
        self.c.place(other);
        let others = self.lambda(otherwise, &[])?;
        for (&to, &value) in results.iter().zip(&others) {
            self.c.assign(to, value);
        }
        self.c.place(behind);
        Ok(results.into_iter().zip(values).map(|(reg, value)| Val::new(value.ty, reg)).collect())
    }

    fn repeat(&mut self, condition: &Lambda, step: &Lambda, starts: &[ScalarOperand]) -> Result<Vec<Val>> {
        let starts = self.operands(starts)?;
        let state: Vec<Reg> = starts.iter().map(|&start| self.c.variable(start)).collect();
        let values: Vec<Val> = starts.iter().zip(&state).map(|(start, &reg)| Val::new(start.ty, reg)).collect();
        let (again, behind) = (self.c.label(), self.c.label());
        self.c.place(again);
        let holds = self.lambda(condition, &values)?;
        let holds = holds.first().copied().unwrap_or(Constant::from(false).into());
        let holds = self.c.in_reg(holds);
        self.c.op(format_args!("@!{holds} bra {behind}"));
        let next = self.lambda(step, &values)?;
        self.assign_all(&state, &next);
        self.c.op(format_args!("bra {again}"));
        self.c.place(behind);
        Ok(values)
    }

    /// Assigns several registers at once: no value is read after its register has been overwritten.
    pub(crate) fn assign_all(&mut self, to: &[Reg], values: &[Val]) {
        let read_late = |at: usize, value: &Val| {
            value.register().is_some_and(|reg| to.iter().take(at).any(|earlier| *earlier == reg))
        };
        let values: Vec<Val> = values
            .iter()
            .enumerate()
            .map(|(at, value)| if read_late(at, value) { Val::new(value.ty, self.c.variable(*value)) } else { *value })
            .collect();
        for (&to, &value) in to.iter().zip(&values) {
            self.c.assign(to, value);
        }
    }

    /// A counted loop: `inside` runs for 0, 1, … below `count`.
    pub(crate) fn count_up(&mut self, count: Val, inside: impl FnOnce(&mut Self, Val) -> Result) -> Result {
        self.stride_up(0i64.into(), count, 1i64.into(), inside)
    }

    /// A loop over `first`, `first + stride`, … below `end`.
    pub(crate) fn stride_up(
        &mut self,
        first: Val,
        end: Val,
        stride: Val,
        inside: impl FnOnce(&mut Self, Val) -> Result,
    ) -> Result {
        let counter = self.c.variable(first);
        let value = Val::new(ElementType::I64, counter);
        let (again, behind) = (self.c.label(), self.c.label());
        self.c.place(again);
        let over = self.c.compare("ge", value, end);
        self.c.op(format_args!("@{over} bra {behind}"));
        inside(self, value)?;
        let stride = self.c.text(stride);
        self.c.op(format_args!("add.s64 {counter}, {counter}, {stride}"));
        self.c.op(format_args!("bra {again}"));
        self.c.place(behind);
        Ok(())
    }
}
