//! Stencils: their taps and boundaries.

use std::collections::HashMap;

use super::{INDEX, elements};
use crate::{
    ArrayId, Binding, Boundary, ElementType, Lambda, MAX_RANK, Tap, TapBoundary,
    validate::{
        ProgramFault,
        context::{PathStep, Validator},
    },
};

impl<'p> Validator<'p> {
    pub(super) fn stencil(
        &mut self,
        binding: &'p Binding,
        f: &'p Lambda,
        taps: &'p [Tap],
        boundaries: &'p [TapBoundary],
    ) -> Vec<Option<ElementType>> {
        self.at_least("taps", taps.len(), 1);
        let rank = binding.results.first().map_or(0, |var| var.ty.rank());
        let mut found: HashMap<ArrayId, usize> = HashMap::new();
        let mut types = Vec::with_capacity(taps.len());
        for (position, tap) in taps.iter().enumerate() {
            let ty = self.within(PathStep::Item("taps", position), |v| {
                let what = || format!("tap {position}");
                let ty = v.array(tap.array, &what)?;
                if ty.rank() != rank {
                    v.report(ProgramFault::WrongRank { what: what(), found: ty.rank(), expected: rank });
                } else {
                    v.count(&format!("offsets of tap {position}"), tap.offsets.len(), rank);
                }
                Some(ty)
            });
            types.push(ty);
            found.insert(tap.array, 0);
        }
        for (position, boundary) in boundaries.iter().enumerate() {
            if let Some(found) = found.get_mut(&boundary.array) {
                *found += 1;
            } else {
                let array = self.name(boundary.array);
                self.report(ProgramFault::BoundaryOfNone { array });
            }
            let Some(ty) = self.type_of(boundary.array) else { continue };
            self.within(PathStep::Item("boundaries", position), |v| match &boundary.boundary {
                Boundary::Clamp | Boundary::Mirror | Boundary::Wrap => {}
                Boundary::Constant(value) => v.scalar_of(value, ty.element, &|| "the boundary".to_owned()),
                Boundary::Function(f) => {
                    let params = vec![INDEX; ty.rank().min(MAX_RANK)];
                    v.function_to("boundary", f, &params, &[Some(ty.element)]);
                }
            });
        }
        for tap in taps {
            if let Some(count) = found.remove(&tap.array)
                && count != 1
            {
                let array = self.name(tap.array);
                self.report(ProgramFault::Boundaries { array, found: count });
            }
        }
        self.results_of("f", f, &elements(&types))
    }
}
