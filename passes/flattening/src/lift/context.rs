//! Contexts: sets of lanes, each made from another by a dimension more, or by leaving lanes out.
//!
//! A value of the nested program is a flat array over a context. An array in the lanes of a context is a scalar in the lanes of that
//! context with a dimension more for each of its own: so arrays, arrays of arrays and nests are one thing, a chain of contexts.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Direction,
    ElementType::{Bool, I64},
    Extent, Lambda, LambdaBuilder, MAX_RANK, Name, Operand, ScanForm, Type,
};

use super::{
    Lifter, Value,
    flat::{operand, operands},
};

pub(super) use crate::extents::scalar;

/// A set of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ContextId(pub usize);

/// The one lane outside of all nests.
pub(super) const ROOT: ContextId = ContextId(0);

#[derive(Clone, Debug)]
pub(super) struct Context {
    /// What it was made from; the root of itself.
    pub parent: ContextId,
    pub made: Made,
    /// The extents of flat arrays that have an element for each lane.
    pub dims: Vec<Extent>,
    /// How many contexts are above it.
    pub depth: usize,
    /// The innermost block that it is known in.
    pub level: usize,
}

/// How a context is made from its parent.
#[derive(Clone, Debug)]
pub(super) enum Made {
    Root,
    /// Each lane becomes as many.
    Uniform {
        extent: Extent,
    },
    /// Each lane becomes as many as `sizes` says of it: the lanes are counted through.
    Ragged {
        /// A scalar of the parent's lanes, or of fewer.
        sizes: Value,
        /// Where the lanes that a lane of the parent becomes begin, and how many there are in all, over the parent's lanes in row-major order.
        offsets: ArrayId,
        /// For each lane the row-major position of the parent's lane, and the index among the lanes that it became.
        origin: Option<(ArrayId, ArrayId)>,
    },
    /// Some of the lanes.
    Subset {
        /// For each its row-major position in the parent.
        up: ArrayId,
    },
}

/// An extent in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LaneExtent {
    /// The same in all lanes.
    Uniform(Extent),
    /// A scalar of the lane.
    Varying(Value),
}

impl Lifter<'_> {
    pub fn context(&self, id: ContextId) -> &Context {
        &self.contexts[id.0]
    }

    pub fn dims(&self, id: ContextId) -> Vec<Extent> {
        self.contexts[id.0].dims.clone()
    }

    pub fn add_context(&mut self, parent: ContextId, made: Made, dims: Vec<Extent>) -> ContextId {
        let depth = self.context(parent).depth + 1;
        let level = dims
            .iter()
            .filter_map(|extent| if let Extent::Value(id) = extent { Some(self.flat.level(*id)) } else { None })
            .fold(self.context(parent).level, usize::max);
        self.contexts.push(Context { parent, made, dims, depth, level });
        ContextId(self.contexts.len() - 1)
    }

    /// The contexts from below `from` down to `to`, which was made from it.
    pub fn steps(&self, from: ContextId, to: ContextId) -> Vec<ContextId> {
        let mut steps = Vec::new();
        let mut at = to;
        while at != from && at != ROOT {
            steps.push(at);
            at = self.context(at).parent;
        }
        steps.reverse();
        steps
    }

    /// The deeper of two contexts, one of which was made from the other.
    pub fn deeper(&self, a: ContextId, b: ContextId) -> ContextId {
        if self.context(a).depth >= self.context(b).depth { a } else { b }
    }

    /// Whether `outer` is `inner` or above it.
    pub fn is_above(&self, outer: ContextId, mut inner: ContextId) -> bool {
        while self.context(inner).depth > self.context(outer).depth {
            inner = self.context(inner).parent;
        }
        inner == outer
    }

    /// The parent's lanes, each `extent` times, as one more dimension.
    pub fn uniform(&mut self, parent: ContextId, extent: Extent) -> ContextId {
        if let Some(&known) = self.uniforms.get(&(parent, extent)) {
            return known;
        }
        let mut dims = self.dims(parent);
        dims.push(extent);
        let made = self.add_context(parent, Made::Uniform { extent }, dims);
        self.uniforms.insert((parent, extent), made);
        made
    }

    /// One dimension more for an array in the lanes of `home`.
    pub fn extend(&mut self, home: ContextId, parent: ContextId, extent: &LaneExtent) -> ContextId {
        match extent {
            LaneExtent::Uniform(extent) if self.has_room(home, parent) => self.uniform(parent, *extent),
            LaneExtent::Uniform(extent) => {
                let sizes = self.scalar_of_extent(*extent);
                self.ragged(parent, &sizes, None)
            }
            LaneExtent::Varying(sizes) => self.ragged(parent, sizes, None),
        }
    }

    /// The context of the elements of an array in the lanes of a context.
    pub fn extend_all(&mut self, home: ContextId, extents: &[LaneExtent]) -> ContextId {
        extents.iter().fold(home, |context, extent| self.extend(home, context, extent))
    }

    /// Whether an array may be held as one of higher rank.
    fn has_room(&self, home: ContextId, parent: ContextId) -> bool {
        self.fits(home, self.context(parent).dims.len())
    }

    /// Whether an array in the lanes of `home` that is one of this rank so far may become one of a rank more.
    pub fn fits(&self, home: ContextId, rank: usize) -> bool {
        rank < MAX_RANK && (!self.irregular || home == ROOT)
    }

    pub fn scalar_of_extent(&mut self, extent: Extent) -> Value {
        let id = match extent {
            Extent::Value(id) => id,
            other => {
                let Operand::Constant(constant) = operand(other) else {
                    return self.scalar_of_extent(Extent::Constant(0));
                };
                let f = Lambda { results: vec![constant.into()], ..Lambda::default() };
                self.flat.unit("size", f)
            }
        };
        Value { array: id, home: ROOT, elements: ROOT, ty: I64 }
    }

    /// Each lane of the parent becomes as many as `sizes` says; `total` is how many there are in all, where that is known.
    pub fn ragged(&mut self, parent: ContextId, sizes: &Value, total: Option<ArrayId>) -> ContextId {
        if let Some(&known) = self.raggeds.get(&(parent, sizes.array)) {
            return known;
        }
        let checked = self.checked_sizes(sizes, parent);
        let lifted = self.lifted(&checked, parent);
        let sizes_flat = self.as_vector(lifted.array);
        let count = self.count(parent);
        let offsets = self.offsets_of(sizes_flat, count);
        let total = total.unwrap_or_else(|| {
            let mut f = LambdaBuilder::new();
            let last = scalar(count);
            let total = f.read(offsets, I64, &[last]);
            let f = f.finish(&[total]);
            self.flat.unit("total", f)
        });
        self.not_negative.insert(total);
        let made = Made::Ragged { sizes: checked, offsets, origin: None };
        let context = self.add_context(parent, made, vec![Extent::Value(total)]);
        let level = self.context(context).level.max(self.flat.level(offsets));
        self.contexts[context.0].level = level;
        self.raggeds.insert((parent, sizes.array), context);
        context
    }

    /// Where segments of these sizes begin, and their sum: one more than there are sizes.
    fn offsets_of(&mut self, sizes: ArrayId, count: Extent) -> ArrayId {
        self.done.descriptors += 1;
        self.sums_before(sizes, count, "offsets")
    }

    /// For each of `count` numbers the sum of those before it, and the sum of all: one more than there are numbers.
    pub fn sums_before(&mut self, numbers: ArrayId, count: Extent, name: &str) -> ArrayId {
        let more = self.one_more(count);
        let op = ArrayOp::Scan {
            direction: Direction::Left,
            form: ScanForm::Exclusive,
            combine: Lambda::componentwise(&[(Binary::Add, I64)]),
            seeds: vec![0i64.into()],
            sources: vec![numbers],
            offsets: None,
            commutes: false,
        };
        self.flat.bind_out(op, &name.into(), Type::array(vec![more], I64))
    }

    pub fn one_more(&mut self, extent: Extent) -> Extent {
        if let Extent::Constant(n) = extent {
            return Extent::Constant(n.saturating_add(1));
        }
        let mut f = LambdaBuilder::new();
        let more = f.add(scalar(extent), 1i64);
        let f = f.finish(&[more]);
        Extent::Value(self.flat.unit("more", f))
    }

    /// How many lanes there are.
    pub fn count(&mut self, context: ContextId) -> Extent {
        let dims = self.dims(context);
        self.product(&dims)
    }

    /// The product of extents.
    pub fn product(&mut self, dims: &[Extent]) -> Extent {
        match dims {
            [] => Extent::Constant(1),
            [one] => *one,
            dims => {
                if let Some(&known) = self.products.get(dims) {
                    return known;
                }
                let mut f = LambdaBuilder::new().folding();
                let mut product = scalar(dims[0]);
                for &dim in &dims[1..] {
                    product = f.mul(product, scalar(dim));
                }
                let f = f.finish(&[product]);
                let extent = match f.results[0] {
                    fusebox_ir::ScalarOperand::Constant(constant) => {
                        Extent::Constant(constant.as_i64().unwrap_or_default())
                    }
                    _ => Extent::Value(self.flat.unit("lanes", f)),
                };
                self.products.insert(dims.to_vec(), extent);
                extent
            }
        }
    }

    /// A flat array as a vector, in row-major order.
    pub fn as_vector(&mut self, array: ArrayId) -> ArrayId {
        let ty = self.flat.ty(array).clone();
        if ty.rank() == 1 {
            return array;
        }
        let count = self.product(&ty.extents);
        self.reshaped(array, vec![count])
    }

    /// The same elements in other extents.
    pub fn reshaped(&mut self, array: ArrayId, extents: Vec<Extent>) -> ArrayId {
        let ty = self.flat.ty(array).clone();
        if ty.extents == extents || (ty.rank() == 1 && extents.len() == 1) {
            return array;
        }
        let op = ArrayOp::Reshape { extents: operands(&extents), sources: vec![array] };
        let name: Name = self.name_of(array).into();
        self.flat.bind_out(op, &name, Type::array(extents, ty.element))
    }

    /// For each lane of a ragged context the parent's lane and the index below it.
    pub fn origin(&mut self, context: ContextId) -> (ArrayId, ArrayId) {
        let Made::Ragged { sizes, origin, .. } = self.context(context).made.clone() else {
            fusebox_ir::bug!(self.program, "only ragged lanes have an origin");
        };
        if let Some(origin) = origin {
            return origin;
        }
        let parent = self.context(context).parent;
        let lifted = self.lifted(&sizes, parent);
        let sizes = self.as_vector(lifted.array);
        let count = self.count(parent);
        let lanes = self.iota(count);
        let size = Lambda::build(&[("size", I64), ("lane", I64)], |_, p| vec![p[0]]);
        let get = Lambda::build(&[("size", I64), ("lane", I64), ("index", I64)], |_, p| vec![p[1], p[2]]);
        let (total, lane, index) = (self.flat.id(), self.flat.id(), self.flat.id());
        let vector = Type::array(vec![Extent::Value(total)], I64);
        self.flat.bind_out_ids(
            ArrayOp::Expand { size, get, sources: vec![sizes, lanes] },
            vec![
                (total, "total".into(), Type::scalar(I64)),
                (lane, "lane".into(), vector.clone()),
                (index, "index".into(), vector),
            ],
        );
        self.not_negative.extend([lane, index]);
        if let Made::Ragged { origin, .. } = &mut self.contexts[context.0].made {
            *origin = Some((lane, index));
        }
        (lane, index)
    }

    /// The numbers from 0 below an extent.
    pub fn iota(&mut self, extent: Extent) -> ArrayId {
        self.coordinate_of(&[extent], 0)
    }

    /// The index along one dimension, for each element of an array of these extents.
    pub fn coordinate_of(&mut self, dims: &[Extent], dim: usize) -> ArrayId {
        if let Some(&known) = self.coordinates.get(&(dims.to_vec(), dim)) {
            return known;
        }
        let params = vec![("", I64); dims.len()];
        let f = Lambda::build(&params, |_, p| vec![p[dim]]);
        let op = ArrayOp::Generate { extents: operands(dims), f };
        let id = self.flat.bind_out(op, &"index".into(), Type::array(dims.to_vec(), I64));
        self.not_negative.insert(id);
        self.coordinates.insert((dims.to_vec(), dim), id);
        id
    }

    /// The lanes for which a flat array of truth values, one for each lane, is as wanted.
    pub fn subset(&mut self, parent: ContextId, condition: ArrayId, wanted: bool) -> ContextId {
        let condition = self.as_vector(condition);
        let count = self.count(parent);
        let lanes = self.iota(count);
        let keep = Lambda::build(&[("lane", I64), ("c", Bool)], |f, p| {
            vec![if wanted { p[1] } else { f.unary(fusebox_ir::Unary::Not, p[1]) }]
        });
        let (number, up, rest) = (self.flat.id(), self.flat.id(), self.flat.id());
        let extents = vec![Extent::Value(number)];
        self.flat.bind_out_ids(
            ArrayOp::Filter { keep, sources: vec![lanes, condition] },
            vec![
                (number, "active".into(), Type::scalar(I64)),
                (up, "lane".into(), Type::array(extents.clone(), I64)),
                (rest, "".into(), Type::array(extents.clone(), Bool)),
            ],
        );
        self.not_negative.insert(number);
        self.add_context(parent, Made::Subset { up }, extents)
    }

    /// Forgets what is known only in blocks that are closed.
    pub fn forget_closed(&mut self) {
        let here = self.flat.here();
        let flat = &self.flat;
        let contexts = &self.contexts;
        let known = |id: &ArrayId| flat.level(*id) <= here;
        let extent = |extent: &Extent| if let Extent::Value(id) = extent { known(id) } else { true };
        self.uniforms.retain(|_, context| contexts[context.0].level <= here);
        self.raggeds.retain(|(_, sizes), context| contexts[context.0].level <= here && known(sizes));
        self.products.retain(|dims, product| dims.iter().all(extent) && extent(product));
        self.coordinates.retain(|(dims, _), id| dims.iter().all(extent) && known(id));
        self.lifts.retain(|(array, from, to), value| {
            known(array) && [from, to].iter().all(|at| contexts[at.0].level <= here) && known(&value.array)
        });
        self.guards.retain(|size, list| {
            list.retain(|(context, made)| known(made) && contexts[context.0].level <= here);
            known(size) && !list.is_empty()
        });
        self.conformed.retain(|(array, to), made| known(array) && contexts[to.0].level <= here && known(made));
        for context in &mut self.contexts {
            if let Made::Ragged { origin, .. } = &mut context.made
                && origin.is_some_and(|(lane, _)| flat.level(lane) > here)
            {
                *origin = None;
            }
        }
    }
}
