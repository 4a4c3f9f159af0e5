//! Where the lengths of rows are found before a kernel runs: the bounds of the level inside of the outermost one, if they are loaded.

use crate::{
    Action, Binary, DimBoundary, ElementType, Kernel, KernelArrayId, LocalId, ScalarOp, ScalarOperand,
    analysis::need::local,
};

/// How long the rows of a kernel are: the steps of level 1 at each step of level 0, which begins with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLengths {
    /// Row r goes from element `first + r` of an array to the one behind.
    Offsets {
        /// The array.
        array: KernelArrayId,
        /// Where row 0 begins.
        first: i64,
    },
    /// Row r has as many steps as element `first + r` of an array says; none where it is negative.
    Sizes {
        /// The array.
        array: KernelArrayId,
        /// Of row 0.
        first: i64,
    },
}

/// Where the lengths of a kernel's rows are, if they are elements of a vector that it reads.
pub fn row_lengths(kernel: &Kernel) -> Option<RowLengths> {
    let [outer, inner, ..] = kernel.levels.as_slice() else { return None };
    let zero =
        |operand: ScalarOperand| matches!(operand, ScalarOperand::Constant(number) if number.as_i64() == Some(0));
    if !zero(outer.from) {
        return None;
    }
    let between = |from: (KernelArrayId, i64), to: (KernelArrayId, i64)| {
        (from.0 == to.0 && from.1.checked_add(1) == Some(to.1))
            .then_some(RowLengths::Offsets { array: from.0, first: from.1 })
    };
    if !zero(inner.from) {
        return between(loaded(kernel, local(&inner.from)?)?, loaded(kernel, local(&inner.to)?)?);
    }
    let to = local(&inner.to)?;
    if let Some((array, first)) = loaded(kernel, to) {
        return Some(RowLengths::Sizes { array, first });
    }
    match definition(kernel, to)? {
        Action::Scalar(instruction) => match instruction.op {
            ScalarOp::Binary { function: Binary::Sub, a, b } => {
                between(loaded(kernel, local(&b)?)?, loaded(kernel, local(&a)?)?)
            }
            _ => None,
        },
        _ => None,
    }
}

fn definition(kernel: &Kernel, id: LocalId) -> Option<&Action> {
    let statement = kernel.statements.iter().find(|statement| statement.results().iter().any(|own| own.id == id))?;
    (statement.depth == 1).then_some(&statement.action)
}

/// The array and the offset of the element at the step of level 0 that a local is, maybe converted.
fn loaded(kernel: &Kernel, id: LocalId) -> Option<(KernelArrayId, i64)> {
    let mut id = id;
    if let Action::Scalar(instruction) = definition(kernel, id)?
        && let ScalarOp::Convert { to: ElementType::I64, a } = instruction.op
    {
        id = local(&a)?;
    }
    let Action::Load { array, map, outside: None, .. } = definition(kernel, id)? else { return None };
    let [dim] = map.dims.as_slice() else { return None };
    let plain = dim.boundary == DimBoundary::None && dim.terms == [(1, kernel.levels[0].index.id)];
    let whole = matches!(kernel.arrays[array.index()].element, ElementType::I32 | ElementType::I64);
    let read = kernel.arrays[array.index()].access == crate::Access::Read;
    (plain && whole && read).then_some((*array, dim.offset))
}
