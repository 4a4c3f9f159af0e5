//! Random scalar code.

use super::scope::{Known, Scope, scalar};
use crate::{
    ArrayId, Binary, Constant, ElementType, Extent, Instruction, Lambda, Local, LocalId, Name, Place, ScalarOp,
    ScalarOperand, Unary,
};

/// A function without parameters of one instruction.
pub(super) fn single(op: ScalarOp, ty: ElementType) -> Lambda {
    let local = Local { id: LocalId(0), ty, name: Name::default() };
    let results = vec![local.id.into()];
    Lambda {
        params: Vec::new(),
        instructions: vec![Instruction { results: vec![local], op, place: Place::default() }],
        results,
    }
}

/// A scalar that code may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Atom {
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
pub(super) type Param = (ElementType, Option<Extent>);

/// Functions whose results are not fixed to the bit.
fn is_rounded(function: Unary) -> bool {
    !crate::primitive::is_exact(function)
}

/// A function under construction.
pub(super) struct Code<'s, 'c> {
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

    /// A random value of a type.
    pub fn value(&mut self, ty: ElementType) -> Atom {
        if self.fuel == 0 || self.scope.random.chance(1, 4) {
            return self.leaf(ty);
        }
        self.fuel -= 1;
        let atom = self.computed(ty);
        self.pool.push(atom);
        atom
    }

    fn leaf(&mut self, ty: ElementType) -> Atom {
        let fitting: Vec<Atom> = self.pool.iter().copied().filter(|atom| atom.ty == ty).collect();
        if !fitting.is_empty() && self.scope.random.chance(7, 8) {
            return self.scope.random.pick(&fitting);
        }
        self.outside(ty)
    }

    /// A scalar bound outside, or a constant.
    pub fn outside(&mut self, ty: ElementType) -> Atom {
        if self.scope.random.chance(1, 3)
            && let Some(known) = self.scope.pick(|_, known| known.ty.is_scalar() && known.element() == ty)
        {
            return Atom::new(ScalarOperand::Outer(known.id), ty);
        }
        Atom::new(self.scope.random.constant(ty), ty)
    }

    fn computed(&mut self, ty: ElementType) -> Atom {
        match self.scope.random.below(20) {
            0..6 => self.some_binary(ty),
            6..9 => self.some_unary(ty),
            9 if ty.is_float() => {
                let (a, b, c) = (self.value(ty), self.value(ty), self.value(ty));
                self.one(ScalarOp::Fma { a: a.operand, b: b.operand, c: c.operand }, ty)
            }
            9..12 => self.conversion(ty),
            12..15 => self.read(ty),
            15..17 => self.some_branch(ty),
            17 => self.repeat(ty),
            18 => {
                let value = self.value(ty);
                self.assert(value)
            }
            _ => self.guarded(ty),
        }
    }

    fn some_binary(&mut self, ty: ElementType) -> Atom {
        let free = self.scope.free();
        let mut functions: Vec<Binary> = Binary::ALL
            .iter()
            .copied()
            .filter(|f| !f.is_comparison() && (free || crate::primitive::is_exact_binary(*f)))
            .filter(|f| f.result_type(ty, ty) == Some(ty))
            .collect();
        if ty == ElementType::Bool {
            functions.extend(Binary::ALL.iter().filter(|f| f.is_comparison()));
        }
        let function = self.scope.random.pick(&functions);
        let operands = if function.is_comparison() { self.scope.random.element() } else { ty };
        let a = self.value(operands);
        let mut b = if function.is_shift() {
            let types: Vec<ElementType> = ElementType::ALL.into_iter().filter(|ty| ty.is_integer()).collect();
            let by = if self.scope.random.chance(1, 2) { ty } else { self.scope.random.pick(&types) };
            self.value(by)
        } else {
            self.value(operands)
        };
        let divides = matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor);
        if divides && ty.is_integer() && !self.scope.unsafely() {
            b = self.nonzero(b);
        }
        self.binary(function, a, b)
    }

    fn nonzero(&mut self, a: Atom) -> Atom {
        let one = self.number(a.ty, 1);
        if self.scope.random.chance(1, 2) {
            return self.binary(Binary::Or, a, one);
        }
        let zero = self.number(a.ty, 0);
        let is_zero = self.binary(Binary::Eq, a, zero);
        self.branch(is_zero, &[a.ty], |_| vec![one], |_| vec![a])[0]
    }

    fn some_unary(&mut self, ty: ElementType) -> Atom {
        let free = self.scope.free();
        let of = if ty == ElementType::Bool && self.scope.random.chance(1, 2) {
            self.scope.random.pick(&[ElementType::F16, ElementType::F32, ElementType::F64])
        } else {
            ty
        };
        let functions: Vec<Unary> =
            Unary::ALL.iter().copied().filter(|f| f.result_type(of) == Some(ty) && (free || !is_rounded(*f))).collect();
        let a = self.value(of);
        let function = self.scope.random.pick(&functions);
        self.unary(function, a)
    }

    /// An element one inexact function away from `a`.
    pub fn rounded(&mut self, a: Atom) -> Atom {
        let functions: Vec<Unary> =
            Unary::ALL.iter().copied().filter(|f| f.result_type(a.ty) == Some(a.ty) && is_rounded(*f)).collect();
        let at = self.scope.random.below(functions.len() + 3);
        match functions.get(at) {
            Some(&function) => self.unary(function, a),
            None => {
                let b = self.value(a.ty);
                let function = [Binary::Pow, Binary::Atan2, Binary::Hypot][at - functions.len()];
                self.binary(function, a, b)
            }
        }
    }

    fn conversion(&mut self, ty: ElementType) -> Atom {
        let types: Vec<ElementType> = ElementType::ALL.into_iter().filter(|from| from.converts_to(ty)).collect();
        let from = self.scope.random.pick(&types);
        let a = self.value(from);
        if !from.has_bits_of(ty) || self.scope.random.chance(1, 2) {
            return self.one(ScalarOp::Convert { to: ty, a: a.operand }, ty);
        }
        let bits = |code: &mut Self| code.one(ScalarOp::Bits { to: ty, a: a.operand }, ty);
        if !from.is_float() || ty.is_float() || !self.scope.config.promises {
            return bits(self);
        }
        // Sign and payload of a NaN are of no program.
        let is_nan = self.unary(Unary::IsNan, a);
        let zero = self.number(ty, 0);
        self.branch(is_nan, &[ty], |_| vec![zero], |code| vec![bits(code)])[0]
    }

    fn assert(&mut self, value: Atom) -> Atom {
        let condition = if self.scope.unsafely() {
            self.value(ElementType::Bool)
        } else {
            let ty = self.scope.random.pick(&[ElementType::I32, ElementType::I64, ElementType::U8]);
            let x = self.value(ty);
            let small = self.number(ty, 3);
            let masked = self.binary(Binary::And, x, small);
            self.binary(Binary::Le, masked, small)
        };
        let message = self.scope.random.text();
        self.one(ScalarOp::Assert { condition: condition.operand, message, value: value.operand }, value.ty)
    }

    /// A branch of one or several results, or a select.
    fn some_branch(&mut self, ty: ElementType) -> Atom {
        let condition = self.value(ElementType::Bool);
        let mut types = vec![ty];
        while self.scope.random.chance(1, 3) && types.len() < 4 {
            types.push(self.scope.random.element());
        }
        if self.open.len() > 4 {
            self.fuel = 0;
        }
        let values = |code: &mut Self| types.iter().map(|&ty| code.value(ty)).collect();
        let atoms = if self.scope.random.chance(1, 3) {
            let (a, b): (Vec<Atom>, Vec<Atom>) = (values(self), values(self));
            self.branch(condition, &types, |_| a, |_| b)
        } else {
            self.branch(condition, &types, values, values)
        };
        self.pool.extend(&atoms[1..]);
        atoms[0]
    }

    /// A loop of a few turns.
    fn repeat(&mut self, ty: ElementType) -> Atom {
        let mut types = vec![ty];
        while self.scope.random.chance(1, 2) && types.len() < 4 {
            types.push(self.scope.random.element());
        }
        if self.open.len() > 3 {
            return self.leaf(ty);
        }
        let counter = self.scope.random.pick(&[ElementType::I64, ElementType::I32, ElementType::U8]);
        let mut starts: Vec<Atom> = types.iter().map(|&ty| self.value(ty)).collect();
        starts.push(self.number(counter, 0));
        types.push(counter);
        let params: Vec<Param> = types.iter().map(|&ty| (ty, None)).collect();
        let last = types.len() - 1;
        let turns = self.scope.random.range(0, 4);
        let condition = self.body_of(&params, |code, state| {
            let bound = code.number(counter, turns);
            let counts = code.binary(Binary::Lt, state[last], bound);
            if code.scope.random.chance(1, 2) {
                return vec![counts];
            }
            let more = code.value(ElementType::Bool);
            let function = code.scope.random.pick(&[Binary::And, Binary::LogicalAnd]);
            vec![code.binary(function, counts, more)]
        });
        let step = self.body_of(&params, |code, state| {
            let mut next: Vec<Atom> = types[..last].iter().map(|&ty| code.value(ty)).collect();
            let one = code.number(counter, 1);
            next.push(code.binary(Binary::Add, state[last], one));
            next
        });
        let starts = starts.iter().map(|atom| atom.operand).collect();
        let atoms = self.emit(ScalarOp::While { condition, step, starts }, &types);
        self.pool.extend(&atoms[1..]);
        atoms[0]
    }

    /// What is needed only where it cannot fail: an instruction before the branch that uses it, or the right side of `&&`.
    fn guarded(&mut self, ty: ElementType) -> Atom {
        if !ty.is_integer() {
            return self.some_binary(ty);
        }
        let (a, b, zero) = (self.value(ty), self.value(ty), self.number(ty, 0));
        let function = self.scope.random.pick(&[Binary::Div, Binary::Rem, Binary::DivFloor, Binary::ModFloor]);
        let quotient = self.binary(function, a, b);
        if self.scope.random.chance(1, 2) {
            let fine = self.binary(Binary::Ne, b, zero);
            return self.branch(fine, &[ty], |_| vec![quotient], |_| vec![a])[0];
        }
        let holds = self.binary(Binary::Gt, quotient, a);
        let (fine, function) = if self.scope.random.chance(1, 2) {
            (self.binary(Binary::Ne, b, zero), Binary::LogicalAnd)
        } else {
            (self.binary(Binary::Eq, b, zero), Binary::LogicalOr)
        };
        let both = self.binary(function, fine, holds);
        self.convert(ty, both)
    }

    // Reads.

    /// An index of an extent, if there is one that is safe.
    pub fn index(&mut self, extent: Extent) -> Option<Atom> {
        if self.scope.unsafely() {
            return Some(self.value(ElementType::I64));
        }
        let mut fitting: Vec<Atom> = self.pool.iter().copied().filter(|atom| atom.below == Some(extent)).collect();
        let outside = self.scope.values.iter().filter(|known| self.scope.indices.get(&known.id) == Some(&extent));
        fitting.extend(outside.map(|known| Atom::new(ScalarOperand::Outer(known.id), ElementType::I64)));
        let n = self.size(extent);
        if !fitting.is_empty() && (!self.scope.positive(extent) || self.scope.random.chance(7, 8)) {
            let i = self.scope.random.pick(&fitting);
            let one = self.number(ElementType::I64, 1);
            return Some(match self.scope.random.below(6) {
                0 => {
                    let last = self.binary(Binary::Sub, n, one);
                    self.binary(Binary::Sub, last, i)
                }
                1 => {
                    let by = self.scope.random.range(-3, 5);
                    let by = self.number(ElementType::I64, by);
                    let moved = self.binary(Binary::Add, i, by);
                    self.binary(Binary::ModFloor, moved, n)
                }
                2 => {
                    let by = self.scope.random.range(-2, 2);
                    let by = self.number(ElementType::I64, by);
                    let moved = self.binary(Binary::Add, i, by);
                    self.clamped(moved, n)
                }
                _ => i,
            });
        }
        self.scope.positive(extent).then(|| self.any_index(n))
    }

    fn any_index(&mut self, n: Atom) -> Atom {
        let i = self.value(ElementType::I64);
        if self.scope.random.chance(1, 2) { self.clamped(i, n) } else { self.binary(Binary::ModFloor, i, n) }
    }

    fn clamped(&mut self, i: Atom, n: Atom) -> Atom {
        let (zero, one) = (self.number(ElementType::I64, 0), self.number(ElementType::I64, 1));
        let last = self.binary(Binary::Sub, n, one);
        let low = self.binary(Binary::Max, i, zero);
        self.binary(Binary::Min, low, last)
    }

    fn read(&mut self, ty: ElementType) -> Atom {
        let Some(array) = self.scope.pick(|_, known| known.is_array() && known.element() == ty) else {
            return self.some_binary(ty);
        };
        let safe: Option<Vec<Atom>> = array.ty.extents.clone().into_iter().map(|extent| self.index(extent)).collect();
        if self.scope.random.chance(1, 6) {
            return self.read_flat(&array);
        }
        match safe {
            Some(index) => self.read_at(array.id, &index, ty),
            None => self.checked_read(&array),
        }
    }

    pub fn read_at(&mut self, array: ArrayId, index: &[Atom], ty: ElementType) -> Atom {
        self.one(ScalarOp::Read { array, index: index.iter().map(|atom| atom.operand).collect() }, ty)
    }

    /// A read in a branch that is taken where the array is not empty.
    fn checked_read(&mut self, array: &Known) -> Atom {
        let zero = self.number(ElementType::I64, 0);
        let mut fine: Option<Atom> = None;
        for &extent in &array.ty.extents {
            if !self.scope.positive(extent) {
                let n = self.size(extent);
                let more = self.binary(Binary::Gt, n, zero);
                fine = Some(match fine {
                    Some(before) => self.binary(Binary::And, before, more),
                    None => more,
                });
            }
        }
        let fine = fine.unwrap_or(Atom::new(Constant::from(true), ElementType::Bool));
        let ty = array.element();
        let other = self.leaf(ty);
        let read = |code: &mut Self| {
            let index: Vec<Atom> = array
                .ty
                .extents
                .iter()
                .map(|&extent| {
                    let n = code.size(extent);
                    code.any_index(n)
                })
                .collect();
            code.read_at(array.id, &index, ty)
        };
        self.branch(fine, &[ty], |code| vec![read(code)], |_| vec![other])[0]
    }

    fn read_flat(&mut self, array: &Known) -> Atom {
        let ty = array.element();
        let mut total = self.number(ElementType::I64, 1);
        for &extent in &array.ty.extents {
            let n = self.size(extent);
            total = if array.ty.rank() == 1 { n } else { self.binary(Binary::Mul, total, n) };
        }
        let read = |code: &mut Self| {
            let position = code.any_index(total);
            code.one(ScalarOp::ReadFlat { array: array.id, position: position.operand }, ty)
        };
        if array.ty.extents.iter().all(|&extent| self.scope.positive(extent)) {
            return read(self);
        }
        let zero = self.number(ElementType::I64, 0);
        let fine = self.binary(Binary::Gt, total, zero);
        let other = self.leaf(ty);
        self.branch(fine, &[ty], |code| vec![read(code)], |_| vec![other])[0]
    }
}
