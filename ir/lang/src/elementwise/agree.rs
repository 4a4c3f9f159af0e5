//! The extents of what is made of two arrays, element by element.

use fusebox_ir::{Constant, term::TermId};

use crate::{
    arena::{self, At},
    error::Mistake,
};

/// Whether an extent is the number 1, and so is repeated along any other.
pub(crate) fn is_one(extent: TermId) -> bool {
    number(extent) == Some(1)
}

pub(crate) fn number(extent: TermId) -> Option<i64> {
    arena::value_of(extent).and_then(Constant::as_i64)
}

/// The extents of the result: those of both arrays, which are equal but for numbers 1.
///
/// Where it is not known that two extents are equal, the result has the greater one. A map checks that it has no more elements than each
/// of its sources, so it fails where they differ, and says both.
pub(super) fn agreed(a: &[TermId], b: &[TermId], at: At) -> Vec<TermId> {
    let differ = |(&a, &b): (&TermId, &TermId)| matches!((number(a), number(b)), (Some(a), Some(b)) if a != b && a != 1 && b != 1);
    if a.iter().zip(b).any(differ) {
        let extents = |of: &[TermId]| of.iter().map(|&extent| number(extent)).collect();
        arena::problem(Mistake::Unequal { left: extents(a), right: extents(b) }, at);
        return a.to_vec();
    }
    a.iter()
        .zip(b)
        .map(|(&a, &b)| match (is_one(a), is_one(b)) {
            (_, true) => a,
            (true, false) => b,
            (false, false) => arena::greater(a, b, at),
        })
        .collect()
}
