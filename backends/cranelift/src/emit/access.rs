//! Index maps: where loads and stores go, what stands for an index outside, and what fails.

use std::ops::Range;

use fusebox_ir::{
    Access, Action, Binary, Constant, DimBoundary, DimIndex, ElementType, IndexMap, KernelArrayId, KernelExtent,
    Lambda, LocalId, Place, ScalarOperand, analysis::kernels::RowUse,
};

use super::{Emitter, HiddenArgument, Result, Val};
use crate::vector::{Memory, Value};

impl Emitter<'_> {
    pub(super) fn plus(&mut self, a: Val, b: Val) -> Val {
        self.arithmetic(Binary::Add, a, b)
    }

    pub(super) fn times(&mut self, a: Val, b: Val) -> Val {
        self.arithmetic(Binary::Mul, a, b)
    }

    fn arithmetic(&mut self, function: Binary, a: Val, b: Val) -> Val {
        if let Some(result) = self.linear(function, a, b) {
            return result;
        }
        let (a, b) = (self.plain(a), self.plain(b));
        let result = if function == Binary::Add { self.b.add(a, b) } else { self.b.mul(a, b) };
        self.val(result)
    }

    /// `offset + Σ factor · local`.
    pub(super) fn dim_index(&mut self, dim: &DimIndex) -> Result<Val> {
        let mut sum = Val::Uniform(self.b.int(dim.offset));
        for &(factor, local) in &dim.terms {
            let local = self.local(local)?;
            let factor = Val::Uniform(self.b.int(factor));
            let term = self.times(local, factor);
            sum = self.plus(sum, term);
        }
        Ok(sum)
    }

    pub(super) fn extents(&mut self, array: KernelArrayId) -> Result<Vec<Value>> {
        let kernel = self.kernel;
        kernel.arrays[array.index()].extents.iter().map(|&extent| self.extent(extent)).collect()
    }

    /// The row-major position of an index.
    pub(super) fn position(&mut self, array: KernelArrayId, index: &[Val]) -> Result<Val> {
        let extents = self.extents(array)?;
        let mut position = Val::Uniform(self.b.int(0));
        for (&index, &extent) in index.iter().zip(&extents) {
            position = self.times(position, Val::Uniform(extent));
            position = self.plus(position, index);
        }
        Ok(position)
    }

    /// Whether an index is outside of `0..extent`.
    pub(super) fn outside(&mut self, index: Val, extent: Value) -> Value {
        let index = self.plain(index);
        // A negative number is a large one without a sign; shorter vectors have no such comparison of 64 bits.
        if self.b.lanes(index) == 1 || self.vector_bytes >= 64 {
            let (index, extent) = (self.b.bits(ElementType::U64, index), self.b.bits(ElementType::U64, extent));
            return self.b.binary(Binary::Ge, index, extent);
        }
        let zero = self.b.int(0);
        let below = self.b.binary(Binary::Lt, index, zero);
        let above = self.b.binary(Binary::Ge, index, extent);
        self.b.binary(Binary::Or, below, above)
    }

    /// Before a level: what boundaries make of those dimensions of loads inside that do not depend on it. Gives how many were known before.
    pub(super) fn bounded_before(&mut self, depth: usize, inner: Range<usize>) -> Result<usize> {
        let kernel = self.kernel;
        let before = self.bounded.len();
        for statement in &kernel.statements[inner] {
            let Action::Load { array, map, outside: None, .. } = &statement.action else { continue };
            for (dim, &extent) in map.dims.iter().zip(&kernel.arrays[array.index()].extents) {
                let outer = |id: LocalId| kernel.levels[..depth].iter().any(|level| level.index.id == id);
                let stays = dim.boundary != DimBoundary::None && dim.terms.iter().all(|&(_, id)| outer(id));
                if !stays
                    || self.is_inside(dim)
                    || self.bounded.iter().any(|known| known.0 == *dim && known.1 == extent)
                {
                    continue;
                }
                let index = self.dim_index(dim)?;
                if let Val::Uniform(_) = index {
                    let bound = self.extent(extent)?;
                    let bounded = self.bounded(index, bound, dim.boundary, self.wraps_once(dim, extent));
                    self.bounded.push((dim.clone(), extent, bounded));
                }
            }
        }
        Ok(before)
    }

    /// Whether no boundary applies to a dimension at the steps that run just now.
    pub(super) fn is_inside(&self, dim: &DimIndex) -> bool {
        let own = self.inside.map(|level| self.kernel.levels[level].index.id);
        own.is_some_and(|own| dim.terms.iter().any(|&(_, id)| id == own))
    }

    /// Whether an index wraps, and is one of the dimension itself but for one step: it is one extent away at most, as there are points.
    fn wraps_once(&self, dim: &DimIndex, extent: KernelExtent) -> bool {
        let [(1, own)] = dim.terms[..] else { return false };
        let Some(level) = self.kernel.levels.iter().find(|level| level.index.id == own) else { return false };
        let from_zero = matches!(level.from, ScalarOperand::Constant(from) if from.as_i64() == Some(0));
        let to_extent = match (level.to, extent) {
            (ScalarOperand::Local(to), KernelExtent::Size(size)) => to == size,
            (ScalarOperand::Constant(to), KernelExtent::Constant(extent)) => to.as_i64() == Some(extent),
            _ => false,
        };
        dim.boundary == DimBoundary::Wrap && (-1..=1).contains(&dim.offset) && from_zero && to_extent
    }

    /// What a boundary makes of an index; of one that wraps `once` at most without a division.
    fn bounded(&mut self, index: Val, extent: Value, boundary: DimBoundary, once: bool) -> Val {
        if boundary == DimBoundary::None || (self.interior && !matches!(index, Val::Uniform(_))) {
            return index;
        }
        let index = self.plain(index);
        let zero = self.b.int(0);
        let last = self.b.add_int(extent, -1);
        if boundary == DimBoundary::Clamp {
            let index = self.b.binary(Binary::Min, index, last);
            let index = self.b.binary(Binary::Max, index, zero);
            return self.val(index);
        }
        if once {
            let folded = self.folded_once(index, extent, last, boundary);
            return self.val(folded);
        }
        if self.b.lanes(index) > 1 {
            let folded = self.folded_anywhere(index, extent, last, boundary);
            return self.val(folded);
        }
        // One extent away at most, as taps are: no division.
        let minus = self.b.sub(zero, extent);
        let not_below = self.b.binary(Binary::Gt, index, minus);
        let twice = self.b.add(extent, last);
        let not_above = self.b.binary(Binary::Lt, index, twice);
        let near = self.b.binary(Binary::And, not_below, not_above);
        self.b.open();
        let folded = self.folded_once(index, extent, last, boundary);
        let then = self.b.close();
        self.b.open();
        let anywhere = self.folded_anywhere(index, extent, last, boundary);
        let otherwise = self.b.close();
        Val::Uniform(self.b.end_if(near, (then, vec![folded]), (otherwise, vec![anywhere]))[0])
    }

    /// Wraps or mirrors an index that is one extent away at most.
    fn folded_once(&mut self, index: Value, extent: Value, last: Value, boundary: DimBoundary) -> Value {
        let zero = self.b.int(0);
        let below = self.b.binary(Binary::Lt, index, zero);
        let (low, high) = if boundary == DimBoundary::Wrap {
            (self.b.add(index, extent), self.b.sub(index, extent))
        } else {
            let twice_last = self.b.add(last, last);
            (self.b.sub(zero, index), self.b.sub(twice_last, index))
        };
        let above = self.b.binary(Binary::Ge, index, extent);
        let folded = self.b.select(above, high, index);
        self.b.select(below, low, folded)
    }

    /// Wraps or mirrors any index; that of an empty array stays outside.
    fn folded_anywhere(&mut self, index: Value, extent: Value, last: Value, boundary: DimBoundary) -> Value {
        if boundary == DimBoundary::Wrap {
            return self.b.binary(Binary::ModFloor, index, extent);
        }
        // Of one element the period is 0, and the remainder by 0 is 0 here.
        let period = self.b.add(last, last);
        let remainder = self.b.binary(Binary::ModFloor, index, period);
        let back = self.b.sub(period, remainder);
        let beyond = self.b.binary(Binary::Ge, remainder, extent);
        self.b.select(beyond, back, remainder)
    }

    /// What a boundary makes of the index along one dimension of a load.
    pub(super) fn bounded_in(&mut self, array: KernelArrayId, map: &IndexMap, at: usize, index: Val) -> Result<Val> {
        let (dim, declared) = (&map.dims[at], self.kernel.arrays[array.index()].extents[at]);
        if self.is_inside(dim) {
            return Ok(index);
        }
        if let Some(known) = self.bounded.iter().find(|known| known.0 == *dim && known.1 == declared) {
            return Ok(known.2);
        }
        let (extent, once) = (self.extent(declared)?, self.wraps_once(dim, declared));
        Ok(self.bounded(index, extent, dim.boundary, once))
    }

    /// A load.
    pub(super) fn load(
        &mut self,
        array: KernelArrayId,
        map: &IndexMap,
        outside: Option<&Lambda>,
        place: &Place,
    ) -> Result<Val> {
        let written = map.dims.iter().map(|dim| self.dim_index(dim)).collect::<Result<Vec<_>>>()?;
        let extents = self.extents(array)?;
        if let Some(outside) = outside {
            let declared = &self.kernel.arrays[array.index()].extents;
            let inside = |at: usize| {
                self.is_inside(&map.dims[at]) || self.gang_is_inside(&map.dims[at], written[at], declared[at])
            };
            let bounds: Vec<_> = (0..extents.len()).map(|at| (!inside(at)).then_some(extents[at])).collect();
            return self.load_or(array, &written, &bounds, outside);
        }
        if let Some(loaded) = self.load_clamped(array, map, &written, &extents)? {
            return Ok(loaded);
        }
        let index: Vec<Val> =
            (0..written.len()).map(|at| self.bounded_in(array, map, at, written[at])).collect::<Result<_>>()?;
        if map.checked {
            let kernel = self.kernel;
            let declared = &kernel.arrays[array.index()].extents;
            let within = self.within(array, &index, &map.dims);
            self.check_written(array, (&index, &written), &within, &extents, declared, place)?;
        }
        let position = self.position(array, &index)?;
        if map.checked || matches!(position, Val::Gang(_)) {
            return self.load_of_some(array, position);
        }
        let innermost = self
            .kernel
            .levels
            .iter()
            .rev()
            .find(|level| self.locals.contains_key(&level.index.id))
            .map(|level| level.index.id);
        let moves = map.dims.iter().any(|dim| {
            dim.boundary == DimBoundary::None && dim.terms.iter().any(|&(_, local)| Some(local) == innermost)
        });
        self.load_at(array, position, if moves { Memory::Input } else { Memory::Guarded })
    }

    /// The element at a row-major position that is inside in lanes that take part.
    pub(super) fn load_of_some(&mut self, array: KernelArrayId, position: Val) -> Result<Val> {
        // Longer vectors are loaded under masks: of lanes that take no part no memory is touched.
        if let (Some(mask), Val::Linear(index, stride)) = (self.mask, position)
            && self.vector_bytes > 16
            && self.b.lanes(mask) > 1
            && self.b.constant_of(stride).and_then(Constant::as_i64) == Some(1)
        {
            let Some(&base) = self.arrays.get(array.index()) else {
                return Err(self.broken("an array that is not there"));
            };
            let element = self.kernel.arrays[array.index()].element;
            let (elsewhere, memory) = (self.first_element(array), self.memory_of(array, Memory::Guarded));
            return Ok(Val::Gang(self.b.load_masked((element, self.lanes), base, index, (mask, elsewhere), memory)));
        }
        let position = self.masked_position(array, position);
        self.load_at(array, position, Memory::Guarded)
    }

    /// How loads of an array may be moved: what is written over what is read changes while the kernel runs.
    pub(super) fn memory_of(&self, array: KernelArrayId, wanted: Memory) -> Memory {
        let arrays = &self.kernel.arrays;
        let read = arrays[array.index()].access == Access::Read;
        let stays = read && arrays.iter().all(|other| other.in_place_of != Some(array));
        if stays { wanted } else { Memory::Shared }
    }

    /// A load with a function for what is outside, as far as dimensions have bounds.
    fn load_or(
        &mut self,
        array: KernelArrayId,
        index: &[Val],
        bounds: &[Option<Value>],
        outside: &Lambda,
    ) -> Result<Val> {
        let mut out: Option<Value> = None;
        for (&index, &bound) in index.iter().zip(bounds) {
            let Some(extent) = bound else { continue };
            if self.interior && !matches!(index, Val::Uniform(_)) {
                continue;
            }
            let here = self.outside(index, extent);
            out = Some(match out {
                None => here,
                Some(before) => self.b.binary(Binary::Or, before, here),
            });
        }
        let position = self.position(array, index)?;
        let Some(out) = out else { return self.load_at(array, position, Memory::Guarded) };
        if self.b.lanes(out) == 1 {
            self.b.open();
            let there = self.lambda(outside, &[])?;
            let there = self.plain(there[0]);
            let then = self.b.close();
            self.b.open();
            let here = self.load_at(array, position, Memory::Guarded)?;
            let here = self.plain(here);
            let otherwise = self.b.close();
            let lanes = self.b.lanes(here).max(self.b.lanes(there));
            let (then, there) = self.widen(then, there, lanes);
            let (otherwise, here) = self.widen(otherwise, here, lanes);
            let value = self.b.end_if(out, (then, vec![there]), (otherwise, vec![here]))[0];
            return Ok(self.val(value));
        }
        let outer = self.mask;
        self.mask = self.b.both(outer, Some(out));
        let there = self.lambda(outside, &[])?[0];
        let there = self.plain(there);
        let inside = self.b.not(out);
        self.mask = self.b.both(outer, Some(inside));
        let here = self.load_of_some(array, position)?;
        self.mask = outer;
        let here = self.plain(here);
        let value = self.b.select(out, there, here);
        Ok(self.val(value))
    }

    fn widen(&mut self, mut region: crate::vector::Region, value: Value, lanes: u32) -> (crate::vector::Region, Value) {
        self.b.open();
        let value = self.b.splat(value, lanes);
        let mut behind = self.b.close();
        region.0.append(&mut behind.0);
        (region, value)
    }

    /// The element at a row-major position that is inside.
    pub(super) fn load_at(&mut self, array: KernelArrayId, position: Val, memory: Memory) -> Result<Val> {
        let Some(&base) = self.arrays.get(array.index()) else { return Err(self.broken("an array that is not there")) };
        let memory = self.memory_of(array, memory);
        let (element, lanes) = (self.kernel.arrays[array.index()].element, self.lanes);
        let position = self.somewhere(array, position);
        Ok(match position {
            Val::Uniform(index) => Val::Uniform(self.b.load(element, 1, base, index, memory)),
            Val::Gang(index) => {
                let memory = if memory == Memory::Input { Memory::Guarded } else { memory };
                Val::Gang(self.b.load(element, lanes, base, index, memory))
            }
            Val::Linear(index, stride) => match self.b.constant_of(stride).and_then(Constant::as_i64) {
                Some(0) => Val::Uniform(self.b.load(element, 1, base, index, memory)),
                Some(1) => {
                    // A short gang reads beyond its elements, into the slack or the next row.
                    Val::Gang(self.b.load(element, lanes, base, index, memory))
                }
                Some(-1) if self.mask.is_none() && self.some_steps.is_none() && element != ElementType::Bool => {
                    // The last lane's element is the first in memory.
                    let last = self.b.int(1 - i64::from(lanes));
                    let first = self.b.add(index, last);
                    let loaded = self.b.load(element, lanes, base, first, memory);
                    Val::Gang(self.b.reverse(loaded))
                }
                _ if self.mask.is_some() => {
                    let position = self.masked_position(array, position);
                    let index = self.gang(position);
                    Val::Gang(self.b.load(element, lanes, base, index, Memory::Guarded))
                }
                _ => Val::Gang(self.b.load_strided(element, lanes, base, index, stride, memory)),
            },
        })
    }

    /// A position that is that of an element, or the first one, where a row may have no steps (there is slack behind an empty array).
    fn somewhere(&mut self, array: KernelArrayId, position: Val) -> Val {
        let Some(some) = self.some_steps else { return position };
        let first = self.first_element(array);
        match position {
            Val::Uniform(index) => Val::Uniform(self.b.select(some, index, first)),
            Val::Linear(index, stride) => Val::Linear(self.b.select(some, index, first), stride),
            // Lanes that take no part have been seen to.
            Val::Gang(_) => position,
        }
    }

    /// The position of the first element of an array that is in memory: 0, but for some rows of an array alone.
    pub(super) fn first_element(&mut self, array: KernelArrayId) -> Value {
        let in_rows = self.in_rows.as_ref().is_some_and(|own| own.uses[array.index()] != RowUse::Anywhere);
        if !in_rows {
            return self.b.int(0);
        }
        let bytes = self.kernel.arrays[array.index()].element.bytes();
        self.hidden_argument(HiddenArgument::FirstElement(array, bytes))
    }
}
