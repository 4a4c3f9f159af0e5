//! Scalar code in the instructions that backends know: functions such as `exp` expanded, arithmetic of `f16` done in `f32`.
//!
//! Every `f16` operation is one in `f32`, rounded back: with 24 bits against 11, sum, product, quotient and root rounded twice are those
//! rounded once. Backends only convert `f16` from and to `f32` and `f64`, move it, and select it.

use std::collections::HashMap;

use fusebox_ir::{
    Binary, Constant, ElementType, Instruction, Lambda, Local, LocalId, Name, Place, ScalarOp, ScalarOperand,
    ScalarPartMut, Unary,
};

use crate::{
    locals::{Ids, Types},
    math,
    math::Emit,
};

use ElementType::{F16, F32, F64, I64};

/// Expands functions and `f16`.
pub(crate) struct Expand<'a, 'p> {
    ids: &'a mut Ids,
    /// Types of the locals that instructions use.
    types: &'a mut Types<'p>,
    names: HashMap<LocalId, ScalarOperand>,
    done: Vec<Instruction>,
    outer: Vec<Vec<Instruction>>,
    place: Place,
}

impl Emit for Expand<'_, '_> {
    fn emit_all(&mut self, op: ScalarOp, types: &[ElementType]) -> Vec<ScalarOperand> {
        let results: Vec<Local> = types.iter().map(|&ty| self.parameter(ty)).collect();
        let operands = results.iter().map(|local| local.id.into()).collect();
        self.done.push(Instruction { results, op, place: self.place.clone() });
        operands
    }

    fn parameter(&mut self, ty: ElementType) -> Local {
        let local = Local { id: self.ids.fresh(), ty, name: Name::default() };
        self.types.note(&local);
        local
    }

    fn open(&mut self) {
        self.outer.push(std::mem::take(&mut self.done));
    }

    fn close(&mut self) -> Vec<Instruction> {
        let outer = self.outer.pop().unwrap_or_default();
        std::mem::replace(&mut self.done, outer)
    }
}

impl<'a, 'p> Expand<'a, 'p> {
    pub(crate) fn new(ids: &'a mut Ids, types: &'a mut Types<'p>) -> Self {
        Self { ids, types, names: HashMap::new(), done: Vec::new(), outer: Vec::new(), place: Place::default() }
    }

    /// The expanded instructions, and what `results` are called after them.
    pub(crate) fn code(
        mut self,
        instructions: Vec<Instruction>,
        results: &[ScalarOperand],
    ) -> (Vec<Instruction>, Vec<ScalarOperand>) {
        self.all(instructions);
        let results = results.iter().map(|&result| self.operand(result)).collect();
        (self.done, results)
    }

    /// The function with its body expanded.
    pub(crate) fn function(mut self, lambda: Lambda) -> Lambda {
        self.body(lambda)
    }

    fn operand(&self, operand: ScalarOperand) -> ScalarOperand {
        match operand {
            ScalarOperand::Local(id) => self.names.get(&id).copied().unwrap_or(operand),
            ScalarOperand::Outer(_) | ScalarOperand::Constant(_) => operand,
        }
    }

    fn ty(&self, operand: ScalarOperand) -> ElementType {
        self.types.of(operand)
    }

    fn all(&mut self, instructions: Vec<Instruction>) {
        for instruction in instructions {
            self.instruction(instruction);
        }
    }

    fn body(&mut self, body: Lambda) -> Lambda {
        for param in &body.params {
            self.types.note(param);
        }
        self.open();
        self.all(body.instructions);
        let results = body.results.iter().map(|&result| self.operand(result)).collect();
        Lambda { params: body.params, instructions: self.close(), results }
    }

    fn instruction(&mut self, mut instruction: Instruction) {
        for part in instruction.op.parts_mut() {
            if let ScalarPartMut::Operand(operand) = part {
                *operand = self.operand(*operand);
            }
        }
        for result in &instruction.results {
            self.types.note(result);
        }
        self.place = instruction.place.clone();
        let ty = instruction.results.first().map_or(ElementType::Bool, |result| result.ty);
        let replaced = match &mut instruction.op {
            ScalarOp::Unary { function, a } => self.unary(*function, *a),
            ScalarOp::Binary { function, a, b } => self.binary(*function, *a, *b),
            ScalarOp::Fma { a, b, c } if ty == F16 => Some(self.half_fma(*a, *b, *c)),
            ScalarOp::Convert { to, a } => self.convert(*to, *a),
            ScalarOp::If { then, otherwise, .. } => {
                *then = self.body(std::mem::take(then));
                *otherwise = self.body(std::mem::take(otherwise));
                None
            }
            ScalarOp::While { condition, step, .. } => {
                *condition = self.body(std::mem::take(condition));
                *step = self.body(std::mem::take(step));
                None
            }
            ScalarOp::Fma { .. }
            | ScalarOp::Bits { .. }
            | ScalarOp::Read { .. }
            | ScalarOp::ReadFlat { .. }
            | ScalarOp::Assert { .. } => None,
        };
        match (replaced, instruction.results.first()) {
            (Some(operand), Some(result)) => {
                self.names.insert(result.id, operand);
            }
            _ => self.done.push(instruction),
        }
    }

    fn unary(&mut self, function: Unary, a: ScalarOperand) -> Option<ScalarOperand> {
        let ty = self.ty(a);
        if ty != F16 {
            return math::expand_unary(function, ty, a, self);
        }
        let wide = self.to(F32, a);
        let result = match math::expand_unary(function, F32, wide, self) {
            Some(result) => result,
            None => {
                let to = if matches!(function, Unary::IsNan | Unary::IsInf) { ElementType::Bool } else { F32 };
                self.emit(ScalarOp::Unary { function, a: wide }, to)
            }
        };
        Some(if self.ty(result) == F32 { self.to(F16, result) } else { result })
    }

    fn binary(&mut self, function: Binary, a: ScalarOperand, b: ScalarOperand) -> Option<ScalarOperand> {
        let ty = self.ty(a);
        if ty != F16 {
            return math::expand_binary(function, ty, a, b, self);
        }
        let (a, b) = (self.to(F32, a), self.to(F32, b));
        let result = match math::expand_binary(function, F32, a, b, self) {
            Some(result) => result,
            None => {
                let to = if function.is_comparison() { ElementType::Bool } else { F32 };
                self.emit(ScalarOp::Binary { function, a, b }, to)
            }
        };
        Some(if self.ty(result) == F32 { self.to(F16, result) } else { result })
    }

    /// A conversion that backends know.
    fn to(&mut self, to: ElementType, a: ScalarOperand) -> ScalarOperand {
        let ScalarOperand::Constant(constant) = a else { return self.emit(ScalarOp::Convert { to, a }, to) };
        match fusebox_ir::primitive::convert(to, constant) {
            Some(converted) => converted.into(),
            None => self.emit(ScalarOp::Convert { to, a }, to),
        }
    }

    fn convert(&mut self, to: ElementType, a: ScalarOperand) -> Option<ScalarOperand> {
        let from = self.ty(a);
        match (from, to) {
            _ if from == to => Some(a),
            (F16, F32 | F64) | (F32 | F64, F16) => None,
            (F16, _) => {
                let wide = self.to(F32, a);
                Some(self.to(to, wide))
            }
            (_, F16) => {
                // Beyond 2^17 every integer is an infinity; up to there `f32` is exact, so there is one rounding.
                let mut exact = a;
                if from.bytes() >= 4 {
                    let bound = |value: i64| ScalarOperand::from(Constant::from_i64(from, value));
                    exact = self.emit(ScalarOp::Binary { function: Binary::Min, a: exact, b: bound(1 << 17) }, from);
                    if from.is_signed() {
                        exact =
                            self.emit(ScalarOp::Binary { function: Binary::Max, a: exact, b: bound(-(1 << 17)) }, from);
                    }
                }
                let wide = self.to(F32, exact);
                Some(self.to(F16, wide))
            }
            _ => None,
        }
    }

    /// The product is exact in `f64`; the sum is rounded to odd there, so that rounding it again to `f16` is rounding it once.
    fn half_fma(&mut self, a: ScalarOperand, b: ScalarOperand, c: ScalarOperand) -> ScalarOperand {
        let [a, b, c] = [a, b, c].map(|x| self.to(F64, x));
        let two = |this: &mut Self, function, a, b| this.emit(ScalarOp::Binary { function, a, b }, F64);
        let product = two(self, Binary::Mul, a, b);
        let sum = two(self, Binary::Add, product, c);
        // The error of the sum, exactly (Knuth).
        let c_part = two(self, Binary::Sub, sum, product);
        let product_part = two(self, Binary::Sub, sum, c_part);
        let c_error = two(self, Binary::Sub, c, c_part);
        let product_error = two(self, Binary::Sub, product, product_part);
        let error = two(self, Binary::Add, product_error, c_error);
        let zero = ScalarOperand::from(Constant::from(0f64));
        let compare =
            |this: &mut Self, function, a, b| this.emit(ScalarOp::Binary { function, a, b }, ElementType::Bool);
        let above = compare(self, Binary::Gt, error, zero);
        let below = compare(self, Binary::Lt, error, zero);
        let inexact = compare(self, Binary::Or, above, below);
        let bits = self.emit(ScalarOp::Bits { to: I64, a: sum }, I64);
        let whole = |value: i64| ScalarOperand::from(Constant::from(value));
        let lowest = self.emit(ScalarOp::Binary { function: Binary::And, a: bits, b: whole(1) }, I64);
        let even = compare(self, Binary::Eq, lowest, whole(0));
        let adjust = compare(self, Binary::And, inexact, even);
        // Away from zero where error and sum have one sign.
        let positive = compare(self, Binary::Gt, sum, zero);
        let away = compare(self, Binary::Eq, above, positive);
        let by = self.select(away, whole(1), whole(-1), I64);
        let step = self.select(adjust, by, whole(0), I64);
        let odd = self.emit(ScalarOp::Binary { function: Binary::Add, a: bits, b: step }, I64);
        let odd = self.emit(ScalarOp::Bits { to: F64, a: odd }, F64);
        self.to(F16, odd)
    }

    fn select(
        &mut self,
        condition: ScalarOperand,
        then: ScalarOperand,
        otherwise: ScalarOperand,
        ty: ElementType,
    ) -> ScalarOperand {
        let branch = |result| Lambda { results: vec![result], ..Lambda::default() };
        self.emit(ScalarOp::If { condition, then: branch(then), otherwise: branch(otherwise) }, ty)
    }
}
