//! Hyperbolic functions and their inverses.

use super::code::V;
use super::coefficients as table;
use super::exponential::{exp_in_range, half_exp, half_exp_in_two};
use super::logarithm::log1p_of_sum;

pub(super) fn sinh(x: V<'_>) -> V<'_> {
    let a = x.abs();
    let z = a * a;
    let odd = if x.is_f32() { z.polynomial(&table::SINH_F32) } else { z.polynomial(&table::SINH_F64) };
    let near = (a * z).fma(odd, a);
    let (half, half_rest) = half_exp_in_two(a);
    let far = half - (half.constant(0.25) / half - half_rest);
    a.lt(1.0).select(near, far).with_sign_of(x)
}

pub(super) fn cosh(x: V<'_>) -> V<'_> {
    let half = half_exp(x.abs());
    half + half.constant(0.25) / half
}

pub(super) fn tanh(x: V<'_>) -> V<'_> {
    let a = x.abs();
    let z = a * a;
    let odd = if x.is_f32() { z.polynomial(&table::TANH_F32) } else { z.polynomial(&table::TANH_F64) };
    let near = (a * z).fma(odd, a);
    // 1 - 2 / (e^2a + 1), which is 1 from here on.
    let most = x.by_type(10.0, 20.0);
    let double = a.gt(most).select(x.constant(most), a) * 2.0;
    let far = x.constant(1.0) - x.constant(2.0) / (exp_in_range(double) + 1.0);
    a.lt(0.625).select(near, far).with_sign_of(x)
}

pub(super) fn asinh(x: V<'_>) -> V<'_> {
    let a = x.abs();
    // From here on asinh a = log 2a, and a² might overflow.
    let large = a.gt(x.by_type(2f64.powi(14), 2f64.powi(29)));
    // a + sqrt(1 + a²) = 1 + a + a² / (1 + sqrt(1 + a²))
    let square = a * a;
    let part = square / ((square + 1.0).sqrt() + 1.0);
    let y = a + part;
    // The larger of both is a below 1 and a little above it, where the error matters.
    let rest = a - y + part;
    let y = large.select(a - 1.0, y);
    let rest = large.select(x.constant(0.0), rest);
    let twos = large.select(x.constant(1.0), 0.0);
    log1p_of_sum(y, Some(rest), Some(twos)).with_sign_of(x)
}

pub(super) fn acosh(x: V<'_>) -> V<'_> {
    let large = x.gt(x.by_type(2f64.powi(14), 2f64.powi(29)));
    // x + sqrt(x² - 1) = 1 + t + sqrt(2 t + t²)
    let t = x - 1.0;
    let (double, square) = (t * 2.0, t * t);
    let v = double + square;
    let share = v - double;
    let v_error = square - share + (double - (v - share)) + t.fma(t, -square);
    let root = v.sqrt();
    let tiny = x.by_type(f64::from(f32::MIN_POSITIVE), f64::MIN_POSITIVE);
    let root_rest = ((-root).fma(root, v) + v_error) / root.fma(2.0, tiny);
    let y = t + root;
    let share = y - t;
    let rest = root - share + (t - (y - share)) + root_rest;
    let y = large.select(t, y);
    let rest = large.select(x.constant(0.0), rest);
    let twos = large.select(x.constant(1.0), 0.0);
    let result = log1p_of_sum(y, Some(rest), Some(twos));
    x.lt(1.0).select(x.constant(f64::NAN), result)
}

pub(super) fn atanh(x: V<'_>) -> V<'_> {
    let a = x.abs();
    // (1 + a) / (1 - a) = 1 + 2a / (1 - a)
    let below = -a + 1.0;
    let below_rest = -below + 1.0 - a;
    let double = a * 2.0;
    let y = double / below;
    let rest = ((-y).fma(below, double) - y * below_rest) / below;
    (log1p_of_sum(y, Some(rest), None) * 0.5).with_sign_of(x)
}
