//! Sorting rows by keys, stably.

use std::cmp::Ordering;

use fusebox_ir::{ArrayId, Constant};

use super::{Computed, Context, segments};
use crate::val::Val;

pub(super) fn sort(context: Context<'_, '_>, keys: &[ArrayId], carry: &[ArrayId]) -> Computed {
    let wanted = if context.wanted < keys.len() { keys[context.wanted] } else { carry[context.wanted - keys.len()] };
    let mut arrays = context.equal_extents(&keys.iter().copied().chain([wanted]).collect::<Vec<_>>())?;
    let source = arrays.remove(keys.len());
    let n = segments::innermost(&source.extents) as usize;
    let mut scalars = Vec::new();
    for row in 0..source.len().checked_div(n).unwrap_or(0) {
        let mut order: Vec<usize> = (row * n..(row + 1) * n).collect();
        order.sort_by(|&a, &b| {
            arrays
                .iter()
                .map(|key| compare(key.at(a), key.at(b)))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        scalars.extend(order.into_iter().map(|at| source.at(at)));
    }
    Ok(vec![(context.wanted, Val::new(source.element, source.extents.clone(), scalars))])
}

/// The order of `min`: -0 below +0, all NaN equal and last, `false` below `true`.
pub(crate) fn compare(a: Constant, b: Constant) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) if x.is_nan() || y.is_nan() => x.is_nan().cmp(&y.is_nan()),
        (Some(x), Some(y)) => x.total_cmp(&y),
        _ if a.ty().is_signed() => a.as_i64().cmp(&b.as_i64()),
        _ => a.bits().cmp(&b.bits()),
    }
}
