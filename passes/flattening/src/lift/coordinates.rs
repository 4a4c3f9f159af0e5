//! Coordinates of lanes in flat arrays: from a context to those above it and below it.

use fusebox_ir::{Binary, ElementType::I64, Extent, ScalarOp, ScalarOperand};

use super::{
    code::{Code, Outside},
    context::{ContextId, Made, ROOT},
};

impl Code<'_, '_> {
    /// The row-major position of coordinates.
    pub fn flattened(&mut self, dims: &[Extent], coords: &[ScalarOperand]) -> ScalarOperand {
        let Some((&first, rest)) = coords.split_first() else { return Self::constant(0) };
        let mut position = first;
        for (&coord, &dim) in rest.iter().zip(&dims[1..]) {
            let rows = ScalarOp::Binary { function: Binary::Mul, a: position, b: Self::extent(dim) };
            position = self.of_lane(rows, I64);
            position = self.of_lane(ScalarOp::Binary { function: Binary::Add, a: position, b: coord }, I64);
        }
        position
    }

    /// The coordinates of a row-major position.
    pub fn unflattened(&mut self, dims: &[Extent], position: ScalarOperand) -> Vec<ScalarOperand> {
        let mut coords = Vec::new();
        let mut rest = position;
        for (at, &dim) in dims.iter().enumerate().rev() {
            if at == 0 {
                coords.push(rest);
            } else {
                coords.push(self.binary(Binary::Rem, rest, Self::extent(dim), I64));
                rest = self.binary(Binary::Div, rest, Self::extent(dim), I64);
            }
        }
        coords.reverse();
        coords
    }

    /// From coordinates in a context to those in one above it.
    pub fn climb(&mut self, from: ContextId, coords: &[ScalarOperand], to: ContextId) -> Vec<ScalarOperand> {
        if to == ROOT {
            return Vec::new();
        }
        let (mut at, mut coords) = (from, coords.to_vec());
        while at != to && at != ROOT {
            let parent = self.lifter.context(at).parent;
            coords = match self.lifter.context(at).made.clone() {
                Made::Root => coords,
                Made::Uniform { .. } => {
                    coords.pop();
                    coords
                }
                Made::Ragged { .. } => {
                    let (up, _) = self.lifter.origin(at);
                    let lane = self.read_of_lane(up, coords);
                    let dims = self.lifter.dims(parent);
                    self.unflattened(&dims, lane)
                }
                Made::Subset { up } => {
                    let lane = self.read_of_lane(up, coords);
                    let dims = self.lifter.dims(parent);
                    self.unflattened(&dims, lane)
                }
            };
            at = parent;
        }
        coords
    }

    /// The coordinates in a context above this code's.
    pub fn lane(&mut self, to: ContextId) -> Vec<ScalarOperand> {
        let (from, coords) = (self.context, self.coords.clone());
        self.climb(from, &coords, to)
    }

    /// The index along the dimension by which a context was made.
    pub fn own_index(&mut self, step: ContextId, coords: &[ScalarOperand]) -> ScalarOperand {
        match self.lifter.context(step).made {
            Made::Ragged { .. } => {
                let (_, index) = self.lifter.origin(step);
                self.read_of_lane(index, coords.to_vec())
            }
            Made::Root | Made::Uniform { .. } | Made::Subset { .. } => {
                coords.last().copied().unwrap_or(Self::constant(0))
            }
        }
    }

    /// The indices along the dimensions by which a context above this code's, or its own, was made from one above.
    pub fn own_indices(&mut self, steps: &[ContextId]) -> Vec<ScalarOperand> {
        steps
            .iter()
            .map(|&step| {
                let coords = self.lane(step);
                self.own_index(step, &coords)
            })
            .collect()
    }

    /// How many lanes the lane of these coordinates in the parent becomes.
    pub fn size(&mut self, step: ContextId, parent: &[ScalarOperand]) -> ScalarOperand {
        match self.lifter.context(step).made.clone() {
            Made::Ragged { sizes, .. } => {
                let above = self.lifter.context(step).parent;
                let at = self.climb(above, parent, sizes.home);
                self.read_of_lane(sizes.array, at)
            }
            Made::Uniform { extent } => Self::extent(extent),
            Made::Root | Made::Subset { .. } => Self::constant(1),
        }
    }

    /// From coordinates in a context to those below it, one index for each step.
    pub fn down(
        &mut self,
        from: &[ScalarOperand],
        steps: &[ContextId],
        index: &[ScalarOperand],
        outside: &Outside,
    ) -> Vec<ScalarOperand> {
        let mut coords = from.to_vec();
        let all_uniform = steps.iter().all(|&step| matches!(self.lifter.context(step).made, Made::Uniform { .. }));
        for (&step, &index) in steps.iter().zip(index) {
            let parent = self.lifter.context(step).parent;
            // Reads check whole indices; but what is inside of a flat array may be outside of its row.
            let index = match outside {
                Outside::Error(name) if !all_uniform => {
                    let size = self.size(step, &coords);
                    self.inside(index, size, name, from)
                }
                _ => index,
            };
            match self.lifter.context(step).made.clone() {
                Made::Ragged { offsets, .. } => {
                    let dims = self.lifter.dims(parent);
                    let lane = self.flattened(&dims, &coords);
                    let begin = self.read_of_lane(offsets, vec![lane]);
                    coords = vec![self.binary(Binary::Add, begin, index, I64)];
                }
                Made::Root | Made::Uniform { .. } | Made::Subset { .. } => coords.push(index),
            }
        }
        coords
    }
}
