//! Operators on handles, mixed with literals: `x * 2.0`, `1.0 - x`, `i + 1`, `!c & d`.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use fusebox_ir::Binary;

use crate::{
    acc::Acc,
    arena::here,
    array::Scalar,
    exp::{Exp, IntoExp, constant},
    number::{Bits, Integer, Num, Real, apply, binary, combine},
};

#[track_caller]
fn rem<T: Real>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    combine(Binary::Rem, a, b, here())
}
#[track_caller]
fn bit_and<T: Bits>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    combine(Binary::And, a, b, here())
}
#[track_caller]
fn bit_or<T: Bits>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    combine(Binary::Or, a, b, here())
}
#[track_caller]
fn bit_xor<T: Bits>(a: Exp<T>, b: Exp<T>) -> Exp<T> {
    combine(Binary::Xor, a, b, here())
}

macro_rules! operators {
    ($($trait:ident $method:ident $class:ident $function:expr, $literals:tt;)*) => {$(
        impl<T: $class> $trait<Exp<T>> for Exp<T> {
            type Output = Exp<T>;
            #[track_caller]
            fn $method(self, right: Exp<T>) -> Exp<T> {
                $function(self, right)
            }
        }
        impl<T: $class> $trait<T> for Exp<T> {
            type Output = Exp<T>;
            #[track_caller]
            fn $method(self, right: T) -> Exp<T> {
                $function(self, constant(right))
            }
        }
        impl<T: $class> $trait<Acc<Scalar<T>>> for Exp<T> {
            type Output = Exp<T>;
            #[track_caller]
            fn $method(self, right: Acc<Scalar<T>>) -> Exp<T> {
                $function(self, right.get())
            }
        }
        impl<T: $class> $trait<Exp<T>> for Acc<Scalar<T>> {
            type Output = Exp<T>;
            #[track_caller]
            fn $method(self, right: Exp<T>) -> Exp<T> {
                $function(self.get(), right)
            }
        }
        impl<T: $class> $trait<Acc<Scalar<T>>> for Acc<Scalar<T>> {
            type Output = Exp<T>;
            #[track_caller]
            fn $method(self, right: Acc<Scalar<T>>) -> Exp<T> {
                $function(self.get(), right.get())
            }
        }
        impl<T: $class> $trait<T> for Acc<Scalar<T>> {
            type Output = Exp<T>;
            #[track_caller]
            fn $method(self, right: T) -> Exp<T> {
                $function(self.get(), constant(right))
            }
        }
        operators!(@literals $trait $method $function, $literals);
    )*};
    (@literals $trait:ident $method:ident $function:expr, [$($rust:ty)*]) => {$(
        impl $trait<Exp<$rust>> for $rust {
            type Output = Exp<$rust>;
            #[track_caller]
            fn $method(self, right: Exp<$rust>) -> Exp<$rust> {
                $function(constant(self), right)
            }
        }
        impl $trait<Acc<Scalar<$rust>>> for $rust {
            type Output = Exp<$rust>;
            #[track_caller]
            fn $method(self, right: Acc<Scalar<$rust>>) -> Exp<$rust> {
                $function(constant(self), right.get())
            }
        }
    )*};
}
operators! {
    Add add Num Num::add, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    Sub sub Num Num::sub, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    Mul mul Num Num::mul, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    Div div Num Num::div, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    Rem rem Real rem, [i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64];
    BitAnd bitand Bits bit_and, [bool i8 i16 i32 i64 u8 u16 u32 u64];
    BitOr bitor Bits bit_or, [bool i8 i16 i32 i64 u8 u16 u32 u64];
    BitXor bitxor Bits bit_xor, [bool i8 i16 i32 i64 u8 u16 u32 u64];
}

/// Integers wrap.
impl<T: Num> Neg for Exp<T> {
    type Output = Exp<T>;
    #[track_caller]
    fn neg(self) -> Exp<T> {
        Num::neg(self)
    }
}

/// Logical not of a `bool`, bitwise complement of an integer.
impl<T: Bits> Not for Exp<T> {
    type Output = Exp<T>;
    #[track_caller]
    fn not(self) -> Exp<T> {
        apply(T::NOT, self, here())
    }
}

macro_rules! shifts {
    ($($trait:ident $method:ident $function:ident;)*) => {$(
        /// The amount is of any integer type, read as unsigned: by the width or more gives 0, or all sign bits.
        impl<T: Integer, U: Integer> $trait<Exp<U>> for Exp<T> {
            type Output = Exp<T>;
            #[track_caller]
            fn $method(self, right: Exp<U>) -> Exp<T> {
                let at = here();
                let (a, b) = (self.term(at), right.term(at));
                Exp::from_terms(&[binary(Binary::$function, a, b, T::TYPE, at)])
            }
        }
        impl<T: Integer> $trait<T> for Exp<T> {
            type Output = Exp<T>;
            #[track_caller]
            fn $method(self, right: T) -> Exp<T> {
                combine(Binary::$function, self, constant(right), here())
            }
        }
    )*};
}
shifts! {
    Shl shl Shl;
    Shr shr Shr;
}

impl<T: crate::Elt> IntoExp<T> for Acc<Scalar<T>> {
    #[track_caller]
    fn into_exp(self) -> Exp<T> {
        self.get()
    }
}
impl<T: crate::Elt> From<Acc<Scalar<T>>> for Exp<T> {
    #[track_caller]
    fn from(scalar: Acc<Scalar<T>>) -> Self {
        scalar.get()
    }
}
