//! Scalar functions, as methods of handles.

use fusebox_ir::{Binary, Constant, ScalarOp, Unary};

use crate::{
    arena::{self, here, local},
    elt::{Elt, ScalarElt},
    exp::{Exp, IntoExp, constant},
    number::{Bits, Float, Integer, Real, apply, binary, combine, convert},
};

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $function:ident;)*) => {
        impl<T: ScalarElt> Exp<T> {
            $($(#[$doc])*
            #[track_caller]
            pub fn $name(self, other: impl IntoExp<T>) -> Exp<bool> {
                combine(Binary::$function, self, other.into_exp(), here())
            })*
        }
    };
}
comparisons! {
    /// Whether it is less; of NaN never.
    lt Lt;
    /// Whether it is less or equal; of NaN never.
    le Le;
    /// Whether it is greater; of NaN never.
    gt Gt;
    /// Whether it is greater or equal; of NaN never.
    ge Ge;
}

impl<T: ScalarElt> Exp<T> {
    /// The smaller; NaN wins, -0 < +0, `false < true`.
    #[track_caller]
    pub fn min(self, other: impl IntoExp<T>) -> Self {
        combine(Binary::Min, self, other.into_exp(), here())
    }

    /// The larger; NaN wins, -0 < +0, `false < true`.
    #[track_caller]
    pub fn max(self, other: impl IntoExp<T>) -> Self {
        combine(Binary::Max, self, other.into_exp(), here())
    }

    /// Conversion to a number type: integers wrap, to float rounds half to even, float to integer saturates with NaN to 0;
    /// `bool` is 0 or 1.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run(|| lift::<(i64, f32, u8)>((constant(2.9f64).cast(), constant(3i32).cast(), constant(-1i64).cast())));
    /// assert_eq!(r, (2, 3.0, 255));
    /// ```
    #[track_caller]
    pub fn cast<U: Real>(self) -> Exp<U> {
        let at = here();
        let a = self.term(at);
        Exp::from_terms(&[convert(a, T::TYPE, U::TYPE, at)])
    }
}

impl<T: Elt> Exp<T> {
    /// Whether all components are equal; NaN equals nothing.
    #[track_caller]
    pub fn eq_(self, other: impl IntoExp<T>) -> Exp<bool> {
        let at = here();
        let (a, b) = (self.terms(at), other.into_exp().terms(at));
        let equal = a.into_iter().zip(b).map(|(a, b)| binary(Binary::Eq, a, b, bool::TYPE, at));
        let all = equal.reduce(|a, b| binary(Binary::And, a, b, bool::TYPE, at));
        Exp::from_terms(&[all.unwrap_or_else(|| arena::constant(true, at))])
    }

    /// Whether some component differs.
    #[track_caller]
    pub fn ne_(self, other: impl IntoExp<T>) -> Exp<bool> {
        let at = here();
        let (a, b) = (self.terms(at), other.into_exp().terms(at));
        let differ = a.into_iter().zip(b).map(|(a, b)| binary(Binary::Ne, a, b, bool::TYPE, at));
        let any = differ.reduce(|a, b| binary(Binary::Or, a, b, bool::TYPE, at));
        Exp::from_terms(&[any.unwrap_or_else(|| arena::constant(false, at))])
    }
}

impl Exp<bool> {
    /// Whether both hold; the right operand is computed only where the left one holds.
    #[track_caller]
    pub fn and(self, other: impl IntoExp<bool>) -> Self {
        combine(Binary::LogicalAnd, self, other.into_exp(), here())
    }

    /// Whether one holds; the right operand is computed only where the left one does not hold.
    #[track_caller]
    pub fn or(self, other: impl IntoExp<bool>) -> Self {
        combine(Binary::LogicalOr, self, other.into_exp(), here())
    }
}

impl<T: Real> Exp<T> {
    /// The absolute value; integers wrap.
    #[track_caller]
    pub fn abs(self) -> Self {
        apply(Unary::Abs, self, here())
    }

    /// -1, 0 or 1; of ±0 and NaN itself.
    #[track_caller]
    pub fn sign(self) -> Self {
        apply(Unary::Sign, self, here())
    }

    /// Between `low` and `high`.
    #[track_caller]
    pub fn clamp(self, low: impl IntoExp<T>, high: impl IntoExp<T>) -> Self {
        self.max(low).min(high)
    }

    /// The same bits as another number type of the same width.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// assert_eq!(example::run(|| constant(1.0f32).bits::<u32>()), 0x3f80_0000);
    /// ```
    #[track_caller]
    pub fn bits<U: Real>(self) -> Exp<U> {
        const { assert!(size_of::<T>() == size_of::<U>(), "`bits` reinterprets as a type of the same width") };
        let at = here();
        let a = self.term(at);
        if T::TYPE == U::TYPE {
            return Exp::from_terms(&[a]);
        }
        Exp::from_terms(&[arena::scalar(ScalarOp::Bits { to: U::TYPE, a: local(a) }, U::TYPE, at)])
    }
}

macro_rules! integer_functions {
    ($($(#[$doc:meta])* $name:ident $function:ident;)*) => {
        impl<T: Integer> Exp<T> {
            $($(#[$doc])*
            #[track_caller]
            pub fn $name(self) -> Self {
                apply(Unary::$function, self, here())
            })*
        }
    };
}
integer_functions! {
    /// The number of bits set.
    popcount Popcount;
    /// Leading zeros.
    clz Clz;
    /// Trailing zeros.
    ctz Ctz;
}

impl<T: Integer> Exp<T> {
    /// The quotient rounded down; by zero an error at run time. `/` rounds to zero.
    #[track_caller]
    pub fn div_floor(self, other: impl IntoExp<T>) -> Self {
        combine(Binary::DivFloor, self, other.into_exp(), here())
    }

    /// The remainder with the sign of the divisor; by zero an error at run time. `%` has the sign of the dividend.
    #[track_caller]
    pub fn mod_floor(self, other: impl IntoExp<T>) -> Self {
        combine(Binary::ModFloor, self, other.into_exp(), here())
    }

    /// Quotient and remainder, rounded to zero.
    #[track_caller]
    pub fn quot_rem(self, other: impl IntoExp<T>) -> (Self, Self) {
        let other = other.into_exp();
        (self / other, self % other)
    }

    /// Quotient and remainder, rounded down.
    #[track_caller]
    pub fn div_mod(self, other: impl IntoExp<T>) -> (Self, Self) {
        let other = other.into_exp();
        (self.div_floor(other), self.mod_floor(other))
    }

    /// Rotation to the left, modulo the width.
    #[track_caller]
    pub fn rotate_left(self, amount: impl IntoExp<T>) -> Self {
        combine(Binary::RotateLeft, self, amount.into_exp(), here())
    }

    /// Rotation to the right, modulo the width.
    #[track_caller]
    pub fn rotate_right(self, amount: impl IntoExp<T>) -> Self {
        combine(Binary::RotateRight, self, amount.into_exp(), here())
    }

    /// Whether bit `i` is set; beyond the width it is not.
    #[track_caller]
    pub fn test_bit(self, i: impl IntoExp<T>) -> Exp<bool> {
        (self & Self::bit(i)).ne_(constant(T::number(0)))
    }

    /// With bit `i` set.
    #[track_caller]
    pub fn set_bit(self, i: impl IntoExp<T>) -> Self {
        self | Self::bit(i)
    }

    /// With bit `i` cleared.
    #[track_caller]
    pub fn clear_bit(self, i: impl IntoExp<T>) -> Self {
        self & !Self::bit(i)
    }

    /// With bit `i` turned.
    #[track_caller]
    pub fn complement_bit(self, i: impl IntoExp<T>) -> Self {
        self ^ Self::bit(i)
    }

    /// Bit `i` alone, all others 0.
    #[track_caller]
    pub fn bit(i: impl IntoExp<T>) -> Self {
        constant(T::number(1)) << i.into_exp()
    }

    /// Whether it is a multiple of two.
    #[track_caller]
    pub fn is_even(self) -> Exp<bool> {
        (self & constant(T::number(1))).eq_(constant(T::number(0)))
    }

    /// Whether it is no multiple of two.
    #[track_caller]
    pub fn is_odd(self) -> Exp<bool> {
        (self & constant(T::number(1))).ne_(constant(T::number(0)))
    }
}

macro_rules! float_functions {
    ($($(#[$doc:meta])* $name:ident $function:ident $(-> $result:ty)?;)*) => {
        impl<T: Float> Exp<T> {
            $(float_functions!(@one $(#[$doc])* $name $function $(-> $result)?);)*
        }
    };
    (@one $(#[$doc:meta])* $name:ident $function:ident) => {
        $(#[$doc])*
        #[track_caller]
        pub fn $name(self) -> Self {
            apply(Unary::$function, self, here())
        }
    };
    (@one $(#[$doc:meta])* $name:ident $function:ident -> $result:ty) => {
        $(#[$doc])*
        #[track_caller]
        pub fn $name(self) -> Exp<$result> {
            apply(Unary::$function, self, here())
        }
    };
}
float_functions! {
    /// The square root, correctly rounded.
    sqrt Sqrt;
    /// The cube root.
    cbrt Cbrt;
    /// e to the power.
    exp Exp;
    /// 2 to the power.
    exp2 Exp2;
    /// `exp(x) - 1`, exact near 0.
    expm1 Expm1;
    /// The natural logarithm.
    log Log;
    /// The logarithm to base 2.
    log2 Log2;
    /// The logarithm to base 10.
    log10 Log10;
    /// `log(1 + x)`, exact near 0.
    log1p Log1p;
    /// The sine of radians.
    sin Sin;
    /// The cosine of radians.
    cos Cos;
    /// The tangent of radians.
    tan Tan;
    /// The inverse sine.
    asin Asin;
    /// The inverse cosine.
    acos Acos;
    /// The inverse tangent.
    atan Atan;
    /// The hyperbolic sine.
    sinh Sinh;
    /// The hyperbolic cosine.
    cosh Cosh;
    /// The hyperbolic tangent.
    tanh Tanh;
    /// The inverse hyperbolic sine.
    asinh Asinh;
    /// The inverse hyperbolic cosine.
    acosh Acosh;
    /// The inverse hyperbolic tangent.
    atanh Atanh;
    /// The error function.
    erf Erf;
    /// `1 - erf(x)`.
    erfc Erfc;
    /// Down to a whole number.
    floor Floor;
    /// Up to a whole number.
    ceil Ceil;
    /// Toward zero to a whole number.
    trunc Trunc;
    /// To the nearest whole number, halves to even.
    round Round;
    /// Whether it is NaN.
    is_nan IsNan -> bool;
    /// Whether it is an infinity.
    is_inf IsInf -> bool;
}

impl<T: Float> Exp<T> {
    /// To the power `exponent`.
    #[track_caller]
    pub fn pow(self, exponent: impl IntoExp<T>) -> Self {
        combine(Binary::Pow, self, exponent.into_exp(), here())
    }

    /// The angle of the point (x, self), in radians.
    #[track_caller]
    pub fn atan2(self, x: impl IntoExp<T>) -> Self {
        combine(Binary::Atan2, self, x.into_exp(), here())
    }

    /// `sqrt(self² + other²)` without overflow.
    #[track_caller]
    pub fn hypot(self, other: impl IntoExp<T>) -> Self {
        combine(Binary::Hypot, self, other.into_exp(), here())
    }

    /// The logarithm to a base.
    #[track_caller]
    pub fn log_base(self, base: impl IntoExp<T>) -> Self {
        self.log() / base.into_exp().log()
    }

    /// 1 divided by it.
    #[track_caller]
    pub fn recip(self) -> Self {
        constant(T::float(1.0)) / self
    }

    /// `self * b + c`, rounded once.
    #[track_caller]
    pub fn fma(self, b: impl IntoExp<T>, c: impl IntoExp<T>) -> Self {
        let at = here();
        let (a, b, c) = (self.term(at), b.into_exp().term(at), c.into_exp().term(at));
        let op = ScalarOp::Fma { a: local(a), b: local(b), c: local(c) };
        Exp::from_terms(&[arena::scalar(op, T::TYPE, at)])
    }
}

impl<T: Bits> Exp<T> {
    /// All bits zero, or `false`.
    #[track_caller]
    pub fn zero_bits() -> Self {
        Exp::from_terms(&[arena::constant(Constant::zero(T::TYPE), here())])
    }
}

/// Zero or a number of any type, for code that is generic in its number type.
///
/// ```
/// # use fusebox_lang::*; example!();
/// fn double<T: Num>(x: Exp<T>) -> Exp<T> {
///     number::<T>(2) * x
/// }
/// assert_eq!(example::run(|| double(constant(1.5f32))), 3.0);
/// ```
#[track_caller]
pub fn number<T: crate::Num>(value: i64) -> Exp<T> {
    constant(T::number(value))
}

/// A float of any type, for code that is generic in its float type.
#[track_caller]
pub fn float<T: Float>(value: f64) -> Exp<T> {
    constant(T::float(value))
}

/// The least value of a type: of floats minus infinity.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| lift::<(i8, f32)>((min_bound(), max_bound()))), (-128, f32::INFINITY));
/// ```
#[track_caller]
pub fn min_bound<T: Real>() -> Exp<T> {
    constant(T::LOWEST)
}

/// The greatest value of a type: of floats infinity.
#[track_caller]
pub fn max_bound<T: Real>() -> Exp<T> {
    constant(T::HIGHEST)
}
