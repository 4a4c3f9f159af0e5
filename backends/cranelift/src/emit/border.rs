//! Where boundaries apply: steps before and behind the interior of a level, which is run in gangs.

use fusebox_ir::{Action, Binary, DimBoundary, LevelOrder};

use super::{Emitter, Result, levels::EmittedLevel};
use crate::vector::Value;

/// The steps of a level at which no boundary applies.
pub(super) struct Interior {
    /// The first of them.
    pub(super) first: Value,
    /// The first that gangs start at: as far behind the beginning of the level as stores or accumulators ask for.
    pub(super) start: Value,
    /// Behind the last.
    pub(super) end: Value,
}

impl Emitter<'_> {
    /// A gang from the first step of the interior up to where gangs start, if the interior has as many steps; those behind run again. Gives where gangs
    /// start then.
    pub(super) fn head(&mut self, nest: &EmittedLevel, interior: &Interior, lanes: u32, first: Value) -> Result<Value> {
        let end = self.b.add_int(interior.first, i64::from(lanes));
        let fits = self.b.binary(Binary::Le, end, interior.end);
        let start = self.b.select(fits, interior.start, interior.first);
        (self.lanes, self.interior) = (lanes, true);
        self.steps(nest, interior.first, start, lanes, first)?;
        (self.lanes, self.interior) = (1, false);
        Ok(start)
    }

    /// The steps for which every tap along this level is inside.
    pub(super) fn interior_of(&mut self, nest: &EmittedLevel, low: Value, high: Value, lanes: i64) -> Result<Interior> {
        let kernel = self.kernel;
        let own = kernel.levels[nest.depth].index.id;
        let (mut first, mut last) = (low, high);
        for position in nest.inner.clone() {
            let Action::Load { array, map, outside, .. } = &kernel.statements[position].action else { continue };
            for (dim, extent) in map.dims.iter().zip(&kernel.arrays[array.index()].extents) {
                let varies = dim.terms.iter().any(|&(_, local)| local == own);
                if !varies || (outside.is_none() && dim.boundary == DimBoundary::None) {
                    continue;
                }
                // Inside is 0 <= index + offset < extent; the schedule has seen to the form. Steps go up from the first index, or down from
                // the last.
                let down = kernel.levels[nest.depth].order == LevelOrder::Down;
                let mut offset = if down { nest.to } else { nest.from };
                for &(factor, local) in dim.terms.iter().filter(|&&(_, local)| local != own) {
                    let local = self.local(local)?;
                    let local = self.plain(local);
                    let factor = self.b.int(factor);
                    let term = self.b.mul(local, factor);
                    offset = self.b.add(offset, term);
                }
                offset = self.b.add_int(offset, dim.offset);
                let zero = self.b.int(0);
                let extent = self.extent(*extent)?;
                let (from, to) = if down {
                    (self.b.sub(offset, extent), offset)
                } else {
                    (self.b.sub(zero, offset), self.b.sub(extent, offset))
                };
                first = self.b.binary(Binary::Max, first, from);
                last = self.b.binary(Binary::Min, last, to);
            }
        }
        if first == low {
            return Ok(Interior { first: low, start: low, end: last });
        }
        // Gangs start at whole numbers of gangs where that keeps lanes of accumulators together, or what is stored at multiples of vectors.
        let together = nest.inner.clone().any(|position| {
            matches!(kernel.statements[position].action, Action::Reduce { to, .. } if to as usize == nest.depth)
        });
        let unit = self.b.int(lanes);
        let one = self.b.int(1);
        let out_of_cache = self.out_of_cache();
        let unit = if together { unit } else { self.b.select(out_of_cache, unit, one) };
        let ahead = self.b.sub(first, low);
        let ahead = self.b.add(ahead, unit);
        let ahead = self.b.add_int(ahead, -1);
        let zero = self.b.int(0);
        let whole = self.b.sub(zero, unit);
        let ahead = self.b.binary(Binary::And, ahead, whole);
        let start = self.b.add(low, ahead);
        let start = self.b.binary(Binary::Min, start, high);
        let first = if together { start } else { self.b.binary(Binary::Min, first, high) };
        let end = self.b.binary(Binary::Max, last, first);
        Ok(Interior { first, start, end })
    }
}
