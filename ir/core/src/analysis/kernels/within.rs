//! Indices that need no check.

use crate::{Constant, DimBoundary, DimIndex, Kernel, KernelExtent, ScalarOperand};

/// Whether an index along a dimension of this extent is inside at every point: it is that of a level which begins at 0 or later, and ends where the
/// dimension does or earlier.
pub fn is_within(kernel: &Kernel, dim: &DimIndex, extent: KernelExtent) -> bool {
    let [(1, index)] = dim.terms[..] else { return false };
    let Some(level) = kernel.levels.iter().find(|level| level.index.id == index) else { return false };
    let number = |operand: ScalarOperand| match operand {
        ScalarOperand::Constant(constant) => Constant::as_i64(constant),
        _ => None,
    };
    let ends = match (extent, level.to) {
        (KernelExtent::Size(size), ScalarOperand::Local(to)) => size == to,
        (KernelExtent::Constant(extent), to) => number(to).is_some_and(|to| to <= extent),
        _ => false,
    };
    ends && dim.offset == 0 && dim.boundary == DimBoundary::None && number(level.from).is_some_and(|from| from >= 0)
}
