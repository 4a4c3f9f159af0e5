//! Angles as a number of quarter turns and a rest.

use super::code::V;
use super::coefficients as table;
use super::exponential::fraction_bits;

/// An angle: `quarters` (the low two bits count) of a quarter turn, and `rest + low`, at most a little above pi / 4 in magnitude.
pub(super) struct Angle<'c> {
    /// An unsigned integer as wide as the float.
    pub(super) quarters: V<'c>,
    pub(super) rest: V<'c>,
    /// What `rest` lacks; only if asked for.
    pub(super) low: Option<V<'c>>,
}

/// Splits any `x`; infinities and NaN give NaN.
///
/// Up to 2^17 (`f64`: 2^30) quarter turns are subtracted in three parts (Cody and Waite), each product exact inside an `fma`. Larger
/// arguments multiply by just those bits of 2 / pi that matter (Payne and Hanek), as a slow path.
pub(super) fn angle(x: V<'_>, with_low: bool) -> Angle<'_> {
    let most = x.by_type(131_072.0, 1_073_741_824.0);
    let magic = x.by_type(12_582_912.0, 6_755_399_441_055_744.0);
    let shifted = x.fma(x.by_type(table::TWO_OVER_PI_F32, table::TWO_OVER_PI_F64)[0], magic);
    let n = shifted - magic;
    let [high, middle, low] = x.by_type(table::HALF_PI_F32, table::HALF_PI_F64);
    let first = n.fma(-high, x);
    let quarters = shifted.bits();
    let slow = x.abs().gt(most);
    if with_low {
        let product = n * middle;
        let product_error = n.fma(middle, -product);
        let rest = first - product;
        let share = rest - first;
        let lost = first - (rest - share) - (product + share);
        let lost = n.fma(-low, lost - product_error);
        // Where first and product nearly cancel, what was lost is no small part of the rest.
        let sum = rest + lost;
        let lost = rest - sum + lost;
        let [quarters, rest, low] = slow.branch([quarters, sum, lost], || from_bits_of_pi(x));
        Angle { quarters, rest, low: Some(low) }
    } else {
        let rest = n.fma(-low, n.fma(-middle, first));
        let [quarters, rest] = slow.branch([quarters, rest], || {
            let [quarters, rest, _] = from_bits_of_pi(x);
            [quarters, rest]
        });
        Angle { quarters, rest, low: None }
    }
}

/// Quarters, rest and low part of a large `x`; of infinities NaN.
///
/// Integers as wide as `x` hold numbers of half as many bits, so that products fit: 64-bit lanes would halve an `f32` kernel's gangs.
fn from_bits_of_pi(x: V<'_>) -> [V<'_>; 3] {
    let width = fraction_bits(x);
    let negative = x.lt(0.0);
    let bits = x.abs().bits();
    // x = m 2^e
    let m = (bits & ((1u64 << width) - 1)) | (1u64 << width);
    // The words w hold (2 / pi) 2^-half. Of x / (2 pi) = m (2 / pi) 2^(e - 2) only the fraction is wanted, so bits of w before
    // e + half - 2 are not: m times these are whole.
    let half = x.by_type(16, 32);
    let shift = (bits >> width) - x.by_type(127 + 23 - 14, 1023 + 52 - 30);
    let window = window(shift, half);
    // The fraction of m * window, in words from the lowest up; the very lowest word counts by its carry alone.
    let mask = (1u64 << half) - 1;
    let (m_low, m_high) = (m & mask, m >> half);
    let mut carry = (m_low * window[WINDOW - 1]) >> half;
    let mut product = Vec::new();
    for at in (0..WINDOW - 1).rev() {
        let one = m_low * window[at] + carry;
        let other = m_high * window[at + 1] + (one & mask);
        product.push(other & mask);
        carry = (one >> half) + (other >> half);
    }
    let [d, c, b, a] = [product[1], product[2], product[3], product[4]];
    let fraction = (a << half) | b;
    let quarters = (fraction + (1u64 << (2 * half - 3))) >> (2 * half - 2);
    let rest = (fraction - (quarters << (2 * half - 2))).signed();
    // A sum of floats, in units of 2^-62 (f32: 2^-30) quarter turns; exact where the first ones nearly cancel.
    let unit = 2f64.powi(2 - 2 * half);
    let word = 2f64.powi(-half);
    let float = rest.convert(x.ty);
    let lost = (rest - float.convert(rest.ty)).convert(x.ty);
    let part = c.convert(x.ty).fma(word, lost);
    let sum = float + part;
    let sum_rest = d.convert(x.ty).fma(word * word, float - sum + part);
    let [pi_high, pi_low, _] = x.by_type(table::HALF_PI_F32, table::HALF_PI_F64);
    let value = sum * (pi_high * unit);
    let error = sum.fma(pi_high * unit, -value);
    let value_rest = sum.fma(pi_low * unit, sum_rest.fma(pi_high * unit, error));
    let total = value + value_rest;
    let total_rest = value - total + value_rest;
    let total = x.abs().lt(f64::INFINITY).select(total, f64::NAN);
    [
        negative.select(quarters.with_bits(0) - quarters, quarters),
        negative.select(-total, total),
        negative.select(-total_rest, total_rest),
    ]
}

/// Words that [`window`] gives: three times the bits of a float, which is what the worst cancellation needs and then some.
const WINDOW: usize = 6;

/// Six words of `half` bits of 2 / pi, from bit `shift` on; before the binary point there is one word of zeros.
fn window(shift: V<'_>, half: i32) -> [V<'_>; WINDOW] {
    let bits = |word: u64| shift.with_bits(word);
    let all = table::TWO_OVER_PI_WORDS;
    let mut words: Vec<V<'_>> = if half == 16 {
        let halves = all[1..].iter().flat_map(|&word| [word >> 16, word & 0xffff]);
        std::iter::once(0).chain(halves).map(|word| bits(word.into())).collect()
    } else {
        all.iter().map(|&word| bits(word.into())).collect()
    };
    // Which words: by the bits of shift / half, from the highest of the largest exponent's. No step looks beyond what others need.
    let stages = if half == 16 { 3 } else { 5 };
    for stage in (0..stages).rev() {
        let skip = 1usize << stage;
        let skips = (shift & ((half as u64) << stage)).differs(0);
        words = (0..WINDOW + skip)
            .map(|at| words.get(at + skip).map_or(words[at], |&later| skips.select(later, words[at])))
            .collect();
    }
    let by = shift & (half - 1);
    std::array::from_fn(|at| (((words[at] << half) | words[at + 1]) << by) >> half)
}
