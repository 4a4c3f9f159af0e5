//! Whether sizes are equal, one at most another, one not negative.

use super::{
    Answer, Size, Sizes,
    size::{Node, Term},
};
use crate::{Binary, Extent};

impl Sizes {
    /// Whether two extents are equal.
    pub fn equal(&self, a: Extent, b: Extent) -> Answer {
        match (self.extent(a), self.extent(b)) {
            (Some(a), Some(b)) => self.equal_sizes(&a, &b),
            _ => Answer::Unknown,
        }
    }

    /// Whether extent `a` is at most extent `b`, where neither is negative.
    pub fn at_most(&self, a: Extent, b: Extent) -> Answer {
        match (self.extent(a), self.extent(b)) {
            (Some(a), Some(b)) => self.at_most_sizes(&a, &b),
            _ => Answer::Unknown,
        }
    }

    /// Whether an extent is not negative.
    pub fn not_negative(&self, extent: Extent) -> Answer {
        self.extent(extent).map_or(Answer::Unknown, |size| self.not_negative_size(&size))
    }

    /// Whether two sizes are equal.
    pub fn equal_sizes(&self, a: &Size, b: &Size) -> Answer {
        if a == b {
            return Answer::Proved;
        }
        let difference = a.minus(b);
        if let Some(constant) = difference.as_constant() {
            return if constant == 0 { Answer::Proved } else { Answer::Refuted };
        }
        let ((low_a, high_a), (low_b, high_b)) = (self.interval(a), self.interval(b));
        if high_a < low_b || high_b < low_a { Answer::Refuted } else { Answer::Unknown }
    }

    /// Whether size `a` is at most size `b`, where neither is negative.
    pub fn at_most_sizes(&self, a: &Size, b: &Size) -> Answer {
        let ((low_a, high_a), (low_b, high_b)) = (self.interval(a), self.interval(b));
        if high_a <= low_b {
            return Answer::Proved;
        }
        if low_a > high_b {
            return Answer::Refuted;
        }
        // b = a + c: with neither negative and c >= 0 the sum cannot have wrapped; with c < 0 it cannot wrap.
        let difference = b.minus(a);
        if let Some(constant) = difference.as_constant() {
            return if constant >= 0 { Answer::Proved } else { Answer::Refuted };
        }
        if self.at_most_by_parts(a, b, 3) { Answer::Proved } else { Answer::Unknown }
    }

    pub(super) fn at_most_by_parts(&self, a: &Size, b: &Size, fuel: u32) -> bool {
        let proved = |x: &Size, y: &Size| {
            let difference = y.minus(x);
            difference.as_constant().is_some_and(|constant| constant >= 0)
                || self.interval(x).1 <= self.interval(y).0
                || (fuel > 0 && self.at_most_by_parts(x, y, fuel - 1))
        };
        let node = |size: &Size| match size.as_term() {
            Some(Term::Interned(id)) => self.table.get(*id as usize).map(|(node, _)| node),
            _ => None,
        };
        // Nothing is compared that might be negative without its being known: neither operand is, nor an arm of a minimum
        // that is not, nor what is at least that.
        let a_holds = match node(a) {
            Some(Node::Min(arms)) => arms.iter().any(|x| proved(x, b)),
            Some(Node::Max(arms)) => arms.iter().all(|x| self.interval(x).0 >= 0 && proved(x, b)),
            Some(Node::Quotient(Binary::Div | Binary::DivFloor, x, by)) => {
                self.interval(x).0 >= 0 && self.interval(by).0 >= 1 && proved(x, b)
            }
            _ => false,
        };
        a_holds
            || match node(b) {
                Some(Node::Min(arms)) => arms.iter().all(|x| proved(a, x)),
                Some(Node::Max(arms)) => arms.iter().any(|x| x == a || (self.interval(x).0 >= 0 && proved(a, x))),
                _ => false,
            }
    }

    /// Whether a size is not negative.
    pub fn not_negative_size(&self, size: &Size) -> Answer {
        let (low, high) = self.interval(size);
        match (low >= 0, high < 0) {
            (true, _) => Answer::Proved,
            (_, true) => Answer::Refuted,
            _ => Answer::Unknown,
        }
    }
}
