//! `sin`, `cos`, `tan` of radians.

use super::code::V;
use super::coefficients as table;
use super::reduction::{Angle, angle};

/// sin r for |r| up to pi / 4.
fn sin_near<'c>(r: V<'c>, z: V<'c>) -> V<'c> {
    let s = if r.is_f32() { z.polynomial(&table::SIN_F32) } else { z.polynomial(&table::SIN_F64) };
    (r * z).fma(s, r)
}

/// cos r for z = r², |r| up to pi / 4.
fn cos_near(z: V<'_>) -> V<'_> {
    if z.is_f32() {
        z.polynomial(&table::COS_F32).fma(z, -0.5).fma(z, 1.0)
    } else {
        let half = z * 0.5;
        let sum = -half + 1.0;
        sum + (z.polynomial(&table::COS_F64) * (z * z) + (-sum + 1.0 - half))
    }
}

/// Sine or cosine by the parity of `quarters`, negated in the second half of the turn.
fn by_quarter<'c>(quarters: V<'c>, r: V<'c>) -> V<'c> {
    let z = r * r;
    let value = (quarters & 1).differs(0).select(cos_near(z), sin_near(r, z));
    let sign = (quarters & 2) << r.by_type(30, 62);
    (value.bits() ^ sign).to_float()
}

pub(super) fn sin(x: V<'_>) -> V<'_> {
    let Angle { quarters, rest, .. } = angle(x, false);
    // Of -0 the polynomial makes 0.
    x.equals(0.0).select(x, by_quarter(quarters, rest))
}

pub(super) fn cos(x: V<'_>) -> V<'_> {
    let Angle { quarters, rest, .. } = angle(x, false);
    by_quarter(quarters + 1, rest)
}

pub(super) fn tan(x: V<'_>) -> V<'_> {
    let Angle { quarters, rest, low } = angle(x, true);
    let z = rest * rest;
    let t = if x.is_f32() { z.polynomial(&table::TAN_F32) } else { z.polynomial(&table::TAN_F64) };
    let small = rest * z * t;
    // The derivative is 1 + tan².
    let tangent = rest + small;
    let small = low.map_or(small, |low| tangent.fma(tangent, 1.0).fma(low, small));
    let tangent = rest + small;
    // In odd quarters -1 / tan, with what rounding took from both quotient and tangent.
    let tangent_rest = rest - tangent + small;
    let inverse = x.constant(-1.0) / tangent;
    let inverse = inverse.fma(inverse.fma(tangent_rest, inverse.fma(tangent, 1.0)), inverse);
    let result = (quarters & 1).differs(0).select(inverse, tangent);
    x.equals(0.0).select(x, result)
}
