//! Angles as a number of quarter turns and a rest.

use fusebox_ir::ElementType;

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
fn from_bits_of_pi(x: V<'_>) -> [V<'_>; 3] {
    let width = fraction_bits(x);
    let negative = x.lt(0.0);
    let bits = x.abs().bits();
    // x = m 2^e; as 64-bit integers, m in two words of 32 bits.
    let m = ((bits & ((1u64 << width) - 1)) | (1u64 << width)).convert(ElementType::U64);
    let e = (bits >> width).convert(ElementType::U64);
    // The words w hold (2 / pi) 2^-32. Of x / (2 pi) = m (2 / pi) 2^(e - 2) only the fraction is wanted, so bits of w before
    // e + 30 are not: m times these are whole.
    let shift = e - x.by_type(127 + 23 - 30, 1023 + 52 - 30);
    let (count, stages) = x.by_type((4, 3), (7, 5));
    let all = table::TWO_OVER_PI_WORDS.map(|word| m.with_bits(u64::from(word)));
    let mut words: Vec<V<'_>> = all.to_vec();
    for stage in (0..stages).rev() {
        // Words beyond the last that any exponent asks for are not needed.
        let skip = 1usize << stage;
        let skips = (shift & (32u64 << stage)).differs(0);
        let needed = count + skip - 1;
        words = (0..needed)
            .map(|at| match words.get(at + skip) {
                Some(&later) if at + skip < words.len() => skips.select(later, words[at]),
                _ => words[at],
            })
            .collect();
    }
    let by = shift & 31;
    let low_half = 0xffff_ffffu64;
    // Windows of 32 bits, the first holding the highest bits.
    let window: Vec<V<'_>> =
        words.windows(2).map(|pair| (((pair[0] << 32) | pair[1]) << by) >> 32 & low_half).collect();
    // The fraction of m * window, from the lowest word up.
    let [quarters, value, value_rest] = if x.is_f32() {
        let third = m * window[2];
        let second = m * window[1] + (third >> 32);
        let first = m * window[0] + (second >> 32);
        let fraction = (first << 32) | (second & low_half);
        let quarters = (fraction + (1u64 << 61)) >> 62;
        let rest = (fraction - (quarters << 62)).signed();
        let angle = rest.convert(ElementType::F64) * (std::f64::consts::FRAC_PI_2 * 2f64.powi(-62));
        let high = angle.convert(ElementType::F32);
        let low = (angle - high.convert(ElementType::F64)).convert(ElementType::F32);
        [quarters.convert(ElementType::U32), high, low]
    } else {
        let (m_low, m_high) = (m & low_half, m >> 32);
        let mut carry = (m_low * window[5]) >> 32;
        let mut product = Vec::new();
        for at in (0..5).rev() {
            let one = m_low * window[at] + carry;
            let other = m_high * window[at + 1] + (one & low_half);
            product.push(other & low_half);
            carry = (one >> 32) + (other >> 32);
        }
        let [d, c, b, a] = [product[1], product[2], product[3], product[4]];
        let high = (a << 32) | b;
        let quarters = (high + (1u64 << 61)) >> 62;
        let rest = (high - (quarters << 62)).signed();
        // A sum of floats, in units of 2^-62 quarter turns.
        let f64 = ElementType::F64;
        let float = rest.convert(f64);
        let lost = (rest - float.convert(ElementType::I64)).convert(f64);
        let small = d.convert(f64).fma(2f64.powi(-64), c.convert(f64).fma(2f64.powi(-32), lost));
        let sum = float + small;
        let sum_rest = float - sum + small;
        let unit = 2f64.powi(-62);
        let [pi_high, pi_low, _] = table::HALF_PI_F64;
        let value = sum * (pi_high * unit);
        let error = sum.fma(pi_high * unit, -value);
        let value_rest = sum.fma(pi_low * unit, sum_rest.fma(pi_high * unit, error));
        let total = value + value_rest;
        [quarters, total, value - total + value_rest]
    };
    let value = x.abs().lt(f64::INFINITY).select(value, f64::NAN);
    let zero = quarters & 0;
    [
        negative.select(zero - quarters, quarters),
        negative.select(-value, value),
        negative.select(-value_rest, value_rest),
    ]
}
