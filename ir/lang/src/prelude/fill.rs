//! Arrays out of nothing but extents.

use crate::{
    acc::Acc,
    array::{Array, Vector},
    elt::Elt,
    exp::{Exp, IntoExp},
    number::Real,
    ops::map::generate,
    shape::{AsIndex, to_position},
};

/// The same element everywhere. Shape: `extents`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| fill((2, 2), 7i64)).to_vec(), [7, 7, 7, 7]);
/// ```
#[track_caller]
pub fn fill<I: AsIndex, T: Elt>(extents: I, value: impl IntoExp<T>) -> Acc<Array<I::Shape, T>> {
    let value = value.into_exp();
    generate(extents, |_| value)
}

/// An array of one element.
#[track_caller]
pub fn singleton<T: Elt>(value: impl IntoExp<T>) -> Acc<Vector<T>> {
    fill(1, value)
}

/// An array without elements.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert!(example::run(|| empty::<i64>()).is_empty());
/// ```
#[track_caller]
pub fn empty<T: Elt>() -> Acc<Vector<T>> {
    fill(0, Exp::<T>::zero())
}

/// `start`, `start + 1`, … in row-major order. Shape: `extents`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| enum_from_n(3, 5i64)).to_vec(), [5, 6, 7]);
/// ```
#[track_caller]
pub fn enum_from_n<I: AsIndex, T: Real>(extents: I, start: impl IntoExp<T>) -> Acc<Array<I::Shape, T>> {
    enum_from_step_n(extents, start, crate::constant(T::number(1)))
}

/// `start`, `start + step`, … in row-major order, each by a product, so that floats do not gather errors. Shape: `extents`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| enum_from_step_n(3, 1.0f32, 0.5)).to_vec(), [1.0, 1.5, 2.0]);
/// ```
#[track_caller]
pub fn enum_from_step_n<I: AsIndex, T: Real>(
    extents: I,
    start: impl IntoExp<T>,
    step: impl IntoExp<T>,
) -> Acc<Array<I::Shape, T>> {
    let (start, step) = (start.into_exp(), step.into_exp());
    generate(extents, |index| start + to_position(extents, index).cast::<T>() * step)
}

/// The numbers `0`, …, `n - 1` as `i64`.
#[track_caller]
pub fn iota<I: AsIndex>(n: I) -> Acc<Array<I::Shape, i64>> {
    generate(n, |index| to_position(n, index))
}
