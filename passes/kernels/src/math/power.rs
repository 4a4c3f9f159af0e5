//! Powers, roots, `hypot`.

use super::code::V;
use super::coefficients as table;
use super::exponential::exp2_of_sum;
use super::logarithm::{Parts, parts};

/// log2 a as a sum of two floats with about half as many bits again as one, for a positive finite `a`.
fn log2_of<'c>(a: V<'c>) -> [V<'c>; 2] {
    let low = a.by_type(f64::from(std::f32::consts::FRAC_1_SQRT_2), std::f64::consts::FRAC_1_SQRT_2);
    let Parts { exponent, mantissa } = parts(a, low);
    // log m = 2 atanh s, s = (m - 1) / (m + 1), in two parts.
    let above = mantissa - 1.0;
    let below = mantissa + 1.0;
    let below_rest = mantissa - (below - 1.0);
    let inverse = below.constant(1.0) / below;
    let s = above * inverse;
    let s_rest = ((-s).fma(below, above) - s * below_rest) * inverse;
    let z = s * s;
    let z_rest = s.fma(s, -z) + s * s_rest * 2.0;
    // atanh s = s (1 + v), v = z (1/3 + z q(z)), in two parts.
    let q = if a.is_f32() { z.polynomial(&table::POW_F32) } else { z.polynomial(&table::POW_F64) };
    let third = a.by_type(table::THIRD_F32, table::THIRD_F64);
    let u = z * q;
    let c = u + third[0];
    let c_rest = -c + third[0] + u + third[1];
    let v = z * c;
    let v_rest = z.fma(c, -v) + z.fma(c_rest, z_rest * c);
    let part = s * v;
    let part_rest = s.fma(v, -part) + s.fma(v_rest, s_rest * v);
    let high = s + part;
    let low = s - high + part + (part_rest + s_rest);
    // In units of log 2.
    let unit = a.by_type(table::TWO_LOG2E_F32, table::TWO_LOG2E_F64);
    let product = high * unit[0];
    let product_rest = high.fma(unit[0], -product) + high.fma(unit[1], low * unit[0]);
    let sum = exponent + product;
    [sum, exponent - sum + product + product_rest]
}

/// `x` to the power `y`.
pub(super) fn pow<'c>(x: V<'c>, y: V<'c>) -> V<'c> {
    let a = x.abs();
    let infinity = f64::INFINITY;
    let [high, low] = log2_of(a);
    let high = a.lt(infinity).select(high, a);
    let high = a.equals(0.0).select(x.constant(-infinity), high);
    // No logarithm but 0 is so small that larger exponents would not overflow, too; and their products do not.
    let most = x.by_type(2f64.powi(34), 2f64.powi(66));
    let exponent = super::exponential::clamp(y, -most, most);
    let product = exponent * high;
    let rest = exponent.fma(high, -product) + exponent * low;
    let power = exp2_of_sum(product, Some(rest));
    // Negative x: odd whole y negate, others that are not whole are errors, but for infinite x.
    let whole = y.trunc().equals(y);
    let half = y * 0.5;
    let odd = whole & half.trunc().differs(half);
    let sign = odd.select(x.sign_bit(), x.bits().with_bits(0));
    let signed = (power.bits() | sign).to_float();
    let error = x.lt(0.0) & x.gt(-infinity) & !whole;
    let result = error.select(x.constant(f64::NAN), signed);
    (x.equals(1.0) | y.equals(0.0)).select(x.constant(1.0), result)
}

pub(super) fn cbrt(x: V<'_>) -> V<'_> {
    let a = x.abs();
    // Into a range where neither subnormal numbers occur nor cubes overflow; exponents that are multiples of 3.
    let small = a.lt(1.0);
    let lift = x.by_type(24, 54);
    let within = a * small.select(x.constant(2f64.powi(lift)), 2f64.powi(-6));
    // A third of the exponent and of the fraction, from the upper half of the bits: within 1/16. The number subtracted centres that.
    let half = x.by_type(16, 32);
    let third = ((within.bits() >> half) * x.by_type(0x5556u64, 0x5555_5556)) >> half;
    let mut root = ((third + x.by_type(0x2a55u64 - 4, 0x2aa0_0000 - 0x8000)) << half).to_float();
    // Halley's steps are cubic: 1/16 becomes 2^-13, 2^-38, 2^-110.
    for _ in 0..x.by_type(1, 2) {
        let cube = root * root * root;
        root = root * ((cube + within * 2.0) / (cube * 2.0 + within));
    }
    // The last step as a correction, with an exact remainder.
    let square = root * root;
    let square_rest = root.fma(root, -square);
    let remainder = (-square_rest).fma(root, (-square).fma(root, within));
    let root = root + root * (remainder / (square * root * 2.0 + within));
    let result = root * small.select(x.constant(2f64.powi(-lift / 3)), 4.0);
    let plain = a.lt(f64::INFINITY) & a.differs(0.0);
    plain.select(result.with_sign_of(x), x)
}

pub(super) fn hypot<'c>(x: V<'c>, y: V<'c>) -> V<'c> {
    let (ax, ay) = (x.abs(), y.abs());
    let swap = ay.gt(ax);
    let most = swap.select(ay, ax);
    let least = swap.select(ax, ay);
    // Squares neither overflow nor lose bits that count.
    let (small, large, step) = x.by_type((-40, 60, 90), (-300, 500, 700));
    let (is_small, is_large) = (most.lt(2f64.powi(small)), most.gt(2f64.powi(large)));
    let one = x.constant(1.0);
    let choose = |sign: i32| {
        let up = is_small.select(x.constant(2f64.powi(sign * step)), one);
        is_large.select(x.constant(2f64.powi(-sign * step)), up)
    };
    let (up, down) = (choose(1), choose(-1));
    let (most, least) = (most * up, least * up);
    let result = most.fma(most, least * least).sqrt() * down;
    let infinite = ax.equals(f64::INFINITY) | ay.equals(f64::INFINITY);
    infinite.select(x.constant(f64::INFINITY), result)
}
