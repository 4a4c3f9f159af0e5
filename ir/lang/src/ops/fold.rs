//! Folds along the innermost dimension.

use fusebox_ir::{ArrayOp, Binary, Lambda, term::TermId};

use crate::{
    acc::{Acc, types_of},
    arena::{self, At, here},
    array::{Array, Scalar, Vector},
    elt::Elt,
    exp::{Exp, IntoExp, function2},
    number::Integer,
    shape::{Dimensions, Ix1, Shape},
};

pub(crate) struct Fold<'a, T: Elt> {
    pub(crate) seed: Option<Exp<T>>,
    pub(crate) offsets: Option<(TermId, TermId)>,
    pub(crate) commutes: bool,
    pub(crate) at: At,
    pub(crate) f: Box<dyn FnOnce(Exp<T>, Exp<T>) -> Exp<T> + 'a>,
}

impl<T: Elt> Fold<'_, T> {
    fn of<Sh: Shape, To: Shape>(self, xs: Acc<Array<Sh, T>>) -> Acc<Array<To, T>> {
        let at = self.at;
        let parts = xs.parts(at);
        let seeds = self.seed.map(|seed| arena::operands(&seed.terms(at))).unwrap_or_default();
        let combine = function2(["x", "y"], at, self.f);
        let mut extents = parts.extents.clone();
        extents.pop();
        extents.extend(self.offsets.map(|(_, segments)| segments));
        let op = ArrayOp::Fold {
            combine: Lambda::default(),
            seeds,
            sources: parts.sources(),
            offsets: self.offsets.map(|(array, _)| array.as_array()),
            commutes: self.commutes,
        };
        let types = types_of::<T>(&extents);
        Acc::new(&extents, &arena::array_op(op, vec![combine], Vec::new(), |_| types, at))
    }
}

/// The array of offsets and the number of segments.
pub(crate) fn segments<I: Integer>(offsets: Acc<Vector<I>>, at: At) -> (TermId, TermId) {
    let parts = offsets.parts(at);
    let one = arena::constant(1i64, at);
    (parts.arrays[0], arena::size(Binary::Sub, parts.extents[0], one, at))
}

macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident commutes: $commutes:literal;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
        ) -> Acc<Array<Sh::Down, T>> {
            let f = Box::new(|x, y| f(x, y).into_exp());
            Fold { seed: Some(seed.into_exp()), offsets: None, commutes: $commutes, at: here(), f }.of(xs)
        }
    )*};
}
folds! {
    /// Combines the seed and the innermost dimension, in order. `f` is associative; it need not commute, nor the seed be neutral.
    ///
    /// Shape: `[..sh, n]` to `[..sh]`; where n is 0, the seed.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6i64]).unwrap();
    /// assert_eq!(example::run1(|m: Acc<Matrix<i64>>| fold(|a, b| a + b, 100, m), &m).to_vec(), [106, 115]);
    /// ```
    fold commutes: false;
    /// As [`fold`], of a function that commutes as well, a promise that lets elements be combined in any order. Functions made of
    /// built-in ones are recognised without it.
    fold_commuting commutes: true;
}

/// Combines the innermost dimension, in order, without a seed; an empty row is an error at run time.
///
/// Shape: `[..sh, n]` to `[..sh]`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[4i64, 9, 2]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| fold1(|a, b| a.max(b), xs), &xs).value(), Some(9));
/// ```
#[track_caller]
pub fn fold1<Sh: Dimensions, T: Elt, R: IntoExp<T>>(
    f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Array<Sh::Down, T>> {
    let f = Box::new(|x, y| f(x, y).into_exp());
    Fold { seed: None, offsets: None, commutes: false, at: here(), f }.of(xs)
}

/// Combines the seed and each segment of the innermost dimension, in order.
///
/// Shapes: `[..sh, n]`, offsets `[segments + 1]` from 0 to n and never falling, to `[..sh, segments]`; an empty segment gives the
/// seed. [`fold_seg_lengths`](crate::fold_seg_lengths) takes lengths.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, 2, 3, 4]).unwrap();
/// let offsets = Vector::from_slice(&[0i64, 3, 3, 4]).unwrap();
/// let r = example::run2(
///     |xs: Acc<Vector<i64>>, offsets: Acc<Vector<i64>>| fold_seg(|a, b| a + b, 0, xs, offsets), &xs, &offsets);
/// assert_eq!(r.to_vec(), [6, 0, 4]);
/// ```
#[track_caller]
pub fn fold_seg<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
    f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    seed: impl IntoExp<T>,
    xs: Acc<Array<Sh, T>>,
    offsets: Acc<Vector<I>>,
) -> Acc<Array<Sh, T>> {
    let at = here();
    let f = Box::new(|x, y| f(x, y).into_exp());
    Fold { seed: Some(seed.into_exp()), offsets: Some(segments(offsets, at)), commutes: false, at, f }.of(xs)
}

/// Combines each segment of the innermost dimension, in order, without a seed; an empty segment is an error at run time.
///
/// Shapes as of [`fold_seg`].
#[track_caller]
pub fn fold1_seg<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
    f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    xs: Acc<Array<Sh, T>>,
    offsets: Acc<Vector<I>>,
) -> Acc<Array<Sh, T>> {
    let at = here();
    let f = Box::new(|x, y| f(x, y).into_exp());
    Fold { seed: None, offsets: Some(segments(offsets, at)), commutes: false, at, f }.of(xs)
}

/// Combines the seed and all elements in row-major order.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((2, 2), &[1, 2, 3, 4i64]).unwrap();
/// assert_eq!(example::run1(|m: Acc<Matrix<i64>>| fold_all(|a, b| a + b, 0, m), &m).value(), Some(10));
/// ```
#[track_caller]
pub fn fold_all<Sh: Shape, T: Elt, R: IntoExp<T>>(
    f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    seed: impl IntoExp<T>,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Scalar<T>> {
    let f = Box::new(|x, y| f(x, y).into_exp());
    let fold = Fold { seed: Some(seed.into_exp()), offsets: None, commutes: false, at: here(), f };
    fold.of::<Ix1, _>(crate::ops::shape::flatten(xs))
}

/// Combines all elements in row-major order, without a seed; an empty array is an error at run time.
#[track_caller]
pub fn fold1_all<Sh: Shape, T: Elt, R: IntoExp<T>>(
    f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Scalar<T>> {
    let f = Box::new(|x, y| f(x, y).into_exp());
    Fold { seed: None, offsets: None, commutes: false, at: here(), f }.of::<Ix1, _>(crate::ops::shape::flatten(xs))
}
