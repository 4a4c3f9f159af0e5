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
    let normal = subnormal.select(x * x.by_type(8_388_608.0, 4_503_599_627_370_496.0), x);
    let (mantissa, biased) = biased_parts(normal, low);
    let base = exponent_base(x);
    let exponent = biased - subnormal.select(x.constant(base + x.by_type(23.0, 52.0)), base);
    Parts { exponent, mantissa }
}

/// As [`parts`], of a normal `x`.
pub(super) fn normal_parts<'c>(x: V<'c>, low: f64) -> Parts<'c> {
    let (mantissa, biased) = biased_parts(x, low);
    Parts { exponent: biased - exponent_base(x), mantissa }
}

/// What is added to exponents by [`biased_parts`].
fn exponent_base(x: V<'_>) -> f64 {
    x.by_type(8_388_608.0 + 127.0, 4_503_599_627_370_496.0 + 1023.0)
}

fn biased_parts<'c>(x: V<'c>, low: f64) -> (V<'c>, V<'c>) {
    let bits = |value: f64| x.by_type(u64::from((value as f32).to_bits()), value.to_bits());
    let width = fraction_bits(x);
    // As integers: log2 of x / low, in fixed point with the exponent's bias.
    let offset = x.bits() + (bits(1.0) - bits(low));
    let mantissa = ((offset & ((1u64 << width) - 1)) + bits(low)).to_float();
    // The biased exponent as the low bits of 2^23 or 2^52: integers to floats without a conversion.
    let biased = ((offset >> width) | bits(x.by_type(8_388_608.0, 4_503_599_627_370_496.0))).to_float();
    (mantissa, biased)
}

/// `result`, but for arguments that are not positive and finite what a logarithm gives there.
pub(super) fn specials<'c>(x: V<'c>, result: V<'c>) -> V<'c> {
    let result = x.lt(f64::INFINITY).select(result, x);
    let outside = x.equals(0.0).select(x.constant(f64::NEG_INFINITY), f64::NAN);
    x.le(0.0).select(outside, result)
}

/// log(1 + f) = f - f²/2 + tail, where f = m - 1 for a mantissa of [`parts`].
struct Near<'c> {
    f: V<'c>,
    square: V<'c>,
    tail: V<'c>,
}

fn near<'c>(mantissa: V<'c>) -> Near<'c> {
    let f = mantissa - 1.0;
    let square = f * f;
    let tail = if f.is_f32() {
        f.polynomial(&table::LOG_F32) * (square * f)
    } else {
        // With s = f / (2 + f): log(1 + f) = 2 s + s z r(z) = f - f²/2 + s (f²/2 + z r(z)).
        let s = f / (f + 2.0);
        let z = s * s;
        s * z.polynomial(&table::LOG_F64).fma(z, square * 0.5)
    };
    Near { f, square, tail }
}

/// The least mantissa, which gives what [`near`]'s polynomials were made for.
pub(super) fn least_mantissa(x: V<'_>) -> f64 {
    x.by_type(f64::from(2.0f32 / 3.0), std::f64::consts::FRAC_1_SQRT_2)
}

pub(super) fn log(x: V<'_>) -> V<'_> {
    specials(x, log_of_parts(&parts(x, least_mantissa(x)), None))
}

/// The logarithm of `parts`, and `addend` with it.
fn log_of_parts<'c>(parts: &Parts<'c>, addend: Option<V<'c>>) -> V<'c> {
    let exponent = parts.exponent;
    let [high, low] = exponent.by_type(table::LN2_F32, table::LN2_F64);
    let Near { f, square, tail } = near(parts.mantissa);
    let tail = addend.map_or(tail, |addend| tail + addend);
    let small = square.fma(-0.5, exponent.fma(low, tail));
    exponent.fma(high, f + small)
}

/// log(1 + y + rest) + `twos` ln 2, where `rest` is a correction to `y` far below it.
pub(super) fn log1p_of_sum<'c>(y: V<'c>, rest: Option<V<'c>>, twos: Option<V<'c>>) -> V<'c> {
    let sum = y + 1.0;
    // What rounding the sum lost, whichever of 1 and y is the larger.
    let share = sum - 1.0;
    let lost = y - share + (-(sum - share) + 1.0);
    let lost = rest.map_or(lost, |rest| lost + rest);
    let Parts { exponent, mantissa } = normal_parts(sum, least_mantissa(sum));
    let exponent = twos.map_or(exponent, |twos| exponent + twos);
    specials(sum, log_of_parts(&Parts { exponent, mantissa }, Some(lost / sum)))
}

pub(super) fn log1p(x: V<'_>) -> V<'_> {
    let result = log1p_of_sum(x, None, None);
    x.equals(0.0).select(x, result)
}

pub(super) fn log2(x: V<'_>) -> V<'_> {
    let one = [1.0, 0.0];
    log_to_base(x, x.by_type(table::LOG2E_F32, table::LOG2E_F64), one)
}

pub(super) fn log10(x: V<'_>) -> V<'_> {
    let scale = x.by_type(table::INV_LN10_F32, table::INV_LN10_F64);
    log_to_base(x, scale, x.by_type(table::LOG10_2_F32, table::LOG10_2_F64))
}

/// `scale` log x, where `two` is that of 2, its first part so short that products with exponents are exact.
fn log_to_base<'c>(x: V<'c>, scale: [f64; 2], two: [f64; 2]) -> V<'c> {
    let Parts { exponent, mantissa } = parts(x, least_mantissa(x));
    let Near { f, square, tail } = near(mantissa);
    // log m = high + low
    let high = square.fma(-0.5, f);
    let low = square.fma(-0.5, f - high) + tail;
    let product = high * scale[0];
    let error = high.fma(scale[0], -product);
    let rest = low.fma(scale[0], high.fma(scale[1], error));
    let (whole, rest) =
        if two == [1.0, 0.0] { (exponent, rest) } else { (exponent * two[0], exponent.fma(two[1], rest)) };
    let sum = whole + product;
    specials(x, sum + (whole - sum + product + rest))
}
