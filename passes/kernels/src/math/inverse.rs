//! Inverse trigonometric functions.

use super::code::V;
use super::coefficients as table;

/// asin t - t for t² = z at most 1/4.
fn asin_tail<'c>(t: V<'c>, z: V<'c>) -> V<'c> {
    t * z * if t.is_f32() { z.polynomial(&table::ASIN_F32) } else { z.polynomial(&table::ASIN_F64) }
}

/// asin t = t + tail for the t that [`asin`] and [`acos`] use: |x| itself up to 1/2, above it sqrt((1 - |x|) / 2), where the tail also
/// makes good what rounding that root lost. asin |x| = pi / 2 - 2 asin t then.
fn core<'c>(a: V<'c>, large: V<'c>) -> (V<'c>, V<'c>) {
    let above = (-a + 1.0) * 0.5;
    let z = large.select(above, a * a);
    let root = above.sqrt();
    let t = large.select(root, a);
    let tiny = a.by_type(f64::from(f32::MIN_POSITIVE), f64::MIN_POSITIVE);
    let lost = (-root).fma(root, above) / root.fma(2.0, tiny);
    (t, asin_tail(t, z) + large.select(lost, 0.0))
}

/// `base[0] + base[1] + t + tail`, where the first is 0 or larger than `t`.
fn sum<'c>(base: [V<'c>; 2], t: V<'c>, tail: V<'c>) -> V<'c> {
    let sum = base[0] + t;
    sum + (base[0] - sum + t + base[1] + tail)
}

pub(super) fn asin(x: V<'_>) -> V<'_> {
    let a = x.abs();
    let large = a.gt(0.5);
    let (t, tail) = core(a, large);
    let factor = large.select(x.constant(-2.0), 1.0);
    let base =
        x.by_type([table::HALF_PI_F32[0], table::HALF_PI_F32[1]], [table::HALF_PI_F64[0], table::HALF_PI_F64[1]]);
    let base = base.map(|part| large.select(x.constant(part), 0.0));
    sum(base, t * factor, tail * factor).with_sign_of(x)
}

pub(super) fn acos(x: V<'_>) -> V<'_> {
    let a = x.abs();
    let large = a.gt(0.5);
    let negative = x.lt(0.0);
    let (t, tail) = core(a, large);
    // Large: 2 asin t, or pi less that. Else pi / 2 less asin x.
    let flip = (negative & large) | (!negative & !large);
    let size = large.select(x.constant(2.0), 1.0);
    let factor = flip.select(-size, size);
    let half =
        x.by_type([table::HALF_PI_F32[0], table::HALF_PI_F32[1]], [table::HALF_PI_F64[0], table::HALF_PI_F64[1]]);
    let base = half.map(|part| {
        let upper = negative.select(x.constant(2.0 * part), 0.0);
        large.select(upper, part)
    });
    sum(base, t * factor, tail * factor)
}

/// atan t - t for 0 <= t <= 1.
fn atan_tail(t: V<'_>) -> V<'_> {
    let z = t * t;
    t * z * if t.is_f32() { z.polynomial(&table::ATAN_F32) } else { z.polynomial(&table::ATAN_F64) }
}

pub(super) fn atan(x: V<'_>) -> V<'_> {
    let a = x.abs();
    // pi / 2 - atan(1 / a)
    let large = a.gt(1.0);
    let t = large.select(x.constant(1.0) / a, a);
    let tail = atan_tail(t);
    let base =
        x.by_type([table::HALF_PI_F32[0], table::HALF_PI_F32[1]], [table::HALF_PI_F64[0], table::HALF_PI_F64[1]]);
    let base = base.map(|part| large.select(x.constant(part), 0.0));
    sum(base, large.select(-t, t), large.select(-tail, tail)).with_sign_of(x)
}

/// The angle of the point (`x`, `y`).
pub(super) fn atan2<'c>(y: V<'c>, x: V<'c>) -> V<'c> {
    let (ax, ay) = (x.abs(), y.abs());
    let steep = ay.gt(ax);
    let least = steep.select(ax, ay);
    let most = steep.select(ay, ax);
    // Of equal ones, infinite or zero too, the quotient is known.
    let equal = most.equals(0.0).select(most, 1.0);
    let t = least.equals(most).select(equal, least / most);
    let tail = atan_tail(t);
    // -0 is to the left too.
    let left = x.sign_bit().differs(0);
    let half =
        x.by_type([table::HALF_PI_F32[0], table::HALF_PI_F32[1]], [table::HALF_PI_F64[0], table::HALF_PI_F64[1]]);
    let base = half.map(|part| {
        let flat = left.select(x.constant(2.0 * part), 0.0);
        steep.select(x.constant(part), flat)
    });
    let flip = steep ^ left;
    sum(base, flip.select(-t, t), flip.select(-tail, tail)).with_sign_of(y)
}
