//! How two values compare, as an element: `Ordering` of Rust.

use std::cmp::Ordering;

use fusebox_ir::Constant;

use crate::{
    control::cond,
    elt::{Elt, Fields, ScalarElt},
    exp::{Exp, IntoExp, constant},
};

/// An `i8`: -1 for `Less`, 0 for `Equal`, 1 for `Greater`.
impl Elt for Ordering {
    const COUNT: usize = 1;
    fn fields(fields: &mut Fields) {
        i8::fields(fields);
    }
    fn put(&self, out: &mut Vec<Constant>) {
        (*self as i8).put(out);
    }
    fn take(from: &mut dyn Iterator<Item = Constant>) -> Option<Self> {
        match i8::take(from)? {
            -1 => Some(Self::Less),
            0 => Some(Self::Equal),
            1 => Some(Self::Greater),
            _ => None,
        }
    }
}

impl IntoExp<Ordering> for Ordering {
    #[track_caller]
    fn into_exp(self) -> Exp<Ordering> {
        constant(self)
    }
}

impl<T: ScalarElt> Exp<T> {
    /// How it compares with another: `Less`, `Equal` or `Greater`. NaN is above all others and equal to itself; -0 and 0 are equal.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// use std::cmp::Ordering::{Greater, Less};
    /// let xs = Vector::from_slice(&[1.0f32, 3.0, f32::NAN]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<f32>>| xs.map(|x| x.compare(2.0)), &xs);
    /// assert_eq!(r.to_vec(), [Less, Greater, Greater]);
    /// ```
    #[track_caller]
    pub fn compare(self, other: impl IntoExp<T>) -> Exp<Ordering> {
        let other = other.into_exp();
        let (mut less, mut equal) = (self.lt(other), self.eq_(other));
        if T::TYPE.is_float() {
            let (own, others) = (self.ne_(self), other.ne_(other));
            (less, equal) = (less | (!own & others), equal | (own & others));
        }
        let number: Exp<i8> = cond(less, -1i8, cond::<i8>(equal, 0i8, 1i8));
        Exp::of_components(&[number.components()])
    }
}

impl Exp<Ordering> {
    #[track_caller]
    fn number(self) -> Exp<i8> {
        self.component(0)
    }

    /// Whether it is `Less`.
    #[track_caller]
    pub fn is_lt(self) -> Exp<bool> {
        self.number().lt(0)
    }

    /// Whether it is `Less` or `Equal`.
    #[track_caller]
    pub fn is_le(self) -> Exp<bool> {
        self.number().le(0)
    }

    /// Whether it is `Greater`.
    #[track_caller]
    pub fn is_gt(self) -> Exp<bool> {
        self.number().gt(0)
    }

    /// Whether it is `Greater` or `Equal`.
    #[track_caller]
    pub fn is_ge(self) -> Exp<bool> {
        self.number().ge(0)
    }

    /// Whether it is `Equal`.
    #[track_caller]
    pub fn is_eq(self) -> Exp<bool> {
        self.number().eq_(0)
    }

    /// `Less` for `Greater`, and the other way round.
    #[must_use]
    #[track_caller]
    pub fn reverse(self) -> Self {
        Exp::of_components(&[(-self.number()).components()])
    }

    /// This one, or where it is `Equal` the other: what decides first, then what decides next.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let by_both = |a: Exp<(i64, i64)>, b: Exp<(i64, i64)>| a.fst().compare(b.fst()).then(b.snd().compare(a.snd()));
    /// let r = example::run(|| by_both(constant((1, 5)), constant((1, 7))));
    /// assert_eq!(r, std::cmp::Ordering::Greater);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn then(self, other: impl IntoExp<Ordering>) -> Self {
        cond(self.is_eq(), other, self)
    }

    /// A value for each of the three: what a `match` would choose.
    #[track_caller]
    pub fn cases<T: Elt>(self, less: impl IntoExp<T>, equal: impl IntoExp<T>, greater: impl IntoExp<T>) -> Exp<T> {
        cond(self.is_lt(), less, cond::<T>(self.is_eq(), equal, greater))
    }
}
