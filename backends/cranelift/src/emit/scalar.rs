//! Scalar code: functions and instructions, for one point or a gang.

use fusebox_backend::BackendError;
use fusebox_ir::{
    Binary, Constant, ElementType, Failure, FailureKind, Instruction, KernelArrayId, KernelExtent, Lambda, Place,
    ScalarOp, Unary,
};

use super::{
    Emitter, Result, Val,
    divide::{exact_reciprocal, is_division},
};
use crate::vector::Value;

impl Emitter<'_> {
    /// A function's results for these arguments.
    pub(super) fn lambda(&mut self, lambda: &Lambda, arguments: &[Val]) -> Result<Vec<Val>> {
        for (param, &value) in lambda.params.iter().zip(arguments) {
            self.locals.insert(param.id, value);
        }
        for instruction in &lambda.instructions {
            self.instruction(instruction)?;
        }
        lambda.results.iter().map(|&result| self.operand(result)).collect()
    }

    /// One instruction; its results become locals.
    pub(super) fn instruction(&mut self, instruction: &Instruction) -> Result {
        let Instruction { results, op, place } = instruction;
        let values = match op {
            ScalarOp::Unary { function, a } => {
                let a = self.operand(*a)?;
                vec![self.unary(*function, a)?]
            }
            ScalarOp::Binary { function, a, b } => {
                let (a, b) = (self.operand(*a)?, self.operand(*b)?);
                vec![self.binary(*function, a, b, place)?]
            }
            ScalarOp::Fma { a, b, c } => {
                let [a, b, c] =
                    [self.operand(*a)?, self.operand(*b)?, self.operand(*c)?].map(|value| self.plain(value));
                let result = self.b.fma(a, b, c);
                vec![self.val(result)]
            }
            ScalarOp::Convert { to, a } => {
                let a = self.operand(*a)?;
                let result = match self.narrow_linear(*to, a) {
                    Some(narrow) => narrow,
                    None => {
                        let a = self.plain(a);
                        self.b.convert(*to, a)
                    }
                };
                vec![self.val(result)]
            }
            ScalarOp::Bits { to, a } => {
                let a = self.operand(*a)?;
                let a = self.plain(a);
                let result = self.b.bits(*to, a);
                vec![self.val(result)]
            }
            ScalarOp::Read { array, index } => {
                let index = index.iter().map(|&index| self.operand(index)).collect::<Result<Vec<_>>>()?;
                vec![self.checked_read(KernelArrayId::of_code(*array), &index, place)?]
            }
            ScalarOp::ReadFlat { array, position } => {
                let position = self.operand(*position)?;
                vec![self.flat_read(KernelArrayId::of_code(*array), position, place)?]
            }
            ScalarOp::If { condition, then, otherwise } => self.branch(*condition, then, otherwise)?,
            ScalarOp::While { condition, step, starts } => self.repeat(condition, step, starts, results)?,
            ScalarOp::Assert { condition, message, shown, value } => {
                let condition = self.operand(*condition)?;
                let condition = self.plain(condition);
                let failed = self.b.not(condition);
                let numbers = shown.iter().map(|&number| self.operand(number)).collect::<Result<Vec<_>>>()?;
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

    /// A failure of an instruction of its own: all it knows of the operation is the statement's.
    pub(super) fn failure(&self, place: &Place, fault: FailureKind) -> Failure {
        Failure { operation: self.operation.to_owned(), place: place.clone(), fault }
    }

    fn unary(&mut self, function: Unary, a: Val) -> Result<Val> {
        if !fusebox_ir::primitive::is_exact(function) {
            return Err(self.unexpanded(function.text()));
        }
        let a = self.plain(a);
        let result = self.b.unary(function, a);
        Ok(self.val(result))
    }

    fn unexpanded(&self, function: &str) -> BackendError {
        BackendError::Unsupported {
            backend: "cpu",
            what: format!("`{function}` in kernel `{}`, which is expanded when kernels are made", self.kernel.name.0),
        }
    }

    pub(super) fn binary(&mut self, function: Binary, a: Val, b: Val, place: &Place) -> Result<Val> {
        if !fusebox_ir::primitive::is_exact_binary(function) {
            return Err(self.unexpanded(function.text()));
        }
        if let Some(result) = self.linear(function, a, b) {
            return Ok(result);
        }
        let (x, y) = (self.plain(a), self.plain(b));
        if let (Binary::Div, Some(by)) = (function, self.b.constant_of(y).and_then(exact_reciprocal)) {
            let by = self.b.constant(by);
            let result = self.b.binary(Binary::Mul, x, by);
            return Ok(self.val(result));
        }
        let integer = !self.b.element(x).is_float();
        if integer
            && is_division(function)
            && let Some(result) = self.divided_by_power(function, x, y)
        {
            return Ok(self.val(result));
        }
        if integer && is_division(function) {
            let known = self.b.constant_of(y).is_some_and(|y| y.bits() != 0);
            if !known {
                let zero = self.b.constant(Constant::zero(self.b.element(y)));
                let failed = self.b.binary(Binary::Eq, y, zero);
                let failure = self.failure(place, FailureKind::DivisionByZero);
                self.fail(failed, failure, &[]);
            }
        }
        let function = match function {
            Binary::LogicalAnd => Binary::And,
            Binary::LogicalOr => Binary::Or,
            other => other,
        };
        let result = match (a, b) {
            (Val::Linear(base, stride), Val::Uniform(divisor)) if is_division(function) => {
                self.divided_row(function, (base, stride), divisor, x)
            }
            _ => self.b.binary(function, x, y),
        };
        Ok(self.val(result))
    }

    /// Consecutive numbers as integers of fewer bytes: the lowest bytes of a sum are the sum of the lowest bytes.
    fn narrow_linear(&mut self, to: ElementType, a: Val) -> Option<Value> {
        let Val::Linear(base, stride) = a else { return None };
        let narrow = !to.is_float() && to != ElementType::Bool && to.bytes() < ElementType::I64.bytes();
        if !narrow || self.b.constant_of(stride).and_then(Constant::as_i64) != Some(1) {
            return None;
        }
        let lanes = self.lanes;
        let base = self.b.convert(to, base);
        let (base, iota) = (self.b.splat(base, lanes), self.b.iota(to, lanes));
        Some(self.b.binary(Binary::Add, base, iota))
    }

    /// Sums, differences and products of `i64` that stay linear in the lane.
    pub(super) fn linear(&mut self, function: Binary, a: Val, b: Val) -> Option<Val> {
        match (function, a, b) {
            (Binary::Add, Val::Linear(base, stride), Val::Uniform(c))
            | (Binary::Add, Val::Uniform(c), Val::Linear(base, stride)) => {
                Some(Val::Linear(self.b.add(base, c), stride))
            }
            (Binary::Sub, Val::Linear(base, stride), Val::Uniform(c)) => Some(Val::Linear(self.b.sub(base, c), stride)),
            (Binary::Sub, Val::Uniform(c), Val::Linear(base, stride)) => {
                let zero = self.b.int(0);
                Some(Val::Linear(self.b.sub(c, base), self.b.sub(zero, stride)))
            }
            (Binary::Add, Val::Linear(x, s), Val::Linear(y, t)) => {
                Some(Val::Linear(self.b.add(x, y), self.b.add(s, t)))
            }
            (Binary::Sub, Val::Linear(x, s), Val::Linear(y, t)) => {
                Some(Val::Linear(self.b.sub(x, y), self.b.sub(s, t)))
            }
            (Binary::Mul, Val::Linear(base, stride), Val::Uniform(c))
            | (Binary::Mul, Val::Uniform(c), Val::Linear(base, stride)) => {
                Some(Val::Linear(self.b.mul(base, c), self.b.mul(stride, c)))
            }
            _ => None,
        }
    }

    /// `array[index…]` that fails outside.
    pub(super) fn checked_read(&mut self, array: KernelArrayId, index: &[Val], place: &Place) -> Result<Val> {
        self.check_index(array, index, &[], place)?;
        let position = self.position(array, index)?;
        self.load_of_some(array, position)
    }

    fn flat_read(&mut self, array: KernelArrayId, position: Val, place: &Place) -> Result<Val> {
        let kernel = self.kernel;
        let mut size = self.b.int(1);
        for &extent in &kernel.arrays[array.index()].extents {
            let extent = self.extent(extent)?;
            size = self.b.mul(size, extent);
        }
        let extents: Vec<KernelExtent> = kernel.arrays[array.index()].extents.clone();
        self.check_inside(array, &[position], &[size], &extents, place)?;
        self.load_of_some(array, position)
    }

    /// Where not all lanes take part, those that do not read the first element (there is slack behind an empty array). Where some lane takes
    /// part, what is the same in all lanes is where that lane reads.
    pub(super) fn masked_position(&mut self, array: KernelArrayId, position: Val) -> Val {
        let Some(mask) = self.mask else { return position };
        if matches!(position, Val::Uniform(_)) && self.some_lane == Some(mask) {
            return position;
        }
        let position = self.plain(position);
        let first = self.first_element(array);
        let position = self.b.select(mask, position, first);
        self.val(position)
    }
}
