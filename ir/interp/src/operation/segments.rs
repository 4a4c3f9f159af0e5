//! The rows that folds and scans run over: whole rows of the innermost dimension, or segments of them.

use std::ops::Range;

use fusebox_ir::{ArrayId, Fault};

use super::Context;
use crate::scalar::Stop;

/// The innermost extent.
pub(super) fn innermost(extents: &[i64]) -> i64 {
    extents.last().copied().unwrap_or(1)
}

/// The parts of each row of extent `n` that are folded by themselves.
///
/// Offsets are one more than there are segments, from 0 to the extent, never falling.
pub(super) fn rows(context: Context<'_, '_>, offsets: Option<ArrayId>, n: i64) -> Result<Vec<Range<usize>>, Stop> {
    let Some(id) = offsets else { return Ok(std::iter::once(0..n as usize).collect()) };
    let array = context.evaluator.value(id)?;
    let name = context.evaluator.name(id);
    // Offsets of u64 above the range of i64 are beyond any extent.
    let offsets: Vec<i64> = array.scalars().iter().map(|o| o.as_i64().unwrap_or(i64::MAX)).collect();
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
        return Err(Fault::NoOffsets { offsets: name }.into());
    };
    let wrong = |position: usize, value| {
        Err(Fault::Offsets { offsets: name.clone(), position: position as i64, value, extent: n }.into())
    };
    if first != 0 {
        return wrong(0, first);
    }
    if let Some(at) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        return wrong(at + 1, offsets[at + 1]);
    }
    if last != n {
        return wrong(offsets.len() - 1, last);
    }
    Ok(offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize).collect())
}
