//! Scalar control: assertions, branches, loops.

use super::{Atom, Code, Param};
use crate::{Binary, ElementType, ScalarOp};

impl<'c> Code<'_, 'c> {
    pub(super) fn assert(&mut self, value: Atom) -> Atom {
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
        self.one(
            ScalarOp::Assert { condition: condition.operand, message, shown: Vec::new(), value: value.operand },
            value.ty,
        )
    }

    /// A branch of one or several results, or a select.
    pub(super) fn some_branch(&mut self, ty: ElementType) -> Atom {
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

    /// A loop of a few iterations.
    pub(super) fn repeat(&mut self, ty: ElementType) -> Atom {
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

    /// Code that may fail but is needed only where it does not: an instruction before the branch that uses it, or the right side of `&&`.
    pub(super) fn guarded(&mut self, ty: ElementType) -> Atom {
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
}
