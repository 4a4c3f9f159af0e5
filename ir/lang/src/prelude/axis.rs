//! Folds along any axis, and axes added, removed, repeated and put in another order. Axes count from the outermost, 0.

use fusebox_ir::{Binary, term::TermId};

use crate::{
    acc::{Acc, missing},
    arena::{self, At, here},
    array::{Array, Matrix},
    elementwise::{is_one, number, spread},
    elt::{Elt, ScalarElt},
    error::Mistake,
    exp::{Exp, IntoExp, constant},
    number::{Float, Num},
    ops::{
        fold::{fold, fold1},
        map::backpermute_terms,
        shape::replicate_terms,
    },
    prelude::{reverse_on, transpose, transpose_on},
    shape::{AsIndex, Dimensions, Fits, Shape, extent_terms},
};

fn nothing<Sh: Shape, T: Elt>(at: At) -> Acc<Array<Sh, T>> {
    let missing = missing(Sh::RANK, &T::types(), at);
    Acc::new(&missing.extents, &missing.arrays)
}

/// Whether an array of shape `Sh` has this axis; where not, the mistake is noted.
fn has_axis<Sh: Shape>(axis: usize, at: At) -> bool {
    if axis >= Sh::RANK {
        arena::problem(Mistake::Dimension { dimension: axis, rank: Sh::RANK }, at);
    }
    axis < Sh::RANK
}

/// The array whose axis `i` is axis `axes[i]` of `xs`; `axes` are all of them.
fn in_order<Sh: Shape, T: Elt>(axes: &[usize], xs: Acc<Array<Sh, T>>, at: At) -> Acc<Array<Sh, T>> {
    if axes.iter().enumerate().all(|(i, &axis)| i == axis) {
        return xs;
    }
    let own = xs.parts(at).extents;
    let extents: Vec<TermId> = axes.iter().map(|&axis| own[axis]).collect();
    backpermute_terms::<Sh, Sh, T, Sh::Index>(
        &extents,
        at,
        |index| {
            let given = index.parts();
            let mut parts = given.clone();
            for (i, &axis) in axes.iter().enumerate() {
                parts[axis] = given[i];
            }
            Sh::index(&parts)
        },
        xs,
    )
}

/// The array with an axis innermost, the others in their order.
fn innermost<Sh: Dimensions, T: Elt>(axis: usize, xs: Acc<Array<Sh, T>>, at: At) -> Acc<Array<Sh, T>> {
    if !has_axis::<Sh>(axis, at) {
        return nothing(at);
    }
    let axes: Vec<usize> = (0..Sh::RANK).filter(|&other| other != axis).chain([axis]).collect();
    in_order(&axes, xs, at)
}

impl<Sh: Dimensions, T: Elt> Acc<Array<Sh, T>> {
    /// Combines the seed and the elements along an axis, in order: [`fold`] along any axis, which is gone from the result.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6i64]).unwrap();
    /// assert_eq!(example::run1(|m: Acc<Matrix<i64>>| m.fold_axis(0, |a, b| a * 10 + b, 0), &m).to_vec(), [14, 25, 36]);
    /// ```
    #[track_caller]
    pub fn fold_axis<R: IntoExp<T>>(
        self,
        axis: usize,
        f: impl FnOnce(Exp<T>, Exp<T>) -> R,
        seed: impl IntoExp<T>,
    ) -> Acc<Array<Sh::Down, T>> {
        fold(f, seed, innermost(axis, self, here()))
    }

    /// Combines the elements along an axis, in order, without a seed; where there are none, it is an error at run time.
    #[track_caller]
    pub fn fold1_axis<R: IntoExp<T>>(
        self,
        axis: usize,
        f: impl FnOnce(Exp<T>, Exp<T>) -> R,
    ) -> Acc<Array<Sh::Down, T>> {
        fold1(f, innermost(axis, self, here()))
    }

    /// What there is at one index of an axis, which is gone from the result. An index outside is an error at run time.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6i64]).unwrap();
    /// assert_eq!(example::run1(|m: Acc<Matrix<i64>>| m.index_axis(1, 2), &m).to_vec(), [3, 6]);
    /// ```
    #[track_caller]
    pub fn index_axis(self, axis: usize, index: impl IntoExp<i64>) -> Acc<Array<Sh::Down, T>> {
        let at = here();
        if !has_axis::<Sh>(axis, at) {
            return nothing(at);
        }
        let index = index.into_exp().term(at);
        let dims: Vec<Option<TermId>> = (0..Sh::RANK).map(|dim| (dim == axis).then_some(index)).collect();
        crate::ops::shape::fix(self, &dims, at)
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]` of this array. As many as there are, each once.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let a = Array::<Ix3, i64>::new((1, 2, 3), &[1, 2, 3, 4, 5, 6]).unwrap();
    /// let r = example::run1(|a: Acc<Array<Ix3, i64>>| a.permute_axes([2, 0, 1]), &a);
    /// assert_eq!((r.extents(), r.to_vec()), (&[3, 1, 2][..], vec![1, 4, 2, 5, 3, 6]));
    /// ```
    #[track_caller]
    pub fn permute_axes<const N: usize>(self, axes: [usize; N]) -> Self {
        const { assert!(N == Sh::RANK, "`permute_axes` names each axis of the array once") };
        let at = here();
        if !(0..N).all(|axis| axes.contains(&axis)) {
            arena::problem(Mistake::Axes { axes: axes.to_vec(), rank: Sh::RANK }, at);
            return self;
        }
        in_order(&axes, self, at)
    }

    /// Two axes in each other's place.
    #[track_caller]
    pub fn swap_axes(self, a: usize, b: usize) -> Self {
        transpose_on(a, b, self)
    }

    /// From the last to the first along an axis.
    #[track_caller]
    pub fn reverse_axis(self, axis: usize) -> Self {
        reverse_on(axis, self)
    }
}

impl<T: Elt> Acc<Matrix<T>> {
    /// Rows as columns: [`transpose`](crate::transpose).
    #[track_caller]
    pub fn transpose(self) -> Self {
        transpose(self)
    }
}

impl<Sh: Shape<Up: Fits>, T: Elt> Acc<Array<Sh, T>> {
    /// The array with a new axis of extent 1, which operators repeat along that of the array beside it.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let m = Matrix::new((2, 2), &[1.0, 3.0, 5.0, 9.0f64]).unwrap();
    /// let centred = |x: Acc<Matrix<f64>>| x - x.mean_axis(1).expand_axis(1);
    /// assert_eq!(example::run1(centred, &m).to_vec(), [-1.0, 1.0, -2.0, 2.0]);
    /// ```
    #[track_caller]
    pub fn expand_axis(self, axis: usize) -> Acc<Array<Sh::Up, T>> {
        let at = here();
        if axis > Sh::RANK {
            arena::problem(Mistake::Dimension { dimension: axis, rank: Sh::RANK + 1 }, at);
            return nothing(at);
        }
        let one = arena::constant(1i64, at);
        let dims: Vec<Option<TermId>> = (0..=Sh::RANK).map(|dim| (dim == axis).then_some(one)).collect();
        replicate_terms(&dims, self.parts(at), at)
    }
}

impl<Sh: Shape, T: Elt> Acc<Array<Sh, T>> {
    /// The array repeated so that it has these extents: the array's own are the innermost of them; where one of its own is the number 1, it
    /// is repeated along that axis too. Other extents of its own are equal to those given, else it is an error.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<i64>>| (xs.broadcast((2, 3)), xs.expand_axis(1).broadcast((3, 2))), &xs);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![1, 2, 3, 1, 2, 3], vec![1, 1, 2, 2, 3, 3]));
    /// ```
    #[track_caller]
    pub fn broadcast<I: AsIndex<Shape: Fits>>(self, extents: I) -> Acc<Array<I::Shape, T>> {
        let at = here();
        let wanted = extent_terms(extents, at);
        if Sh::RANK > wanted.len() {
            arena::problem(Mistake::Broadcast { rank: Sh::RANK, wanted: wanted.len() }, at);
            return nothing(at);
        }
        let parts = self.parts(at);
        let inner = wanted.len() - Sh::RANK;
        let own = &parts.extents;
        let differ = |(&own, &wanted): (&TermId, &TermId)| matches!((number(own), number(wanted)), (Some(own), Some(wanted)) if own != wanted && own != 1);
        if own.iter().zip(&wanted[inner..]).any(differ) {
            let numbers = |of: &[TermId]| of.iter().map(|&extent| number(extent)).collect();
            arena::problem(Mistake::Unequal { left: numbers(own), right: numbers(&wanted[inner..]) }, at);
            return nothing(at);
        }
        let mut extents = wanted;
        for (&own, wanted) in own.iter().zip(&mut extents[inner..]) {
            if !is_one(own) {
                *wanted = equal(own, *wanted, at);
            }
        }
        spread::<Sh, I::Shape, T>(parts, &extents, at)
    }
}

/// An extent that is checked to be another one, unless that is known.
fn equal(own: TermId, wanted: TermId, at: At) -> TermId {
    if arena::same_size(own, wanted) {
        return own;
    }
    let (own, wanted) = (Exp::<i64>::from_terms(&[own]), Exp::<i64>::from_terms(&[wanted]));
    let message = "broadcast: extent {} of the array should be {}, or 1 and known when the program is built";
    crate::control::asserted(own.eq_(wanted), message, &[own, wanted], wanted, at).term(at)
}

impl<Sh: Dimensions, T: Num> Acc<Array<Sh, T>> {
    /// The sum along an axis; 0 where there is nothing. Shape: without the axis.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6i64]).unwrap();
    /// let r = example::run1(|m: Acc<Matrix<i64>>| (m.sum_axis(0), m.sum_axis(1)), &m);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![5, 7, 9], vec![6, 15]));
    /// ```
    #[track_caller]
    pub fn sum_axis(self, axis: usize) -> Acc<Array<Sh::Down, T>> {
        self.fold_axis(axis, |a, b| a + b, constant(T::number(0)))
    }

    /// The product along an axis; 1 where there is nothing. Shape: without the axis.
    #[track_caller]
    pub fn prod_axis(self, axis: usize) -> Acc<Array<Sh::Down, T>> {
        self.fold_axis(axis, |a, b| a * b, constant(T::number(1)))
    }
}

impl<Sh: Dimensions, T: ScalarElt> Acc<Array<Sh, T>> {
    /// The least along an axis, NaN where there is one; of nothing an error at run time. Shape: without the axis.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let m = Matrix::new((2, 2), &[1, 7, 3, 5i64]).unwrap();
    /// let r = example::run1(|m: Acc<Matrix<i64>>| (m.min_axis(0), m.max_axis(1)), &m);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![1, 5], vec![7, 5]));
    /// ```
    #[track_caller]
    pub fn min_axis(self, axis: usize) -> Acc<Array<Sh::Down, T>> {
        self.fold1_axis(axis, |a, b| a.min(b))
    }

    /// The greatest along an axis, NaN where there is one; of nothing an error at run time. Shape: without the axis.
    #[track_caller]
    pub fn max_axis(self, axis: usize) -> Acc<Array<Sh::Down, T>> {
        self.fold1_axis(axis, |a, b| a.max(b))
    }
}

impl<Sh: Dimensions, T: Float> Acc<Array<Sh, T>> {
    /// The mean along an axis, the sum divided by the extent; NaN of nothing. Shape: without the axis.
    #[track_caller]
    pub fn mean_axis(self, axis: usize) -> Acc<Array<Sh::Down, T>> {
        let at = here();
        let extent = self.parts(at).extents.get(axis).copied().unwrap_or_else(|| arena::constant(1i64, at));
        let extent = Exp::<i64>::from_terms(&[extent]).cast::<T>();
        self.sum_axis(axis).map(|sum| sum / extent)
    }

    /// The mean squared distance from the mean along an axis, divided by the extent less `correction` (0 of the population, 1 of a
    /// sample). Shape: without the axis.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let m = Matrix::new((1, 4), &[1.0, 3.0, 5.0, 7.0f64]).unwrap();
    /// assert_eq!(example::run1(|m: Acc<Matrix<f64>>| m.var_axis(1, 0), &m).to_vec(), [5.0]);
    /// ```
    #[track_caller]
    pub fn var_axis(self, axis: usize, correction: i64) -> Acc<Array<Sh::Down, T>> {
        let at = here();
        if !has_axis::<Sh>(axis, at) {
            return nothing(at);
        }
        let parts = self.parts(at);
        let one = arena::constant(1i64, at);
        let dims: Vec<Option<TermId>> = (0..Sh::RANK).map(|dim| (dim == axis).then_some(one)).collect();
        let mean: Self = replicate_terms(&dims, self.mean_axis(axis).parts(at), at);
        let less = arena::size(Binary::Sub, parts.extents[axis], arena::constant(correction, at), at);
        let less = Exp::<i64>::from_terms(&[less]).cast::<T>();
        let distance = self - mean;
        (distance * distance).sum_axis(axis).map(|sum| sum / less)
    }
}

impl<Sh: Dimensions> Acc<Array<Sh, bool>> {
    /// Whether all hold along an axis; `true` of nothing. Shape: without the axis.
    #[track_caller]
    pub fn all_axis(self, axis: usize) -> Acc<Array<Sh::Down, bool>> {
        self.fold_axis(axis, |a, b| a & b, true)
    }

    /// Whether one holds along an axis; `false` of nothing. Shape: without the axis.
    #[track_caller]
    pub fn any_axis(self, axis: usize) -> Acc<Array<Sh::Down, bool>> {
        self.fold_axis(axis, |a, b| a | b, false)
    }

    /// How many hold along an axis. Shape: without the axis.
    #[track_caller]
    pub fn count_axis(self, axis: usize) -> Acc<Array<Sh::Down, i64>> {
        self.map(|holds| holds.cond(constant(1i64), constant(0i64))).sum_axis(axis)
    }
}
