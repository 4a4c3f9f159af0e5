//! Scalar code written as Rust expressions: every operator on a [`V`] emits one primitive instruction.
//!
//! So a function reads like its formula and is written once; what computes it is the instruction list, in every backend.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use fusebox_ir::{Binary, Constant, ElementType, Emit, Lambda, Place, ScalarOp, ScalarOperand, Unary, unnamed};

/// Shares one [`Emit`] among all values of an expansion.
pub(super) struct Code<'e> {
    emit: RefCell<&'e mut dyn Emit>,
    place: &'e Place,
}

impl<'e> Code<'e> {
    pub(super) fn new(emit: &'e mut dyn Emit, place: &'e Place) -> Self {
        Self { emit: RefCell::new(emit), place }
    }

    pub(super) fn value(&self, operand: ScalarOperand, ty: ElementType) -> V<'_> {
        V { sink: self, operand, ty }
    }
}

/// [`Emit`] behind a shared reference.
trait Sink {
    fn put(&self, op: ScalarOp, types: &[ElementType]) -> Vec<ScalarOperand>;
    fn open(&self, types: &[ElementType]) -> Vec<ScalarOperand>;
    fn close(&self, results: Vec<ScalarOperand>) -> Lambda;
}

impl Sink for Code<'_> {
    fn put(&self, op: ScalarOp, types: &[ElementType]) -> Vec<ScalarOperand> {
        self.emit.borrow_mut().emit(op, &unnamed(types), self.place)
    }

    fn open(&self, types: &[ElementType]) -> Vec<ScalarOperand> {
        self.emit.borrow_mut().open(&unnamed(types))
    }

    fn close(&self, results: Vec<ScalarOperand>) -> Lambda {
        self.emit.borrow_mut().close(results)
    }
}

/// A scalar value of an expansion, with its type.
#[derive(Clone, Copy)]
pub(super) struct V<'c> {
    sink: &'c dyn Sink,
    pub(super) operand: ScalarOperand,
    pub(super) ty: ElementType,
}

/// What may stand on the right of an operator: a value, or a number that becomes a constant of the left one's type.
pub(super) trait Arg<'c> {
    fn like(self, left: V<'c>) -> V<'c>;
}

impl<'c> Arg<'c> for V<'c> {
    fn like(self, _: V<'c>) -> V<'c> {
        self
    }
}

impl<'c> Arg<'c> for f64 {
    fn like(self, left: V<'c>) -> V<'c> {
        left.constant(self)
    }
}

impl<'c> Arg<'c> for i32 {
    fn like(self, left: V<'c>) -> V<'c> {
        left.with(Constant::from_i64(left.ty, self.into()))
    }
}

impl<'c> Arg<'c> for u64 {
    fn like(self, left: V<'c>) -> V<'c> {
        left.with(Constant::from_bits(left.ty, self))
    }
}

impl<'c> V<'c> {
    fn with(self, constant: Constant) -> Self {
        Self { operand: constant.into(), ty: constant.ty(), ..self }
    }

    fn put(self, op: ScalarOp, ty: ElementType) -> Self {
        let operand = self.sink.put(op, &[ty])[0];
        Self { operand, ty, ..self }
    }

    fn unary(self, function: Unary, ty: ElementType) -> Self {
        self.put(ScalarOp::Unary { function, a: self.operand }, ty)
    }

    fn binary(self, function: Binary, right: impl Arg<'c>, ty: ElementType) -> Self {
        let right = right.like(self);
        debug_assert!(self.ty == right.ty || function.is_shift(), "{function:?} of {} and {}", self.ty, right.ty);
        self.put(ScalarOp::Binary { function, a: self.operand, b: right.operand }, ty)
    }

    /// A float constant of this float type, which must hold it exactly.
    pub(super) fn constant(self, value: f64) -> Self {
        let constant = match self.ty {
            ElementType::F32 => Constant::from(value as f32),
            _ => Constant::from(value),
        };
        debug_assert!(constant.as_f64() == Some(value) || value.is_nan(), "{value:?} is no {}", self.ty);
        self.with(constant)
    }

    /// An integer constant of this type.
    pub(super) fn with_bits(self, bits: u64) -> Self {
        self.with(Constant::from_bits(self.ty, bits))
    }

    /// Whether this is an `f32` (otherwise an `f64`): most functions differ in degrees and constants only.
    pub(super) fn is_f32(self) -> bool {
        self.ty == ElementType::F32
    }

    /// One of two, by type.
    pub(super) fn by_type<T>(self, f32: T, f64: T) -> T {
        if self.is_f32() { f32 } else { f64 }
    }

    /// The unsigned integer type as wide as this one.
    fn unsigned(self) -> ElementType {
        if self.ty.bits() == 32 { ElementType::U32 } else { ElementType::U64 }
    }

    /// The float type as wide as this one.
    fn float(self) -> ElementType {
        if self.ty.bits() == 32 { ElementType::F32 } else { ElementType::F64 }
    }

    /// `self * factor + summand`, rounded once.
    pub(super) fn fma(self, factor: impl Arg<'c>, summand: impl Arg<'c>) -> Self {
        let (b, c) = (factor.like(self).operand, summand.like(self).operand);
        self.put(ScalarOp::Fma { a: self.operand, b, c }, self.ty)
    }

    pub(super) fn abs(self) -> Self {
        self.unary(Unary::Abs, self.ty)
    }

    pub(super) fn sqrt(self) -> Self {
        self.unary(Unary::Sqrt, self.ty)
    }

    pub(super) fn trunc(self) -> Self {
        self.unary(Unary::Trunc, self.ty)
    }

    pub(super) fn lt(self, right: impl Arg<'c>) -> Self {
        self.binary(Binary::Lt, right, ElementType::Bool)
    }

    pub(super) fn le(self, right: impl Arg<'c>) -> Self {
        self.binary(Binary::Le, right, ElementType::Bool)
    }

    pub(super) fn gt(self, right: impl Arg<'c>) -> Self {
        self.binary(Binary::Gt, right, ElementType::Bool)
    }

    pub(super) fn ge(self, right: impl Arg<'c>) -> Self {
        self.binary(Binary::Ge, right, ElementType::Bool)
    }

    pub(super) fn equals(self, right: impl Arg<'c>) -> Self {
        self.binary(Binary::Eq, right, ElementType::Bool)
    }

    pub(super) fn differs(self, right: impl Arg<'c>) -> Self {
        self.binary(Binary::Ne, right, ElementType::Bool)
    }

    /// `then` where this `bool` holds, else `otherwise`; both are computed.
    pub(super) fn select(self, then: V<'c>, otherwise: impl Arg<'c>) -> Self {
        let otherwise = otherwise.like(then);
        debug_assert_eq!(then.ty, otherwise.ty);
        let body = |value: V<'_>| Lambda { results: vec![value.operand], ..Lambda::default() };
        self.put(ScalarOp::If { condition: self.operand, then: body(then), otherwise: body(otherwise) }, then.ty)
    }

    /// The same bits as an unsigned integer.
    pub(super) fn bits(self) -> Self {
        let to = self.unsigned();
        self.put(ScalarOp::Bits { to, a: self.operand }, to)
    }

    /// The float that these bits are.
    pub(super) fn to_float(self) -> Self {
        let to = self.float();
        self.put(ScalarOp::Bits { to, a: self.operand }, to)
    }

    /// The same bits as a signed integer.
    pub(super) fn signed(self) -> Self {
        let to = if self.ty.bits() == 32 { ElementType::I32 } else { ElementType::I64 };
        self.put(ScalarOp::Bits { to, a: self.operand }, to)
    }

    pub(super) fn convert(self, to: ElementType) -> Self {
        if self.ty == to { self } else { self.put(ScalarOp::Convert { to, a: self.operand }, to) }
    }

    /// The results of `then` where this `bool` holds, else `otherwise`: for slow paths that are rarely taken.
    pub(super) fn branch<const N: usize>(self, otherwise: [V<'c>; N], then: impl FnOnce() -> [V<'c>; N]) -> [V<'c>; N] {
        self.sink.open(&[]);
        let results = then().map(|value| value.operand);
        let then = self.sink.close(results.to_vec());
        let types = otherwise.map(|value| value.ty);
        let otherwise = Lambda { results: otherwise.map(|value| value.operand).to_vec(), ..Lambda::default() };
        let results = self.sink.put(ScalarOp::If { condition: self.operand, then, otherwise }, &types);
        std::array::from_fn(|at| Self { operand: results[at], ty: types[at], ..self })
    }

    /// This value after as many `step`s as `condition` holds before.
    pub(super) fn iterate(self, condition: impl FnOnce(V<'c>) -> V<'c>, step: impl FnOnce(V<'c>) -> V<'c>) -> Self {
        let sink = self.sink;
        let body = |f: &mut dyn FnMut(V<'c>) -> V<'c>| {
            let param = sink.open(&[self.ty])[0];
            let result = f(Self { operand: param, ..self }).operand;
            sink.close(vec![result])
        };
        let (mut condition, mut step) = (Some(condition), Some(step));
        let condition = body(&mut |v| condition.take().map_or(v, |f| f(v)));
        let step = body(&mut |v| step.take().map_or(v, |f| f(v)));
        self.put(ScalarOp::While { condition, step, starts: vec![self.operand] }, self.ty)
    }

    /// The polynomial with these coefficients, from the constant one, by Horner's rule.
    pub(super) fn polynomial(self, coefficients: &[f64]) -> Self {
        let mut rest = coefficients.iter().rev();
        let first = self.constant(rest.next().copied().unwrap_or(0.0));
        rest.fold(first, |sum, &c| sum.fma(self, c))
    }

    /// This magnitude with the sign of `sign`; this one must not be negative.
    pub(super) fn with_sign_of(self, sign: V<'c>) -> Self {
        (self.bits() | sign.sign_bit()).to_float()
    }

    /// The sign bit alone, as an unsigned integer.
    pub(super) fn sign_bit(self) -> Self {
        self.bits() & (1u64 << (self.ty.bits() - 1))
    }
}

macro_rules! operators {
    ($($operator:ident $method:ident $function:ident)*) => {$(
        impl<'c, A: Arg<'c>> $operator<A> for V<'c> {
            type Output = Self;

            fn $method(self, right: A) -> Self {
                self.binary(Binary::$function, right, self.ty)
            }
        }
    )*};
}
operators! {
    Add add Add
    Sub sub Sub
    Mul mul Mul
    Div div Div
    BitAnd bitand And
    BitOr bitor Or
    BitXor bitxor Xor
    Shl shl Shl
    Shr shr Shr
}

impl Neg for V<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.unary(Unary::Neg, self.ty)
    }
}

impl Not for V<'_> {
    type Output = Self;

    fn not(self) -> Self {
        self.unary(Unary::Not, self.ty)
    }
}
