//! Sizes as sums of terms.

use std::fmt::Write;

use super::Sizes;
use crate::{ArrayId, Binary, analysis::Linear};

/// What a size is a sum of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Term {
    /// An `i64` of rank 0 of which no definition is known.
    Value(ArrayId),
    /// A product, minimum, quotient, by its position in the table of [`Sizes`].
    Interned(u32),
}

/// An `i64` as a sum of terms, modulo 2⁶⁴.
pub type Size = Linear<Term>;

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
        size.write(size.terms(), text, &mut |text, magnitude, &term| {
            if magnitude != 1 {
                let _ = write!(text, "{magnitude} * ");
            }
            self.write_term(term, name, depth, text);
        });
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
