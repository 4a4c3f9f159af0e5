//! Operations that combine elements: folds and scans of rows, permutes.

use super::{INDEX, elements};
use crate::{
    ArrayId, ElementType, Lambda, Operand,
    validate::{
        ProgramFault,
        context::{PathStep, Validator},
    },
};

impl<'p> Validator<'p> {
    /// Sources of a fold or scan, with its function, seeds and offsets.
    pub(super) fn rows(
        &mut self,
        combine: &'p Lambda,
        seeds: &[Operand],
        sources: &[ArrayId],
        offsets: Option<ArrayId>,
    ) -> Vec<Option<ElementType>> {
        let elements = elements(&self.sources("sources", sources, 1, false));
        self.combining("combine", combine, &elements);
        for (position, seed) in seeds.iter().enumerate() {
            self.within(PathStep::Item("seeds", position), |v| {
                let what = || format!("seed {position}");
                match elements.get(position).copied().flatten() {
                    Some(element) => v.scalar_of(seed, element, &what),
                    None => _ = v.scalar(seed, &what),
                }
            });
        }
        if let Some(offsets) = offsets {
            self.offsets(offsets);
        }
        elements
    }

    /// A function of 2k parameters to k results.
    fn combining(&mut self, field: &'static str, f: &'p Lambda, elements: &[Option<ElementType>]) {
        let params: Vec<_> = elements.iter().chain(elements).copied().collect();
        self.function_to(field, f, &params, elements);
    }

    /// Offsets of segments: a vector of integers.
    pub(super) fn offsets(&mut self, offsets: ArrayId) {
        let what = || "the array of offsets".to_owned();
        self.within(PathStep::Field("offsets"), |v| {
            let Some(ty) = v.array(offsets, &what) else { return };
            if ty.rank() != 1 {
                v.report(ProgramFault::WrongRank { what: what(), found: ty.rank(), expected: 1 });
            } else if !ty.element.is_integer() {
                v.report(ProgramFault::NoInteger { what: what(), found: ty.element });
            }
        });
    }

    pub(super) fn permute(
        &mut self,
        combine: &'p Lambda,
        defaults: &[ArrayId],
        values: &[ArrayId],
        targets: &[ArrayId],
        keep: Option<ArrayId>,
    ) -> Vec<Option<ElementType>> {
        let types = self.sources("defaults", defaults, 0, false);
        let element_types = elements(&types);
        self.combining("combine", combine, &element_types);
        let new = self.sources("values", values, 0, false);
        if self.count("values", values.len(), defaults.len()) {
            for (position, (new, old)) in new.iter().zip(&types).enumerate() {
                if let (Some(new), Some(old)) = (new, old)
                    && new.element != old.element
                {
                    let what = format!("value {position}");
                    self.report(ProgramFault::WrongElement { what, found: new.element, expected: old.element });
                }
            }
        }
        if let Some(rank) = self.rank_of(defaults) {
            self.count("targets", targets.len(), rank);
        }
        for (dim, &target) in targets.iter().enumerate() {
            self.within(PathStep::Item("targets", dim), |v| {
                v.typed_array(target, ElementType::I64, &|| format!("target {dim}"));
            });
        }
        if let Some(keep) = keep {
            self.within(PathStep::Field("keep"), |v| v.typed_array(keep, ElementType::Bool, &|| "`keep`".to_owned()));
        }
        element_types
    }

    pub(super) fn permuted_expand(
        &mut self,
        size: &'p Lambda,
        get: &'p Lambda,
        combine: &'p Lambda,
        defaults: &[ArrayId],
        sources: &[ArrayId],
    ) -> Vec<Option<ElementType>> {
        let element_types = elements(&self.sources("defaults", defaults, 0, false));
        let mut params = elements(&self.vectors(sources));
        self.function_to("size", size, &params, &[INDEX]);
        params.push(INDEX);
        if let Some(rank) = self.rank_of(defaults) {
            let mut expected = vec![INDEX; rank];
            expected.extend(&element_types);
            if get.results.len() == expected.len() + 1 {
                expected.push(Some(ElementType::Bool));
            }
            self.function_to("get", get, &params, &expected);
        } else {
            self.function("get", get, &params);
        }
        self.combining("combine", combine, &element_types);
        element_types
    }
}
