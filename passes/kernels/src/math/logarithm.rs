//! `log` and its kin: x = 2^e · m, log x = e ln 2 + log m.

use super::code::V;
use super::coefficients as table;
use super::exponential::fraction_bits;

/// A positive finite x as 2^e · m.
pub(super) struct Parts<'c> {
    pub(super) exponent: V<'c>,
    pub(super) mantissa: V<'c>,
}

/// Splits a positive finite `x`, subnormal or not, so that the mantissa lies in `low..2 low`; `low` in `0.5..1`.
pub(super) fn parts<'c>(x: V<'c>, low: f64) -> Parts<'c> {
    let subnormal = x.lt(x.by_type(f64::from(f32::MIN_POSITIVE), f64::MIN_POSITIVE));
    let lift = x.by_type(23, 52);
    let x = subnormal.select(x * x.by_type(8_388_608.0, 4_503_599_627_370_496.0), x);
    let bits = |value: f64| x.by_type(u64::from((value as f32).to_bits()), value.to_bits());
    let width = fraction_bits(x);
    // As integers: log2 of x / low, in fixed point with the exponent's bias.
    let offset = x.bits() + (bits(1.0) - bits(low));
    let mantissa = ((offset & ((1u64 << width) - 1)) + bits(low)).from_bits();
    // The biased exponent as the low bits of 2^23 or 2^52: integers to floats without a conversion.
    let base = x.by_type(8_388_608.0 + 127.0, 4_503_599_627_370_496.0 + 1023.0);
    let biased = ((offset >> width) | bits(x.by_type(8_388_608.0, 4_503_599_627_370_496.0))).from_bits();
    let exponent = biased - subnormal.select(x.constant(base + f64::from(lift)), base);
    Parts { exponent, mantissa }
}

/// `result`, but for arguments that are not positive and finite what a logarithm gives there.
pub(super) fn specials<'c>(x: V<'c>, result: V<'c>) -> V<'c> {
    let result = x.lt(f64::INFINITY).select(result, x);
    let outside = x.equals(0.0).select(x.constant(f64::NEG_INFINITY), f64::NAN);
    x.le(0.0).select(outside, result)
}

/// log(1 + f) - (f - f²/2), where f = m - 1 for a mantissa of [`parts`].
pub(super) fn tail<'c>(f: V<'c>, half_square: V<'c>) -> V<'c> {
    if f.is_f32() {
        f.polynomial(&table::LOG_F32) * (f * f * f)
    } else {
        // With s = f / (2 + f): log(1 + f) = 2 s + s z r(z) = f - f²/2 + s (f²/2 + z r(z)).
        let s = f / (f + 2.0);
        let z = s * s;
        s * z.polynomial(&table::LOG_F64).fma(z, half_square)
    }
}

/// The least mantissa: what [`tail`]'s polynomials were made for.
pub(super) fn least_mantissa(x: V<'_>) -> f64 {
    x.by_type(f64::from(2.0f32 / 3.0), std::f64::consts::FRAC_1_SQRT_2)
}

pub(super) fn log(x: V<'_>) -> V<'_> {
    let Parts { exponent, mantissa } = parts(x, least_mantissa(x));
    let [high, low] = x.by_type(table::LN2_F32, table::LN2_F64);
    let f = mantissa - 1.0;
    let half_square = f * 0.5 * f;
    let small = exponent.fma(low, tail(f, half_square));
    let result = exponent.fma(high, f - (half_square - small));
    specials(x, result)
}
