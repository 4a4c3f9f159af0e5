//! `erf` and `erfc`.

use super::code::V;
use super::coefficients as table;
use super::exponential::{Whole, exp_of_negative_square, scale};

/// erfc a / 2^n for a from 0 on, and n; rounded once or little more.
///
/// erfc a = e^(-a²) G(t) / (1 + 2a), t = (a - 7/2) / (a + 7/2): G lies between 1 and 1.3 and is a polynomial in t. All factors are
/// sums of two floats.
fn erfc_scaled(a: V<'_>) -> (V<'_>, Whole<'_>) {
    let one = a.constant(1.0);
    let most = a.by_type(10.5, 28.0);
    let a = a.gt(most).select(a.constant(most), a);
    let t = (a - 3.5) / (a + 3.5);
    let small = t * if a.is_f32() { t.polynomial(&table::ERFC_F32) } else { t.polynomial(&table::ERFC_F64) };
    let center = a.by_type(table::ERFC_CENTER_F32, table::ERFC_CENTER_F64);
    let g = small + center[0];
    let g_rest = -g + center[0] + small + center[1];
    // G / (1 + 2a)
    let double = a * 2.0;
    let below = double + 1.0;
    let share = below - double;
    let below_rest = double - (below - share) + (one - share);
    let inverse = one / below;
    let quotient = g * inverse;
    let quotient_rest = ((-quotient).fma(below, g) + (g_rest - quotient * below_rest)) * inverse;
    let ([power, power_rest], n) = exp_of_negative_square(a);
    let product = power.fma(quotient_rest, power_rest * quotient);
    (power.fma(quotient, product), n)
}

/// erf a as `a * slope + rest`, for a up to 1.
fn erf_near(a: V<'_>) -> ([f64; 2], V<'_>) {
    let z = a * a;
    let e = if a.is_f32() { z.polynomial(&table::ERF_F32) } else { z.polynomial(&table::ERF_F64) };
    let slope = a.by_type(table::ERF_SLOPE_F32, table::ERF_SLOPE_F64);
    (slope, a * e.fma(z, slope[1]))
}

pub(super) fn erfc(x: V<'_>) -> V<'_> {
    let a = x.abs();
    let (scaled, n) = erfc_scaled(a);
    let result = scale(scaled, n);
    let far = x.lt(0.0).select(-result + 2.0, result);
    // Around 0, G is steep; 1 - erf x is good there.
    let (slope, rest) = erf_near(x);
    let product = x * slope[0];
    let rest = x.fma(slope[0], -product) + rest;
    let near = -product + 1.0;
    let near = near + (-near + 1.0 - product - rest);
    a.lt(0.5).select(near, far)
}

pub(super) fn erf(x: V<'_>) -> V<'_> {
    let a = x.abs();
    let (slope, rest) = erf_near(a);
    let near = a.fma(slope[0], rest);
    // From 6 on it is 1.
    let (scaled, n) = erfc_scaled(a.gt(6.0).select(a.constant(6.0), a));
    let far = -scale(scaled, n) + 1.0;
    a.lt(1.0).select(near, far).with_sign_of(x)
}
