//! What an operation asks of extents, as a list of comparisons.

use super::{Alike, Shape, Signature, Sum, Term};
use crate::{ArrayId, Var};

/// How two numbers have to be related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// They are equal.
    Equal,
    /// The first is not above the second.
    AtMost,
}

/// Something that has to hold of extents before an operation begins; where it does not, the operation fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// What has to hold.
    pub relation: Relation,
    /// A number of elements, and whose it is: an array, or the result that is declared to have it.
    pub left: (Sum, Vec<ArrayId>),
    /// The other.
    pub right: (Sum, Vec<ArrayId>),
}

impl Signature<'_> {
    /// What has to hold of the extents of sources and of the results' types, in the order in which it is checked: sources that are alike,
    /// then each dimension of each result. `rank` is what [`Signature::of`] was given. That extents given as operands are not negative comes
    /// beside.
    pub fn demands(&self, results: &[Var], rank: &dyn Fn(ArrayId) -> Option<usize>) -> Vec<Demand> {
        let mut demands = Vec::new();
        let dims = |a: ArrayId, b: ArrayId| 0..rank(a).unwrap_or(0).min(rank(b).unwrap_or(0));
        for Alike { arrays, but } in &self.alike {
            let Some((&first, rest)) = arrays.split_first() else { continue };
            for &other in rest {
                demands.extend(dims(first, other).filter(|dim| Some(*dim) != *but).map(|dim| {
                    let (left, right) = (of(first, dim), of(other, dim));
                    Demand { relation: Relation::Equal, left, right }
                }));
            }
        }
        for (var, given) in results.iter().zip(&self.results) {
            match &given.shape {
                Shape::Exactly(extents) => {
                    demands.extend(extents.iter().take(var.ty.rank()).enumerate().map(|(dim, expected)| {
                        let (left, right) = (of(var.id, dim), (expected.clone(), owners(expected, var.id)));
                        Demand { relation: Relation::Equal, left, right }
                    }));
                }
                Shape::Within(arrays) => {
                    for &array in arrays {
                        let common = rank(array).unwrap_or(0).min(var.ty.rank());
                        demands.extend((0..common).map(|dim| {
                            let (left, right) = (of(var.id, dim), of(array, dim));
                            Demand { relation: Relation::AtMost, left, right }
                        }));
                    }
                }
                Shape::Declared => {
                    let Some(first) = results.first().filter(|first| first.id != var.id) else { continue };
                    demands.extend((0..var.ty.rank().min(first.ty.rank())).map(|dim| {
                        let (left, right) = (of(first.id, dim), of(var.id, dim));
                        Demand { relation: Relation::Equal, left, right }
                    }));
                }
                Shape::Counted | Shape::Unknown => {}
            }
        }
        demands
    }
}

fn of(array: ArrayId, dim: usize) -> (Sum, Vec<ArrayId>) {
    (Term::Extent { array, dim }.into(), vec![array])
}

/// Whose a number is: of the arrays that it names, or else of the result that has it.
fn owners(sum: &Sum, result: ArrayId) -> Vec<ArrayId> {
    let named: Vec<ArrayId> = sum
        .terms
        .iter()
        .filter_map(|term| match term {
            Term::Extent { array, .. } => Some(*array),
            Term::Value(_) => None,
        })
        .collect();
    if named.is_empty() { vec![result] } else { named }
}
