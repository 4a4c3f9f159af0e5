//! Scalar code in the instructions that backends know: functions such as `exp` expanded, arithmetic of `f16` done in `f32`.
//!
//! Every `f16` operation is one in `f32`, rounded back: with 24 bits against 11, sum, product, quotient and root rounded twice are those
//! rounded once. Backends only convert `f16` from and to `f32` and `f64`, move it, and select it.

use fusebox_ir::{
    Binary, Constant, ElementType, Emit, Instruction, Lambda, LambdaBuilder, Local, LocalId, Place, ScalarOp,
    ScalarOperand, Unary, unnamed,
};

use crate::{
    locals::{Ids, Types, scalar_code},
    math,
};

use ElementType::{F16, F32, F64, I64};

/// Takes instructions, and writes them expanded.
pub(crate) struct Expand<'a, 'p> {
    code: Typed<'a, 'p>,
    place: Place,
}

/// Code that is written, with the types of its locals.
struct Typed<'a, 'p> {
    code: LambdaBuilder,
    /// Of what is not defined here.
    outside: &'a Types<'p>,
    first: LocalId,
    /// From the first local on.
    own: Vec<ElementType>,
}

impl Typed<'_, '_> {
    fn ty(&self, operand: ScalarOperand) -> ElementType {
        match operand {
            ScalarOperand::Local(id) if id >= self.first => self.own[id.index() - self.first.index()],
            operand => self.outside.of(operand),
        }
    }

    fn note(&mut self, operands: &[ScalarOperand], locals: &[Local]) {
        for (operand, local) in operands.iter().zip(locals) {
            // Those that were found are known.
            if *operand == ScalarOperand::Local(LocalId(self.first.0 + self.own.len() as u32)) {
                self.own.push(local.ty);
            }
        }
    }
}

impl Emit for Typed<'_, '_> {
    fn emit(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        let operands = self.code.emit(op, results, place);
        self.note(&operands, results);
        operands
    }

    fn open(&mut self, params: &[Local]) -> Vec<ScalarOperand> {
        let operands = self.code.open(params);
        self.note(&operands, params);
        operands
    }

    fn close(&mut self, results: Vec<ScalarOperand>) -> Lambda {
        self.code.close(results)
    }
}

impl Emit for Expand<'_, '_> {
    fn emit(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        self.place = place.clone();
        let expanded = match &op {
            ScalarOp::Unary { function, a } => self.unary(*function, *a),
            ScalarOp::Binary { function, a, b } => self.binary(*function, *a, *b),
            ScalarOp::Fma { a, b, c } if self.code.ty(*a) == F16 => Some(self.half_fma(*a, *b, *c)),
            ScalarOp::Convert { to, a } => self.convert(*to, *a),
            ScalarOp::Fma { .. }
            | ScalarOp::Bits { .. }
            | ScalarOp::Read { .. }
            | ScalarOp::ReadFlat { .. }
            | ScalarOp::Assert { .. }
            | ScalarOp::If { .. }
            | ScalarOp::While { .. } => None,
        };
        expanded.map_or_else(|| self.code.emit(op, results, place), |operand| vec![operand])
    }

    fn open(&mut self, params: &[Local]) -> Vec<ScalarOperand> {
        self.code.open(params)
    }

    fn close(&mut self, results: Vec<ScalarOperand>) -> Lambda {
        self.code.close(results)
    }
}

impl<'a, 'p> Expand<'a, 'p> {
    /// Code whose locals are counted from what `ids` gives next; `outside` has the types of what else it uses.
    pub(crate) fn new(ids: &Ids, outside: &'a Types<'p>) -> Self {
        let mut code = scalar_code();
        code.count_from(ids.next);
        let code = Typed { code, outside, first: ids.next, own: Vec::new() };
        Self { code, place: Place::default() }
    }

    /// The instructions. Their locals are fresh no longer.
    pub(crate) fn finish(self, ids: &mut Ids) -> Vec<Instruction> {
        ids.next = self.code.code.next_local();
        self.code.code.finish::<ScalarOperand>(&[]).instructions
    }

    fn ty(&self, operand: ScalarOperand) -> ElementType {
        self.code.ty(operand)
    }

    /// An instruction that backends know.
    fn one(&mut self, op: ScalarOp, ty: ElementType) -> ScalarOperand {
        self.code.emit(op, &unnamed(&[ty]), &self.place)[0]
    }

    fn unary(&mut self, function: Unary, a: ScalarOperand) -> Option<ScalarOperand> {
        let ty = self.ty(a);
        if ty != F16 {
            return math::expand_unary(function, ty, a, &self.place, &mut self.code);
        }
        let wide = self.to(F32, a);
        let result = match math::expand_unary(function, F32, wide, &self.place, &mut self.code) {
            Some(result) => result,
            None => {
                let to = if matches!(function, Unary::IsNan | Unary::IsInf) { ElementType::Bool } else { F32 };
                self.one(ScalarOp::Unary { function, a: wide }, to)
            }
        };
        Some(if self.ty(result) == F32 { self.to(F16, result) } else { result })
    }

    fn binary(&mut self, function: Binary, a: ScalarOperand, b: ScalarOperand) -> Option<ScalarOperand> {
        let ty = self.ty(a);
        if ty != F16 {
            return math::expand_binary(function, ty, a, b, &self.place, &mut self.code);
        }
        let (a, b) = (self.to(F32, a), self.to(F32, b));
        let result = match math::expand_binary(function, F32, a, b, &self.place, &mut self.code) {
            Some(result) => result,
            None => {
                let to = if function.is_comparison() { ElementType::Bool } else { F32 };
                self.one(ScalarOp::Binary { function, a, b }, to)
            }
        };
        Some(if self.ty(result) == F32 { self.to(F16, result) } else { result })
    }

    /// A conversion that backends know.
    fn to(&mut self, to: ElementType, a: ScalarOperand) -> ScalarOperand {
        self.one(ScalarOp::Convert { to, a }, to)
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
                    exact = self.one(ScalarOp::Binary { function: Binary::Min, a: exact, b: bound(1 << 17) }, from);
                    if from.is_signed() {
                        exact =
                            self.one(ScalarOp::Binary { function: Binary::Max, a: exact, b: bound(-(1 << 17)) }, from);
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
        let two = |this: &mut Self, function, a, b| this.one(ScalarOp::Binary { function, a, b }, F64);
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
            |this: &mut Self, function, a, b| this.one(ScalarOp::Binary { function, a, b }, ElementType::Bool);
        let above = compare(self, Binary::Gt, error, zero);
        let below = compare(self, Binary::Lt, error, zero);
        let inexact = compare(self, Binary::Or, above, below);
        let bits = self.one(ScalarOp::Bits { to: I64, a: sum }, I64);
        let whole = |value: i64| ScalarOperand::from(Constant::from(value));
        let lowest = self.one(ScalarOp::Binary { function: Binary::And, a: bits, b: whole(1) }, I64);
        let even = compare(self, Binary::Eq, lowest, whole(0));
        let adjust = compare(self, Binary::And, inexact, even);
        // Away from zero where error and sum have one sign.
        let positive = compare(self, Binary::Gt, sum, zero);
        let away = compare(self, Binary::Eq, above, positive);
        let by = self.select(away, whole(1), whole(-1), I64);
        let step = self.select(adjust, by, whole(0), I64);
        let odd = self.one(ScalarOp::Binary { function: Binary::Add, a: bits, b: step }, I64);
        let odd = self.one(ScalarOp::Bits { to: F64, a: odd }, F64);
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
        self.one(ScalarOp::If { condition, then: branch(then), otherwise: branch(otherwise) }, ty)
    }
}
