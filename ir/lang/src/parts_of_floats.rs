//! Floats taken apart and put together: mantissa and exponent, by bits.

use fusebox_ir::{ElementType, ScalarOp};

use crate::{
    arena::{self, here, local},
    control::cond,
    exp::{Exp, IntoExp, constant},
    number::{Float, convert},
};

/// How the bits of a float type are divided: sign, exponent, fraction.
#[derive(Clone, Copy)]
struct Layout {
    /// The unsigned integer of the same width.
    bits: ElementType,
    /// Bits of the fraction.
    fraction: u32,
    /// Bits of all.
    width: u32,
}

impl Layout {
    fn of<T: Float>() -> Self {
        let width = 8 * T::TYPE.bytes() as u32;
        let bits = match T::TYPE {
            ElementType::F16 => ElementType::U16,
            ElementType::F32 => ElementType::U32,
            _ => ElementType::U64,
        };
        Self { bits, fraction: T::DIGITS - 1, width }
    }

    /// The exponent of numbers from 1 to below 2, as it is stored; also the greatest exponent.
    fn bias(self) -> i64 {
        (1 << (self.width - self.fraction - 2)) - 1
    }
}

#[track_caller]
fn raw<T: Float>(x: Exp<T>) -> Exp<u64> {
    let (at, bits) = (here(), Layout::of::<T>().bits);
    let reinterpreted = arena::scalar(ScalarOp::Bits { to: bits, a: local(x.term(at)) }, bits, at);
    Exp::from_terms(&[convert(reinterpreted, bits, ElementType::U64, at)])
}

#[track_caller]
fn from_raw<T: Float>(raw: Exp<u64>) -> Exp<T> {
    let (at, bits) = (here(), Layout::of::<T>().bits);
    let narrow = convert(raw.term(at), ElementType::U64, bits, at);
    Exp::from_terms(&[arena::scalar(ScalarOp::Bits { to: T::TYPE, a: local(narrow) }, T::TYPE, at)])
}

/// 2 to a power that a normal number has.
#[track_caller]
fn power_of_two<T: Float>(power: Exp<i64>) -> Exp<T> {
    let layout = Layout::of::<T>();
    from_raw((power + layout.bias()).cast::<u64>() << u64::from(layout.fraction))
}

/// The number `mantissa * 2^exponent`, rounded where the type has no such number.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let r = example::run(|| lift::<(f32, f64)>((encode_float::<f32>(3, -1), encode_float::<f64>(1, 2000))));
/// assert_eq!(r, (1.5, f64::INFINITY));
/// ```
#[track_caller]
pub fn encode_float<T: Float>(mantissa: impl IntoExp<i64>, exponent: impl IntoExp<i64>) -> Exp<T> {
    mantissa.into_exp().cast::<T>().scale(exponent)
}

impl<T: Float> Exp<T> {
    /// The number as `mantissa * 2^exponent`, the mantissa as large as the type has digits ([`Float::DIGITS`]); of 0 both are 0. Of infinities
    /// and NaN it is what their bits would stand for in a wider type.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run(|| lift::<((i64, i64), (i64, i64))>((constant(1.5f32).decode(), constant(-5e-324f64).decode())));
    /// assert_eq!(r, ((3 << 22, -23), (-(1 << 52), -1126)));
    /// ```
    #[track_caller]
    #[doc(alias = "decode_float")]
    pub fn decode(self) -> (Exp<i64>, Exp<i64>) {
        let layout = Layout::of::<T>();
        let raw = raw(self);
        let fraction = raw & ((1 << layout.fraction) - 1);
        let stored = (raw >> u64::from(layout.fraction)) & ((1 << (layout.width - layout.fraction - 1)) - 1);
        let least = 1 - layout.bias() - i64::from(layout.fraction);
        // A subnormal number's first digit is moved up to where others have it.
        let shift = fraction.clz() - u64::from(u64::BITS - 1 - layout.fraction);
        let normal = lift::<(u64, i64)>((fraction | (1 << layout.fraction), stored.cast::<i64>() + (least - 1)));
        let subnormal = lift::<(u64, i64)>((fraction << shift, constant(least) - shift.cast::<i64>()));
        let zero = constant((0u64, 0i64));
        let found: Exp<(u64, i64)> = cond(stored.ne_(0), normal, cond::<(u64, i64)>(fraction.ne_(0), subnormal, zero));
        let size = found.fst().cast::<i64>();
        let negative = (raw >> u64::from(layout.width - 1)).ne_(0);
        (cond(negative, -size, size), found.snd())
    }

    /// The exponent of the number as `significand * 2^exponent`, whose significand is at least a half and below 1 in size; of 0 it is 0.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run1(|x: Exp<f32>| lift::<(i64, f32)>((x.exponent(), x.significand())), &-6.0);
    /// assert_eq!(r, (3, -0.75));
    /// ```
    #[track_caller]
    pub fn exponent(self) -> Exp<i64> {
        let (mantissa, exponent) = self.decode();
        cond(mantissa.eq_(0), 0, exponent + i64::from(T::DIGITS))
    }

    /// The number without its [exponent](Self::exponent): at least a half and below 1 in size, or 0.
    #[track_caller]
    pub fn significand(self) -> Self {
        self.scale(-self.exponent())
    }

    /// `self * 2^power`, rounded once.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run1(|x: Exp<f64>| lift::<(f64, f64)>((x.scale(-1074), x.scale(1).scale(-1))), &1.0);
    /// assert_eq!(r, (5e-324, 1.0));
    /// ```
    #[track_caller]
    #[doc(alias = "scale_float")]
    #[doc(alias = "ldexp")]
    pub fn scale(self, power: impl IntoExp<i64>) -> Self {
        if T::DIGITS < <f32 as Float>::DIGITS {
            // Of so few exponents a step is short; in f32 all is exact but what is 0 either way.
            return self.cast::<f32>().scale(power).cast();
        }
        let layout = Layout::of::<T>();
        let (most, digits) = (layout.bias(), i64::from(T::DIGITS));
        // Steps down leave room for all digits, so that the last step alone rounds.
        let (least, down) = (1 - most, 1 - most + digits);
        let (mut x, mut power) = (self, power.into_exp());
        // From the least number to the greatest it is a little more than two steps.
        for _ in 0..3 {
            let (high, low) = (power.gt(most), power.lt(least));
            let step = cond(high, constant(most), cond(low, constant(down), constant(0i64)));
            (x, power) = (x * power_of_two::<T>(step), power - step);
        }
        x * power_of_two::<T>(power.clamp(least, most))
    }

    /// Whether it is `-0`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run1(|x: Exp<f32>| lift::<(bool, bool)>((x.is_negative_zero(), (-x).is_negative_zero())), &0.0);
    /// assert_eq!(r, (false, true));
    /// ```
    #[track_caller]
    pub fn is_negative_zero(self) -> Exp<bool> {
        raw(self).eq_(1u64 << (Layout::of::<T>().width - 1))
    }

    /// Whether it is so near to 0 that it has fewer digits than its type; 0 itself is not.
    #[track_caller]
    #[doc(alias = "is_denormalized")]
    pub fn is_subnormal(self) -> Exp<bool> {
        let layout = Layout::of::<T>();
        let size = raw(self) & ((1u64 << (layout.width - 1)) - 1);
        size.ne_(0) & size.lt(1u64 << layout.fraction)
    }

    /// Whether it is neither NaN nor an infinity.
    #[track_caller]
    pub fn is_finite(self) -> Exp<bool> {
        !(self.is_nan() | self.is_inf())
    }

    /// What is left behind [`trunc`](Self::trunc), with the number's sign: from -1 to 1.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// assert_eq!(example::run1(|x: Exp<f32>| x.fract(), &-1.25), -0.25);
    /// ```
    #[track_caller]
    pub fn fract(self) -> Self {
        self - self.trunc()
    }

    /// The whole part toward zero, as an integer, and what is left of the number.
    #[track_caller]
    pub fn proper_fraction<I: crate::Integer>(self) -> (Exp<I>, Self) {
        (self.cast::<I>(), self.fract())
    }
}

fn lift<T: crate::Elt>(value: impl IntoExp<T>) -> Exp<T> {
    value.into_exp()
}
