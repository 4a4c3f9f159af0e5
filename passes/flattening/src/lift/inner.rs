//! Extents of inner arrays that types do not say: where they are the same whatever lanes do, and as arrays where they are not.

use fusebox_ir::{ArrayId, ArrayOp, ElementType::I64, Extent, Lambda, ScalarOperand, Type, Var};

use super::{
    Bound, Lifter, Value,
    code::Code,
    context::{ContextId, LaneExtent, Made, ROOT},
    flat::operands,
};

/// The levels of a type while its dimensions are gone through, from the outermost.
pub(super) struct Levels {
    /// For each dimension the first one of its level.
    starts: Vec<usize>,
    /// The extents of a flat array of what was gone through.
    pub dims: Vec<Extent>,
    /// Those above the level.
    above: Vec<Extent>,
}

impl Levels {
    /// Those of an array in lanes of these extents.
    pub fn of(ty: &Type, dims: Vec<Extent>) -> Self {
        let mut starts = Vec::new();
        for level in [&ty.extents].into_iter().chain(&ty.inner) {
            starts.extend(std::iter::repeat_n(starts.len(), level.len()));
        }
        Self { starts, above: dims.clone(), dims }
    }

    /// The first dimension of the level of a dimension.
    pub fn start(&self, dim: usize) -> usize {
        self.starts.get(dim).copied().unwrap_or(dim)
    }

    /// The first dimension of the level of a dimension that is gone to, and the flat extents above the level.
    pub fn at(&mut self, dim: usize) -> (usize, Vec<Extent>) {
        let start = self.start(dim);
        if start == dim {
            self.above.clone_from(&self.dims);
        }
        (start, self.above.clone())
    }
}

impl<'p> Lifter<'p> {
    /// The extents of inner arrays that a type does not say, where all of these values have the same and it is known at a level of blocks.
    pub fn agreed(&mut self, var: &Var, home: ContextId, values: &[&Value], level: usize) -> Vec<Option<LaneExtent>> {
        let mut agreed = Vec::new();
        // Whether contexts up to here are those of all values.
        let mut same = true;
        for (dim, extent) in var.ty.all_extents().enumerate() {
            if *extent != Extent::Unknown {
                same = same && self.is_known_as(*extent, values, dim);
                continue;
            }
            let mut all = values.iter().map(|value| self.stays(value, home, dim, level, same));
            let first =
                all.next().flatten().filter(|first| all.all(|other| other.is_some_and(|other| other == *first)));
            same &= first.is_some();
            agreed.push(first);
        }
        agreed
    }

    /// Whether an extent that a type says is what all values have there, and is known before them.
    fn is_known_as(&mut self, extent: Extent, values: &[&Value], dim: usize) -> bool {
        if let Extent::Value(id) = extent
            && let Bound::Missing = self.bound(id)
        {
            return false;
        }
        let wanted = self.lane_extent(extent);
        values.iter().all(|value| match self.steps(value.home, value.elements).get(dim) {
            Some(&step) => match (&self.context(step).made, &wanted) {
                (Made::Uniform { extent }, LaneExtent::Uniform(wanted)) => extent == wanted,
                (Made::Ragged { sizes, .. }, LaneExtent::Varying(wanted)) => sizes.array == wanted.array,
                _ => false,
            },
            None => false,
        })
    }

    /// The extent of a value along a dimension, as one in the lanes of `home` that is known at a level of blocks.
    fn stays(&self, value: &Value, home: ContextId, dim: usize, level: usize, same: bool) -> Option<LaneExtent> {
        let step = *self.steps(value.home, value.elements).get(dim)?;
        match self.context(step).made.clone() {
            Made::Uniform { extent: Extent::Value(id) } if self.flat.level(id) > level => None,
            Made::Uniform { extent } => Some(LaneExtent::Uniform(extent)),
            Made::Ragged { sizes, .. } => {
                let outside = self.is_above(sizes.home, value.home);
                let known = self.flat.level(sizes.array) <= level;
                (known && (outside || (same && value.home == home))).then_some(LaneExtent::Varying(sizes))
            }
            Made::Root | Made::Subset { .. } => None,
        }
    }

    /// The extents of a value along a dimension, for each lane of a context of its chain.
    pub fn sizes_over(&mut self, value: &Value, above: ContextId, dim: usize) -> ArrayId {
        let step = self.steps(value.home, value.elements)[dim];
        if let Made::Ragged { sizes, .. } = &self.context(step).made
            && sizes.home == above
        {
            return sizes.array;
        }
        let steps = self.steps(value.home, above);
        let mut code = Code::over(self, above);
        let lane = code.lane(value.home);
        let mut index = code.own_indices(&steps);
        index.resize(dim + 1, Code::constant(0));
        let size = code.extent_at(value, &lane, dim, &index);
        let f = code.b.finish_needed(&[size]);
        self.sizes_of_lanes(above, f)
    }

    fn sizes_of_lanes(&mut self, lanes: ContextId, f: Lambda) -> ArrayId {
        let dims = self.dims(lanes);
        let op = if lanes == ROOT { ArrayOp::Unit { f } } else { ArrayOp::Generate { extents: operands(&dims), f } };
        let array = self.flat.bind_out(op, &"extents".into(), Type::array(dims, I64));
        self.not_negative.insert(array);
        array
    }

    /// The context of the elements of an array in the lanes of `home`. Extents that its type does not say are what `size` computes for a
    /// dimension, in the lane of the first coordinates, below the indices that come after.
    pub fn grown(
        &mut self,
        home: ContextId,
        ty: &Type,
        mut size: impl FnMut(&mut Code<'_, 'p>, usize, &[ScalarOperand], &[ScalarOperand]) -> ScalarOperand,
    ) -> ContextId {
        let (mut at, mut dim) = (home, 0);
        for level in [&ty.extents].into_iter().chain(&ty.inner) {
            let above = at;
            for &extent in level {
                let extent = if extent == Extent::Unknown {
                    let steps = self.steps(home, above);
                    let mut code = Code::over(self, above);
                    let lane = code.lane(home);
                    let mut index = code.own_indices(&steps);
                    index.resize(dim + 1, Code::constant(0));
                    let size = size(&mut code, dim, &lane, &index);
                    let f = code.b.finish_needed(&[size]);
                    let array = self.sizes_of_lanes(above, f);
                    match above {
                        ROOT => LaneExtent::Uniform(Extent::Value(array)),
                        above => LaneExtent::Varying(Value { array, home: above, elements: above, ty: I64 }),
                    }
                } else {
                    self.lane_extent(extent)
                };
                at = self.extend(home, at, &extent);
                dim += 1;
            }
        }
        at
    }
}
