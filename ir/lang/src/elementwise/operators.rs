//! Operators on arrays: `2.0 * x + y`, `-x`, `!mask & other`.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use super::operand::{Given, Operand, apply, combine};
use crate::{
    acc::Acc,
    arena::here,
    array::{Array, Scalar},
    exp::{Exp, constant},
    number::{Bits, Integer, Num, Real},
    shape::{Dimensions, Shape},
};

macro_rules! operators {
    ($($trait:ident $method:ident $class:ident, $literals:tt;)*) => {$(
        /// By element; extents are equal, but for numbers 1, which repeat.
        impl<Sh: Dimensions, T: $class> $trait<Acc<Array<Sh, T>>> for Acc<Array<Sh, T>> {
            type Output = Acc<Array<Sh, T>>;
            #[track_caller]
            fn $method(self, right: Acc<Array<Sh, T>>) -> Acc<Array<Sh, T>> {
                combine(|x, y| $trait::$method(x, y), Given::Array(self), Given::Array(right), here())
            }
        }
        operators!(@scalar $trait $method $class, Exp<T>);
        operators!(@scalar $trait $method $class, Acc<Scalar<T>>);
        /// Of each element and a number.
        impl<Sh: Dimensions, T: $class> $trait<T> for Acc<Array<Sh, T>> {
            type Output = Acc<Array<Sh, T>>;
            #[track_caller]
            fn $method(self, right: T) -> Acc<Array<Sh, T>> {
                let at = here();
                combine(|x, y| $trait::$method(x, y), Given::Array(self), Given::Scalar(constant(right)), at)
            }
        }
        operators!(@literals $trait $method, $literals);
    )*};
    (@scalar $trait:ident $method:ident $class:ident, $scalar:ty) => {
        /// Of each element and a scalar.
        impl<Sh: Dimensions, T: $class> $trait<$scalar> for Acc<Array<Sh, T>> {
            type Output = Acc<Array<Sh, T>>;
            #[track_caller]
            fn $method(self, right: $scalar) -> Acc<Array<Sh, T>> {
                combine(|x, y| $trait::$method(x, y), Given::Array(self), right.operand(), here())
            }
        }
        /// Of a scalar and each element.
        impl<Sh: Dimensions, T: $class> $trait<Acc<Array<Sh, T>>> for $scalar {
            type Output = Acc<Array<Sh, T>>;
            #[track_caller]
            fn $method(self, right: Acc<Array<Sh, T>>) -> Acc<Array<Sh, T>> {
                combine(|x, y| $trait::$method(x, y), self.operand(), Given::Array(right), here())
            }
        }
    };
    (@literals $trait:ident $method:ident, [$($rust:ty)*]) => {$(
        /// Of a number and each element.
        impl<Sh: Dimensions> $trait<Acc<Array<Sh, $rust>>> for $rust {
            type Output = Acc<Array<Sh, $rust>>;
            #[track_caller]
            fn $method(self, right: Acc<Array<Sh, $rust>>) -> Acc<Array<Sh, $rust>> {
                combine(|x, y| $trait::$method(x, y), self.operand(), Given::Array(right), here())
            }
        }
    )*};
}
operators! {
    Add add Num, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    Sub sub Num, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    Mul mul Num, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    Div div Num, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    Rem rem Real, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    BitAnd bitand Bits, [bool i8 i16 i32 i64 u8 u16 u32 u64];
    BitOr bitor Bits, [bool i8 i16 i32 i64 u8 u16 u32 u64];
    BitXor bitxor Bits, [bool i8 i16 i32 i64 u8 u16 u32 u64];
}

macro_rules! shifts {
    ($($trait:ident $method:ident;)*) => {$(
        /// By element; the amount is read as unsigned.
        impl<Sh: Dimensions, T: Integer, U: Integer> $trait<Acc<Array<Sh, U>>> for Acc<Array<Sh, T>> {
            type Output = Acc<Array<Sh, T>>;
            #[track_caller]
            fn $method(self, right: Acc<Array<Sh, U>>) -> Acc<Array<Sh, T>> {
                combine(|x, y: Exp<U>| $trait::$method(x, y), Given::Array(self), Given::Array(right), here())
            }
        }
        /// Each element by the same amount.
        impl<Sh: Dimensions, T: Integer, U: Integer> $trait<Exp<U>> for Acc<Array<Sh, T>> {
            type Output = Acc<Array<Sh, T>>;
            #[track_caller]
            fn $method(self, right: Exp<U>) -> Acc<Array<Sh, T>> {
                combine(|x, y: Exp<U>| $trait::$method(x, y), Given::Array(self), Given::Scalar(right), here())
            }
        }
        /// Each element by the same amount.
        impl<Sh: Dimensions, T: Integer> $trait<T> for Acc<Array<Sh, T>> {
            type Output = Acc<Array<Sh, T>>;
            #[track_caller]
            fn $method(self, right: T) -> Acc<Array<Sh, T>> {
                apply(|x| $trait::$method(x, right), self, here())
            }
        }
    )*};
}
shifts! {
    Shl shl;
    Shr shr;
}

/// Of each element; integers wrap.
impl<Sh: Shape, T: Num> Neg for Acc<Array<Sh, T>> {
    type Output = Acc<Array<Sh, T>>;
    #[track_caller]
    fn neg(self) -> Acc<Array<Sh, T>> {
        apply(|x| -x, self, here())
    }
}

/// Of each element: logical not of a `bool`, bitwise complement of an integer.
impl<Sh: Shape, T: Bits> Not for Acc<Array<Sh, T>> {
    type Output = Acc<Array<Sh, T>>;
    #[track_caller]
    fn not(self) -> Acc<Array<Sh, T>> {
        apply(|x| !x, self, here())
    }
}
