//! Classes of elements: what can be added, compared, shifted, rounded.

use fusebox_ir::{Binary, Constant, ElementType, ScalarOp, Unary, term::TermId};
use half::f16;

use crate::{
    arena::{self, At, here, local},
    elt::{Elt, ScalarElt},
    exp::Exp,
};

/// Elements with arithmetic: integers, floats, complex numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no arithmetic",
    label = "arithmetic needs a number",
    note = "numbers are integers, floats and `Complex`; a `bool` becomes one with `.cast()`"
)]
pub trait Num: Elt + Copy {
    /// The number `value`.
    fn number(value: i64) -> Self;
    #[doc(hidden)]
    #[track_caller]
    fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self>;
    #[doc(hidden)]
    #[track_caller]
    fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self>;
    #[doc(hidden)]
    #[track_caller]
    fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self>;
    #[doc(hidden)]
    #[track_caller]
    fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self>;
    #[doc(hidden)]
    #[track_caller]
    fn neg(a: Exp<Self>) -> Exp<Self>;
}

/// Integers and floats.
#[diagnostic::on_unimplemented(message = "`{Self}` is neither an integer nor a float")]
pub trait Real: Num + ScalarElt {
    /// The least value: of floats minus infinity.
    const LOWEST: Self;
    /// The greatest value: of floats infinity.
    const HIGHEST: Self;
}

/// `i8` to `i64` and `u8` to `u64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no integer",
    note = "a float becomes one with `.cast::<i64>()`, toward zero"
)]
pub trait Integer: Real + Bits {}

/// `f16`, `f32`, `f64`.
#[diagnostic::on_unimplemented(message = "`{Self}` is no float", note = "an integer becomes one with `.cast::<f32>()`")]
pub trait Float: Real {
    /// How many binary digits a number has, the leading one included: 11, 24, 53.
    const DIGITS: u32;

    /// The value nearest to that of an `f64`.
    fn float(value: f64) -> Self;
}

/// Elements with `&`, `|`, `^` and `!`: `bool` and integers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bits to work on",
    note = "`.bits::<u32>()` reinterprets a float"
)]
pub trait Bits: ScalarElt {
    #[doc(hidden)]
    const NOT: Unary;
}

pub(crate) fn unary(function: Unary, a: TermId, ty: ElementType, at: At) -> TermId {
    arena::scalar(ScalarOp::Unary { function, a: local(a) }, ty, at)
}

pub(crate) fn binary(function: Binary, a: TermId, b: TermId, ty: ElementType, at: At) -> TermId {
    arena::scalar(ScalarOp::Binary { function, a: local(a), b: local(b) }, ty, at)
}

/// A function of two scalars of one type, to another type or the same.
pub(crate) fn combine<T: ScalarElt, R: ScalarElt>(function: Binary, a: Exp<T>, b: Exp<T>, at: At) -> Exp<R> {
    let (a, b) = (a.term(at), b.term(at));
    Exp::from_terms(&[binary(function, a, b, R::TYPE, at)])
}

/// A function of one scalar.
pub(crate) fn apply<T: ScalarElt, R: ScalarElt>(function: Unary, a: Exp<T>, at: At) -> Exp<R> {
    let a = a.term(at);
    Exp::from_terms(&[unary(function, a, R::TYPE, at)])
}

macro_rules! reals {
    ($($rust:ty, $number:expr, $lowest:expr, $highest:expr;)*) => {$(
        impl Num for $rust {
            fn number(value: i64) -> Self {
                $number(value)
            }
            #[track_caller]
            fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
                combine(Binary::Add, a, b, here())
            }
            #[track_caller]
            fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
                combine(Binary::Sub, a, b, here())
            }
            #[track_caller]
            fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
                combine(Binary::Mul, a, b, here())
            }
            #[track_caller]
            fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
                combine(Binary::Div, a, b, here())
            }
            #[track_caller]
            fn neg(a: Exp<Self>) -> Exp<Self> {
                apply(Unary::Neg, a, here())
            }
        }
        impl Real for $rust {
            const LOWEST: Self = $lowest;
            const HIGHEST: Self = $highest;
        }
    )*};
}
reals! {
    i8, |v| v as i8, i8::MIN, i8::MAX;
    i16, |v| v as i16, i16::MIN, i16::MAX;
    i32, |v| v as i32, i32::MIN, i32::MAX;
    i64, |v| v, i64::MIN, i64::MAX;
    u8, |v| v as u8, u8::MIN, u8::MAX;
    u16, |v| v as u16, u16::MIN, u16::MAX;
    u32, |v| v as u32, u32::MIN, u32::MAX;
    u64, |v| v as u64, u64::MIN, u64::MAX;
    f16, |v| f16::from_f64(v as f64), f16::NEG_INFINITY, f16::INFINITY;
    f32, |v| v as f32, f32::NEG_INFINITY, f32::INFINITY;
    f64, |v| v as f64, f64::NEG_INFINITY, f64::INFINITY;
}

macro_rules! integers {
    ($($rust:ty)*) => {$(
        impl Integer for $rust {}
        impl Bits for $rust {
            const NOT: Unary = Unary::Complement;
        }
    )*};
}
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

impl Bits for bool {
    const NOT: Unary = Unary::Not;
}

impl Float for f16 {
    const DIGITS: u32 = 11;
    fn float(value: f64) -> Self {
        f16::from_f64(value)
    }
}
impl Float for f32 {
    const DIGITS: u32 = f32::MANTISSA_DIGITS;
    fn float(value: f64) -> Self {
        value as f32
    }
}
impl Float for f64 {
    const DIGITS: u32 = f64::MANTISSA_DIGITS;
    fn float(value: f64) -> Self {
        value
    }
}

/// Conversion of a term; nothing where the type is the same.
pub(crate) fn convert(a: TermId, from: ElementType, to: ElementType, at: At) -> TermId {
    if from == to {
        return a;
    }
    if let Some(number) = arena::value_of(a).filter(|_| from.is_integer()).and_then(Constant::as_i64) {
        return arena::constant(Constant::from_i64(to, number), at);
    }
    arena::scalar(ScalarOp::Convert { to, a: local(a) }, to, at)
}
