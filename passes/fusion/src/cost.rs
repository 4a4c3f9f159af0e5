//! What "cheaper" means, and in which unit.
//!
//! The unit is an instruction on one element. A byte that is moved to or from memory costs [`PER_BYTE`] of them, and an operation costs,
//! for each element, the larger of its bytes and its instructions (arithmetic is done while memory answers), and [`LOOP`] for the loop. Sizes that
//! only inputs know count as [`SOME`] elements. An array that several operations of one pass read is paid for once, and one that is made and
//! used in the same pass is not paid for at all. Rows that are read again and again come from the caches: they cost instructions alone, and to make them
//! once is spread over [`TIMES`]. Which operations share a pass is estimated by *levels*, the number of dependences that no
//! clustering fuses on the way to an operation. Costs decide what is done, never what it means.

use fusebox_ir::{
    Extent,
    analysis::{Sizes, work::PER_BYTE},
};

use crate::{index::Range, reason::Reason};

/// Of an operation, for each element.
pub(crate) const LOOP: u64 = 1;
/// How often rows are repeated, where they are.
const TIMES: u64 = 32;
/// An extent that is not known.
const SOME: i64 = 1024;
/// Extents count at most as this: beyond it the proportion of costs does not change, and no product of eight overflows.
const MANY: i64 = 4096;

/// More elements than any array has.
const MOST: u128 = 1 << 80;

/// The number of elements that counts. An extent that is a product counts as what its factors would, so that a reshape has as many elements
/// as its source.
pub(crate) fn elements(sizes: &Sizes, extents: &[Extent]) -> u128 {
    let one = |&extent: &Extent| match extent {
        Extent::Constant(value) => value.clamp(1, MANY) as u128,
        Extent::Value(_) | Extent::Unknown => {
            let degree = sizes.extent(extent).map_or(1, |size| sizes.degree(&size).max(1));
            (SOME as u128).saturating_pow(degree as u32)
        }
    };
    extents.iter().map(one).fold(1, u128::saturating_mul).min(MOST)
}

/// Whether a producer may be computed where it is read, instead of stored: `work` instructions, `source` bytes read and `stored` bytes made
/// for each of its elements, of which the user reads `reads` for each of its own.
///
/// # Errors
/// Why not.
pub(crate) fn repeats_pay(range: Range, work: u64, source: u64, stored: u64, reads: u64) -> Result<(), Reason> {
    let memory = |bytes: u64| bytes.saturating_mul(PER_BYTE);
    let copy = work == 0 && source <= stored;
    match range {
        Range::Once if reads <= 1 => return Ok(()),
        Range::Unknown if copy => return Ok(()),
        Range::Unknown => return Err(Reason::DataDecides),
        Range::Once | Range::Repeats | Range::Again => {}
    }
    if copy {
        return Ok(());
    }
    let made = memory(source + stored).max(work) + LOOP;
    let (taken_in, kept) = match range {
        Range::Again => (reads.saturating_mul(work + 1), reads + made.div_ceil(TIMES)),
        _ => {
            let made = if range == Range::Once { made } else { 0 };
            (memory(source).max(reads.saturating_mul(work + 1)), memory(stored).max(reads) + made)
        }
    };
    if taken_in <= kept {
        return Ok(());
    }
    Err(Reason::Expensive { taken_in, kept })
}
