//! Random scalar code.

mod control;
mod reads;
mod values;

use crate::{
    Binary, Constant, ElementType, Extent, Instruction, Lambda, Local, LocalId, Place, ScalarOp, ScalarOperand, Unary,
    generate::scope::{Scope, scalar},
};

/// A scalar that code may use.
#[derive(Clone, Copy, Debug)]
pub(in crate::generate) struct Atom {
    pub operand: ScalarOperand,
    pub ty: ElementType,
    /// It is an index of that extent: not negative, and below.
    pub below: Option<Extent>,
}

impl Atom {
    pub fn new(operand: impl Into<ScalarOperand>, ty: ElementType) -> Self {
        Self { operand: operand.into(), ty, below: None }
    }
}

/// A parameter: its type and, if it is an index, of which extent.
pub(in crate::generate) type Param = (ElementType, Option<Extent>);

/// A function under construction.
pub(in crate::generate) struct Code<'s, 'c> {
    pub scope: &'s mut Scope<'c>,
    next: u32,
    open: Vec<Lambda>,
    pool: Vec<Atom>,
    /// How many more instructions, about.
    pub fuel: u32,
}

impl<'c> Scope<'c> {
    /// A random function.
    pub fn lambda(&mut self, params: &[Param], results: &[ElementType]) -> Lambda {
        let fuel = self.random.pick(&[0, 1, 2, 3, 4, 6, 10, 16]);
        self.lambda_of(params, fuel, |code, _| results.iter().map(|&ty| code.value(ty)).collect())
    }

    /// A function that `build` makes.
    pub fn lambda_of(
        &mut self,
        params: &[Param],
        fuel: u32,
        build: impl FnOnce(&mut Code<'_, 'c>, &[Atom]) -> Vec<Atom>,
    ) -> Lambda {
        let mut code = Code { scope: self, next: 0, open: vec![Lambda::default()], pool: Vec::new(), fuel };
        let params = code.params(params);
        let results = build(&mut code, &params);
        let mut f = code.open.pop().unwrap_or_default();
        f.results = results.iter().map(|atom| atom.operand).collect();
        f
    }
}

impl<'c> Code<'_, 'c> {
    fn local(&mut self, ty: ElementType) -> Local {
        self.next += 1;
        Local { id: LocalId(self.next - 1), ty, name: self.scope.random.hint() }
    }

    fn body(&mut self) -> &mut Lambda {
        self.open.last_mut().expect("the function itself is always open")
    }

    fn params(&mut self, params: &[Param]) -> Vec<Atom> {
        let atoms: Vec<Atom> = params
            .iter()
            .map(|&(ty, below)| {
                let local = self.local(ty);
                let atom = Atom { below, ..Atom::new(local.id, ty) };
                self.body().params.push(local);
                atom
            })
            .collect();
        self.pool.extend(&atoms);
        atoms
    }

    /// An instruction whose results nothing else uses unless they are handed on.
    pub fn emit(&mut self, op: ScalarOp, types: &[ElementType]) -> Vec<Atom> {
        let results: Vec<Local> = types.iter().map(|&ty| self.local(ty)).collect();
        let atoms = results.iter().map(|local| Atom::new(local.id, local.ty)).collect();
        let line = if self.scope.random.chance(1, 8) { self.scope.random.range(1, 99) as u32 } else { 0 };
        let place = Place { file: None, line, column: 1 };
        self.body().instructions.push(Instruction { results, op, place });
        atoms
    }

    pub fn one(&mut self, op: ScalarOp, ty: ElementType) -> Atom {
        self.emit(op, &[ty])[0]
    }

    pub fn binary(&mut self, function: Binary, a: Atom, b: Atom) -> Atom {
        let ty = function.result_type(a.ty, b.ty).unwrap_or(a.ty);
        self.one(ScalarOp::Binary { function, a: a.operand, b: b.operand }, ty)
    }

    pub fn unary(&mut self, function: Unary, a: Atom) -> Atom {
        let ty = function.result_type(a.ty).unwrap_or(a.ty);
        self.one(ScalarOp::Unary { function, a: a.operand }, ty)
    }

    pub fn convert(&mut self, to: ElementType, a: Atom) -> Atom {
        if a.ty == to { a } else { self.one(ScalarOp::Convert { to, a: a.operand }, to) }
    }

    pub fn number(&self, ty: ElementType, value: i64) -> Atom {
        Atom::new(Constant::from_i64(ty, value), ty)
    }

    pub fn size(&self, extent: Extent) -> Atom {
        Atom::new(scalar(extent), ElementType::I64)
    }

    fn body_of(&mut self, params: &[Param], build: impl FnOnce(&mut Self, &[Atom]) -> Vec<Atom>) -> Lambda {
        let mark = self.pool.len();
        self.open.push(Lambda::default());
        let params = self.params(params);
        let results = build(self, &params);
        let mut body = self.open.pop().unwrap_or_default();
        body.results = results.iter().map(|atom| atom.operand).collect();
        self.pool.truncate(mark);
        body
    }

    /// The results of one of two bodies.
    pub fn branch(
        &mut self,
        condition: Atom,
        types: &[ElementType],
        then: impl FnOnce(&mut Self) -> Vec<Atom>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let then = self.body_of(&[], |code, _| then(code));
        let otherwise = self.body_of(&[], |code, _| otherwise(code));
        self.emit(ScalarOp::If { condition: condition.operand, then, otherwise }, types)
    }
}
