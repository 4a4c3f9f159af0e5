//! Indices, and reads of arrays at them.

use super::{Atom, Code};
use crate::{ArrayId, Binary, Constant, ElementType, Extent, ScalarOp, ScalarOperand, generate::scope::Known};

impl<'c> Code<'_, 'c> {
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

    pub(super) fn read(&mut self, ty: ElementType) -> Atom {
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
