//! Loads of gangs at the ends of an array: lanes beyond a boundary are left out of the load, and take the first element or the last.

use fusebox_ir::{
    Binary, Constant, DimBoundary, DimIndex, ElementType, IndexMap, KernelArrayId, KernelExtent,
    analysis::kernels::is_within,
};

use super::{Emitter, Result, Val};
use crate::vector::{Memory, Value};

/// The integers that are as wide as so many bytes: lanes that are compared as such take part in loads of elements of that width.
pub(super) fn as_wide(bytes: usize) -> ElementType {
    match bytes {
        1 => ElementType::I8,
        2 => ElementType::I16,
        8 => ElementType::I64,
        _ => ElementType::I32,
    }
}

impl Emitter<'_> {
    /// A mask of the first lanes of a gang, as many as it says: none of fewer than none, and all of more than there are.
    fn first_lanes(&mut self, count: Value, (width, lanes): (ElementType, u32)) -> Value {
        let count = if width == ElementType::I64 {
            count
        } else {
            let (none, all) = (self.b.int(0), self.b.int(lanes.into()));
            let count = self.b.binary(Binary::Min, count, all);
            self.b.binary(Binary::Max, count, none)
        };
        self.lanes_below(count, (width, lanes))
    }

    /// A mask of the lanes whose number is below one that their type can say.
    pub(super) fn lanes_below(&mut self, count: Value, (width, lanes): (ElementType, u32)) -> Value {
        let count = self.b.convert(width, count);
        let iota = self.b.iota(width, lanes);
        self.b.less(iota, count)
    }

    /// The elements of a gang of neighbours where their index is clamped, and some may be beyond; none of other loads, and where no vector of a part
    /// of its lanes is loaded.
    pub(super) fn load_clamped(
        &mut self,
        array: KernelArrayId,
        map: &IndexMap,
        written: &[Val],
        extents: &[Value],
    ) -> Result<Option<Val>> {
        let kernel = self.kernel;
        let (Some((last, others)), Some(&extent)) = (written.split_last(), extents.last()) else { return Ok(None) };
        let (at, declared) = (others.len(), &kernel.arrays[array.index()]);
        let (element, dim) = (declared.element, &map.dims[at]);
        let &Val::Linear(index, stride) = last else { return Ok(None) };
        if self.b.constant_of(stride).and_then(Constant::as_i64) != Some(1)
            || others.iter().any(|index| !matches!(index, Val::Uniform(_)))
            || dim.boundary != DimBoundary::Clamp
            || map.checked
            || self.interior
            || self.is_inside(dim)
            || self.vector_bytes <= 16
        {
            return Ok(None);
        }
        let mut all = Vec::new();
        for (at, &index) in others.iter().enumerate() {
            all.push(self.bounded_in(array, map, at, index)?);
        }
        all.push(*last);
        let (may_be_below, may_be_above) = self.may_be_beyond(dim, declared.extents[at]);
        let lanes = (as_wide(element.bytes()), self.lanes);
        let zero = self.b.int(0);
        let below = may_be_below.then(|| {
            let count = self.b.sub(zero, index);
            self.first_lanes(count, lanes)
        });
        let up_to = may_be_above.then(|| {
            let count = self.b.sub(extent, index);
            self.first_lanes(count, lanes)
        });
        let from = below.map(|below| self.b.not(below));
        let inside = self.b.both(from, up_to);
        // The mask of the load says which lanes have an element of it: what the others have does not count, or is an end.
        let loaded = self.b.both(self.mask, inside);
        let here = self.gang_inside(array, &all, inside)?;
        let mut value = self.plain(here);
        let first = match below {
            Some(_) => Some(self.end_of_clamped(array, &mut all, zero)?),
            None => None,
        };
        let last = match up_to {
            Some(_) => {
                let end = self.b.add_int(extent, -1);
                let end = self.b.binary(Binary::Max, end, zero);
                Some(self.end_of_clamped(array, &mut all, end)?)
            }
            None => None,
        };
        let ends = match (below, first, last) {
            (Some(below), Some(first), Some(last)) => Some(self.b.select(below, first, last)),
            (_, first, last) => first.or(last),
        };
        if let (Some(loaded), Some(ends)) = (loaded, ends) {
            value = self.b.select(loaded, value, ends);
        }
        Ok(Some(Val::Gang(value)))
    }

    /// Whether indices along a dimension may be below the first element of it, or above the last, in a gang of neighbours along it. Steps of the level
    /// are inside themselves: those so far from it are beyond one end alone, and not in a gang that is far from that end.
    fn may_be_beyond(&self, dim: &DimIndex, extent: KernelExtent) -> (bool, bool) {
        let (before, behind) = self.around;
        let own = DimIndex { offset: 0, boundary: DimBoundary::None, ..dim.clone() };
        let within = is_within(self.kernel, &own, extent);
        (!within || dim.offset + before < 0, !within || dim.offset > behind)
    }

    /// Whether an index is inside of a dimension in all lanes of the gang that is emitted.
    pub(super) fn gang_is_inside(&self, dim: &DimIndex, index: Val, extent: KernelExtent) -> bool {
        let Val::Linear(_, stride) = index else { return false };
        dim.terms.len() == 1
            && self.b.constant_of(stride).and_then(Constant::as_i64) == Some(1)
            && self.may_be_beyond(dim, extent) == (false, false)
    }

    /// The elements of a gang at an index, in the lanes of a mask and no others.
    fn gang_inside(&mut self, array: KernelArrayId, index: &[Val], inside: Option<Value>) -> Result<Val> {
        let outer = self.mask;
        self.mask = self.b.both(outer, inside);
        let position = self.position(array, index)?;
        let loaded = match self.mask {
            Some(_) => self.load_of_some(array, position),
            None => self.load_at(array, position, Memory::Guarded),
        };
        self.mask = outer;
        loaded
    }

    /// The element at an end of the last dimension, in all lanes.
    fn end_of_clamped(&mut self, array: KernelArrayId, index: &mut [Val], end: Value) -> Result<Value> {
        if let Some(last) = index.last_mut() {
            *last = Val::Uniform(end);
        }
        let position = self.position(array, index)?;
        let element = self.load_at(array, position, Memory::Guarded)?;
        let element = self.plain(element);
        Ok(self.b.splat(element, self.lanes))
    }
}
