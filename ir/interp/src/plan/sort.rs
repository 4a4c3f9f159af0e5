//! Sorts of a plan.

use crate::{operation::compare, val::Val};

/// Rows sorted by keys, stably.
pub(super) fn sorted(keys: &[Val], sources: &[Val]) -> Vec<Val> {
    let n = keys[0].extents.last().copied().unwrap_or(1) as usize;
    let mut order: Vec<usize> = (0..keys[0].len()).collect();
    for row in order.chunks_mut(n.max(1)) {
        row.sort_by(|&a, &b| {
            let of = |key: &Val| compare(key.at(a), key.at(b));
            keys.iter().map(of).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    let sort = |source: &Val| {
        let scalars = order.iter().map(|&at| source.at(at)).collect();
        Val::new(source.element, source.extents.clone(), scalars)
    };
    sources.iter().map(sort).collect()
}
