//! Optional values in programs.

use crate::{
    control::cond,
    elt::Elt,
    exp::{Components, Exp, IntoExp, constant},
};

/// A value that is there.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run1(|x: Exp<i64>| some(x).unwrap_or(7), &3), 3);
/// ```
#[track_caller]
pub fn some<T: Elt>(value: impl IntoExp<T>) -> Exp<Option<T>> {
    Exp::of_components(&[constant(true).components(), value.into_exp().components()])
}

/// No value.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run(|| none::<i64>().unwrap_or(7)), 7);
/// ```
#[track_caller]
pub fn none<T: Elt>() -> Exp<Option<T>> {
    constant(None)
}

impl<T: Elt> Exp<Option<T>> {
    /// Whether there is a value.
    pub fn is_some(self) -> Exp<bool> {
        self.component(0)
    }

    /// Whether there is none.
    #[track_caller]
    pub fn is_none(self) -> Exp<bool> {
        !self.is_some()
    }

    /// The value where there is one; else zeros, without a check.
    pub(crate) fn content(self) -> Exp<T> {
        self.component(1)
    }

    /// The value, or `default` where there is none.
    #[track_caller]
    pub fn unwrap_or(self, default: impl IntoExp<T>) -> Exp<T> {
        cond(self.is_some(), self.content(), default)
    }

    /// `f` of the value, or `default` where there is none.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// assert_eq!(example::run1(|x: Exp<Option<i64>>| x.map_or(0, |v| v + 1), &Some(3)), 4);
    /// ```
    #[track_caller]
    pub fn map_or<U: Elt, R: IntoExp<U>>(self, default: impl IntoExp<U>, f: impl FnOnce(Exp<T>) -> R) -> Exp<U> {
        cond(self.is_some(), f(self.content()), default)
    }

    /// `f` of the value where there is one.
    #[track_caller]
    pub fn map<U: Elt, R: IntoExp<U>>(self, f: impl FnOnce(Exp<T>) -> R) -> Exp<Option<U>> {
        cond(self.is_some(), some(f(self.content())), none())
    }

    /// `f` of the value where there is one, which may be none in turn.
    #[track_caller]
    pub fn and_then<U: Elt, R: IntoExp<Option<U>>>(self, f: impl FnOnce(Exp<T>) -> R) -> Exp<Option<U>> {
        cond(self.is_some(), f(self.content()), none())
    }

    /// This one where it has a value, else the other.
    #[track_caller]
    pub fn or_else(self, other: impl IntoExp<Option<T>>) -> Self {
        cond(self.is_some(), self, other)
    }
}

impl<T: Elt> IntoExp<Option<T>> for Option<T> {
    #[track_caller]
    fn into_exp(self) -> Exp<Option<T>> {
        constant(self)
    }
}

/// A value that is there where the condition holds.
#[track_caller]
pub fn some_if<T: Elt>(condition: impl IntoExp<bool>, value: impl IntoExp<T>) -> Exp<Option<T>> {
    let parts: [Components; 2] = [condition.into_exp().components(), value.into_exp().components()];
    Exp::of_components(&parts)
}
