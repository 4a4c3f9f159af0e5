//! Operations that run their functions for each element: for none where there are no elements.

use crate::{ArrayId, ArrayOp, Binding, Extent, Type};

/// The extents for whose elements an operation runs its functions, if that is known, and there may be none.
pub fn extents<'a>(binding: &'a Binding, type_of: &dyn Fn(ArrayId) -> Option<&'a Type>) -> Option<Vec<Extent>> {
    let ty = match &binding.op {
        ArrayOp::Generate { .. }
        | ArrayOp::Map { .. }
        | ArrayOp::Backpermute { .. }
        | ArrayOp::Transform { .. }
        | ArrayOp::Stencil { .. } => Some(&binding.results.first()?.ty),
        ArrayOp::Fold { sources, .. }
        | ArrayOp::Scan { sources, .. }
        | ArrayOp::Expand { sources, .. }
        | ArrayOp::PermutedExpand { sources, .. }
        | ArrayOp::Filter { sources, .. }
        | ArrayOp::Permute { values: sources, .. } => type_of(*sources.first()?),
        _ => None,
    }?;
    let perhaps: Vec<Extent> =
        ty.extents.iter().copied().filter(|extent| !matches!(extent, Extent::Constant(n) if *n > 0)).collect();
    let known = perhaps.iter().all(|extent| match extent {
        Extent::Value(id) => binding.results.iter().all(|var| var.id != *id),
        Extent::Constant(_) => true,
        Extent::Unknown => false,
    });
    (known && !perhaps.is_empty()).then_some(perhaps)
}
