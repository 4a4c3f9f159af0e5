//! Values of a type: leaves, arithmetic, conversions.

use super::{Atom, Code};
use crate::{Binary, ElementType, ScalarOp, ScalarOperand, Unary};

/// Functions whose results are not fixed to the bit.
fn is_rounded(function: Unary) -> bool {
    !crate::primitive::is_exact(function)
}

impl<'c> Code<'_, 'c> {
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

    pub(super) fn leaf(&mut self, ty: ElementType) -> Atom {
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

    pub(super) fn some_binary(&mut self, ty: ElementType) -> Atom {
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
}
