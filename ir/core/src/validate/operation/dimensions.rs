//! Operations that add, drop, regroup or join dimensions.

use super::elements;
use crate::{
    ArrayId, ElementType, MAX_RANK, Operand,
    analysis::{Answer, Size},
    validate::{
        ProgramFault,
        context::{PathStep, Validator},
    },
};

impl<'p> Validator<'p> {
    pub(super) fn replicate(&mut self, dims: &[Option<Operand>], sources: &[ArrayId]) -> Vec<Option<ElementType>> {
        let types = self.sources("sources", sources, 0, false);
        for (dim, extent) in dims.iter().enumerate() {
            if let Some(extent) = extent {
                self.within(PathStep::Item("dims", dim), |v| v.extent_operand(dim, extent));
            }
        }
        if dims.len() > MAX_RANK {
            let what = "the result".to_owned();
            self.report(ProgramFault::Rank { what, rank: dims.len(), limit: MAX_RANK });
        }
        if let Some(rank) = self.rank_of(sources) {
            let kept = dims.iter().filter(|dim| dim.is_none()).count();
            self.count("dimensions to keep", kept, rank);
        }
        elements(&types)
    }

    pub(super) fn slice(&mut self, dims: &[Option<Operand>], sources: &[ArrayId]) -> Vec<Option<ElementType>> {
        let types = self.sources("sources", sources, 0, false);
        for (dim, index) in dims.iter().enumerate() {
            if let Some(index) = index {
                self.within(PathStep::Item("dims", dim), |v| {
                    v.scalar_of(index, ElementType::I64, &|| format!("index {dim}"));
                });
            }
        }
        if let Some(rank) = self.rank_of(sources) {
            self.count("dimensions", dims.len(), rank);
        }
        elements(&types)
    }

    pub(super) fn reshape(&mut self, extents: &[Operand], sources: &[ArrayId]) -> Vec<Option<ElementType>> {
        let extents = self.extents(extents);
        let types = self.sources("sources", sources, 0, false);
        let from = types.first().copied().flatten().map(|ty| self.all_sizes(&ty.extents));
        if let (Some(from), Some(to)) = (self.total(from.as_deref()), self.total(Some(&extents)))
            && self.sizes.equal_sizes(&from, &to) == Answer::Refuted
        {
            let (found, expected) = (self.show_size(&from), self.show_size(&to));
            self.report(ProgramFault::Reshape { found, expected });
        }
        elements(&types)
    }

    fn total(&mut self, extents: Option<&[Option<Size>]>) -> Option<Size> {
        let mut total = Size::constant(1);
        for extent in extents?.iter().take(MAX_RANK) {
            let extent = extent.as_ref()?;
            if let (Some(a), Some(b)) = (total.as_constant(), extent.as_constant()) {
                // A product that overflows fails when run, whatever it is equal to.
                a.checked_mul(b)?;
            }
            total = self.sizes.product(&total, extent);
        }
        Some(total)
    }

    pub(super) fn concat(&mut self, sources: &[ArrayId], dim: usize) -> Vec<Option<ElementType>> {
        let types = self.sources("sources", sources, 1, false);
        self.at_least("sources", sources.len(), 2);
        let Some(first) = types.iter().flatten().next() else { return vec![None] };
        if dim >= first.rank() {
            self.report(ProgramFault::Dimension { dim, rank: first.rank() });
        }
        for (position, ty) in types.iter().enumerate() {
            if let Some(ty) = ty
                && ty.element != first.element
            {
                let what = format!("source {position}");
                self.report(ProgramFault::WrongElement { what, found: ty.element, expected: first.element });
            }
        }
        vec![Some(first.element)]
    }
}
