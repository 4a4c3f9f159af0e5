//! Arrays of a kernel, index maps into them, loads and stores.

use ElementType::I64;
use fusebox_ir::{
    Access, Action, Array, DimBoundary, DimIndex, ElementType, IndexMap, KernelArray, KernelArrayId, KernelExtent,
    Lambda, LocalId, Place,
};

use super::{Draw, Seen};

impl Draw {
    pub(super) fn array(
        &mut self,
        element: ElementType,
        extents: Vec<KernelExtent>,
        access: Access,
        data: Option<Array>,
    ) -> KernelArrayId {
        let name = format!("x{}", self.arrays.len());
        self.arrays.push(KernelArray { name, element, extents, access, in_place_of: None });
        self.data.push(data);
        KernelArrayId::at(self.arrays.len() - 1)
    }

    pub(super) fn load_of(
        &mut self,
        array: KernelArrayId,
        dims: Vec<DimIndex>,
        checked: bool,
        outside: Option<Lambda>,
        range: Option<(i64, i64)>,
    ) -> LocalId {
        let result = self.fresh(self.arrays[array.index()].element);
        self.see(&result, range);
        let id = result.id;
        let map = IndexMap { dims, checked };
        self.push(None, Action::Load { result, array, map, outside, place: Place::default() });
        id
    }

    /// An extent that is at least this: a number, or a size.
    pub(super) fn extent(&mut self, least: i64) -> KernelExtent {
        let size = self.below(self.sizes.len());
        if self.sizes[size] >= least && self.sizes[size] < least + 40 {
            return KernelExtent::Size(LocalId(size as u32));
        }
        KernelExtent::Constant(least)
    }

    pub(super) fn number(&self, extent: KernelExtent) -> i64 {
        match extent {
            KernelExtent::Constant(extent) => extent,
            KernelExtent::Size(id) => self.sizes[id.index()],
        }
    }

    /// A sum of indices, and its least and greatest value.
    pub(super) fn affine(&mut self) -> (DimIndex, (i64, i64)) {
        let depth = self.depth();
        let mut terms: Vec<(i64, LocalId)> = Vec::new();
        let mut range = (0, 0);
        let count = self.pick(&[0, 1, 1, 1, 1, 2]);
        for _ in 0..count {
            let candidates: Vec<Seen> = if self.chance(4, 5) {
                self.bounds[..depth].iter().map(|bounds| bounds.index).collect()
            } else {
                self.seen.iter().filter(|seen| seen.range.is_some_and(|(a, b)| b - a < 3000)).copied().collect()
            };
            if candidates.is_empty() {
                continue;
            }
            let one = if self.chance(1, 2) { candidates[candidates.len() - 1] } else { self.pick(&candidates) };
            let (Some((a, b)), false) = (one.range, terms.iter().any(|term| term.1 == one.id)) else { continue };
            let factor = self.pick(&[1, 1, 1, 1, 1, 1, 2, -1]);
            terms.push((factor, one.id));
            range = (range.0 + (a * factor).min(b * factor), range.1 + (a * factor).max(b * factor));
        }
        terms.sort_by_key(|term| term.1);
        (DimIndex { offset: 0, terms, boundary: DimBoundary::None }, range)
    }

    pub(super) fn load(&mut self) {
        let element = self.element();
        let rank = self.pick(&[0, 1, 1, 1, 1, 2, 2, 3]);
        let kind = self.below(10);
        let mut dims = Vec::new();
        let mut extents = Vec::new();
        let mut size = 1i64;
        let checked = kind == 0;
        for _ in 0..rank {
            let (mut dim, (low, high)) = self.affine();
            let small = size * (high - low + 4) < 80_000;
            if !small {
                dim.terms.clear();
                dim.offset = 0;
                extents.push(self.extent(1));
                dims.push(dim);
                continue;
            }
            let extent = if (1..=2).contains(&kind) {
                // What is outside is met.
                dim.offset = self.range(-3, 3) - low.min(5);
                let most = (high - low).clamp(1, 60);
                let extent = self.range(1, most + 2);
                if kind == 1 {
                    dim.boundary = self.pick(&[DimBoundary::Clamp, DimBoundary::Mirror, DimBoundary::Wrap]);
                }
                self.extent(extent)
            } else {
                let ahead = self.pick(&[0, 0, 0, 1, 3]);
                dim.offset = ahead - low;
                let beyond = self.pick(&[0, 0, 1, 2]);
                let fails = checked && self.shape.may_fail && self.chance(1, 4);
                self.extent(high + dim.offset + 1 + if fails { -1 } else { beyond })
            };
            size *= self.number(extent).max(1);
            extents.push(extent);
            dims.push(dim);
        }
        let numbers: Vec<usize> = extents.iter().map(|&extent| self.number(extent).max(0) as usize).collect();
        let (data, range) = if element == I64 && self.chance(1, 2) {
            (self.random.ints(I64, &numbers, 0, 12), Some((0, 11)))
        } else if element.is_integer() && self.chance(1, 2) {
            (self.random.ints(element, &numbers, 0, 5), None)
        } else {
            (self.random.array(element, &numbers), None)
        };
        let outside = (kind == 2).then(|| {
            let value = self.value(element);
            Lambda { params: Vec::new(), instructions: Vec::new(), results: vec![value] }
        });
        let range = if outside.is_some() { None } else { range };
        let array = self.array(element, extents, Access::Read, Some(data));
        self.load_of(array, dims, checked, outside, range);
    }

    pub(super) fn store(&mut self, value: Option<Seen>) {
        let depth = self.depth();
        let value = value.unwrap_or_else(|| self.any_value());
        let mut order: Vec<usize> = (0..depth).collect();
        if self.chance(1, 4) {
            order.reverse();
        }
        let when = self.when();
        let mut full = when.is_none();
        let mut dims = Vec::new();
        let mut extents = Vec::new();
        let mut size = 1i64;
        for level in order {
            let (low, high) = self.bounds[level].index.range.unwrap_or((0, 0));
            let (steps, known) = (self.bounds[level].steps, self.bounds[level].known);
            let exact = known && self.chance(5, 6);
            let factor = if self.chance(1, 6) {
                -1
            } else if exact {
                1
            } else {
                self.pick(&[1, 1, 2])
            };
            full &= exact;
            let least = (low * factor).min(high * factor);
            let ahead = if exact { 0 } else { self.range(0, 2) };
            let offset = ahead - least;
            let extent = if exact { steps } else { (high - low) * factor.abs() + 1 + ahead + self.range(0, 2) };
            let id = self.bounds[level].index.id;
            dims.push(DimIndex { offset, terms: vec![(factor, id)], boundary: DimBoundary::None });
            let same = (0..self.sizes.len()).find(|&size| self.sizes[size] == extent);
            extents.push(match same {
                Some(size) if self.chance(1, 2) => KernelExtent::Size(LocalId(size as u32)),
                _ => KernelExtent::Constant(extent),
            });
            size = size.saturating_mul(extent.max(1));
        }
        if size > 100_000 {
            return;
        }
        let numbers: Vec<usize> = extents.iter().map(|&extent| self.number(extent) as usize).collect();
        let data = (!full).then(|| self.random.array(value.ty, &numbers));
        let access = if full { Access::Write } else { Access::Update };
        let array = self.array(value.ty, extents, access, data);
        self.push(when, Action::Store { array, map: IndexMap { dims, checked: false }, value: value.id.into() });
    }
}
