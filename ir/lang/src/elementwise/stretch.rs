//! Arrays repeated along dimensions whose extent is the number 1.

use fusebox_ir::{
    ArrayOp, ElementType, Operand, Type,
    term::{Term, TermId},
};

use super::agree::is_one;
use crate::{
    acc::{Acc, Parts},
    arena::{self, At},
    array::Array,
    elt::Elt,
    ops::{map::cut, shape::replicate_terms},
    shape::Shape,
};

/// The array, repeated along each dimension whose extent is the number 1 where `extents` say another one.
pub(super) fn stretched(parts: Parts, elements: &[ElementType], extents: &[TermId], at: At) -> Parts {
    let repeats: Vec<bool> =
        parts.extents.iter().zip(extents).map(|(&own, &wanted)| is_one(own) && !is_one(wanted)).collect();
    if elements.is_empty() || !repeats.contains(&true) {
        return parts;
    }
    let (inner, dims) = without(&parts, elements, &repeats, at);
    // Dimensions that are kept keep their own extents, which the map that follows compares.
    let mut own = inner.extents.iter().copied();
    let result: Vec<TermId> = extents
        .iter()
        .zip(&dims)
        .map(|(&wanted, keep)| if *keep { own.next().unwrap_or(wanted) } else { wanted })
        .collect();
    let dims = dims.iter().zip(&result).map(|(keep, &extent)| (!keep).then(|| arena::operand(extent))).collect();
    let op = ArrayOp::Replicate { dims, sources: inner.sources() };
    let types = types(elements, &result);
    let arrays = arena::array_op(op, Vec::new(), Vec::new(), |_| types, at);
    Parts { extents: result, arrays }
}

fn types(elements: &[ElementType], extents: &[TermId]) -> Vec<Type> {
    elements.iter().map(|&element| Type::array(arena::extents(extents), element)).collect()
}

/// An array without the dimensions that are to be repeated, and which dimensions of the result it has.
///
/// Where these dimensions were added by a replicate, it is what was replicated: nothing is left of the dimension in between.
fn without(parts: &Parts, elements: &[ElementType], repeats: &[bool], at: At) -> (Parts, Vec<bool>) {
    if let Some(found) = before_replicate(parts, repeats) {
        return found;
    }
    let zero = arena::operand(arena::constant(0i64, at));
    let dims = repeats.iter().map(|&repeat| repeat.then_some(zero)).collect();
    let extents: Vec<TermId> =
        parts.extents.iter().zip(repeats).filter(|(_, repeat)| !**repeat).map(|(&extent, _)| extent).collect();
    let op = ArrayOp::Slice { dims, sources: parts.sources() };
    let types = types(elements, &extents);
    let arrays = arena::array_op(op, Vec::new(), Vec::new(), |_| types, at);
    (Parts { extents, arrays }, repeats.iter().map(|repeat| !repeat).collect())
}

/// What a replicate repeats, if all of its new dimensions are to be repeated.
fn before_replicate(parts: &Parts, repeats: &[bool]) -> Option<(Parts, Vec<bool>)> {
    let first = *parts.arrays.first()?;
    let (of, _) = arena::result(first)?;
    let together = |(position, &array): (usize, &TermId)| arena::result(array) == Some((of, position as u32));
    if !parts.arrays.iter().enumerate().all(together) {
        return None;
    }
    arena::with(|arena| {
        let Term::Array { op, .. } = &arena.nodes.get(of.index())?.term else { return None };
        let ArrayOp::Replicate { dims, sources } = &**op else { return None };
        let same =
            dims.len() == repeats.len() && dims.iter().zip(repeats).all(|(dim, repeat)| dim.is_some() == *repeat);
        if !same || sources.len() != parts.arrays.len() {
            return None;
        }
        let kept = |(&extent, dim): (&TermId, &Option<Operand>)| dim.is_none().then_some(extent);
        let extents = parts.extents.iter().zip(dims).filter_map(kept).collect();
        let arrays = sources.iter().map(|&id| TermId::of_array(id)).collect();
        Some((Parts { extents, arrays }, dims.iter().map(Option::is_none).collect()))
    })
    .flatten()
}

/// The array in extents of as many dimensions or more: new ones are outermost, and a dimension whose extent is the number 1 is repeated.
pub(crate) fn spread<Sh: Shape, To: Shape, T: Elt>(parts: Parts, extents: &[TermId], at: At) -> Acc<Array<To, T>> {
    let more = To::RANK - Sh::RANK;
    let (outer, inner) = extents.split_at(more);
    // Where it is only checked that extents are those wanted, a map takes them over.
    let parts = cut::<T>(stretched(parts, &T::types(), inner, at), inner, at);
    if more == 0 {
        return Acc::new(extents, &parts.arrays);
    }
    let dims: Vec<Option<TermId>> = (0..To::RANK).map(|dim| outer.get(dim).copied()).collect();
    replicate_terms(&dims, parts, at)
}
