//! Scalar code between array operations, followed for the sizes that it computes.

use super::{Size, Sizes};
use crate::{ArrayId, Constant, ElementType, Instruction, Operand, ScalarOp, Unary, analysis::walk::Domain};

/// Scalar code over sizes: what is known of an `i64` is its size, of others nothing.
pub(super) struct Scalars<'s>(pub(super) &'s mut Sizes);

impl Scalars<'_> {
    /// What is known of a scalar of which nothing is known.
    fn unknown(&mut self, ty: ElementType) -> Option<Size> {
        (ty == ElementType::I64).then(|| self.0.opaque())
    }
}

impl Domain for Scalars<'_> {
    type Value = Option<Size>;

    fn constant(&mut self, constant: Constant) -> Option<Size> {
        self.0.operand(&Operand::Constant(constant))
    }

    fn outer(&mut self, id: ArrayId) -> Option<Size> {
        self.0.value(id)
    }

    fn instruction(&mut self, instruction: &Instruction, operands: &[Option<Size>]) -> Option<Size> {
        let ty = instruction.results[0].ty;
        if ty != ElementType::I64 {
            return None;
        }
        let size = match (&instruction.op, operands) {
            (ScalarOp::Binary { function, .. }, [Some(a), Some(b)]) => Some(self.0.binary(*function, a, b)),
            (ScalarOp::Unary { function: Unary::Neg, .. }, [Some(a)]) => Some(Size::constant(0).plus(a, -1)),
            (ScalarOp::Convert { .. } | ScalarOp::Bits { .. }, [a]) => a.clone(),
            _ => None,
        };
        size.or_else(|| self.unknown(ty))
    }

    // Passes put one size in the place of an equal one. So nothing is equal to what a branch, a loop or an assertion gives: whoever took
    // the other would lose an error of these.

    fn either(&mut self, _: &Option<Size>, _: &Option<Size>, _: &Option<Size>, ty: ElementType) -> Option<Size> {
        self.unknown(ty)
    }

    fn widened(&mut self, before: &Option<Size>, _: &Option<Size>, ty: ElementType) -> Option<Option<Size>> {
        // What is opaque in one turn stands for another number in the next.
        let settled = before.as_ref().is_none_or(|size| self.0.is_opaque(size));
        (!settled).then(|| self.unknown(ty))
    }

    fn ended(&mut self, _: &Option<Size>, _: Option<Size>, ty: ElementType) -> Option<Size> {
        self.unknown(ty)
    }
}
