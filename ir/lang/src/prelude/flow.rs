//! Loops over arrays by count.

use crate::{exp::Exp, exp::IntoExp, interface::Arrays, ops::control::awhile};

/// `f` applied `n` times to arrays; not at all where `n` is 0 or negative.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, 2]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| aiterate(3, |xs| map(|x| 2 * x, xs), xs), &xs).to_vec(), [8, 16]);
/// ```
#[track_caller]
pub fn aiterate<S: Arrays>(n: impl IntoExp<i64>, f: impl Fn(S) -> S, start: S) -> S {
    let n = n.into_exp();
    let zero: Exp<i64> = crate::constant(0);
    awhile((start, zero), |(_, i)| i.lt(n), |(state, i)| (f(state), i + 1)).0
}
