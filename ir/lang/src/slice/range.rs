//! Ranges of indices along a dimension: `1..-1`, `..n`, `(..).step(2)`.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use fusebox_ir::{Binary, term::TermId};

use super::{Selected, SliceDim, SliceSpec};
use crate::{
    arena::{self, At},
    error::Mistake,
    exp::Exp,
    shape::{Dimensions, Shape},
};

/// Where a range begins or ends: an `i64` known when the program is built, which counts from the end where it is negative, or an
/// `Exp<i64>`, which counts from the beginning.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no bound of a range of indices",
    note = "bounds are both `i64`, or both `Exp<i64>`: `constant(1)..n`"
)]
pub trait Bound: Copy {
    /// An index of at least 0; it may be beyond the extent.
    #[doc(hidden)]
    fn start(self, extent: TermId, at: At) -> TermId;

    /// An index of at most the extent; it may be negative.
    #[doc(hidden)]
    fn end(self, extent: TermId, at: At) -> TermId;
}

fn number(value: i64, at: At) -> TermId {
    arena::constant(value, at)
}

fn at_least_0(n: TermId, at: At) -> TermId {
    arena::size(Binary::Max, n, number(0, at), at)
}

impl Bound for i64 {
    fn start(self, extent: TermId, at: At) -> TermId {
        if self >= 0 {
            return number(self, at);
        }
        at_least_0(arena::size(Binary::Add, extent, number(self, at), at), at)
    }

    fn end(self, extent: TermId, at: At) -> TermId {
        if self >= 0 {
            return arena::size(Binary::Min, number(self, at), extent, at);
        }
        arena::size(Binary::Add, extent, number(self, at), at)
    }
}

impl Bound for Exp<i64> {
    fn start(self, _: TermId, at: At) -> TermId {
        at_least_0(self.term(at), at)
    }

    fn end(self, extent: TermId, at: At) -> TermId {
        arena::size(Binary::Min, self.term(at), extent, at)
    }
}

/// A range of indices along a dimension: ranges of Rust, of `i64` or `Exp<i64>`, and [steps](Self::step) of them.
///
/// What lies outside of the array is left out, as in Python: a range never fails.
#[diagnostic::on_unimplemented(message = "`{Self}` is no range of indices", note = "write `1..-1`, `..n`, `..`")]
pub trait Indices: Sized {
    /// The first index, and how many there are.
    #[doc(hidden)]
    fn within(self, extent: TermId, at: At) -> (TermId, TermId);

    /// Every `step`-th index, from the first on. `step` is at least 1.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let xs = Vector::from_slice(&[0i64, 1, 2, 3, 4, 5, 6]).unwrap();
    /// let r = example::run1(|xs: Acc<Vector<i64>>| (xs.slice((1..).step(2)), xs.slice((..-1).step(3))), &xs);
    /// assert_eq!((r.0.to_vec(), r.1.to_vec()), (vec![1, 3, 5], vec![0, 3]));
    /// ```
    fn step(self, step: i64) -> Stepped<Self> {
        Stepped { range: self, step }
    }
}

/// Every so-manieth index of a range, made by [`Indices::step`].
#[derive(Clone, Copy, Debug)]
pub struct Stepped<R> {
    range: R,
    step: i64,
}

/// From `start` to before `end`.
fn between(start: TermId, end: TermId, at: At) -> (TermId, TermId) {
    (start, at_least_0(arena::size(Binary::Sub, end, start, at), at))
}

impl<B: Bound> Indices for Range<B> {
    fn within(self, extent: TermId, at: At) -> (TermId, TermId) {
        between(self.start.start(extent, at), self.end.end(extent, at), at)
    }
}
impl<B: Bound> Indices for RangeFrom<B> {
    fn within(self, extent: TermId, at: At) -> (TermId, TermId) {
        between(self.start.start(extent, at), extent, at)
    }
}
impl<B: Bound> Indices for RangeTo<B> {
    fn within(self, extent: TermId, at: At) -> (TermId, TermId) {
        between(number(0, at), self.end.end(extent, at), at)
    }
}
impl Indices for RangeFull {
    fn within(self, extent: TermId, at: At) -> (TermId, TermId) {
        (number(0, at), extent)
    }
}

/// The end behind an index, which is the extent where the index is the last one.
fn behind(last: i64, extent: TermId, at: At) -> TermId {
    if last == -1 { extent } else { last.saturating_add(1).end(extent, at) }
}
impl Indices for RangeInclusive<i64> {
    fn within(self, extent: TermId, at: At) -> (TermId, TermId) {
        between(self.start().start(extent, at), behind(*self.end(), extent, at), at)
    }
}
impl Indices for RangeToInclusive<i64> {
    fn within(self, extent: TermId, at: At) -> (TermId, TermId) {
        between(number(0, at), behind(self.end, extent, at), at)
    }
}

/// A range of a dimension.
fn selected(range: impl Indices, step: i64, extent: TermId, at: At) -> Selected {
    if step < 1 {
        arena::problem(Mistake::Step { step }, at);
        return Selected::All;
    }
    let (start, mut count) = range.within(extent, at);
    if step > 1 {
        let more = arena::size(Binary::Add, count, number(step - 1, at), at);
        count = arena::size(Binary::Div, more, number(step, at), at);
    }
    Selected::Range { start, count, step }
}

macro_rules! ranges {
    ($(($($generics:tt)*) $range:ty, |$of:ident, $extent:ident, $at:ident| $selected:expr;)*) => {$(
        impl<$($generics)*> SliceDim for $range {
            type Kept<Sh: Shape> = Sh::Up;
            type Fixed<Sh: Shape> = Sh;
            fn select(self, $extent: TermId, $at: At) -> Selected {
                let $of = self;
                $selected
            }
        }
        impl<Sh: Dimensions, $($generics)*> SliceSpec<Sh> for $range {
            type Result = Sh;
            fn select(self, extents: &[TermId], at: At) -> Vec<Selected> {
                let mut all: Vec<Selected> = extents.iter().map(|_| Selected::All).collect();
                if let (Some(outermost), Some(&extent)) = (all.first_mut(), extents.first()) {
                    *outermost = SliceDim::select(self, extent, at);
                }
                all
            }
        }
    )*};
}
ranges! {
    (B: Bound) Range<B>, |range, extent, at| selected(range, 1, extent, at);
    (B: Bound) RangeFrom<B>, |range, extent, at| selected(range, 1, extent, at);
    (B: Bound) RangeTo<B>, |range, extent, at| selected(range, 1, extent, at);
    () RangeInclusive<i64>, |range, extent, at| selected(range, 1, extent, at);
    () RangeToInclusive<i64>, |range, extent, at| selected(range, 1, extent, at);
    () RangeFull, |_range, _extent, _at| Selected::All;
    (R: Indices) Stepped<R>, |stepped, extent, at| selected(stepped.range, stepped.step, extent, at);
}
