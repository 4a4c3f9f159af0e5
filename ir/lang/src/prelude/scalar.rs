//! Scalar code made of loops.

use crate::{
    acc::Acc,
    array::Array,
    control::{cond, while_loop},
    elt::Elt,
    exp::{Exp, IntoExp, constant},
    number::{Integer, Num},
    shape::{AsIndex, Dimensions},
};

impl<T: Integer> Exp<T> {
    /// The greatest common divisor; of 0 and 0 it is 0.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// assert_eq!(example::run1(|x: Exp<i64>| x.gcd(18), &-12), 6);
    /// ```
    #[track_caller]
    pub fn gcd(self, other: impl IntoExp<T>) -> Self {
        let start: Exp<(T, T)> = (self.abs(), other.into_exp().abs()).into_exp();
        while_loop(start, |s| s.snd().ne_(constant(T::number(0))), |s| (s.snd(), s.fst() % s.snd())).fst()
    }

    /// The least common multiple; 0 where one is 0.
    #[track_caller]
    pub fn lcm(self, other: impl IntoExp<T>) -> Self {
        let other = other.into_exp();
        let zero = constant(T::number(0));
        let is_zero = self.eq_(zero) | other.eq_(zero);
        cond(is_zero, zero, (self / self.gcd(other) * other).abs())
    }
}

impl<T: Num> Exp<T> {
    /// To a whole power by products, as many as the power has bits; a negative power gives 1.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// assert_eq!(example::run1(|x: Exp<i64>| x.powi(5), &3), 243);
    /// ```
    #[track_caller]
    pub fn powi(self, power: impl IntoExp<i64>) -> Self {
        let start: Exp<(T, T, i64)> = (constant(T::number(1)), self, power.into_exp()).into_exp();
        while_loop(
            start,
            |s| s.parts().2.gt(0),
            |s| {
                let (result, square, left) = s.parts();
                (cond(left.is_odd(), result * square, result), square * square, left >> 1)
            },
        )
        .parts()
        .0
    }
}

/// The fold of one row by scalar code, from left to right: `row` is the index without the innermost part.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let m = Matrix::new((2, 2), &[1, 2, 3, 4i64]).unwrap();
/// let r = example::run1(|m: Acc<Matrix<i64>>| generate(2, |i| sequential_fold(|a, x| a * 10 + x, 0, i, m)), &m);
/// assert_eq!(r.to_vec(), [12, 34]);
/// ```
#[track_caller]
pub fn sequential_fold<Sh: Dimensions, A: Elt, B: Elt, R: IntoExp<B>>(
    f: impl FnOnce(Exp<B>, Exp<A>) -> R,
    seed: impl IntoExp<B>,
    row: impl AsIndex<Shape = Sh::Down>,
    xs: Acc<Array<Sh, A>>,
) -> Exp<B> {
    let row = row.parts();
    let n = xs.shape().parts().last().copied().unwrap_or_else(|| constant(0i64));
    let start: Exp<(B, i64)> = (seed.into_exp(), constant(0i64)).into_exp();
    while_loop(
        start,
        |s| s.snd().lt(n),
        |s| {
            let mut index = row.clone();
            index.push(s.snd());
            (f(s.fst(), xs.at(Sh::index(&index))), s.snd() + 1)
        },
    )
    .fst()
}
