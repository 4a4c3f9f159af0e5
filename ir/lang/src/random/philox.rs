//! Philox4x32-10: four words of a counter and two of a key to four random words.

use crate::exp::{Exp, IntoExp, constant};

const ROUNDS: usize = 10;
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// The upper and the lower half of a product.
#[track_caller]
fn product(a: Exp<u32>, multiplier: u32) -> (Exp<u32>, Exp<u32>) {
    let product = a.cast::<u64>() * u64::from(multiplier);
    ((product >> 32).cast(), product.cast())
}

/// Four random words of a counter and a key: Philox4x32-10, a bijection of counters for each key.
///
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let r = example::run(|| philox((0, 0, 0, 0), (0, 0)));
/// assert_eq!(r, (0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8));
/// ```
#[track_caller]
pub fn philox(counter: impl IntoExp<(u32, u32, u32, u32)>, key: impl IntoExp<(u32, u32)>) -> Exp<(u32, u32, u32, u32)> {
    let (mut c0, mut c1, mut c2, mut c3) = counter.into_exp().parts();
    let (mut k0, mut k1) = key.into_exp().parts();
    for round in 0..ROUNDS {
        if round > 0 {
            (k0, k1) = (k0 + constant(WEYL[0]), k1 + constant(WEYL[1]));
        }
        let ((high0, low0), (high1, low1)) = (product(c0, MULTIPLIERS[0]), product(c2, MULTIPLIERS[1]));
        (c0, c1, c2, c3) = (high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0);
    }
    (c0, c1, c2, c3).into_exp()
}
