//! Operations as methods of arrays, to be chained: `xs.map(f).fold(g, 0.0)`.

use crate::{
    acc::Acc,
    array::{Array, Matrix, Scalar, Vector},
    elt::{Elt, ScalarElt},
    exp::{Exp, IntoExp},
    number::{Float, Integer, Num, Real},
    ops,
    shape::{AsIndex, Dimensions, Fits, Shape},
    slice::{ReplicateSpec, SliceSpec},
};

impl<Sh: Shape, T: Elt> Acc<Array<Sh, T>> {
    /// [`ops::map::map`].
    #[track_caller]
    pub fn map<B: Elt, R: IntoExp<B>>(self, f: impl FnOnce(Exp<T>) -> R) -> Acc<Array<Sh, B>> {
        ops::map::map(f, self)
    }

    /// [`ops::map::imap`].
    #[track_caller]
    pub fn imap<B: Elt, R: IntoExp<B>>(self, f: impl FnOnce(Sh::Index, Exp<T>) -> R) -> Acc<Array<Sh, B>> {
        ops::map::imap(f, self)
    }

    /// [`ops::map::zip_with`].
    #[track_caller]
    pub fn zip_with<B: Elt, C: Elt, R: IntoExp<C>>(
        self,
        other: Acc<Array<Sh, B>>,
        f: impl FnOnce(Exp<T>, Exp<B>) -> R,
    ) -> Acc<Array<Sh, C>> {
        ops::map::zip_with(f, self, other)
    }

    /// [`ops::map::zip`].
    #[track_caller]
    pub fn zip<B: Elt>(self, other: Acc<Array<Sh, B>>) -> Acc<Array<Sh, (T, B)>> {
        ops::map::zip(self, other)
    }

    /// [`ops::map::indexed`].
    #[track_caller]
    pub fn indexed(self) -> Acc<Array<Sh, (Sh::Element, T)>> {
        ops::map::indexed(self)
    }

    /// [`ops::map::backpermute`].
    #[track_caller]
    pub fn backpermute<I: AsIndex, R: AsIndex<Shape = Sh>>(
        self,
        extents: I,
        f: impl FnOnce(<I::Shape as Shape>::Index) -> R,
    ) -> Acc<Array<I::Shape, T>> {
        ops::map::backpermute(extents, f, self)
    }

    /// [`ops::map::compute`].
    #[track_caller]
    pub fn compute(self) -> Self {
        ops::map::compute(self)
    }

    /// [`ops::shape::reshape`].
    #[track_caller]
    pub fn reshape<I: AsIndex>(self, extents: I) -> Acc<Array<I::Shape, T>> {
        ops::shape::reshape(extents, self)
    }

    /// [`ops::shape::flatten`].
    #[track_caller]
    pub fn flatten(self) -> Acc<Vector<T>> {
        ops::shape::flatten(self)
    }

    /// [`ops::shape::replicate`].
    #[track_caller]
    pub fn replicate<S: ReplicateSpec<Sh, Result: Fits>>(self, dims: S) -> Acc<Array<S::Result, T>> {
        ops::shape::replicate(dims, self)
    }

    /// [`ops::shape::slice`].
    #[track_caller]
    pub fn slice<S: SliceSpec<Sh>>(self, dims: S) -> Acc<Array<S::Result, T>> {
        ops::shape::slice(dims, self)
    }

    /// [`ops::fold::fold_all`].
    #[track_caller]
    pub fn fold_all<R: IntoExp<T>>(self, f: impl FnOnce(Exp<T>, Exp<T>) -> R, seed: impl IntoExp<T>) -> Acc<Scalar<T>> {
        ops::fold::fold_all(f, seed, self)
    }
}

macro_rules! seeded {
    ($($name:ident $seg:ident $module:ident -> $result:ty, $seg_result:ty;)*) => {$(
        #[doc = concat!("[`ops::", stringify!($module), "::", stringify!($name), "`].")]
        #[track_caller]
        pub fn $name<R: IntoExp<T>>(self, f: impl FnOnce(Exp<T>, Exp<T>) -> R, seed: impl IntoExp<T>) -> $result {
            ops::$module::$name(f, seed, self)
        }

        #[doc = concat!("[`ops::", stringify!($module), "::", stringify!($seg), "`].")]
        #[track_caller]
        pub fn $seg<I: Integer, R: IntoExp<T>>(
            self,
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            offsets: Acc<Vector<I>>,
        ) -> $seg_result {
            ops::$module::$seg(f, seed, self, offsets)
        }
    )*};
}
macro_rules! unseeded {
    ($($name:ident $seg:ident $module:ident -> $result:ty;)*) => {$(
        #[doc = concat!("[`ops::", stringify!($module), "::", stringify!($name), "`].")]
        #[track_caller]
        pub fn $name<R: IntoExp<T>>(self, f: impl FnOnce(Exp<T>, Exp<T>) -> R) -> $result {
            ops::$module::$name(f, self)
        }

        #[doc = concat!("[`ops::", stringify!($module), "::", stringify!($seg), "`].")]
        #[track_caller]
        pub fn $seg<I: Integer, R: IntoExp<T>>(
            self,
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            offsets: Acc<Vector<I>>,
        ) -> Self {
            ops::$module::$seg(f, self, offsets)
        }
    )*};
}

impl<Sh: Dimensions, T: Elt> Acc<Array<Sh, T>> {
    seeded! {
        fold fold_seg fold -> Acc<Array<Sh::Down, T>>, Self;
        scanl scanl_seg scan -> Self, Self;
        scanr scanr_seg scan -> Self, Self;
        scanl_total scanl_total_seg scan -> (Self, Acc<Array<Sh::Down, T>>), (Self, Self);
        scanr_total scanr_total_seg scan -> (Self, Acc<Array<Sh::Down, T>>), (Self, Self);
    }
    unseeded! {
        fold1 fold1_seg fold -> Acc<Array<Sh::Down, T>>;
        scanl1 scanl1_seg scan -> Self;
        scanr1 scanr1_seg scan -> Self;
    }

    /// [`ops::shape::concat`].
    #[track_caller]
    pub fn concat(self, other: Self) -> Self {
        ops::shape::concat(self, other)
    }

    /// [`take`](crate::take()): the first `n` along the innermost dimension.
    #[track_caller]
    pub fn take(self, n: impl IntoExp<i64>) -> Self {
        crate::take(n, self)
    }

    /// [`drop`](crate::drop()): all but the first `n` along the innermost dimension.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<i64>>| (xs.drop(2), xs.take(2)), &xs);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![3], vec![1, 2]));
    /// ```
    #[track_caller]
    pub fn drop(self, n: impl IntoExp<i64>) -> Self {
        crate::drop(n, self)
    }
}

macro_rules! row_functions {
    ($($class:ident { $($name:ident -> $result:ty),* })*) => {$(
        impl<Sh: Dimensions, T: $class> Acc<Array<Sh, T>> {
            $(
                #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), "()) of each row, along the innermost dimension.")]
                #[track_caller]
                pub fn $name(self) -> Acc<Array<Sh::Down, $result>> {
                    crate::$name(self)
                }
            )*
        }
    )*};
}
row_functions! {
    Num { sum -> T, product -> T }
    ScalarElt { minimum -> T, maximum -> T }
    Real { argmin -> i64, argmax -> i64 }
    Float { mean -> T }
}

impl<T: Num> Acc<Vector<T>> {
    /// [`dot`](crate::dot()): the sum of products with another vector.
    #[track_caller]
    pub fn dot(self, other: Self) -> Acc<Scalar<T>> {
        crate::dot(self, other)
    }
}

impl<T: Num> Acc<Matrix<T>> {
    /// [`matmul`](crate::matmul()): the product with another matrix.
    #[track_caller]
    pub fn matmul(self, other: Self) -> Self {
        crate::matmul(self, other)
    }
}
