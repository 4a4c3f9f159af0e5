//! Checks of indices: at the ends of a gang where its indices go straight from one to the other, and not where a level cannot leave an array.

use fusebox_ir::{
    Binary, Constant, DimIndex, FailureKind, KernelArrayId, KernelExtent, MAX_EXTENT, Place, ScalarOperand,
    analysis::kernels::is_within,
};

use super::{Emitter, Result, Val};
use crate::vector::Value;

impl Emitter<'_> {
    /// Fails where the index is outside of the array; what says how it is made, if that is known, shows where it cannot be.
    pub(super) fn check_index(
        &mut self,
        array: KernelArrayId,
        index: &[Val],
        dims: &[DimIndex],
        place: &Place,
    ) -> Result {
        let extents = self.extents(array)?;
        let kernel = self.kernel;
        let within = self.within(array, index, dims);
        self.check_written(array, (index, index), &within, &extents, &kernel.arrays[array.index()].extents, place)
    }

    /// Which of the indices of an array are known to be inside: by how they are made, or as counts of loops.
    pub(super) fn within(&self, array: KernelArrayId, index: &[Val], dims: &[DimIndex]) -> Vec<bool> {
        let declared = &self.kernel.arrays[array.index()].extents;
        let known = |at: usize| match (dims.get(at), declared.get(at)) {
            (Some(dim), Some(&extent)) => is_within(self.kernel, dim, extent),
            _ => matches!(index[at], Val::Uniform(count) if self.known_inside.contains(&(count, array, at))),
        };
        (0..index.len()).map(known).collect()
    }

    /// Fails where an index is outside of `0..bounds`; the error says the array's extents.
    pub(super) fn check_inside(
        &mut self,
        array: KernelArrayId,
        index: &[Val],
        bounds: &[Value],
        extents: &[KernelExtent],
        place: &Place,
    ) -> Result {
        self.check_written(array, (index, index), &vec![false; index.len()], bounds, extents, place)
    }

    /// The same, but for indices that are known to be within, where boundaries made `index` out of what is `written`.
    pub(super) fn check_written(
        &mut self,
        array: KernelArrayId,
        (index, written): (&[Val], &[Val]),
        within: &[bool],
        bounds: &[Value],
        extents: &[KernelExtent],
        place: &Place,
    ) -> Result {
        let kernel = self.kernel;
        let mut checked: Vec<(Val, Value)> =
            (0..index.len()).filter(|&at| !within[at]).map(|at| (index[at], bounds[at])).collect();
        if checked.is_empty() {
            return Ok(());
        }
        let none = ScalarOperand::Constant(Constant::from(0i64));
        let failure = self.failure(
            place,
            FailureKind::Index {
                array: kernel.arrays[array.index()].name.clone(),
                index: vec![none; written.len()],
                extents: vec![none; extents.len()],
            },
        );
        let extents =
            extents.iter().map(|&extent| Ok(Val::Uniform(self.extent(extent)?))).collect::<Result<Vec<_>>>()?;
        if self.mask.is_none() && self.lanes > 1 && index.iter().chain(written).all(|&index| self.is_straight(index)) {
            // Inside at both ends is inside between.
            for lane in [0, i64::from(self.lanes) - 1] {
                let lane_value = self.b.int(lane);
                let at = |this: &mut Self, index: Val| match index {
                    Val::Linear(base, stride) => {
                        let steps = this.b.mul(stride, lane_value);
                        Val::Uniform(this.b.add(base, steps))
                    }
                    other => other,
                };
                let here: Vec<_> = checked.iter().map(|&(index, bound)| (at(self, index), bound)).collect();
                let there: Vec<Val> = written.iter().map(|&index| at(self, index)).collect();
                self.check_lanes(&here, &there, &extents, failure.clone());
                checked.retain(|(index, _)| matches!(index, Val::Linear(..)));
            }
            return Ok(());
        }
        if self.mask.is_some_and(|mask| self.b.lanes(mask) > 1)
            && checked.iter().all(|&(index, _)| self.is_straight(index))
            && let Some(beyond) = self.beyond(&checked)
        {
            // Where lanes that take no part are inside, too, it is not asked which take part.
            self.b.open();
            self.check_lanes(&checked, written, &extents, failure);
            let then = self.b.close();
            self.b.open();
            let otherwise = self.b.close();
            self.b.end_if(beyond, (then, Vec::new()), (otherwise, Vec::new()));
            return Ok(());
        }
        self.check_lanes(&checked, written, &extents, failure);
        Ok(())
    }

    /// Whether a lane, whether it takes part or not, is outside of one of these bounds; none of indices that are all the same in all lanes.
    fn beyond(&mut self, checked: &[(Val, Value)]) -> Option<Value> {
        if !checked.iter().any(|(index, _)| matches!(index, Val::Linear(..))) {
            return None;
        }
        // Negative if one of them is: indices, and what is left to the bound.
        let mut signs: Option<Value> = None;
        for &(index, bound) in checked {
            let ends = match index {
                Val::Linear(first, stride) => {
                    let lanes = self.b.int(i64::from(self.lanes) - 1);
                    let steps = self.b.mul(stride, lanes);
                    [Some(first), Some(self.b.add(first, steps))]
                }
                Val::Uniform(index) | Val::Gang(index) => [Some(index), None],
            };
            let last = self.b.add_int(bound, -1);
            for end in ends.into_iter().flatten() {
                let left = self.b.sub(last, end);
                let both = self.b.binary(Binary::Or, end, left);
                signs = Some(signs.map_or(both, |signs| self.b.binary(Binary::Or, signs, both)));
            }
        }
        let (signs, zero) = (signs?, self.b.int(0));
        Some(self.b.less(signs, zero))
    }

    /// Whether an index goes from lane to lane by steps that do not wrap around within a gang, wherever it starts inside of an array.
    fn is_straight(&self, index: Val) -> bool {
        match index {
            Val::Uniform(_) => true,
            Val::Gang(_) => false,
            Val::Linear(_, stride) => {
                let stride = self.b.constant_of(stride).and_then(Constant::as_i64);
                stride.is_some_and(|stride| stride.unsigned_abs() <= MAX_EXTENT as u64)
            }
        }
    }

    /// Fails where an index is outside of its bound.
    fn check_lanes(
        &mut self,
        checked: &[(Val, Value)],
        written: &[Val],
        extents: &[Val],
        failure: fusebox_ir::Failure,
    ) {
        let mut failed: Option<Value> = None;
        for &(index, bound) in checked {
            let outside = self.outside(index, bound);
            failed = Some(match failed {
                None => outside,
                Some(before) => self.b.binary(Binary::Or, before, outside),
            });
        }
        if let Some(failed) = failed {
            let operands: Vec<Val> = written.iter().chain(extents).copied().collect();
            self.fail(failed, failure, &operands);
        }
    }
}
