//! `%` of floats: exact, with the sign of the dividend.

use super::code::V;
use super::exponential::fraction_bits;

/// `x - n y`, n the quotient rounded to zero.
///
/// The dividend shrinks by whole multiples of y · 2^k, each step by as many bits as a quotient holds exactly; with quotients below
/// 2^20 (`f64`: 2^50), nearly always one step.
pub(super) fn rem<'c>(x: V<'c>, y: V<'c>) -> V<'c> {
    let width = fraction_bits(x);
    let (dividend, divisor) = (x.abs(), y.abs());
    let infinity = f64::INFINITY;
    // Everything else loops never.
    let plain = dividend.lt(infinity) & divisor.gt(0.0) & dividend.ge(divisor);
    let start = plain.select(dividend, 0.0);
    // The divisor's fraction with the exponent of a normal number.
    let tiny = x.by_type(f64::from(f32::MIN_POSITIVE), f64::MIN_POSITIVE);
    let normal = divisor.lt(tiny).select(divisor * 2f64.powi(width), divisor);
    let fraction = normal.bits() & ((1u64 << width) - 1);
    let step_bits = x.by_type(20, 50);
    let rest = start.iterate(
        |rest| rest.ge(divisor) & plain,
        |rest| {
            // divisor · 2^k so that the quotient has step_bits bits; by hand where that is subnormal; at least the divisor.
            let exponent = rest.bits() >> width;
            let scaled = (((exponent - step_bits) << width) | fraction).to_float();
            let far = exponent.gt(step_bits);
            let lifted = divisor * 2f64.powi(step_bits);
            let near = lifted.le(rest).select(lifted, divisor);
            let unit = (far & scaled.gt(divisor)).select(scaled, near);
            // The quotient, or one more; the remainder of either is exact.
            let quotient = (rest / unit).trunc();
            let next = (-quotient).fma(unit, rest);
            next.lt(0.0).select(next + unit, next)
        },
    );
    let signed = rest.with_sign_of(x);
    let small = dividend.lt(divisor);
    let valid = dividend.lt(infinity) & divisor.gt(0.0);
    // NaN of either operand fails every comparison.
    small.select(x, valid.select(signed, f64::NAN))
}
