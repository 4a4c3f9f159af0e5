//! Scalar code: values of a type, conditions, instructions, checks.

use ElementType::{Bool, F32, F64, I16, I32, I64, U8};
use fusebox_ir::{
    Action, Binary, Constant, ElementType, Failure, FailureKind, Instruction, Lambda, LocalId, Place, ScalarOp,
    ScalarOperand, Unary,
};

use super::{Draw, Seen};

pub(super) fn constant(value: impl Into<Constant>) -> ScalarOperand {
    ScalarOperand::Constant(value.into())
}

impl Draw {
    /// Something that is seen, of any type.
    pub(super) fn any_value(&mut self) -> Seen {
        if self.chance(1, 2) && self.seen.len() > 4 {
            let late = self.seen.len() - 1 - self.below(4);
            return self.seen[late];
        }
        let seen = self.seen.clone();
        self.pick(&seen)
    }

    /// A value of a type: seen, converted, or a number.
    pub(super) fn value(&mut self, ty: ElementType) -> ScalarOperand {
        let same: Vec<LocalId> = self.seen.iter().filter(|seen| seen.ty == ty).map(|seen| seen.id).collect();
        if !same.is_empty() && self.chance(7, 8) {
            let late = same.len() - 1 - self.below(same.len().min(4));
            return same[late].into();
        }
        let others: Vec<Seen> = self.seen.iter().filter(|seen| seen.ty != ty).copied().collect();
        if ty != Bool && !others.is_empty() && self.chance(3, 4) {
            let other = self.pick(&others);
            return self.scalar(ty, ScalarOp::Convert { to: ty, a: other.id.into() }).into();
        }
        if ty == Bool && self.chance(4, 5) {
            return self.condition();
        }
        ScalarOperand::Constant(self.random.array(ty, &[1]).get(0))
    }

    pub(super) fn scalar(&mut self, ty: ElementType, op: ScalarOp) -> LocalId {
        let result = self.fresh(ty);
        self.see(&result, None);
        let id = result.id;
        self.push(None, Action::Scalar(Instruction { results: vec![result], op, place: Place::default() }));
        id
    }

    /// A `bool` that holds for some points: the last ones left out, or by data.
    fn condition(&mut self) -> ScalarOperand {
        let depth = self.depth();
        if depth > 0 && self.chance(1, 2) {
            let level = if self.chance(3, 4) { depth - 1 } else { self.below(depth) };
            let index = self.bounds[level].index;
            let (low, high) = index.range.unwrap_or((0, 0));
            let (function, at) = self.pick(&[
                (Binary::Lt, high),
                (Binary::Gt, low),
                (Binary::Lt, (low + high) / 2),
                (Binary::Ne, (low + high) / 2),
            ]);
            return self.scalar(Bool, ScalarOp::Binary { function, a: index.id.into(), b: constant(at) }).into();
        }
        let ty = self.pick(&[F32, I32, I64, U8, F64]);
        let a = self.value(ty);
        let b = if self.chance(2, 3) { ScalarOperand::Constant(Constant::from_i64(ty, 1)) } else { self.value(ty) };
        let function = self.pick(&[Binary::Lt, Binary::Ge, Binary::Ne, Binary::Gt]);
        self.scalar(Bool, ScalarOp::Binary { function, a, b }).into()
    }

    pub(super) fn when(&mut self) -> Option<ScalarOperand> {
        self.chance(1, 3).then(|| self.value(Bool))
    }

    pub(super) fn scalar_code(&mut self) {
        let ty = self.pick(&[F32, F32, F32, F64, I32, I64, U8, I16]);
        let (a, b) = (self.value(ty), self.value(ty));
        match self.below(9) {
            0..=3 => {
                let functions: &[Binary] = if ty.is_float() {
                    &[Binary::Add, Binary::Sub, Binary::Mul, Binary::Min, Binary::Max, Binary::Div]
                } else {
                    &[Binary::Add, Binary::Sub, Binary::Mul, Binary::Min, Binary::Max, Binary::Xor, Binary::And]
                };
                let function = self.pick(functions);
                self.scalar(ty, ScalarOp::Binary { function, a, b });
            }
            4 => {
                let function =
                    if ty.is_float() { self.pick(&[Unary::Neg, Unary::Abs, Unary::Floor]) } else { Unary::Complement };
                self.scalar(ty, ScalarOp::Unary { function, a });
            }
            5 => {
                let condition = self.value(Bool);
                let side = |result: ScalarOperand| Lambda {
                    params: Vec::new(),
                    instructions: Vec::new(),
                    results: vec![result],
                };
                let mut then = side(a);
                if self.chance(1, 2) {
                    let result = self.fresh(ty);
                    then.results = vec![result.id.into()];
                    let op = ScalarOp::Binary { function: Binary::Add, a, b };
                    then.instructions = vec![Instruction { results: vec![result], op, place: Place::default() }];
                }
                self.scalar(ty, ScalarOp::If { condition, then, otherwise: side(b) });
            }
            6 if self.shape.may_fail => {
                let condition = if self.chance(1, 8) { self.value(Bool) } else { constant(true) };
                self.scalar(ty, ScalarOp::Assert { condition, message: "so".to_owned(), shown: Vec::new(), value: a });
            }
            6 => {
                // A few steps, as many as some lanes want.
                let start = self.value(I64);
                let bits = self.scalar(I64, ScalarOp::Binary { function: Binary::And, a: start, b: constant(3i64) });
                let [x, k] = [self.fresh(ty), self.fresh(I64)];
                let go = self.fresh(Bool);
                let op = ScalarOp::Binary { function: Binary::Gt, a: k.id.into(), b: constant(0i64) };
                let results = vec![go.id.into()];
                let instructions = vec![Instruction { results: vec![go], op, place: Place::default() }];
                let condition = Lambda { params: vec![x, k], instructions, results };
                let [x, k] = [self.fresh(ty), self.fresh(I64)];
                let [y, l] = [self.fresh(ty), self.fresh(I64)];
                let results = vec![y.id.into(), l.id.into()];
                let add = ScalarOp::Binary { function: Binary::Add, a: x.id.into(), b };
                let less = ScalarOp::Binary { function: Binary::Sub, a: k.id.into(), b: constant(1i64) };
                let instructions = vec![
                    Instruction { results: vec![y], op: add, place: Place::default() },
                    Instruction { results: vec![l], op: less, place: Place::default() },
                ];
                let step = Lambda { params: vec![x, k], instructions, results };
                let results = vec![self.fresh(ty), self.fresh(I64)];
                results.iter().for_each(|result| self.see(result, None));
                let op = ScalarOp::While { condition, step, starts: vec![a, bits.into()] };
                self.push(None, Action::Scalar(Instruction { results, op, place: Place::default() }));
            }
            7 if self.shape.may_fail && self.chance(1, 4) => {
                let (a, b) = (self.value(I32), self.value(I32));
                self.scalar(I32, ScalarOp::Binary { function: Binary::Div, a, b });
            }
            7 => {
                let mut condition = self.value(Bool);
                if !self.shape.may_fail || self.chance(5, 6) {
                    // It holds, whatever it is made of.
                    let op = ScalarOp::Binary { function: Binary::LogicalOr, a: condition, b: constant(true) };
                    condition = self.scalar(Bool, op).into();
                }
                let message = "checked".to_owned();
                let failure = Failure {
                    operation: "check".to_owned(),
                    place: Place::default(),
                    fault: FailureKind::Assertion { message, shown: Vec::new() },
                };
                let when = self.when();
                self.push(when, Action::Check { condition, failure });
            }
            _ => {
                // An index that is computed.
                let start = self.value(I64);
                let low = self.scalar(I64, ScalarOp::Binary { function: Binary::And, a: start, b: constant(7i64) });
                if let Some(seen) = self.seen.last_mut()
                    && seen.id == low
                {
                    seen.range = Some((0, 7));
                }
            }
        }
    }
}
