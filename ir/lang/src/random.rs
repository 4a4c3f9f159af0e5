//! Random numbers by counters: the number at a position is a function of the seed, the stream and the position alone.
//!
//! So they are computed in any order, by any number of threads, and where they are used; the bits are the same on every backend, as nothing
//! but integer arithmetic and correctly rounded operations of floats makes them.

mod normal;
mod philox;

use crate::{
    acc::Acc,
    array::Array,
    exp::{Exp, IntoExp, constant},
    number::{Float, Integer},
    ops::map::generate,
    shape::{AsIndex, to_position},
};

pub use self::philox::philox;

/// A source of random numbers, made by [`random`]: a seed and a stream. It has no state; the same call gives the same numbers.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    seed: Exp<u64>,
    stream: Exp<u64>,
}

/// A source of random numbers with a seed.
///
/// The numbers of one source are taken by position. Arrays that should not have the same numbers come from different
/// [streams](Random::stream).
///
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011 (Philox4x32-10).
///
/// ```
/// # use fusebox_lang::*; example!();
/// let (x, y) = example::run(|| (random(7).uniform::<f64, _>(1000), random(7).stream(1).integers(1000, 0i64, 6)));
/// assert!(x.to_vec().iter().all(|x| (0.0..1.0).contains(x)));
/// assert!(y.to_vec().iter().all(|y| (0..6).contains(y)));
/// ```
#[track_caller]
pub fn random(seed: impl IntoExp<u64>) -> Random {
    Random { seed: seed.into_exp(), stream: constant(0u64) }
}

fn halves(word: Exp<u64>) -> (Exp<u32>, Exp<u32>) {
    (word.cast(), (word >> 32).cast())
}

/// Two words as one, the first the lower half.
fn joined(low: Exp<u32>, high: Exp<u32>) -> Exp<u64> {
    low.cast::<u64>() | (high.cast::<u64>() << 32)
}

/// The upper half of the product of two words.
fn upper_product(a: Exp<u64>, b: Exp<u64>) -> Exp<u64> {
    let low = |x: Exp<u64>| x & 0xffff_ffff;
    let (a0, a1, b0, b1) = (low(a), a >> 32, low(b), b >> 32);
    let middle = a1 * b0 + ((a0 * b0) >> 32);
    a1 * b1 + (middle >> 32) + ((a0 * b1 + low(middle)) >> 32)
}

impl Random {
    /// Another sequence of numbers for the same seed, by its number; a source without one has stream 0.
    #[must_use]
    #[track_caller]
    pub fn stream(self, stream: impl IntoExp<u64>) -> Self {
        Self { stream: stream.into_exp(), ..self }
    }

    /// Four random words, for the position in the array that is made, or for any number.
    #[track_caller]
    pub fn words(self, position: impl IntoExp<i64>) -> (Exp<u32>, Exp<u32>, Exp<u32>, Exp<u32>) {
        let (low, high) = halves(position.into_exp().bits::<u64>());
        let (stream_low, stream_high) = halves(self.stream);
        let (key_low, key_high) = halves(self.seed);
        philox((low, high, stream_low, stream_high), (key_low, key_high)).parts()
    }

    /// A number from 0 to below 1, a multiple of 2⁻²⁴ (`f64`: 2⁻⁵³, `f16`: 2⁻¹¹), all equally likely.
    #[track_caller]
    pub fn uniform_at<T: Float>(self, position: impl IntoExp<i64>) -> Exp<T> {
        let (low, high, ..) = self.words(position);
        let scale = constant(T::float(2f64.powi(-(T::DIGITS as i32))));
        if T::DIGITS <= u32::BITS {
            let bits = low >> (u32::BITS - T::DIGITS);
            return bits.bits::<i32>().cast::<T>() * scale;
        }
        let bits = joined(low, high) >> u64::from(u64::BITS - T::DIGITS);
        bits.bits::<i64>().cast::<T>() * scale
    }

    /// A number of the normal distribution of mean 0 and variance 1.
    ///
    /// Source: Box, Muller, "A Note on the Generation of Random Normal Deviates", 1958. Of `f16` and `f32` no number is beyond 6.7, of
    /// `f64` none beyond 8.6.
    #[track_caller]
    pub fn normal_at<T: Float>(self, position: impl IntoExp<i64>) -> Exp<T> {
        normal::normal::<T>(self.words(position))
    }

    /// An integer from `low` to below `high`, which is above it. How often any two of them come up differs by one in 2⁶⁴ at most.
    #[track_caller]
    pub fn integer_at<T: Integer>(
        self,
        position: impl IntoExp<i64>,
        low: impl IntoExp<T>,
        high: impl IntoExp<T>,
    ) -> Exp<T> {
        let (w0, w1, ..) = self.words(position);
        let (low, high) = (low.into_exp(), high.into_exp());
        // Differences and sums wrap, so that ranges wider than half of the type are none too wide.
        let range = high.cast::<u64>() - low.cast::<u64>();
        low + upper_product(joined(w0, w1), range).cast::<T>()
    }

    /// Numbers from 0 to below 1: [`Random::uniform_at`] of each row-major position. Shape: `extents`.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = example::run(|| random(1).uniform::<f32, _>((2, 500))).to_vec();
    /// let mean = xs.iter().sum::<f32>() / 1000.0;
    /// assert!((mean - 0.5).abs() < 0.05);
    /// ```
    #[track_caller]
    pub fn uniform<T: Float, I: AsIndex>(self, extents: I) -> Acc<Array<I::Shape, T>> {
        generate(extents, |index| self.uniform_at::<T>(to_position(extents, index)))
    }

    /// Numbers of the normal distribution of mean 0 and variance 1: [`Random::normal_at`] of each row-major position. Shape: `extents`.
    #[track_caller]
    pub fn normal<T: Float, I: AsIndex>(self, extents: I) -> Acc<Array<I::Shape, T>> {
        generate(extents, |index| self.normal_at::<T>(to_position(extents, index)))
    }

    /// Integers from `low` to below `high`: [`Random::integer_at`] of each row-major position. Shape: `extents`.
    #[track_caller]
    pub fn integers<T: Integer, I: AsIndex>(
        self,
        extents: I,
        low: impl IntoExp<T>,
        high: impl IntoExp<T>,
    ) -> Acc<Array<I::Shape, T>> {
        let (low, high) = (low.into_exp(), high.into_exp());
        generate(extents, |index| self.integer_at::<T>(to_position(extents, index), low, high))
    }
}
