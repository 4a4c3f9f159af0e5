//! Scans without their last or first element (Accelerate's pre- and postscans).

use crate::{
    acc::Acc,
    array::{Array, Vector},
    elt::Elt,
    exp::{Exp, IntoExp},
    number::Integer,
    ops::{
        map::map,
        scan::{scanl_total, scanl_total_seg, scanl1, scanl1_seg, scanr_total, scanr_total_seg, scanr1, scanr1_seg},
    },
    shape::Dimensions,
};

macro_rules! prescans {
    ($($(#[$doc:meta])* $name:ident $seg:ident $total:ident $total_seg:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
        ) -> Acc<Array<Sh, T>> {
            $total(f, seed, xs).0
        }

        #[doc = concat!("[`", stringify!($name), "`] of each segment. Shapes: `[..sh, n]`, offsets `[segments + 1]`, to `[..sh, n]`.")]
        #[track_caller]
        pub fn $seg<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
            f: impl FnOnce(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
            offsets: Acc<Vector<I>>,
        ) -> Acc<Array<Sh, T>> {
            $total_seg(f, seed, xs, offsets).0
        }
    )*};
}
prescans! {
    /// The combination of the seed and what is before each element. Shape: `[..sh, n]` to `[..sh, n]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| prescanl(|a, b| a + b, 0, xs), &xs).to_vec(), [0, 1, 3]);
    /// ```
    prescanl prescanl_seg scanl_total scanl_total_seg;
    /// The combination of what is after each element and the seed. Shape: `[..sh, n]` to `[..sh, n]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| prescanr(|a, b| a + b, 0, xs), &xs).to_vec(), [5, 3, 0]);
    /// ```
    prescanr prescanr_seg scanr_total scanr_total_seg;
}

macro_rules! postscans {
    ($($(#[$doc:meta])* $name:ident $seg:ident $scan:ident $scan_seg:ident |$f:ident, $seed:ident, $x:ident| $with:expr;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, T: Elt, R: IntoExp<T>>(
            $f: impl Fn(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
        ) -> Acc<Array<Sh, T>> {
            let $seed = seed.into_exp();
            map(|$x| $with, $scan(&$f, xs))
        }

        #[doc = concat!("[`", stringify!($name), "`] of each segment. Shapes: `[..sh, n]`, offsets `[segments + 1]`, to `[..sh, n]`.")]
        #[track_caller]
        pub fn $seg<Sh: Dimensions, T: Elt, I: Integer, R: IntoExp<T>>(
            $f: impl Fn(Exp<T>, Exp<T>) -> R,
            seed: impl IntoExp<T>,
            xs: Acc<Array<Sh, T>>,
            offsets: Acc<Vector<I>>,
        ) -> Acc<Array<Sh, T>> {
            let $seed = seed.into_exp();
            map(|$x| $with, $scan_seg(&$f, xs, offsets))
        }
    )*};
}
postscans! {
    /// The combination of the seed and what is up to each element, itself included. Shape: `[..sh, n]` to `[..sh, n]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| postscanl(|a, b| a + b, 10, xs), &xs).to_vec(), [11, 13, 16]);
    /// ```
    postscanl postscanl_seg scanl1 scanl1_seg |f, seed, x| f(seed, x);
    /// The combination of what is from each element on, itself included, and the seed. Shape: `[..sh, n]` to `[..sh, n]`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| postscanr(|a, b| a + b, 10, xs), &xs).to_vec(), [16, 15, 13]);
    /// ```
    postscanr postscanr_seg scanr1 scanr1_seg |f, seed, x| f(x, seed);
}
