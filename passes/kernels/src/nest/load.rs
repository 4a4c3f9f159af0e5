//! Loads: where, how far outside, checked or not, each once.

use fusebox_ir::{
    Access, Action, Binary, Constant, DimBoundary, DimIndex, IndexMap, KernelArrayId, Lambda, Local, Place,
    ScalarOperand, ValueId, analysis::need::local,
};

use super::{KernelBuilder, ProgramPoint, SegmentLevels};
use crate::bounds::linear::{Atom, Linear};

impl KernelBuilder<'_> {
    /// Loads an element; the map is checked unless it is known to be inside.
    pub(crate) fn load(
        &mut self,
        value: ValueId,
        dims: &[(Linear, DimBoundary)],
        outside: Option<Lambda>,
        at: ProgramPoint,
        place: &Place,
    ) -> ScalarOperand {
        let array = self.array(value, Access::Read);
        let result = self.local(self.known.values.ty(value).element, at);
        let operand = result.id.into();
        self.load_into(result, array, dims, outside, at, place);
        self.canonical(operand)
    }

    /// Loads an element where the index is inside, and 0 elsewhere: what runs over fewer steps than its levels have.
    pub(crate) fn load_within(
        &mut self,
        value: ValueId,
        index: &[ScalarOperand],
        at: ProgramPoint,
        place: &Place,
    ) -> ScalarOperand {
        let zero = Constant::zero(self.known.values.ty(value).element);
        let outside = Lambda { results: vec![zero.into()], ..Lambda::default() };
        let dims: Vec<_> = index.iter().map(|&index| (self.known.form(index), DimBoundary::None)).collect();
        self.load(value, &dims, Some(outside), at, place)
    }

    pub(super) fn load_into(
        &mut self,
        result: Local,
        array: KernelArrayId,
        dims: &[(Linear, DimBoundary)],
        mut outside: Option<Lambda>,
        at: ProgramPoint,
        place: &Place,
    ) {
        if outside.is_none() && self.is_said_by_levels(&result, array, dims) {
            return;
        }
        let ty = self.array_type(array).clone();
        let index: Vec<Linear> = dims.iter().map(|(index, _)| index.clone()).collect();
        let natural = index
            .iter()
            .flat_map(|index| index.terms())
            .map(|&(atom, _)| match atom {
                Atom::Local(id) => self.known.point(id.into()),
                Atom::Value(_) => ProgramPoint::before(0),
            })
            .max()
            .unwrap_or(ProgramPoint::before(0));
        // As far outside as it is safe: what is read inside a level that may be empty is not read before it.
        let depths = natural.depth..=at.depth;
        let safe = depths.clone().find(|&depth| self.known.inside(&ty, &index, depth));
        let bounded = dims.iter().any(|(_, boundary)| *boundary != DimBoundary::None);
        let (point, checked, drop) = match safe {
            Some(depth) => (
                ProgramPoint { depth, after: natural.after && depth == natural.depth || at.after && depth == at.depth },
                false,
                true,
            ),
            None if outside.is_some() => (at, false, false),
            None if bounded => {
                let filled =
                    depths.clone().find(|&depth| ty.extents.iter().all(|&extent| self.known.is_filled(extent, depth)));
                match filled {
                    Some(depth) => (ProgramPoint { depth, after: at.after && depth == at.depth }, false, false),
                    None => (at, true, false),
                }
            }
            None => (at, true, false),
        };
        if drop {
            outside = None;
        }
        let dims: Vec<DimIndex> = dims
            .iter()
            .map(|(index, boundary)| DimIndex {
                boundary: if drop { DimBoundary::None } else { *boundary },
                ..self.dim(index)
            })
            .collect();
        let zero = outside.as_ref().is_some_and(is_zero);
        let key = (array, dims.iter().map(|dim| (dim.offset, dim.terms.clone(), dim.boundary as u8)).collect(), zero);
        if outside.is_none() || zero {
            if let Some(&same) = self.loads.get(&key) {
                let existing = self.known.point(same.into());
                if existing.usable_at(at) {
                    self.define(&result, existing);
                    self.known.forms.insert(result.id, Linear::term(Atom::Local(same)));
                    self.same.insert(result.id, same);
                    return;
                }
            }
            self.loads.insert(key, result.id);
        }
        self.define(&result, point);
        let map = IndexMap { dims, checked };
        self.put(point, None, Action::Load { result, array, map, outside, place: place.clone() });
    }

    /// Whether what is loaded says in which segment the element is that the levels are at, or where in it: then it is what the levels say.
    fn is_said_by_levels(&mut self, result: &Local, array: KernelArrayId, dims: &[(Linear, DimBoundary)]) -> bool {
        let [(index, DimBoundary::None)] = dims else { return false };
        let at = |levels: &&SegmentLevels| *index == Linear::term(Atom::Local(levels.element));
        let Some(&SegmentLevels { offsets, segment, element, from }) = self.segments.iter().find(at) else {
            return false;
        };
        let Some(name) = self.scope.name(self.arrays[array.index()].value) else { return false };
        let same = if self.sizes_of_program.are_rows_of(name, offsets) {
            segment
        } else if self.sizes_of_program.are_places_of(name, offsets) {
            let point = self.known.point(element.into());
            match local(&self.binary(Binary::Sub, element.into(), from, point)) {
                Some(place) => place,
                None => return false,
            }
        } else {
            return false;
        };
        let existing = self.known.point(same.into());
        self.define(result, existing);
        let form = self.known.form(same.into());
        self.known.forms.insert(result.id, form);
        self.same.insert(result.id, same);
        true
    }
}

/// Whether a function without parameters is the constant 0.
fn is_zero(f: &Lambda) -> bool {
    matches!(&f.results[..], [ScalarOperand::Constant(constant)] if f.instructions.is_empty() && constant.bits() == 0)
}
