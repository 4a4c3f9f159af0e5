//! Products, quotients and extremes of sizes, and the intervals that terms lie in.

use std::collections::BTreeSet;

use super::{
    Size, Sizes,
    size::{ANY, Interval, MAX_ARMS, MAX_FACTORS, MAX_TERMS, Node, Term},
};
use crate::{Binary, ElementType};

impl Sizes {
    /// Of how many unknown factors the longest product in a size is: 0 for a number, 1 for `n + 1`, 2 for `n * m`. For estimates.
    pub fn degree(&self, size: &Size) -> usize {
        self.degree_within(size, 4)
    }

    fn degree_within(&self, size: &Size, depth: u32) -> usize {
        let of_term = |&(term, _): &(Term, i64)| match term {
            Term::Value(_) => 1,
            Term::Interned(_) if depth == 0 => 1,
            Term::Interned(id) => {
                let each =
                    |sizes: &[Size]| sizes.iter().map(|size| self.degree_within(size, depth - 1)).collect::<Vec<_>>();
                match self.table.get(id as usize).map(|(node, _)| node) {
                    Some(Node::Product(factors)) => {
                        factors.iter().map(|&factor| self.degree_within(&Size::term(factor), depth - 1)).sum()
                    }
                    Some(Node::Min(arms)) => each(arms).into_iter().min().unwrap_or(0),
                    Some(Node::Max(arms)) => each(arms).into_iter().max().unwrap_or(0),
                    Some(Node::Quotient(Binary::Div | Binary::DivFloor, a, b)) => {
                        self.degree_within(a, depth - 1).saturating_sub(self.degree_within(b, depth - 1))
                    }
                    Some(Node::Quotient(_, _, b)) => self.degree_within(b, depth - 1),
                    Some(Node::Opaque(_)) | None => 1,
                }
            }
        };
        size.terms().iter().map(of_term).max().unwrap_or(0)
    }

    /// Bounds of a size; everything where it might leave `i64`.
    pub(super) fn interval(&self, size: &Size) -> Interval {
        let mut sum = (i128::from(size.rest()), i128::from(size.rest()));
        for &(term, coefficient) in size.terms() {
            let (low, high) = self.term_interval(term);
            let (a, b) = (i128::from(low) * i128::from(coefficient), i128::from(high) * i128::from(coefficient));
            sum = (sum.0 + a.min(b), sum.1 + a.max(b));
            if sum.0 < i64::MIN.into() || sum.1 > i64::MAX.into() {
                return ANY;
            }
        }
        narrow(sum)
    }

    pub(super) fn term_interval(&self, term: Term) -> Interval {
        match term {
            Term::Value(id) if self.facts.get(&id).is_some_and(|fact| fact.not_negative) => (0, i64::MAX),
            Term::Value(_) => ANY,
            Term::Interned(id) => self.table.get(id as usize).map_or(ANY, |(_, interval)| *interval),
        }
    }

    pub(super) fn intern(&mut self, node: Node) -> Size {
        if let Some(&id) = self.ids.get(&node) {
            return Size::term(Term::Interned(id));
        }
        let interval = self.node_interval(&node);
        let id = self.table.len() as u32;
        self.table.push((node.clone(), interval));
        self.ids.insert(node, id);
        Size::term(Term::Interned(id))
    }

    pub(super) fn node_interval(&self, node: &Node) -> Interval {
        let bounds = |sizes: &[Size]| sizes.iter().map(|size| self.interval(size)).collect::<Vec<_>>();
        match node {
            Node::Product(factors) => {
                let mut product = (1i128, 1i128);
                for &factor in factors {
                    let (low, high) = self.term_interval(factor);
                    let ends = [
                        product.0 * i128::from(low),
                        product.0 * i128::from(high),
                        product.1 * i128::from(low),
                        product.1 * i128::from(high),
                    ];
                    let narrowed = narrow((ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0)));
                    if narrowed == ANY {
                        return ANY;
                    }
                    product = (i128::from(narrowed.0), i128::from(narrowed.1));
                }
                narrow(product)
            }
            Node::Min(arms) => bounds(arms).into_iter().reduce(|a, b| (a.0.min(b.0), a.1.min(b.1))).unwrap_or(ANY),
            Node::Max(arms) => bounds(arms).into_iter().reduce(|a, b| (a.0.max(b.0), a.1.max(b.1))).unwrap_or(ANY),
            Node::Quotient(function, a, b) => {
                let ((low, high), (by_low, by_high)) = (self.interval(a), self.interval(b));
                if by_low < 1 {
                    return ANY;
                }
                match function {
                    Binary::Div if low >= 0 => (low / by_high, high / by_low),
                    Binary::DivFloor if low >= 0 => (low / by_high, high / by_low),
                    Binary::Rem if low >= 0 => (0, high.min(by_high - 1)),
                    Binary::Rem => (-(by_high - 1), by_high - 1),
                    Binary::ModFloor => (0, by_high - 1),
                    _ => ANY,
                }
            }
            Node::Opaque(_) => ANY,
        }
    }

    pub(super) fn opaque(&mut self) -> Size {
        self.opaque += 1;
        self.intern(Node::Opaque(self.opaque))
    }

    pub(super) fn limited(&mut self, size: Size) -> Size {
        if size.terms().len() > MAX_TERMS { self.opaque() } else { size }
    }

    /// The product of two sizes; wraps.
    pub fn product(&mut self, a: &Size, b: &Size) -> Size {
        if a.terms().len().max(1) * b.terms().len().max(1) > MAX_TERMS {
            return self.opaque();
        }
        let mut of_terms = |&left: &Term, &right: &Term| {
            let mut factors = self.factors(left);
            factors.extend(self.factors(right));
            factors.sort_unstable();
            (factors.len() <= MAX_FACTORS).then(|| self.intern(Node::Product(factors)))
        };
        let Some(product) = a.times(b, &mut of_terms) else { return self.opaque() };
        self.limited(product)
    }

    /// Whether it is a scalar of which nothing is known.
    pub(super) fn is_opaque(&self, size: &Size) -> bool {
        match size.as_term() {
            Some(Term::Interned(id)) => matches!(self.table.get(*id as usize), Some((Node::Opaque(_), _))),
            _ => false,
        }
    }

    pub(super) fn factors(&self, term: Term) -> Vec<Term> {
        match term {
            Term::Interned(id) => match self.table.get(id as usize) {
                Some((Node::Product(factors), _)) => factors.clone(),
                _ => vec![term],
            },
            Term::Value(_) => vec![term],
        }
    }

    /// The result of a function of two sizes; opaque where the function is none of sizes.
    pub fn binary(&mut self, function: Binary, a: &Size, b: &Size) -> Size {
        if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant())
            && let Ok(Some(value)) = crate::primitive::binary(function, a.into(), b.into())
            && value.ty() == ElementType::I64
            && let Some(value) = value.as_i64()
        {
            return Size::constant(value);
        }
        match function {
            Binary::Add => self.limited(a.plus(b, 1)),
            Binary::Sub => self.limited(a.minus(b)),
            Binary::Mul => self.product(a, b),
            Binary::Min | Binary::Max => self.extreme(function, a, b),
            Binary::Div | Binary::DivFloor if b.as_constant() == Some(1) => a.clone(),
            Binary::Div | Binary::DivFloor | Binary::Rem | Binary::ModFloor => {
                self.intern(Node::Quotient(function, a.clone(), b.clone()))
            }
            _ => self.opaque(),
        }
    }

    pub(super) fn extreme(&mut self, function: Binary, a: &Size, b: &Size) -> Size {
        let mut arms = BTreeSet::new();
        for size in [a, b] {
            let inner = match size.as_term() {
                Some(Term::Interned(id)) => self.table.get(*id as usize).map(|(node, _)| node),
                _ => None,
            };
            match (function, inner) {
                (Binary::Min, Some(Node::Min(inner))) | (Binary::Max, Some(Node::Max(inner))) => {
                    arms.extend(inner.iter().cloned());
                }
                _ => {
                    arms.insert(size.clone());
                }
            }
        }
        // An arm that others are known to beat is none: of constants one is left, and `max(n, 0)` of an extent is `n`.
        let mut kept: Vec<Size> = Vec::new();
        for arm in arms {
            let (low, high) = self.interval(&arm);
            let beaten = kept.iter().any(|other| {
                let (other_low, other_high) = self.interval(other);
                if function == Binary::Min { other_high <= low } else { other_low >= high }
            });
            if beaten {
                continue;
            }
            kept.retain(|other| {
                let (other_low, other_high) = self.interval(other);
                if function == Binary::Min { high > other_low } else { low < other_high }
            });
            kept.push(arm);
        }
        match kept.len() {
            1 => kept.swap_remove(0),
            2..=MAX_ARMS => self.intern(if function == Binary::Min { Node::Min(kept) } else { Node::Max(kept) }),
            _ => self.opaque(),
        }
    }
}

fn narrow((low, high): (i128, i128)) -> Interval {
    match (i64::try_from(low), i64::try_from(high)) {
        (Ok(low), Ok(high)) => (low, high),
        _ => ANY,
    }
}
