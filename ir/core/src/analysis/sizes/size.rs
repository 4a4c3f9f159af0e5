//! Sizes as polynomials over terms.

use std::{cmp::Ordering, fmt::Write};

use super::Sizes;
use crate::{ArrayId, Binary};

/// What a polynomial multiplies with its coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Term {
    /// An `i64` of rank 0 of which no definition is known.
    Value(ArrayId),
    /// In [`Sizes::table`].
    Interned(u32),
}

/// An `i64` as a polynomial: a constant and terms with coefficients, in order of terms, none zero; all modulo 2⁶⁴.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size {
    pub(super) constant: i64,
    pub(super) terms: Vec<(Term, i64)>,
}

impl Size {
    /// A number.
    pub fn constant(value: i64) -> Self {
        Self { constant: value, terms: Vec::new() }
    }

    pub(super) fn term(term: Term) -> Self {
        Self { constant: 0, terms: vec![(term, 1)] }
    }

    /// The number, if it is one.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    pub(super) fn as_term(&self) -> Option<Term> {
        match self.terms[..] {
            [(term, 1)] if self.constant == 0 => Some(term),
            _ => None,
        }
    }

    /// `self + factor · other`; wraps.
    pub fn plus(&self, other: &Self, factor: i64) -> Self {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (&self.terms[..], &other.terms[..]);
        loop {
            let order = match (left, right) {
                ([], []) => break,
                ([], _) => Ordering::Greater,
                (_, []) => Ordering::Less,
                ([(a, _), ..], [(b, _), ..]) => a.cmp(b),
            };
            let (mut term, mut coefficient) = (None, 0i64);
            if order.is_le()
                && let [(first, a), rest @ ..] = left
            {
                (term, coefficient, left) = (Some(*first), *a, rest);
            }
            if order.is_ge()
                && let [(first, b), rest @ ..] = right
            {
                (term, coefficient, right) = (Some(*first), coefficient.wrapping_add(b.wrapping_mul(factor)), rest);
            }
            if let (Some(term), true) = (term, coefficient != 0) {
                terms.push((term, coefficient));
            }
        }
        Self { constant: self.constant.wrapping_add(other.constant.wrapping_mul(factor)), terms }
    }

    /// `self + value`; wraps.
    pub fn offset(&self, value: i64) -> Self {
        Self { constant: self.constant.wrapping_add(value), terms: self.terms.clone() }
    }
}

/// A term that is no plain value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// Two or more factors, in order.
    Product(Vec<Term>),
    /// Two or more, in order.
    Min(Vec<Size>),
    /// Two or more, in order.
    Max(Vec<Size>),
    /// Division or remainder.
    Quotient(Binary, Size, Size),
    /// A scalar inside of a `unit` of which nothing is known.
    Opaque(u32),
}

/// Larger polynomials become opaque: real sizes have a handful of terms, and no program makes the analysis slow.
pub(super) const MAX_TERMS: usize = 16;
pub(super) const MAX_FACTORS: usize = 8;
pub(super) const MAX_ARMS: usize = 8;

pub(super) type Interval = (i64, i64);
pub(super) const ANY: Interval = (i64::MIN, i64::MAX);

impl Sizes {
    /// The size in words, such as `2 * n + 1`.
    pub fn show(&self, size: &Size, name: &dyn Fn(ArrayId) -> String) -> String {
        let mut text = String::new();
        self.write(size, name, 4, &mut text);
        text
    }

    pub(super) fn write(&self, size: &Size, name: &dyn Fn(ArrayId) -> String, depth: u32, text: &mut String) {
        for (position, &(term, coefficient)) in size.terms.iter().enumerate() {
            text.push_str(match (position, coefficient < 0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            });
            if coefficient.unsigned_abs() != 1 {
                let _ = write!(text, "{} * ", coefficient.unsigned_abs());
            }
            self.write_term(term, name, depth, text);
        }
        match size.constant {
            constant if size.terms.is_empty() => _ = write!(text, "{constant}"),
            0 => {}
            constant => _ = write!(text, " {} {}", if constant < 0 { '-' } else { '+' }, constant.unsigned_abs()),
        }
    }

    pub(super) fn write_term(&self, term: Term, name: &dyn Fn(ArrayId) -> String, depth: u32, text: &mut String) {
        let node = match term {
            Term::Value(id) => return text.push_str(&name(id)),
            Term::Interned(id) => self.table.get(id as usize).map(|(node, _)| node),
        };
        if depth == 0 {
            return text.push('…');
        }
        let mut list = |open: &str, sizes: &[Size], between: &str| {
            text.push_str(open);
            for (position, size) in sizes.iter().enumerate() {
                text.push_str(if position == 0 { "" } else { between });
                self.write(size, name, depth - 1, text);
            }
            text.push(')');
        };
        match node {
            Some(Node::Product(factors)) => {
                for (position, &factor) in factors.iter().enumerate() {
                    text.push_str(if position == 0 { "" } else { " * " });
                    self.write_term(factor, name, depth - 1, text);
                }
            }
            Some(Node::Min(arms)) => list("min(", arms, ", "),
            Some(Node::Max(arms)) => list("max(", arms, ", "),
            Some(Node::Quotient(function @ (Binary::Div | Binary::Rem), a, b)) => {
                list("(", &[a.clone(), b.clone()], if *function == Binary::Div { " / " } else { " % " });
            }
            Some(Node::Quotient(function, a, b)) => {
                list(&format!("{}(", function.text()), &[a.clone(), b.clone()], ", ");
            }
            Some(Node::Opaque(_)) | None => text.push('…'),
        }
    }
}
