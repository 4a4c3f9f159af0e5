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
    m * (half << width).from_bits() * (rest << width).from_bits()
}

/// r² q(r) of e^r = 1 + r + r² q(r), for |r| up to ln 2 / 2.
pub(super) fn tail(r: V<'_>) -> V<'_> {
    let q = if r.is_f32() { r.polynomial(&table::EXP_F32) } else { r.polynomial(&table::EXP_F64) };
    q * (r * r)
}

/// x - n ln 2.
fn rest<'c>(x: V<'c>, n: Whole<'c>) -> V<'c> {
    let [high, low] = x.by_type(table::LN2_F32, table::LN2_F64);
    n.float.fma(-low, n.float.fma(-high, x))
}

pub(super) fn exp(x: V<'_>) -> V<'_> {
    // Outside of these results are 0 and infinity, which the scaling gives.
    let x = clamp(x, x.by_type(-104.0, -746.0), x.by_type(89.0, 710.0));
    let n = nearest_whole(x, x.by_type(table::LOG2E_F32, table::LOG2E_F64)[0]);
    let r = rest(x, n);
    scale(tail(r) + r + 1.0, n)
}
