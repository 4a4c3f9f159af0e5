//! Parts of arrays along a dimension, reversed and transposed arrays.

use fusebox_ir::{Binary, term::TermId};

use crate::{
    acc::{Acc, missing},
    arena::{self, At, here},
    array::{Array, Matrix},
    elt::Elt,
    error::Mistake,
    exp::{Exp, IntoExp},
    ops::map::backpermute_terms,
    shape::{Dimensions, Shape},
};

/// The elements whose index along a dimension is from `start` on, `extent` of them.
fn part<Sh: Shape, T: Elt>(
    dimension: usize,
    start: TermId,
    extent: TermId,
    xs: Acc<Array<Sh, T>>,
    at: At,
) -> Acc<Array<Sh, T>> {
    let mut extents = xs.parts(at).extents;
    extents[dimension] = extent;
    reindex(&extents, xs, at, |index| index[dimension] = index[dimension] + Exp::<i64>::from_terms(&[start]))
}

/// A backpermute that changes parts of the index.
pub(crate) fn reindex<Sh: Shape, T: Elt>(
    extents: &[TermId],
    xs: Acc<Array<Sh, T>>,
    at: At,
    change: impl FnOnce(&mut Vec<Exp<i64>>),
) -> Acc<Array<Sh, T>> {
    backpermute_terms::<Sh, Sh, T, Sh::Index>(
        extents,
        at,
        |index| {
            let mut parts = crate::shape::AsIndex::parts(index);
            change(&mut parts);
            Sh::index(&parts)
        },
        xs,
    )
}

/// The extent along a dimension; `None`, and the mistake noted, where there is none.
fn extent_on<Sh: Shape, T: Elt>(dimension: usize, xs: Acc<Array<Sh, T>>, at: At) -> Option<TermId> {
    let extent = xs.parts(at).extents.get(dimension).copied();
    if extent.is_none() {
        arena::problem(Mistake::Dimension { dimension, rank: Sh::RANK }, at);
    }
    extent
}

fn nothing<Sh: Shape, T: Elt>(at: At) -> Acc<Array<Sh, T>> {
    let missing = missing(Sh::RANK, &T::types(), at);
    Acc::new(&missing.extents, &missing.arrays)
}

fn number(value: i64, at: At) -> TermId {
    arena::constant(value, at)
}

fn at_least_0(n: TermId, at: At) -> TermId {
    arena::size(Binary::Max, n, number(0, at), at)
}

macro_rules! along_innermost {
    ($($(#[$doc:meta])* $name:ident $on:ident ($($x:ident),*) $(#[$example:meta])*;)*) => {$(
        $(#[$doc])*
        $(#[$example])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt>($($x: impl IntoExp<i64>,)* xs: Acc<Array<Sh, T>>) -> Acc<Array<Sh, T>> {
            $on(Sh::RANK - 1, $($x,)* xs)
        }
    )*};
}
along_innermost! {
    /// The first `n` along the innermost dimension: all where there are fewer, none where `n` is negative.
    ///
    /// Shape: `[..sh, m]` to `[..sh, min(max(n, 0), m)]`.
    take take_on (n)
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<i64>>| (take(2, xs), take(7, xs), take(-2, xs)), &xs);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec(), r.2.to_vec()), (vec![1, 2], vec![1, 2, 3], vec![]));
    /// ```
    ;
    /// All but the first `n` along the innermost dimension: none where there are no more, all where `n` is negative.
    ///
    /// Shape: `[..sh, m]` to `[..sh, max(m - max(n, 0), 0)]`.
    drop drop_on (n)
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<i64>>| (drop(2, xs), drop(7, xs), drop(-2, xs)), &xs);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec(), r.2.to_vec()), (vec![3], vec![], vec![1, 2, 3]));
    /// ```
    ;
    /// `n` elements from index `start` on along the innermost dimension, as many of them as there are. A negative `start` is 0.
    slit slit_on (start, n)
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3, 4]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<i64>>| (slit(1, 2, xs), slit(3, 2, xs), slit(9, 1, xs)), &xs);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec(), r.2.to_vec()), (vec![2, 3], vec![4], vec![]));
    /// ```
    ;
    /// All but the last along the innermost dimension; of an empty array nothing.
    init init_on ()
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<i64>>| (init(xs), init(take(0, xs))), &xs);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![1, 2], vec![]));
    /// ```
    ;
    /// All but the first along the innermost dimension; of an empty array nothing.
    tail tail_on ()
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| tail(xs), &xs).to_vec(), [2, 3]);
    /// ```
    ;
    /// From the last to the first along the innermost dimension.
    reverse reverse_on ()
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let m = Matrix::new((2, 2), &[1, 2, 3, 4i64]).unwrap();
    /// let r = example::run1(|m: Acc<Matrix<i64>>| (reverse(m), reverse_on(0, m)), &m);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![2, 1, 4, 3], vec![3, 4, 1, 2]));
    /// ```
    ;
}

/// [`take`] along a dimension, counted from the outermost, 0.
#[track_caller]
pub fn take_on<Sh: Dimensions, T: Elt>(
    dimension: usize,
    n: impl IntoExp<i64>,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Array<Sh, T>> {
    let at = here();
    let Some(m) = extent_on(dimension, xs, at) else { return nothing(at) };
    let extent = arena::size(Binary::Min, at_least_0(n.into_exp().term(at), at), m, at);
    let mut extents = xs.parts(at).extents;
    extents[dimension] = extent;
    reindex(&extents, xs, at, |_| {})
}

/// [`drop`] along a dimension, counted from the outermost, 0.
#[track_caller]
pub fn drop_on<Sh: Dimensions, T: Elt>(
    dimension: usize,
    n: impl IntoExp<i64>,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Array<Sh, T>> {
    let at = here();
    let Some(m) = extent_on(dimension, xs, at) else { return nothing(at) };
    let start = at_least_0(n.into_exp().term(at), at);
    part(dimension, start, at_least_0(arena::size(Binary::Sub, m, start, at), at), xs, at)
}

/// [`slit`] along a dimension, counted from the outermost, 0.
#[track_caller]
pub fn slit_on<Sh: Dimensions, T: Elt>(
    dimension: usize,
    start: impl IntoExp<i64>,
    n: impl IntoExp<i64>,
    xs: Acc<Array<Sh, T>>,
) -> Acc<Array<Sh, T>> {
    let at = here();
    let Some(m) = extent_on(dimension, xs, at) else { return nothing(at) };
    let start = at_least_0(start.into_exp().term(at), at);
    let left = at_least_0(arena::size(Binary::Sub, m, start, at), at);
    let extent = arena::size(Binary::Min, at_least_0(n.into_exp().term(at), at), left, at);
    part(dimension, start, extent, xs, at)
}

/// [`init`] along a dimension, counted from the outermost, 0.
#[track_caller]
pub fn init_on<Sh: Dimensions, T: Elt>(dimension: usize, xs: Acc<Array<Sh, T>>) -> Acc<Array<Sh, T>> {
    let at = here();
    let Some(m) = extent_on(dimension, xs, at) else { return nothing(at) };
    let mut extents = xs.parts(at).extents;
    extents[dimension] = at_least_0(arena::size(Binary::Sub, m, number(1, at), at), at);
    reindex(&extents, xs, at, |_| {})
}

/// [`tail`] along a dimension, counted from the outermost, 0.
#[track_caller]
pub fn tail_on<Sh: Dimensions, T: Elt>(dimension: usize, xs: Acc<Array<Sh, T>>) -> Acc<Array<Sh, T>> {
    drop_on(dimension, 1, xs)
}

/// [`reverse`] along a dimension, counted from the outermost, 0.
#[track_caller]
pub fn reverse_on<Sh: Dimensions, T: Elt>(dimension: usize, xs: Acc<Array<Sh, T>>) -> Acc<Array<Sh, T>> {
    let at = here();
    let Some(m) = extent_on(dimension, xs, at) else { return nothing(at) };
    let last = Exp::<i64>::from_terms(&[arena::size(Binary::Sub, m, number(1, at), at)]);
    let extents = xs.parts(at).extents;
    reindex(&extents, xs, at, |index| index[dimension] = last - index[dimension])
}

/// Rows as columns.
///
/// Shape: `[n, m]` to `[m, n]`.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6i64]).unwrap();
/// assert_eq!(example::run1(|m: Acc<Matrix<i64>>| transpose(m), &m).to_vec(), [1, 4, 2, 5, 3, 6]);
/// ```
#[track_caller]
pub fn transpose<T: Elt>(xs: Acc<Matrix<T>>) -> Acc<Matrix<T>> {
    transpose_on(0, 1, xs)
}

/// Two dimensions in each other's place, counted from the outermost, 0.
#[track_caller]
pub fn transpose_on<Sh: Dimensions, T: Elt>(a: usize, b: usize, xs: Acc<Array<Sh, T>>) -> Acc<Array<Sh, T>> {
    let at = here();
    if extent_on(a, xs, at).is_none() || extent_on(b, xs, at).is_none() {
        return nothing(at);
    }
    let mut extents = xs.parts(at).extents;
    extents.swap(a, b);
    reindex(&extents, xs, at, |index| index.swap(a, b))
}
