//! Values of one of two types.

use crate::{
    acc::Acc,
    array::{Array, Vector},
    elt::Elt,
    exp::Exp,
    ops::{expand::filter, map::map},
    shape::Dimensions,
};

/// A value of one of two types. In a program: `Either::exp_left(a)`, `Either::exp_right(b)`, `x.cases(|a| …, |b| …)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, fusebox_lang_derive::Elt)]
#[elt(crate = "crate")]
pub enum Either<A, B> {
    /// The first.
    Left(A),
    /// The second.
    Right(B),
}

macro_rules! sides {
    ($($(#[$doc:meta])* $name:ident $side:ident $is:ident |$a:ident, $b:ident| $offset:expr;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name<Sh: Dimensions, $a: Elt, $b: Elt>(
            xs: Acc<Array<Sh, Either<$a, $b>>>,
        ) -> (Acc<Vector<$side>>, Acc<Array<Sh::Down, i64>>) {
            let (kept, counts) = filter(|x: Exp<Either<$a, $b>>| x.$is(), xs);
            (map(|x: Exp<Either<$a, $b>>| x.component::<$side>($offset), kept), counts)
        }
    )*};
}
sides! {
    /// The values of the first type, in order, and how many there are in each row.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[Either::Left(1i64), Either::Right(2.5f32), Either::Left(3)]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<Either<i64, f32>>>| (lefts(xs), rights(xs)), &xs);
    /// assert_eq!((r.0.0.to_vec(), r.0.1.value()), (vec![1, 3], Some(2)));
    /// assert_eq!((r.1.0.to_vec(), r.1.1.value()), (vec![2.5], Some(1)));
    /// ```
    lefts A is_left |A, B| 1;
    /// The values of the second type, in order, and how many there are in each row.
    rights B is_right |A, B| 1 + A::COUNT;
}
