//! What a program cannot be written with, and what to write instead, said by the compiler of Rust.
//!
//! Nothing has these traits. They stand in bounds of what Rust would look for, so that the message is ours. Rust has no such place for
//! `if` and `match` on a handle and for `as`; the README says what to write for these.

use std::{cmp::Ordering, marker::PhantomData, ops::Index};

use crate::{acc::Acc, elt::Elt, exp::Exp};

/// A comparison by an operator of Rust, of something and an `R`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Comparison<R>(PhantomData<R>);

/// What Rust can compare while it builds a program.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`<`, `>` and `==` of Rust give a `bool`, and this is known only when the program runs",
    label = "write `a.lt(b)`, `a.le(b)`, `a.gt(b)`, `a.ge(b)`, `a.eq_(b)` or `a.ne_(b)`",
    note = "these give an `Exp<bool>`, of arrays an array of `bool`; `cond(a.gt(b), x, y)` chooses between two values"
)]
pub trait KnownToRust {}

/// What stands on the right of a comparison.
#[doc(hidden)]
pub trait Compared {}
impl<R> Compared for R where Comparison<R>: KnownToRust {}

impl<T: Elt, R: Compared> PartialEq<R> for Exp<T> {
    fn eq(&self, _: &R) -> bool {
        false
    }
}
impl<T: Elt, R: Compared> PartialOrd<R> for Exp<T> {
    fn partial_cmp(&self, _: &R) -> Option<Ordering> {
        None
    }
}
impl<A, R: Compared> PartialEq<R> for Acc<A> {
    fn eq(&self, _: &R) -> bool {
        false
    }
}
impl<A, R: Compared> PartialOrd<R> for Acc<A> {
    fn partial_cmp(&self, _: &R) -> Option<Ordering> {
        None
    }
}

/// An element in brackets.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "elements of an array of a program are not read by brackets",
    label = "write `xs.at(i)`, of a matrix `m.at((i, j))`; a part of an array is `xs.slice(1..-1)`"
)]
pub trait Bracketed {}

impl<A, I: Bracketed> Index<I> for Acc<A> {
    type Output = ();
    fn index(&self, _: I) -> &() {
        &()
    }
}

/// A fold by another name.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "there is no `reduce`",
    label = "write `xs.fold(f, seed)`, or `xs.fold1(f)` without a seed",
    note = "along another axis than the innermost: `xs.fold_axis(axis, f, seed)`; of all elements: `xs.fold_all(f, seed)`; sums: `xs.sum()`, `xs.sum_axis(axis)`"
)]
pub trait Reduction {}

impl<A> Acc<A> {
    #[doc(hidden)]
    pub fn reduce(self, _: impl Reduction) -> Self {
        self
    }
}
