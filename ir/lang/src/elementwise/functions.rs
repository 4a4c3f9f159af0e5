//! Scalar functions, as methods of arrays: of each element, or of the elements of two arrays at each index.

use super::operand::{Given, Operand, apply, combine, combine3};
use crate::{
    acc::Acc,
    arena::here,
    array::Array,
    complex::Complex,
    elt::{Elt, ScalarElt},
    exp::Exp,
    number::{Float, Integer, Num, Real},
    shape::Shape,
};

macro_rules! of_each {
    ($($class:ident { $($name:ident $(-> $result:ty)?),* $(,)? })*) => {$(
        impl<Sh: Shape, T: $class> Acc<Array<Sh, T>> {
            $(of_each!(@one $name $(-> $result)?);)*
        }
    )*};
    (@one $name:ident) => { of_each!(@one $name -> T); };
    (@one $name:ident -> $result:ty) => {
        #[doc = concat!("[`Exp::", stringify!($name), "`] of each element.")]
        #[track_caller]
        pub fn $name(self) -> Acc<Array<Sh, $result>> {
            apply(|x| x.$name(), self, here())
        }
    };
}
of_each! {
    Real { abs, sign }
    Integer { popcount, clz, ctz, is_even -> bool, is_odd -> bool }
    Float {
        sqrt, cbrt, exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh,
        erf, erfc, floor, ceil, trunc, round, recip, is_nan -> bool, is_inf -> bool,
    }
}

macro_rules! of_two {
    ($($class:ident { $($name:ident $(-> $result:ty)?),* $(,)? })*) => {$(
        impl<Sh: Shape, T: $class> Acc<Array<Sh, T>> {
            $(of_two!(@one $name $(-> $result)?);)*
        }
    )*};
    (@one $name:ident) => { of_two!(@one $name -> T); };
    (@one $name:ident -> $result:ty) => {
        #[doc = concat!("[`Exp::", stringify!($name), "`] of the elements of two arrays of equal extents, or of each element and a scalar.")]
        #[track_caller]
        pub fn $name(self, other: impl Operand<Sh, T>) -> Acc<Array<Sh, $result>> {
            combine(|x, y: Exp<T>| x.$name(y), Given::Array(self), other.operand(), here())
        }
    };
}
of_two! {
    ScalarElt { lt -> bool, le -> bool, gt -> bool, ge -> bool, min, max }
    Elt { eq_ -> bool, ne_ -> bool }
    Integer { div_floor, mod_floor, rotate_left, rotate_right }
    Float { pow, atan2, hypot, log_base }
}

impl<Sh: Shape, T: ScalarElt> Acc<Array<Sh, T>> {
    /// [`Exp::cast`] of each element: conversion to a number type.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[1.9f32, -1.9]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<f32>>| xs.cast::<i64>(), &xs).to_vec(), [1, -1]);
    /// ```
    #[track_caller]
    pub fn cast<U: Real>(self) -> Acc<Array<Sh, U>> {
        apply(|x| x.cast::<U>(), self, here())
    }
}

impl<Sh: Shape, T: Real> Acc<Array<Sh, T>> {
    /// [`Exp::bits`] of each element: the same bits as another number type of the same width.
    #[track_caller]
    pub fn bits<U: Real>(self) -> Acc<Array<Sh, U>> {
        apply(|x| x.bits::<U>(), self, here())
    }

    /// Each element between `low` and `high`: arrays of equal extents, or scalars.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[-2i64, 1, 7]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| xs.clamp(0, 5), &xs).to_vec(), [0, 1, 5]);
    /// ```
    #[track_caller]
    pub fn clamp(self, low: impl Operand<Sh, T>, high: impl Operand<Sh, T>) -> Self {
        let f = |x: Exp<T>, low: Exp<T>, high: Exp<T>| x.clamp(low, high);
        combine3(f, Given::Array(self), low.operand(), high.operand(), here())
    }
}

impl<Sh: Shape, T: Num> Acc<Array<Sh, T>> {
    /// Each element to a whole power, the same for all.
    #[track_caller]
    pub fn powi(self, power: impl crate::IntoExp<i64>) -> Self {
        let power = power.into_exp();
        apply(|x| x.powi(power), self, here())
    }
}

impl<Sh: Shape, T: Float> Acc<Array<Sh, T>> {
    /// `self * b + c` of each element, rounded once; `b` and `c` are arrays of equal extents, or scalars.
    #[track_caller]
    pub fn fma(self, b: impl Operand<Sh, T>, c: impl Operand<Sh, T>) -> Self {
        combine3(|x: Exp<T>, b: Exp<T>, c: Exp<T>| x.fma(b, c), Given::Array(self), b.operand(), c.operand(), here())
    }
}

impl<Sh: Shape> Acc<Array<Sh, bool>> {
    /// By element: `a` where this holds, else `b`; arrays of equal extents, or scalars. Elements that are not taken are not computed.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[-2i64, 1, 7]).unwrap();
    /// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| xs.lt(0).cond(0, xs), &xs).to_vec(), [0, 1, 7]);
    /// ```
    #[track_caller]
    #[doc(alias = "where")]
    #[doc(alias = "select")]
    pub fn cond<T: Elt>(self, a: impl Operand<Sh, T>, b: impl Operand<Sh, T>) -> Acc<Array<Sh, T>> {
        let f = |c: Exp<bool>, a: Exp<T>, b: Exp<T>| c.cond(a, b);
        combine3(f, Given::Array(self), a.operand(), b.operand(), here())
    }
}

impl<Sh: Shape, T: Real> Acc<Array<Sh, Complex<T>>> {
    /// The real parts: nothing is computed.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let zs = Vector::new(1, &[Complex { re: 3.0f64, im: 4.0 }]).unwrap();
    /// let r = example::run1(|zs: Acc<Vector<Complex<f64>>>| (zs.re(), zs.im(), zs.magnitude()), &zs);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec(), r.2.to_vec()), (vec![3.0], vec![4.0], vec![5.0]));
    /// ```
    #[track_caller]
    pub fn re(self) -> Acc<Array<Sh, T>> {
        let parts = self.parts(here());
        Acc::new(&parts.extents, &parts.arrays[..T::COUNT])
    }

    /// The imaginary parts: nothing is computed.
    #[track_caller]
    pub fn im(self) -> Acc<Array<Sh, T>> {
        let parts = self.parts(here());
        Acc::new(&parts.extents, &parts.arrays[T::COUNT..])
    }

    /// The conjugate of each element.
    #[track_caller]
    pub fn conjugate(self) -> Self {
        apply(|z| z.conjugate(), self, here())
    }

    /// The square of the magnitude of each element.
    #[track_caller]
    pub fn norm_sqr(self) -> Acc<Array<Sh, T>> {
        apply(|z| z.norm_sqr(), self, here())
    }
}

impl<Sh: Shape, T: Float> Acc<Array<Sh, Complex<T>>> {
    /// The distance of each element from 0, without overflow.
    #[track_caller]
    pub fn magnitude(self) -> Acc<Array<Sh, T>> {
        apply(|z| z.magnitude(), self, here())
    }

    /// The angle of each element, in radians from -π to π.
    #[track_caller]
    pub fn phase(self) -> Acc<Array<Sh, T>> {
        apply(|z| z.phase(), self, here())
    }
}
