//! Building scalar functions.

use super::{
    Emit,
    memo::{Memo, folded, needed},
    unnamed,
    value::ScalarValue,
};
use crate::{
    ArrayId, Binary, ElementType, Instruction, Lambda, Local, LocalId, Name, Place, ScalarOp, ScalarOperand,
    ScalarPart, Unary, inline,
};

/// Builds a [`Lambda`]; local ids are dense by construction.
///
/// Methods panic where types do not fit, at the place of the caller: code that builds programs is ours, and such a fault a bug of it.
///
/// ```
/// use fusebox_ir::{Binary, ElementType, LambdaBuilder};
/// let mut f = LambdaBuilder::new();
/// let (x, y) = (f.param("x", ElementType::F32), f.param("y", ElementType::F32));
/// let product = f.binary(Binary::Mul, x, y);
/// let sum = f.binary(Binary::Add, product, 1f32);
/// assert_eq!(f.finish(&[sum]).instructions.len(), 2);
/// ```
#[derive(Debug, Default)]
pub struct LambdaBuilder {
    next: u32,
    /// The function, and around the innermost body the bodies it stands in.
    open: Vec<Lambda>,
    place: Place,
    /// Instructions that may be used again.
    memo: Option<Memo>,
    folds: bool,
}

impl LambdaBuilder {
    /// A function without parameters and instructions.
    pub fn new() -> Self {
        Self { open: vec![Lambda::default()], ..Self::default() }
    }

    /// As [`Self::new`], and what would be computed twice (the same instruction of the same operands) is computed once.
    pub fn sharing() -> Self {
        let mut memo = Memo::default();
        memo.open();
        Self { memo: Some(memo), ..Self::new() }
    }

    /// From here on what is computed of constants alone becomes a constant, where its function is exact and does not fail.
    pub fn folding(self) -> Self {
        Self { folds: true, ..self }
    }

    /// Locals from here on are counted from `next`: for code that becomes part of other code, whose locals are not among those.
    pub fn count_from(&mut self, next: LocalId) {
        self.next = next.0;
    }

    /// The id that the next local gets.
    pub fn next_local(&self) -> LocalId {
        LocalId(self.next)
    }

    /// What the innermost open body has so far.
    pub fn instructions(&self) -> &[Instruction] {
        self.open.last().map_or(&[], |body| &body.instructions)
    }

    /// Instructions from here on get this place.
    pub fn at(&mut self, place: Place) {
        self.place = place;
    }

    /// One more parameter, before any instruction.
    #[track_caller]
    pub fn param(&mut self, name: &str, ty: ElementType) -> ScalarValue {
        let local = self.local(name, ty);
        let body = self.body();
        assert!(body.instructions.is_empty(), "parameters come before instructions");
        let operand = ScalarOperand::Local(local.id);
        body.params.push(local);
        ScalarValue { operand, ty }
    }

    /// Parameters without names, before any instruction.
    #[track_caller]
    pub fn params(&mut self, types: impl IntoIterator<Item = ElementType>) -> Vec<ScalarOperand> {
        types.into_iter().map(|ty| self.param("", ty).operand).collect()
    }

    fn local(&mut self, name: &str, ty: ElementType) -> Local {
        self.like(&Local { id: LocalId(0), ty, name: name.into() })
    }

    /// A new local of the same type and name.
    fn like(&mut self, local: &Local) -> Local {
        let id = LocalId(self.next);
        self.next += 1;
        Local { id, ..local.clone() }
    }

    fn body(&mut self) -> &mut Lambda {
        self.open.last_mut().expect("the function itself is always open")
    }

    /// Any instruction; `types` are those of its results.
    pub fn instruction(&mut self, op: ScalarOp, types: &[ElementType]) -> Vec<ScalarValue> {
        let place = self.place.clone();
        let results = self.emit(op, &unnamed(types), &place);
        results.into_iter().zip(types).map(|(operand, &ty)| ScalarValue { operand, ty }).collect()
    }

    /// The results of a function for these arguments.
    pub fn call(&mut self, f: &Lambda, arguments: &[ScalarOperand]) -> Vec<ScalarOperand> {
        inline(self, f, arguments)
    }

    fn one(&mut self, op: ScalarOp, ty: ElementType) -> ScalarValue {
        self.instruction(op, &[ty])[0]
    }

    /// Gives the latest instruction's result a name for printing.
    pub fn named(&mut self, scalar: ScalarValue, name: &str) -> ScalarValue {
        let locals = self.body().instructions.iter_mut().rev().flat_map(|i| i.results.iter_mut());
        if let Some(local) = locals.take(8).find(|local| ScalarOperand::Local(local.id) == scalar.operand) {
            local.name = Name::from(name);
        }
        scalar
    }

    /// A function of one operand.
    ///
    /// # Panics
    /// If the operand's type has no such function.
    #[track_caller]
    pub fn unary(&mut self, function: Unary, a: impl Into<ScalarValue>) -> ScalarValue {
        let a = a.into();
        let Some(ty) = function.result_type(a.ty) else { panic!("there is no `{}` of {}", function.text(), a.ty) };
        self.one(ScalarOp::Unary { function, a: a.operand }, ty)
    }

    /// A function of two operands.
    ///
    /// # Panics
    /// If the operands' types have no such function.
    #[track_caller]
    pub fn binary(&mut self, function: Binary, a: impl Into<ScalarValue>, b: impl Into<ScalarValue>) -> ScalarValue {
        let (a, b) = (a.into(), b.into());
        let Some(ty) = function.result_type(a.ty, b.ty) else {
            panic!("there is no `{}` of {} and {}", function.text(), a.ty, b.ty)
        };
        self.one(ScalarOp::Binary { function, a: a.operand, b: b.operand }, ty)
    }

    /// `a + b`.
    ///
    /// # Panics
    /// As [`Self::binary`].
    #[track_caller]
    pub fn add(&mut self, a: impl Into<ScalarValue>, b: impl Into<ScalarValue>) -> ScalarValue {
        self.binary(Binary::Add, a, b)
    }

    /// `a - b`.
    ///
    /// # Panics
    /// As [`Self::binary`].
    #[track_caller]
    pub fn sub(&mut self, a: impl Into<ScalarValue>, b: impl Into<ScalarValue>) -> ScalarValue {
        self.binary(Binary::Sub, a, b)
    }

    /// `a * b`.
    ///
    /// # Panics
    /// As [`Self::binary`].
    #[track_caller]
    pub fn mul(&mut self, a: impl Into<ScalarValue>, b: impl Into<ScalarValue>) -> ScalarValue {
        self.binary(Binary::Mul, a, b)
    }

    /// `a * b + c`, rounded once.
    ///
    /// # Panics
    /// If the operands are not floats of one type.
    #[track_caller]
    pub fn fma(
        &mut self,
        a: impl Into<ScalarValue>,
        b: impl Into<ScalarValue>,
        c: impl Into<ScalarValue>,
    ) -> ScalarValue {
        let (a, b, c) = (a.into(), b.into(), c.into());
        assert!(a.ty.is_float() && a.ty == b.ty && a.ty == c.ty, "fma is of three floats of one type");
        self.one(ScalarOp::Fma { a: a.operand, b: b.operand, c: c.operand }, a.ty)
    }

    /// Conversion.
    ///
    /// # Panics
    /// From a number to `bool`.
    #[track_caller]
    pub fn convert(&mut self, to: ElementType, a: impl Into<ScalarValue>) -> ScalarValue {
        let a = a.into();
        assert!(a.ty.converts_to(to), "{} does not convert to {to}", a.ty);
        self.one(ScalarOp::Convert { to, a: a.operand }, to)
    }

    /// The same bits as another type.
    ///
    /// # Panics
    /// If the widths differ.
    #[track_caller]
    pub fn bits(&mut self, to: ElementType, a: impl Into<ScalarValue>) -> ScalarValue {
        let a = a.into();
        assert!(a.ty.has_bits_of(to), "the bits of {} are none of {to}", a.ty);
        self.one(ScalarOp::Bits { to, a: a.operand }, to)
    }

    /// `array[index…]`, where the array's elements are of type `element`.
    ///
    /// # Panics
    /// If an index is not an `i64`.
    #[track_caller]
    pub fn read(&mut self, array: ArrayId, element: ElementType, index: &[ScalarValue]) -> ScalarValue {
        assert!(index.iter().all(|i| i.ty == ElementType::I64), "indices are i64");
        let index = index.iter().map(|i| i.operand).collect();
        self.one(ScalarOp::Read { array, index }, element)
    }

    /// `array.flat[position]`, where the array's elements are of type `element`.
    ///
    /// # Panics
    /// If the position is not an `i64`.
    #[track_caller]
    pub fn read_flat(&mut self, array: ArrayId, element: ElementType, position: impl Into<ScalarValue>) -> ScalarValue {
        let position = position.into();
        assert!(position.ty == ElementType::I64, "positions are i64");
        self.one(ScalarOp::ReadFlat { array, position: position.operand }, element)
    }

    /// `value`, or an error with `message`.
    ///
    /// # Panics
    /// If the condition is not a `bool`.
    #[track_caller]
    pub fn assert(
        &mut self,
        condition: impl Into<ScalarValue>,
        message: &str,
        value: impl Into<ScalarValue>,
    ) -> ScalarValue {
        let (condition, value) = (condition.into(), value.into());
        assert!(condition.ty == ElementType::Bool, "a condition is a bool");
        let (condition, message) = (condition.operand, message.to_owned());
        let op = ScalarOp::Assert { condition, message, shown: Vec::new(), value: value.operand };
        self.one(op, value.ty)
    }

    /// A select: `a` where the condition holds, else `b`, both computed before.
    ///
    /// # Panics
    /// If the condition is not a `bool`, or the types of the values differ.
    #[track_caller]
    pub fn select(
        &mut self,
        condition: impl Into<ScalarValue>,
        a: impl Into<ScalarValue>,
        b: impl Into<ScalarValue>,
    ) -> ScalarValue {
        let (a, b) = (a.into(), b.into());
        self.branch(condition, |_| vec![a], |_| vec![b])[0]
    }

    /// The results of one of two bodies.
    ///
    /// # Panics
    /// If the condition is not a `bool`, or the types of the results differ.
    #[track_caller]
    pub fn branch(
        &mut self,
        condition: impl Into<ScalarValue>,
        then: impl FnOnce(&mut Self) -> Vec<ScalarValue>,
        otherwise: impl FnOnce(&mut Self) -> Vec<ScalarValue>,
    ) -> Vec<ScalarValue> {
        let condition = condition.into();
        assert!(condition.ty == ElementType::Bool, "a condition is a bool");
        let (then, types) = self.nested(&[], |f, _| then(f));
        let (otherwise, other) = self.nested(&[], |f, _| otherwise(f));
        assert_eq!(types, other, "branches give results of the same types");
        self.instruction(ScalarOp::If { condition: condition.operand, then, otherwise }, &types)
    }

    /// A loop; the results are the last state.
    ///
    /// # Panics
    /// If the condition gives no `bool`, or the step other types than the state's.
    #[track_caller]
    pub fn repeat(
        &mut self,
        starts: &[ScalarValue],
        condition: impl FnOnce(&mut Self, &[ScalarValue]) -> ScalarValue,
        step: impl FnOnce(&mut Self, &[ScalarValue]) -> Vec<ScalarValue>,
    ) -> Vec<ScalarValue> {
        let types: Vec<_> = starts.iter().map(|start| start.ty).collect();
        let (condition, holds) = self.nested(&types, |f, state| vec![condition(f, state)]);
        assert_eq!(holds, [ElementType::Bool], "a condition is a bool");
        let (step, next) = self.nested(&types, |f, state| step(f, state));
        assert_eq!(types, next, "a step gives the types of the state");
        let starts = starts.iter().map(|start| start.operand).collect();
        self.instruction(ScalarOp::While { condition, step, starts }, &types)
    }

    fn nested(
        &mut self,
        params: &[ElementType],
        build: impl FnOnce(&mut Self, &[ScalarValue]) -> Vec<ScalarValue>,
    ) -> (Lambda, Vec<ElementType>) {
        let opened = self.open(&unnamed(params));
        let params: Vec<ScalarValue> =
            opened.into_iter().zip(params).map(|(operand, &ty)| ScalarValue { operand, ty }).collect();
        let results = build(self, &params);
        let body = self.close(results.iter().map(|result| result.operand).collect());
        (body, results.iter().map(|result| result.ty).collect())
    }

    /// As [`Emit::emit`], in front of the loops whose bodies are open, as far out as all operands are there: for an instruction without bodies that costs little and
    /// cannot fail, also where the loop makes no turn. It is not moved out of a branch.
    pub fn emit_before_loops(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        let mut body = self.open.len() - 1;
        // The bodies of loops have parameters, their states, and branches have none.
        while body > 0 && !self.open[body].params.is_empty() && !self.open[body].defines_any_of(&op) {
            body -= 1;
        }
        self.emit_in(body, op, results, place)
    }

    fn emit_in(&mut self, body: usize, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        if let Some(constant) = folded(&op).filter(|_| self.folds) {
            return vec![constant.into()];
        }
        if let Some(found) = self.memo.as_mut().and_then(|memo| memo.find(&op, &self.open, body)) {
            return found;
        }
        let results: Vec<Local> = results.iter().map(|like| self.like(like)).collect();
        let operands = results.iter().map(|local| local.id.into()).collect();
        self.open[body].instructions.push(Instruction { results, op, place: place.clone() });
        operands
    }

    /// The function with these results.
    pub fn finish<R: Copy + Into<ScalarOperand>>(mut self, results: &[R]) -> Lambda {
        let mut f = self.open.pop().unwrap_or_default();
        f.results = results.iter().map(|&result| result.into()).collect();
        f
    }

    /// The function with these results, without what they do not need, each instruction just before its first use. Parameters stay.
    pub fn finish_needed(mut self, results: &[ScalarOperand]) -> Lambda {
        let f = self.open.pop().unwrap_or_default();
        Lambda { instructions: needed(f.instructions, results), results: results.to_vec(), ..f }
    }
}

impl Emit for LambdaBuilder {
    fn emit(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        self.emit_in(self.open.len() - 1, op, results, place)
    }

    fn open(&mut self, params: &[Local]) -> Vec<ScalarOperand> {
        let params: Vec<Local> = params.iter().map(|like| self.like(like)).collect();
        let operands = params.iter().map(|local| local.id.into()).collect();
        self.open.push(Lambda { params, ..Lambda::default() });
        self.memo.iter_mut().for_each(Memo::open);
        operands
    }

    fn close(&mut self, results: Vec<ScalarOperand>) -> Lambda {
        self.memo.iter_mut().for_each(Memo::close);
        let body = self.open.pop().expect("what is closed was opened");
        Lambda { results, ..body }
    }
}

impl Lambda {
    /// Whether an operand of an instruction is a parameter, or made by an instruction here.
    fn defines_any_of(&self, op: &ScalarOp) -> bool {
        let is_operand = |local: &Local| {
            op.parts()
                .iter()
                .any(|part| matches!(part, ScalarPart::Operand(ScalarOperand::Local(id)) if *id == local.id))
        };
        self.params.iter().chain(self.instructions.iter().flat_map(|instruction| &instruction.results)).any(is_operand)
    }
}
