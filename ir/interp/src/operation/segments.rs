//! The rows that folds and scans run over: whole rows of the innermost dimension, or segments of them.

use std::ops::Range;

use fusebox_ir::{ArrayId, Fault, Operand};

use super::{Computed, Context};
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
    let Some(end) = offsets.len().checked_sub(1) else {
        return Err(Fault::NoOffsets { offsets: name }.into());
    };
    // The first one that is wrong is to blame: one beyond the extent, not the next, which is below it.
    let mut least = 0;
    for (position, &value) in offsets.iter().enumerate() {
        let right = match position {
            _ if value < least || value > n => false,
            0 if value != 0 => false,
            _ => position != end || value == n,
        };
        if !right {
            return Err(Fault::Offsets { offsets: name, position: position as i64, value, extent: n }.into());
        }
        least = value;
    }
    Ok(offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize).collect())
}

/// The element of its segment, for each element of an extent.
pub(super) fn replicate(context: Context<'_, '_>, extent: Operand, sources: &[ArrayId], offsets: ArrayId) -> Computed {
    let source = sources[context.wanted];
    context.evaluator.value(source)?;
    let extents = context.extents(&[extent])?;
    let mut of = Vec::new();
    for (segment, range) in rows(context, Some(offsets), innermost(&extents))?.into_iter().enumerate() {
        of.resize(range.end, segment as i64);
    }
    context.tabulate(extents, |index| context.evaluator.element(source, &[of[index[0] as usize]]))
}
