//! Reads at the row: what belongs to a segment, for each element of it.

use super::Finder;
use crate::{
    ArrayId, ArrayOp, Binding, Extent,
    analysis::{Answer, rows::read_at_index},
};

/// The segments that an operation runs in.
pub(super) fn offsets_of(binding: &Binding) -> Option<ArrayId> {
    match &binding.op {
        ArrayOp::Fold { offsets, .. } | ArrayOp::Scan { offsets, .. } => *offsets,
        ArrayOp::ReplicateSegments { offsets, .. } => Some(*offsets),
        _ => None,
    }
}

/// A read of what belongs to a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The first operation in these segments.
    pub(super) who: usize,
    /// The offsets of these segments, by the name that it knows them by.
    pub(super) offsets: ArrayId,
}

/// The segments of other operations at which an operation reads all of its sources, if it runs over their elements.
pub(super) fn row(finder: &Finder<'_>, position: usize) -> Option<Row> {
    if let ArrayOp::ReplicateSegments { offsets, .. } = finder.op(position) {
        return Some(Row { who: position, offsets: *offsets });
    }
    let ArrayOp::Backpermute { f, sources, .. } = finder.op(position) else { return None };
    let [own] = *finder.traversed(position) else { return None };
    let rows = read_at_index(f)?;
    let sizes = finder.members.sizes;
    let same = |other: Extent| own == other && own != Extent::Unknown || sizes.equal(own, other) == Answer::Proved;
    let segments = |who: usize| {
        let offsets = offsets_of(finder.binding(who))?;
        let [elements] = *finder.traversed(who) else { return None };
        (same(elements) && sizes.are_rows_of(rows, offsets)).then_some(Row { who, offsets })
    };
    let vectors = sources.iter().all(|&id| finder.extents(id).len() == 1);
    if vectors { (0..finder.len()).find_map(segments) } else { None }
}
