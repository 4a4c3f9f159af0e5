//! Scalar control: conditions, loops, assertions.

use fusebox_ir::{Lambda, ScalarOp};

use crate::{
    arena::{self, At, here, local},
    elt::Elt,
    exp::{Exp, IntoExp, branch, function1},
};

/// `a` where the condition holds, else `b`; what the branch not taken alone needs is not computed and cannot fail.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let r = example::run1(|x: Exp<i64>| cond(x.eq_(0), 0, 100 / x), &0);
/// assert_eq!(r, 0);
/// ```
#[track_caller]
pub fn cond<T: Elt>(condition: impl IntoExp<bool>, a: impl IntoExp<T>, b: impl IntoExp<T>) -> Exp<T> {
    let at = here();
    let condition = local(condition.into_exp().term(at));
    let branches = vec![branch(a.into_exp(), at), branch(b.into_exp(), at)];
    let op = ScalarOp::If { condition, then: Lambda::default(), otherwise: Lambda::default() };
    if T::COUNT == 0 {
        return Exp::from_terms(&[]);
    }
    Exp::from_terms(&arena::scalar_bodies(op, branches, T::types(), at))
}

impl Exp<bool> {
    /// [`cond`] on this condition.
    #[track_caller]
    pub fn cond<T: Elt>(self, a: impl IntoExp<T>, b: impl IntoExp<T>) -> Exp<T> {
        cond(self, a, b)
    }
}

/// Runs `step` on the state while `condition` holds of it; the last state.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let r = example::run1(|x: Exp<i64>| while_loop(x, |v| v.lt(100), |v| v * 2), &3);
/// assert_eq!(r, 192);
/// ```
#[track_caller]
pub fn while_loop<T: Elt, C: IntoExp<bool>, R: IntoExp<T>>(
    start: impl IntoExp<T>,
    condition: impl FnOnce(Exp<T>) -> C,
    step: impl FnOnce(Exp<T>) -> R,
) -> Exp<T> {
    let at = here();
    let start = start.into_exp();
    let starts = start.terms(at).into_iter().map(local).collect();
    let condition = function1::<T, bool, C>("s", at, condition);
    let step = function1::<T, T, R>("s", at, step);
    if T::COUNT == 0 {
        return start;
    }
    let op = ScalarOp::While { condition: Lambda::default(), step: Lambda::default(), starts };
    Exp::from_terms(&arena::scalar_bodies(op, vec![condition, step], T::types(), at))
}

/// `f` applied `n` times; not at all where `n` is 0 or negative.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run1(|x: Exp<i64>| iterate(5, x, |v| v * 2), &1), 32);
/// ```
#[track_caller]
pub fn iterate<T: Elt, R: IntoExp<T>>(
    n: impl IntoExp<i64>,
    start: impl IntoExp<T>,
    f: impl FnOnce(Exp<T>) -> R,
) -> Exp<T> {
    let n = n.into_exp();
    let start: Exp<(T, i64)> = (start.into_exp(), 0i64).into_exp();
    while_loop(start, |s| s.snd().lt(n), |s| (f(s.fst()), s.snd() + 1)).fst()
}

/// `value`, or a run-time error with `message` where the condition does not hold. It is checked where the value is needed.
///
/// ```
/// # use fusebox_lang::*; example!();
/// assert_eq!(example::run1(|x: Exp<i64>| assert_(x.gt(0), "x is positive", x), &3), 3);
/// ```
#[track_caller]
pub fn assert_<T: Elt>(condition: impl IntoExp<bool>, message: &str, value: impl IntoExp<T>) -> Exp<T> {
    let at = here();
    asserted(condition.into_exp(), message, &[], value.into_exp(), at)
}

/// `value`, or a run-time error whose message says numbers, each in the place of a `{}`.
pub(crate) fn asserted<T: Elt>(
    condition: Exp<bool>,
    message: &str,
    shown: &[Exp<i64>],
    value: Exp<T>,
    at: At,
) -> Exp<T> {
    let condition = local(condition.term(at));
    let shown: Vec<_> = shown.iter().map(|number| local(number.term(at))).collect();
    let checked: Vec<_> = value
        .terms(at)
        .into_iter()
        .zip(T::types())
        .map(|(term, ty)| {
            let (message, shown) = (message.to_owned(), shown.clone());
            arena::scalar(ScalarOp::Assert { condition, message, shown, value: local(term) }, ty, at)
        })
        .collect();
    Exp::from_terms(&checked)
}
