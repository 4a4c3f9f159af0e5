//! What an operation checks of the extents of its sources: it checks those that its functions need.
//!
//! A simpler function may need less (`x * 0` is 0). The operation would then not look at a source any more, and not check it. Where sizes are
//! not proved to agree, the function stays as it was.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Extent, Lambda, Part, Type,
    analysis::{Answer, Sizes, certain_params, possible_params},
};

/// Whether simpler functions leave an operation checking less than it did: `before` is the operation as it was.
pub(crate) fn is_lost(before: &ArrayOp, binding: &Binding, types: &HashMap<ArrayId, Type>, sizes: &Sizes) -> bool {
    let (old, new) = (functions(before), functions(&binding.op));
    if old.iter().zip(&new).all(|(old, new)| needs_as_much(old, new)) {
        return false;
    }
    let extents = |id: &ArrayId| types.get(id).map(|ty| &ty.extents[..]);
    let all = |a: &[Extent], b: &[Extent], holds: fn(&Sizes, Extent, Extent) -> Answer| {
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| a == b || holds(sizes, a, b) == Answer::Proved)
    };
    let alike = |list: &[ArrayId]| {
        let Some((first, rest)) = list.split_first() else { return true };
        rest.iter()
            .all(|other| matches!((extents(first), extents(other)), (Some(a), Some(b)) if all(a, b, Sizes::equal)))
    };
    let proved = match &binding.op {
        ArrayOp::Map { sources, .. } => binding.results.iter().all(|var| {
            sources.iter().all(|source| extents(source).is_some_and(|of| all(&var.ty.extents, of, Sizes::at_most)))
        }),
        // The index is computed and checked where an element is looked at.
        ArrayOp::Transform { sources, .. } => {
            alike(sources) && old.iter().zip(&new).all(|(old, new)| looks_as_surely(old, new))
        }
        ArrayOp::Fold { sources, .. }
        | ArrayOp::Scan { sources, .. }
        | ArrayOp::Filter { sources, .. }
        | ArrayOp::Expand { sources, .. } => alike(sources),
        ArrayOp::Permute { defaults, values, targets, keep, .. } => {
            let sources: Vec<ArrayId> = values.iter().chain(targets).chain(keep).copied().collect();
            alike(defaults) && alike(&sources)
        }
        ArrayOp::PermutedExpand { defaults, sources, .. } => alike(defaults) && alike(sources),
        // Their functions have indices, or what they tap, as parameters.
        _ => true,
    };
    !proved
}

fn functions(op: &ArrayOp) -> Vec<&Lambda> {
    let functions = op.parts().into_iter().filter_map(|part| match part {
        Part::Function(f) => Some(f),
        _ => None,
    });
    functions.collect()
}

/// Whether each result of a function needs the parameters that it needed.
fn needs_as_much(old: &Lambda, new: &Lambda) -> bool {
    (0..old.results.len()).all(|result| {
        let after = possible_params(new, result);
        possible_params(old, result).into_iter().zip(after).all(|(before, after)| after || !before)
    })
}

/// Whether each result that looked at a parameter in every call still looks at some.
fn looks_as_surely(old: &Lambda, new: &Lambda) -> bool {
    let looks = |f: &Lambda, result: usize| certain_params(f, result).contains(&true);
    (0..old.results.len()).all(|result| looks(new, result) || !looks(old, result))
}
