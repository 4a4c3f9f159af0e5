//! Statistics of rows, and what selects, counts and multiplies.

use crate::{
    acc::Acc,
    arena::here,
    array::{Array, Matrix, Scalar, Vector},
    control::cond,
    elt::{Elt, ScalarElt},
    exp::{Exp, IntoExp, constant},
    number::{Float, Num, Real},
    ops::{
        expand::{filter, filter_vector, sort},
        fold::{fold, fold1},
        map::{imap, map, zip, zip_with, zip_with3},
        permute::permute_at,
        shape::replicate,
    },
    prelude::{fill, transpose},
    shape::{Dimensions, Ix1, Shape},
    slice::All,
};
use fusebox_ir::PermuteOrder;

macro_rules! row_statistics {
    ($($(#[$doc:meta])* $name:ident $class:ident |$xs:ident| $result:expr;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: $class>($xs: Acc<Array<Sh, T>>) -> Acc<Array<Sh::Down, T>> {
            $result
        }
    )*};
}
row_statistics! {
    /// The sum of each row; 0 of an empty one. Shape: `[..sh, n]` to `[..sh]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let m = Matrix::new((2, 2), &[1, 2, 3, 4i64]).unwrap();
    /// assert_eq!(example::run1(|m: Acc<Matrix<i64>>| sum(m), &m).to_vec(), [3, 7]);
    /// ```
    sum Num |xs| fold(|a, b| a + b, constant(T::number(0)), xs);
    /// The product of each row; 1 of an empty one. Shape: `[..sh, n]` to `[..sh]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[2i64, 3, 4]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| product(xs), &xs).value(), Some(24));
    /// ```
    product Num |xs| fold(|a, b| a * b, constant(T::number(1)), xs);
    /// The least of each row, NaN where there is one; an empty row is an error at run time. Shape: `[..sh, n]` to `[..sh]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[2i64, -3, 4]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| minimum(xs), &xs).value(), Some(-3));
    /// ```
    minimum ScalarElt |xs| fold1(|a, b| a.min(b), xs);
    /// The greatest of each row, NaN where there is one; an empty row is an error at run time. Shape: `[..sh, n]` to `[..sh]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[2i64, -3, 4]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| maximum(xs), &xs).value(), Some(4));
    /// ```
    maximum ScalarElt |xs| fold1(|a, b| a.max(b), xs);
}

/// The mean of each row, the sum divided by the extent; NaN of an empty one. Shape: `[..sh, n]` to `[..sh]`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((2, 2), &[1.0, 2.0, 3.0, 5.0f64]).unwrap();
/// assert_eq!(example::run1(|m: Acc<Matrix<f64>>| mean(m), &m).to_vec(), [1.5, 4.0]);
/// ```
#[track_caller]
pub fn mean<Sh: Dimensions, T: Float>(xs: Acc<Array<Sh, T>>) -> Acc<Array<Sh::Down, T>> {
    xs.mean_axis(Sh::RANK - 1)
}

/// Whether all of each row hold; of an empty one `true`. Shape: `[..sh, n]` to `[..sh]`.
#[track_caller]
pub fn and<Sh: Dimensions>(xs: Acc<Array<Sh, bool>>) -> Acc<Array<Sh::Down, bool>> {
    fold(|a, b| a & b, true, xs)
}

/// Whether one of each row holds; of an empty one `false`. Shape: `[..sh, n]` to `[..sh]`.
#[track_caller]
pub fn or<Sh: Dimensions>(xs: Acc<Array<Sh, bool>>) -> Acc<Array<Sh::Down, bool>> {
    fold(|a, b| a | b, false, xs)
}

/// Whether `f` holds of all of each row; of an empty one `true`. Shape: `[..sh, n]` to `[..sh]`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[2i64, -3, 4]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| (all(|x| x.gt(0), xs), any(|x| x.gt(0), xs)), &xs);
/// assert_eq!((r.0.value(), r.1.value()), (Some(false), Some(true)));
/// ```
#[track_caller]
pub fn all<Sh: Dimensions, T: Elt, R: IntoExp<bool>>(
    f: impl FnOnce(Exp<T>) -> R,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Array<Sh::Down, bool>> {
    and(map(f, xs))
}

/// Whether `f` holds of one of each row; of an empty one `false`. Shape: `[..sh, n]` to `[..sh]`.
#[track_caller]
pub fn any<Sh: Dimensions, T: Elt, R: IntoExp<bool>>(
    f: impl FnOnce(Exp<T>) -> R,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Array<Sh::Down, bool>> {
    or(map(f, xs))
}

/// Of two elements with positions, the one before: `before(y, x)` says whether the right one is; NaN is before all.
#[track_caller]
fn earlier<T: Real>(
    before: impl FnOnce(Exp<T>, Exp<T>) -> Exp<bool>,
    x: Exp<(T, i64)>,
    y: Exp<(T, i64)>,
) -> Exp<(T, i64)> {
    let mut right = before(y.fst(), x.fst());
    if T::TYPE.is_float() {
        let (left_nan, right_nan) = (x.fst().ne_(x.fst()), y.fst().ne_(y.fst()));
        right = !left_nan & (right | right_nan);
    }
    cond(right, y, x)
}

macro_rules! positions {
    ($($(#[$doc:meta])* $name:ident $before:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Real>(xs: Acc<Array<Sh, T>>) -> Acc<Array<Sh::Down, i64>> {
            let at = here();
            let positioned = imap(
                |index, x| {
                    let parts = crate::shape::AsIndex::parts(index);
                    let innermost = parts.last().copied().unwrap_or_else(|| constant(0i64));
                    (x, innermost)
                },
                xs,
            );
            let best = fold1(|x: Exp<(T, i64)>, y| earlier(|a, b| a.$before(b), x, y), positioned).parts(at);
            Acc::new(&best.extents, &best.arrays[1..])
        }
    )*};
}
positions! {
    /// The index of the first least of each row, of the first NaN where there is one; an empty row is an error at run time.
    ///
    /// Shape: `[..sh, n]` to `[..sh]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[2.0f32, -3.0, -3.0]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<f32>>| argmin(xs), &xs).value(), Some(1));
    /// ```
    argmin lt;
    /// The index of the first greatest of each row, of the first NaN where there is one; an empty row is an error at run time.
    ///
    /// Shape: `[..sh, n]` to `[..sh]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[2i64, 5, 5]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| argmax(xs), &xs).value(), Some(1));
    /// ```
    argmax gt;
}

/// The elements of a vector at these indices. Shape: that of the indices; one outside of the vector is an error at run time.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let (xs, at) = (Vector::from_slice(&[5i64, 6, 7]).unwrap(), Vector::from_slice(&[2i64, 0]).unwrap());
/// let r = example::run2(|xs: Acc<Vector<i64>>, at: Acc<Vector<i64>>| gather(at, xs), &xs, &at);
/// assert_eq!(r.to_vec(), [7, 5]);
/// ```
#[track_caller]
pub fn gather<Sh: Shape, T: Elt>(indices: Acc<Array<Sh, i64>>, xs: Acc<Vector<T>>) -> Acc<Array<Sh, T>> {
    map(|i| xs.at(i), indices)
}

/// As [`gather`] where `mask` holds, elsewhere the defaults. Shape: per dimension the smallest of theirs.
#[track_caller]
pub fn gather_if<Sh: Shape, T: Elt>(
    indices: Acc<Array<Sh, i64>>,
    mask: Acc<Array<Sh, bool>>,
    defaults: Acc<Array<Sh, T>>,
    xs: Acc<Vector<T>>,
) -> Acc<Array<Sh, T>> {
    zip_with3(|i, keep, default| cond(keep, xs.at(i), default), indices, mask, defaults)
}

/// The defaults, overwritten at these indices; of several elements of one target the last stays. Shape: that of the defaults.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let (xs, to) = (Vector::from_slice(&[5i64, 6, 7]).unwrap(), Vector::from_slice(&[2i64, 0, 2]).unwrap());
/// let r = example::run2(|xs: Acc<Vector<i64>>, to: Acc<Vector<i64>>| scatter(to, fill(4, 0), xs), &xs, &to);
/// assert_eq!(r.to_vec(), [6, 0, 7, 0]);
/// ```
#[track_caller]
pub fn scatter<Sh: Shape, To: Shape, T: Elt>(
    to: Acc<Array<Sh, To::Element>>,
    defaults: Acc<Array<To, T>>,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Array<To, T>> {
    permute_at(PermuteOrder::Source, |new, _| new, defaults, to, None, xs)
}

/// As [`scatter`], of the elements for which `keep` holds.
#[track_caller]
pub fn scatter_if<Sh: Shape, To: Shape, T: Elt>(
    to: Acc<Array<Sh, To::Element>>,
    keep: Acc<Array<Sh, bool>>,
    defaults: Acc<Array<To, T>>,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Array<To, T>> {
    permute_at(PermuteOrder::Source, |new, _| new, defaults, to, Some(keep), xs)
}

/// The elements at whose places `keep` holds, in order, and how many there are in each row.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[5i64, 6, 7]).unwrap();
/// let (kept, count) = example::run1(|xs: Acc<Vector<i64>>| compact(map(|x| x.is_odd(), xs), xs), &xs);
/// assert_eq!((kept.to_vec(), count.value()), (vec![5, 7], Some(2)));
/// ```
#[track_caller]
pub fn compact<Sh: Dimensions, T: Elt>(
    keep: Acc<Array<Sh, bool>>,
    xs: Acc<Array<Sh, T>>,
) -> (Acc<Vector<T>>, Acc<Array<Sh::Down, i64>>) {
    let (kept, counts) = filter(|pair: Exp<(bool, T)>| pair.fst(), zip(keep, xs));
    (crate::ops::map::unzip(kept).1, counts)
}

/// The elements of which `f` holds, and the others, each in order.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[5i64, 6, 7]).unwrap();
/// let (odd, even) = example::run1(|xs: Acc<Vector<i64>>| partition(|x| x.is_odd(), xs), &xs);
/// assert_eq!((odd.to_vec(), even.to_vec()), (vec![5, 7], vec![6]));
/// ```
#[track_caller]
pub fn partition<T: Elt, R: IntoExp<bool>>(
    f: impl Fn(Exp<T>) -> R,
    xs: Acc<Vector<T>>,
) -> (Acc<Vector<T>>, Acc<Vector<T>>) {
    (filter_vector(&f, xs), filter_vector(|x| !f(x).into_exp(), xs))
}

/// The values that are there, in order, and how many there are in each row.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::new(3, &[Some(1i64), None, Some(3)]).unwrap();
/// let (values, count) = example::run1(|xs: Acc<Vector<Option<i64>>>| justs(xs), &xs);
/// assert_eq!((values.to_vec(), count.value()), (vec![1, 3], Some(2)));
/// ```
#[track_caller]
pub fn justs<Sh: Dimensions, T: Elt>(xs: Acc<Array<Sh, Option<T>>>) -> (Acc<Vector<T>>, Acc<Array<Sh::Down, i64>>) {
    let at = here();
    let (kept, counts) = filter(|x: Exp<Option<T>>| x.is_some(), xs);
    let parts = kept.parts(at);
    (Acc::new(&parts.extents, &parts.arrays[1..]), counts)
}

/// How often each of 0 to `bins - 1` occurs; another number is an error at run time. Shape: `[bins]`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[2i64, 0, 2]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| histogram(3, xs), &xs).to_vec(), [1, 0, 2]);
/// ```
#[track_caller]
pub fn histogram<Sh: Shape>(bins: impl IntoExp<i64>, xs: Acc<Array<Sh, i64>>) -> Acc<Vector<i64>> {
    let defaults: Acc<Vector<i64>> = fill(bins.into_exp(), 0);
    let ones = map(|_| constant(1i64), xs);
    permute_at::<Sh, Ix1, i64, _>(PermuteOrder::Source, |new, old| new + old, defaults, xs, None, ones)
}

/// Elements that differ from the one before, in order.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[3i64, 3, 1, 3]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| (dedup(xs), unique(xs)), &xs);
/// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![3, 1, 3], vec![1, 3]));
/// ```
#[track_caller]
pub fn dedup<T: Elt>(xs: Acc<Vector<T>>) -> Acc<Vector<T>> {
    let first = imap(|i, x| i.eq_(0).or(x.ne_(xs.at(i - 1))), xs);
    compact(first, xs).0
}

/// The elements that there are, each once, in ascending order as by [`sort`].
#[track_caller]
pub fn unique<T: Elt>(xs: Acc<Vector<T>>) -> Acc<Vector<T>> {
    dedup(sort(xs))
}

/// The sum of products. Elements beyond the shorter vector are left out.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| dot(xs, xs), &xs).value(), Some(14));
/// ```
#[track_caller]
pub fn dot<T: Num>(xs: Acc<Vector<T>>, ys: Acc<Vector<T>>) -> Acc<Scalar<T>> {
    sum(zip_with(|x, y| x * y, xs, ys))
}

/// The product of two matrices. Shapes: `[n, k]` and `[k, m]` to `[n, m]`; of the two k the smaller.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let a = Matrix::new((2, 2), &[1, 2, 3, 4i64]).unwrap();
/// assert_eq!(example::run1(|a: Acc<Matrix<i64>>| matmul(a, a), &a).to_vec(), [7, 10, 15, 22]);
/// ```
#[track_caller]
pub fn matmul<T: Num>(a: Acc<Matrix<T>>, b: Acc<Matrix<T>>) -> Acc<Matrix<T>> {
    let (n, m) = (a.shape().0, b.shape().1);
    let rows = replicate((All, m, All), a);
    let columns = replicate((n, All, All), transpose(b));
    sum(zip_with(|x, y| x * y, rows, columns))
}
