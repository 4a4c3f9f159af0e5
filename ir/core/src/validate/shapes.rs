//! Extents, by the table of operations: what has to agree, and which extents results have.

use super::{ProgramFault, context::Validator, types::Want};
use crate::{
    ArrayId, Binding,
    analysis::{Answer, Size, Sizes},
    operations::{Alike, Role, Shape, Signature, Sum, Term},
};

/// Extents as far as they are known.
pub(super) type Extents = Vec<Option<Size>>;

impl<'p> Validator<'p> {
    /// The rank of the first of some arrays.
    pub fn rank_of(&self, arrays: &[ArrayId]) -> Option<usize> {
        Some(self.type_of(*arrays.first()?)?.rank())
    }

    /// Checks that the extents of what a binding reads agree, and gives its results, of which the rest is known, their extents.
    pub fn shaped(&mut self, binding: &'p Binding, given: Vec<Option<Want>>) -> Vec<Option<Want>> {
        let signature = Signature::of(binding, &|id| Some(self.type_of(id)?.rank()));
        let mut agree = true;
        for alike in &signature.alike {
            agree &= self.alike(alike, &signature);
        }
        for given in &signature.results {
            if let Shape::Within(arrays) = &given.shape {
                agree &= self.alike_in_rank(arrays, &signature);
            }
        }
        let mut shapes = signature.results.iter().map(|given| &given.shape);
        let mut wants = Vec::with_capacity(given.len());
        for given in given {
            let extents = shapes.next().filter(|_| agree).and_then(|shape| self.extents_of(binding, shape));
            wants.push(match (given, extents) {
                (Some(given), Some(extents)) => Some(Want { extents, ..given }),
                _ => None,
            });
        }
        wants
    }

    /// Whether arrays have equal ranks; streams have none that others could have.
    fn alike_in_rank(&mut self, arrays: &[ArrayId], signature: &Signature<'_>) -> bool {
        let known: Vec<(ArrayId, usize)> =
            arrays.iter().filter_map(|&id| Some((id, self.type_of(id).filter(|ty| !ty.stream)?.rank()))).collect();
        let Some(&(_, expected)) = known.first() else { return false };
        let mut agree = known.len() == arrays.len();
        for &(id, found) in &known {
            if found != expected {
                let what = label(signature, id);
                self.report(ProgramFault::WrongRank { what, found, expected });
                agree = false;
            }
        }
        agree
    }

    /// Whether arrays have equal ranks, and no extent is refuted to be equal.
    fn alike(&mut self, alike: &Alike, signature: &Signature<'_>) -> bool {
        if !self.alike_in_rank(&alike.arrays, signature) {
            return false;
        }
        let all: Vec<Extents> =
            alike.arrays.iter().filter_map(|&id| Some(self.all_sizes(&self.type_of(id)?.extents))).collect();
        let mut agree = true;
        for (&id, extents) in alike.arrays.iter().zip(&all) {
            for dim in (0..all[0].len()).filter(|dim| Some(*dim) != alike.but) {
                agree &= self.equal(&extents[dim], &all[0][dim], dim, &|| label(signature, id));
            }
        }
        agree
    }

    /// Whether two extents are not refuted to be equal.
    pub fn equal(
        &mut self,
        found: &Option<Size>,
        expected: &Option<Size>,
        dim: usize,
        what: &dyn Fn() -> String,
    ) -> bool {
        if let (Some(found), Some(expected)) = (found, expected)
            && self.sizes.equal_sizes(found, expected) == Answer::Refuted
        {
            let (found, expected) = (self.show_size(found), self.show_size(expected));
            self.report(ProgramFault::Extents { what: what(), dim, found, expected });
            return false;
        }
        true
    }

    /// The extents that a shape is, as far as they are known; `None` if not even how many.
    fn extents_of(&mut self, binding: &'p Binding, shape: &Shape) -> Option<Extents> {
        // Where a binding says the extents, all results have those of the first.
        let declared = |v: &Self| binding.results.first().map_or(Vec::new(), |var| v.all_sizes(&var.ty.extents));
        match shape {
            Shape::Exactly(sums) => Some(sums.iter().map(|sum| self.sum(sum)).collect()),
            Shape::Declared => Some(declared(self)),
            Shape::Within(arrays) => {
                let first = self.type_of(*arrays.first()?)?;
                let declared = declared(self);
                if declared.len() != first.rank() {
                    return Some(self.all_sizes(&first.extents));
                }
                for &array in arrays {
                    self.within_array(&declared, array);
                }
                Some(declared)
            }
            Shape::Counted => Some(vec![binding.results.first().map(|var| Sizes::unknown(var.id))]),
            Shape::Unknown => None,
        }
    }

    /// Reports extents of a result of which an array has fewer.
    fn within_array(&mut self, extents: &Extents, array: ArrayId) {
        let Some(ty) = self.type_of(array) else { return };
        for (dim, (found, &available)) in extents.iter().zip(&ty.extents).enumerate() {
            if let (Some(found), Some(available)) = (found, &self.size(available))
                && self.sizes.at_most_sizes(found, available) == Answer::Refuted
            {
                let (found, available) = (self.show_size(found), self.show_size(available));
                let source_name = self.name(array);
                self.report(ProgramFault::TooFew { dim, found, source_name, available });
            }
        }
    }

    fn sum(&self, sum: &Sum) -> Option<Size> {
        sum.terms.iter().try_fold(Size::constant(sum.constant), |total, term| {
            let size = match term {
                Term::Extent { array, dim } => self.size(*self.type_of(*array)?.extents.get(*dim)?)?,
                Term::Value(operand) => self.sizes.operand(operand)?,
            };
            Some(total.plus(&size, 1))
        })
    }
}

/// What an array is for an operation, in words: `source 1`.
fn label(signature: &Signature<'_>, array: ArrayId) -> String {
    let Some(read) = signature.reads.iter().find(|read| read.array == array) else { return "an array".to_owned() };
    let mut of_role = signature.reads.iter().filter(|other| other.role == read.role);
    let position = of_role.position(|other| other.array == array).unwrap_or_default();
    match read.role {
        Role::Source => format!("source {position}"),
        Role::Offsets => "the array of offsets".to_owned(),
        Role::Default => format!("default {position}"),
        Role::Value => format!("value {position}"),
        Role::Target => format!("target {position}"),
        Role::Keep => "`keep`".to_owned(),
        Role::Key => format!("key {position}"),
        Role::Carried => format!("carried array {position}"),
    }
}
