//! How often each depth of a kernel is met.

use super::{Polynomial, kernel::Walk, names::has_index};
use crate::{
    Access, Action, DimBoundary, DimIndex, FailureKind, IndexMap, KernelArrayId, ScalarOp, ScalarOperand, Statement,
};

impl<'k> Walk<'k> {
    /// How often what is inside of level `depth` is met: pushed behind those around it.
    pub(super) fn enter(&mut self, depth: usize) {
        let level = &self.kernel.levels[depth];
        let around = self.points[depth].clone();
        let steps = self.value(level.to).zip(self.value(level.from)).map(|(to, from)| to.minus(&from));
        let known = steps.filter(|steps| !has_index(steps)).and_then(|steps| around.times(&steps));
        let points = known
            .or_else(|| self.stored(depth + 1))
            .or_else(|| self.appended(depth + 1))
            .or_else(|| self.segments(depth))
            .unwrap_or_else(|| self.unknown("steps"));
        self.points.push(points);
    }

    /// The elements of an array that a single store at this depth writes, all of them and each once.
    fn stored(&self, depth: usize) -> Option<Polynomial> {
        let statements = self.statements().iter().filter(|statement| statement.depth as usize == depth);
        statements.filter(|statement| statement.when.is_none()).find_map(|statement| match &statement.action {
            Action::Store { array, .. } if self.writes_alone(*array) => self.elements(*array),
            _ => None,
        })
    }

    /// Whether every element of the array is written, by one store.
    pub(super) fn writes_alone(&self, array: KernelArrayId) -> bool {
        let stores =
            |statement: &&Statement| matches!(&statement.action, Action::Store { array: to, .. } if *to == array);
        self.kernel.arrays.get(array.index()).is_some_and(|declared| declared.access == Access::Write)
            && self.statements().iter().filter(stores).count() == 1
    }

    /// The number that an append at this depth counts.
    fn appended(&self, depth: usize) -> Option<Polynomial> {
        let statements = self.statements().iter().filter(|statement| statement.depth as usize == depth);
        statements.filter(|statement| statement.when.is_none()).find_map(|statement| match &statement.action {
            Action::Append { count, .. } => self.scalars.get(count.index()).cloned(),
            _ => None,
        })
    }

    /// Of a level that runs from one offset to the next along the level around it: what is cut into segments, each element once. Segments may be
    /// the elements of other segments.
    fn segments(&self, depth: usize) -> Option<Polynomial> {
        let level = &self.kernel.levels[depth];
        let mut around = depth;
        while self.runs_over_segments(around) {
            around -= 1;
        }
        if around == depth {
            return None;
        }
        let cut = self.statements().iter().find_map(|statement| match &statement.action {
            Action::Check { failure, .. } => match &failure.fault {
                FailureKind::Offsets { value, extent, .. } if [level.from, level.to].contains(value) => {
                    self.value(*extent).filter(|extent| !has_index(extent))
                }
                _ => None,
            },
            Action::Load { map, array, .. } if statement.depth as usize == depth + 1 => match &map.dims[..] {
                [DimIndex { offset: 0, terms, boundary: DimBoundary::None }] if terms[..] == [(1, level.index.id)] => {
                    self.elements(*array)
                }
                _ => None,
            },
            _ => None,
        })?;
        self.points[around].times(&cut)
    }

    /// Whether a level runs from one offset to the next along the level around it.
    fn runs_over_segments(&self, depth: usize) -> bool {
        let (Some(around), level) = (depth.checked_sub(1), &self.kernel.levels[depth]) else { return false };
        let outer = self.kernel.levels[around].index.id;
        let offsets = |operand: ScalarOperand, first: i64| {
            let (array, map) = self.loaded(operand)?;
            let [DimIndex { offset, terms, boundary: DimBoundary::None }] = &map.dims[..] else { return None };
            (*offset == first && terms[..] == [(1, outer)]).then_some(array)
        };
        offsets(level.from, 0).zip(offsets(level.to, 1)).is_some_and(|(from, to)| from == to)
    }

    /// The load that an operand is, conversions left out.
    fn loaded(&self, operand: ScalarOperand) -> Option<(KernelArrayId, &'k IndexMap)> {
        let ScalarOperand::Local(mut id) = operand else { return None };
        loop {
            if let Some(&load) = self.loads.get(&id) {
                return Some(load);
            }
            match &self.defined.get(&id)?.op {
                ScalarOp::Convert { a: ScalarOperand::Local(a), .. } => id = *a,
                _ => return None,
            }
        }
    }
}
