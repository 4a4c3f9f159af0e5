//! Sums of several words: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`. The carry is 0 or 1.

use super::{Apply, bits};

/// The sum or the difference of two words and the carry, and the carry out of it.
pub(crate) fn with_carry(subtract: bool, wide: bool) -> (Apply, Apply) {
    match (subtract, wide) {
        (false, false) => (bits!(|a, b, c| (a + b + c) & 0xffff_ffff), bits!(|a, b, c| (a + b + c) >> 32)),
        (false, true) => (
            bits!(|a, b, c| a.wrapping_add(b).wrapping_add(c)),
            bits!(|a, b, c| ((u128::from(a) + u128::from(b) + u128::from(c)) >> 64) as u64),
        ),
        (true, false) => (
            bits!(|a, b, c| a.wrapping_sub(b).wrapping_sub(c) & 0xffff_ffff),
            bits!(|a, b, c| u64::from(u128::from(a) < u128::from(b) + u128::from(c))),
        ),
        (true, true) => (
            bits!(|a, b, c| a.wrapping_sub(b).wrapping_sub(c)),
            bits!(|a, b, c| u64::from(u128::from(a) < u128::from(b) + u128::from(c))),
        ),
    }
}
