//! Arrays out of nothing but extents.

use crate::{
    acc::Acc,
    array::{Array, Matrix, Vector},
    control::cond,
    elt::Elt,
    exp::{Exp, IntoExp, constant},
    number::{Float, Num, Real},
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

/// The same element everywhere: [`fill`] by the name that it has elsewhere.
#[track_caller]
pub fn full<I: AsIndex, T: Elt>(extents: I, value: impl IntoExp<T>) -> Acc<Array<I::Shape, T>> {
    fill(extents, value)
}

/// 0 everywhere. Shape: `extents`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let r = example::run(|| (zeros::<f32, _>(2), ones::<i64, _>((1, 2))));
/// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![0.0, 0.0], vec![1, 1]));
/// ```
#[track_caller]
pub fn zeros<T: Num, I: AsIndex>(extents: I) -> Acc<Array<I::Shape, T>> {
    fill(extents, constant(T::number(0)))
}

/// 1 everywhere. Shape: `extents`.
#[track_caller]
pub fn ones<T: Num, I: AsIndex>(extents: I) -> Acc<Array<I::Shape, T>> {
    fill(extents, constant(T::number(1)))
}

/// 1 where row and column are the same, else 0. Shape: `[n, n]`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| eye::<f64>(2)).to_vec(), [1.0, 0.0, 0.0, 1.0]);
/// ```
#[track_caller]
pub fn eye<T: Num>(n: impl IntoExp<i64>) -> Acc<Matrix<T>> {
    let n = n.into_exp();
    let (zero, one) = (constant(T::number(0)), constant(T::number(1)));
    generate((n, n), |(i, j)| cond(i.eq_(j), one, zero))
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
    enum_from_step_n(extents, start, constant(T::number(1)))
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

/// `n` numbers at equal distances from `start` to `end`, both of which are among them; of one number `start`. Shape: `[n]`.
///
/// Each is made by a product, so that floats do not gather errors.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| linspace(0.0f64, 1.0, 5)).to_vec(), [0.0, 0.25, 0.5, 0.75, 1.0]);
/// ```
#[track_caller]
pub fn linspace<T: Float>(start: impl IntoExp<T>, end: impl IntoExp<T>, n: impl IntoExp<i64>) -> Acc<Vector<T>> {
    let (start, end, n) = (start.into_exp(), end.into_exp(), n.into_exp());
    let step = (end - start) / (n - 1).max(1).cast::<T>();
    generate(n, |i| cond(i.gt(0).and(i.eq_(n - 1)), end, start + i.cast::<T>() * step))
}

/// `start`, `start + step`, … as long as they are before `end`. Shape: `[max(ceil((end - start) / step), 0)]`.
///
/// The count is computed as `f64`; a step of 0 goes nowhere and makes no elements. Each number is made by a product.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let r = example::run(|| (arange(2i64, 9, 3), arange(1.0f32, 0.0, -0.25)));
/// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![2, 5, 8], vec![1.0, 0.75, 0.5, 0.25]));
/// ```
#[track_caller]
pub fn arange<T: Real>(start: impl IntoExp<T>, end: impl IntoExp<T>, step: impl IntoExp<T>) -> Acc<Vector<T>> {
    let (start, end, step) = (start.into_exp(), end.into_exp(), step.into_exp());
    let steps = ((end.cast::<f64>() - start.cast::<f64>()) / step.cast::<f64>()).ceil();
    let count = cond(step.eq_(constant(T::number(0))), 0, steps.cast::<i64>().max(0));
    enum_from_step_n(count, start, step)
}

/// The numbers `0`, …, `n - 1` as `i64`, in row-major order.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| iota((2, 3))).to_vec(), [0, 1, 2, 3, 4, 5]);
/// ```
#[track_caller]
pub fn iota<I: AsIndex>(n: I) -> Acc<Array<I::Shape, i64>> {
    generate(n, |index| to_position(n, index))
}
