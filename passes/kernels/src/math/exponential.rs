//! `exp` and its kin: e^x = 2^n · e^r with n the integer nearest to x / ln 2, so that |r| is at most ln 2 / 2.

use super::code::V;
use super::coefficients as table;

/// Adding this rounds to an integer, whose two's complement is then in the low bits, and twice the exponent bias with it, so that
/// both halves of n become exponents by one shift.
fn rounder(x: V<'_>) -> f64 {
    x.by_type(12_582_912.0 + 254.0, 6_755_399_441_055_744.0 + 2046.0)
}

/// The width of the fraction field.
pub(super) fn fraction_bits(x: V<'_>) -> i32 {
    x.by_type(23, 52)
}

/// `x` where it lies in `low..=high`, else the nearer of these; NaN stays.
pub(super) fn clamp<'c>(x: V<'c>, low: f64, high: f64) -> V<'c> {
    let x = x.gt(high).select(x.constant(high), x);
    x.lt(low).select(x.constant(low), x)
}

/// An integer n as a float, and as the bits that [`scale`] takes.
#[derive(Clone, Copy)]
pub(super) struct Whole<'c> {
    pub(super) float: V<'c>,
    bits: V<'c>,
}

/// The integer nearest to `x * factor`, which must be below 2^21 in magnitude.
pub(super) fn nearest_whole<'c>(x: V<'c>, factor: f64) -> Whole<'c> {
    let shifted = x.fma(factor, rounder(x));
    Whole { float: shifted - rounder(x), bits: shifted.bits() }
}

/// `m * 2^n` rounded once, subnormal and infinite results included; n within two exponent ranges.
pub(super) fn scale<'c>(m: V<'c>, n: Whole<'c>) -> V<'c> {
    let width = fraction_bits(m);
    let half = n.bits >> 1;
    let rest = n.bits - half;
    m * (half << width).to_float() * (rest << width).to_float()
}

/// 2^(n - 1) for an n whose power is neither subnormal nor infinite.
pub(super) fn half_power(n: Whole<'_>) -> V<'_> {
    // The bits hold n and twice the bias; once the bias and one more go.
    let bias = n.float.by_type(128, 1024);
    ((n.bits - bias) << fraction_bits(n.float)).to_float()
}

/// q(r) of e^r = 1 + r + r² q(r), for |r| up to ln 2 / 2.
fn quadratic(r: V<'_>) -> V<'_> {
    if r.is_f32() { r.polynomial(&table::EXP_F32) } else { r.polynomial(&table::EXP_F64) }
}

/// e^r for |r| up to ln 2 / 2.
fn near(r: V<'_>) -> V<'_> {
    quadratic(r).fma(r * r, r) + 1.0
}

/// e^r - 1 - r for |r| up to ln 2 / 2.
fn tail(r: V<'_>) -> V<'_> {
    quadratic(r) * (r * r)
}

/// x - n ln 2.
fn rest<'c>(x: V<'c>, n: Whole<'c>) -> V<'c> {
    let [high, low] = x.by_type(table::LN2_F32, table::LN2_F64);
    n.float.fma(-low, n.float.fma(-high, x))
}

/// x = n ln 2 + r.
fn reduce(x: V<'_>) -> (V<'_>, Whole<'_>) {
    let n = nearest_whole(x, x.by_type(table::LOG2E_F32, table::LOG2E_F64)[0]);
    (rest(x, n), n)
}

pub(super) fn exp(x: V<'_>) -> V<'_> {
    // Outside of these results are 0 and infinity, which the scaling gives.
    let x = clamp(x, x.by_type(-104.0, -746.0), x.by_type(89.0, 710.0));
    let (r, n) = reduce(x);
    scale(near(r), n)
}

/// For [`half_exp`]: x = n ln 2 + r with 2^(n - 1) to scale by.
fn half_reduce(x: V<'_>) -> (V<'_>, Whole<'_>) {
    let high = x.by_type(90.0, 711.0);
    let (r, n) = reduce(x.gt(high).select(x.constant(high), x));
    (r, Whole { bits: n.bits - 1, ..n })
}

/// e^x / 2 for x from 0 on.
pub(super) fn half_exp(x: V<'_>) -> V<'_> {
    let (r, n) = half_reduce(x);
    scale(near(r), n)
}

/// As [`half_exp`], and what rounding took from it.
pub(super) fn half_exp_in_two(x: V<'_>) -> (V<'_>, V<'_>) {
    let (r, n) = half_reduce(x);
    let tail = tail(r);
    let sum = r + 1.0;
    let low = -sum + 1.0 + r + tail;
    let high = sum + low;
    (scale(high, n), scale(sum - high + low, n))
}

/// e^(-x²) as 2^n times a sum of two floats, for x up to 28 (`f32`: 11).
pub(super) fn exp_of_negative_square<'c>(x: V<'c>) -> ([V<'c>; 2], Whole<'c>) {
    let square = x * x;
    let square_rest = x.fma(x, -square);
    let [high, low] = x.by_type(table::LN2_F32, table::LN2_F64);
    let n = nearest_whole(-square, x.by_type(table::LOG2E_F32, table::LOG2E_F64)[0]);
    // r + rest = -x² - n ln 2
    let first = n.float.fma(-high, -square);
    let r = n.float.fma(-low, first);
    let rest = n.float.fma(-low, first - r) - square_rest;
    let tail = tail(r);
    let sum = r + 1.0;
    let power_rest = -sum + 1.0 + r + (sum + tail).fma(rest, tail);
    ([sum, power_rest], n)
}

/// e^x where it is neither subnormal nor infinite: x from -80 to 80 is.
pub(super) fn exp_in_range(x: V<'_>) -> V<'_> {
    let (r, n) = reduce(x);
    let bias = x.by_type(127, 1023);
    near(r) * ((n.bits - bias) << fraction_bits(x)).to_float()
}

pub(super) fn expm1(x: V<'_>) -> V<'_> {
    // Below, the result is -1; e^x - 1 is twice e^x / 2 - 1/2, so that the largest results need no second step.
    let clamped = clamp(x, x.by_type(-20.0, -40.0), x.by_type(89.0, 710.0));
    let (r, n) = reduce(clamped);
    let half = half_power(n);
    let (whole, part) = (half - 0.5, half * r);
    let sum = whole + part;
    let error = whole - sum + part;
    let result = (sum + half.fma(tail(r), error)) * 2.0;
    // x²/2 is lost in these, and subnormal ones must not be halved.
    x.abs().lt(x.by_type(2f64.powi(-26), 2f64.powi(-55))).select(x, result)
}

/// 2^r - 1 for |r| up to 1/2.
fn exp2_tail(r: V<'_>) -> V<'_> {
    r * if r.is_f32() { r.polynomial(&table::EXP2_F32) } else { r.polynomial(&table::EXP2_F64) }
}

/// 2^(high + low) for any low below 2^-8 and any high.
pub(super) fn exp2_of_sum<'c>(high: V<'c>, low: Option<V<'c>>) -> V<'c> {
    let most = high.by_type(160.0, 1100.0);
    let clamped = clamp(high, -most, most);
    let n = nearest_whole(clamped, 1.0);
    let r = clamped - n.float;
    let r = low.map_or(r, |low| r + high.abs().lt(most).select(low, 0.0));
    scale(exp2_tail(r) + 1.0, n)
}

pub(super) fn exp2(x: V<'_>) -> V<'_> {
    exp2_of_sum(x, None)
}
