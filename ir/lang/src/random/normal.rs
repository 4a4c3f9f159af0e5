//! Box and Muller's normal numbers, of operations that every backend rounds correctly: `+`, `-`, `*`, `/`, `sqrt`.
//!
//! The logarithm and the cosine of the prelude may differ by a bit between backends, so they are not used: both are polynomials here, of
//! arguments that integers reduce exactly.

use super::joined;
use crate::{
    control::cond,
    exp::{Exp, constant},
    number::Float,
};

/// A number of the normal distribution, of four words.
pub(super) fn normal<T: Float>((w0, w1, w2, w3): (Exp<u32>, Exp<u32>, Exp<u32>, Exp<u32>)) -> Exp<T> {
    if T::DIGITS < <f32 as Float>::DIGITS {
        return normal::<f32>((w0, w1, w2, w3)).cast();
    }
    let (log, turn) = if T::DIGITS <= <f32 as Float>::DIGITS {
        // From 1 to 2³².
        (log_of_part::<T>(w0.cast::<u64>() + 1, 32), cosine_of_turn::<T>(joined(constant(0u32), w2)))
    } else {
        // From 1 to 2⁵³.
        (log_of_part::<T>((joined(w0, w1) >> 11) + 1, 53), cosine_of_turn::<T>(joined(w2, w3)))
    };
    (log * constant(T::float(-2.0))).sqrt() * turn
}

/// `c[0] + c[1] x + c[2] x² + …`
fn polynomial<T: Float>(x: Exp<T>, coefficients: &[f64]) -> Exp<T> {
    let mut all = coefficients.iter().rev().map(|&c| constant(T::float(c)));
    let last = all.next().unwrap_or_else(|| constant(T::float(0.0)));
    all.fold(last, |sum, c| sum * x + c)
}

/// How many terms of a series are as good as the type: of `f64`, or of less.
fn terms<T: Float>(of_f64: usize, of_f32: usize) -> usize {
    if T::DIGITS > <f32 as Float>::DIGITS { of_f64 } else { of_f32 }
}

/// The natural logarithm of `k / 2^bits`, for k from 1 to `2^bits`.
fn log_of_part<T: Float>(k: Exp<u64>, bits: i64) -> Exp<T> {
    let zeros = k.clz();
    // k is m · 2^e, 1 ≤ m < 2, with as many digits of m as the type has.
    let digits = (k << zeros) >> u64::from(u64::BITS - T::DIGITS);
    let m = digits.bits::<i64>().cast::<T>() * constant(T::float(2f64.powi(1 - T::DIGITS as i32)));
    let e = constant(63i64 - bits) - zeros.bits::<i64>();
    // Between √½ and √2 the series is short, and near 1 nothing cancels.
    let large = m.gt(constant(T::float(std::f64::consts::SQRT_2)));
    let m = cond(large, m * constant(T::float(0.5)), m);
    let e = cond(large, e + 1, e).cast::<T>();
    let s = (m - constant(T::float(1.0))) / (m + constant(T::float(1.0)));
    // 2 artanh(s): at most 0.172 in size, so each term is a thirtieth of the one before.
    let series: Vec<f64> = (0..terms::<T>(11, 5)).map(|i| 2.0 / (2 * i + 1) as f64).collect();
    s * polynomial(s * s, &series) + e * constant(T::float(std::f64::consts::LN_2))
}

/// The cosine of a part of a turn: `2π · word / 2⁶⁴`.
fn cosine_of_turn<T: Float>(word: Exp<u64>) -> Exp<T> {
    // Quarters of a turn around 0, ¼, ½, ¾; the rest is at most an eighth in size.
    let eighth = 1u64 << 61;
    let shifted = word + eighth;
    let quarter = shifted >> 62;
    let rest = (shifted & ((1u64 << 62) - 1)).bits::<i64>() - eighth as i64;
    let x = rest.cast::<T>() * constant(T::float(2f64.powi(-63) * std::f64::consts::PI));
    let alternating = |first: usize| -> Vec<f64> {
        let factorial = |n: usize| (1..=n).map(|i| i as f64).product::<f64>();
        let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..terms::<T>(10, 6)).map(|i| sign(i) / factorial(2 * i + first)).collect()
    };
    let square = x * x;
    let sine = x * polynomial(square, &alternating(1));
    let cosine = polynomial(square, &alternating(0));
    let size = cond(quarter.is_odd(), sine, cosine);
    // cos(x + ¼ turn) is -sin x, cos(x + ½ turn) is -cos x, cos(x + ¾ turn) is sin x.
    cond((quarter + 1).test_bit(1), -size, size)
}
