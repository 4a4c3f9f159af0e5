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
    let quotient = g / below;
    let quotient_rest = ((-quotient).fma(below, g) + (g_rest - quotient * below_rest)) / below;
    let ([power, power_rest], n) = exp_of_negative_square(a);
    let product = power.fma(quotient_rest, power_rest * quotient);
    (power.fma(quotient, product), n)
}

pub(super) fn erfc(x: V<'_>) -> V<'_> {
    let (scaled, n) = erfc_scaled(x.abs());
    let result = scale(scaled, n);
    x.lt(0.0).select(-result + 2.0, result)
}

pub(super) fn erf(x: V<'_>) -> V<'_> {
    let a = x.abs();
    let z = a * a;
    let e = if x.is_f32() { z.polynomial(&table::ERF_F32) } else { z.polynomial(&table::ERF_F64) };
    let slope = x.by_type(table::ERF_SLOPE_F32, table::ERF_SLOPE_F64);
    let near = a.fma(slope[0], a * e.fma(z, slope[1]));
    // From 6 on it is 1.
    let (scaled, n) = erfc_scaled(a.gt(6.0).select(a.constant(6.0), a));
    let far = -scale(scaled, n) + 1.0;
    a.lt(1.0).select(near, far).with_sign_of(x)
}
