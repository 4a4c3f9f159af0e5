//! Which arrays operations read in the order of their own elements, though they do not traverse them.

use std::collections::BTreeSet;

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Extent, Local, ScalarOp, ScalarOperand,
    analysis::{Definitions, Sizes},
};

/// Arrays that an operation does not traverse, and reads in the order of its own elements nevertheless: `a[i]` of a `generate` at its own
/// index, or neighbours of it. Two readers in one loop share these loads.
pub(crate) fn read_in_order(binding: &Binding, definitions: &Definitions<'_>, sizes: &Sizes) -> Vec<ArrayId> {
    let candidates: BTreeSet<ArrayId> = match &binding.op {
        ArrayOp::Generate { f, .. } => {
            let own = |operand: (&ScalarOperand, &Local)| *operand.0 == ScalarOperand::Local(operand.1.id);
            f.instructions_within()
                .filter_map(|instruction| match &instruction.op {
                    ScalarOp::Read { array, index } => {
                        let at_own = index.len() == f.params.len() && index.iter().zip(&f.params).all(own);
                        at_own.then_some(*array)
                    }
                    _ => None,
                })
                .collect()
        }
        ArrayOp::Stencil { taps, .. } => taps.iter().map(|tap| tap.array).collect(),
        _ => return Vec::new(),
    };
    let Some(result) = binding.results.first() else { return Vec::new() };
    let known = |extents: &[Extent]| extents.iter().map(|&extent| sizes.extent(extent)).collect::<Option<Vec<_>>>();
    let own = known(&result.ty.extents);
    let same = |id: &ArrayId| definitions.ty(*id).is_some_and(|ty| known(&ty.extents) == own);
    candidates.into_iter().filter(|id| own.is_some() && !result.ty.extents.is_empty() && same(id)).collect()
}
