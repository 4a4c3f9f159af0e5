//! Values of the nested program as flat arrays, brought from the lanes of one context to those of another.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, ElementType, Lambda, LambdaBuilder, Name, Operand, ScalarOp, ScalarOperand, Type, inline,
};

use super::{
    Lifter,
    code::{Code, Outside},
    context::{ContextId, LaneExtent, Made, ROOT},
    flat::operand,
};

/// A value of the nested program: in each lane of its home a scalar or an array, whose elements are lanes of `elements`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    /// The flat array, of an element for each lane of `elements`.
    pub array: ArrayId,
    /// The lanes that have such a value; other contexts below have that of the lane they were made from.
    pub home: ContextId,
    /// Made from the home by a dimension for each of the value's own.
    pub elements: ContextId,
    pub ty: ElementType,
}

impl Lifter<'_> {
    /// The extents along the steps of a value, seen from another context below its home.
    fn extents_for(&mut self, value: &Value, home: ContextId) -> ContextId {
        let mut to = home;
        // Contexts of the value, and what stands for them.
        let mut twins = Vec::new();
        for step in self.steps(value.home, value.elements) {
            let Some(extent) = self.own_extent(value, step, home, &twins, None) else { continue };
            to = self.extend(home, to, &extent);
            twins.push((step, to));
        }
        to
    }

    /// The extent along a step of a value, seen from a context at or below its home; `twins` are the contexts of steps before, and what
    /// stands for them there. If the twins should be as long, `compared` is the name of what is not where they are not.
    pub fn own_extent(
        &mut self,
        value: &Value,
        step: ContextId,
        home: ContextId,
        twins: &[(ContextId, ContextId)],
        compared: Option<&str>,
    ) -> Option<LaneExtent> {
        match self.context(step).made.clone() {
            Made::Uniform { extent } => Some(LaneExtent::Uniform(extent)),
            Made::Ragged { sizes, .. } => {
                let twin = twins.iter().rev().find(|(old, new)| *old == sizes.home && old != new).copied();
                let uniform = |(old, new)| self.is_uniform(ROOT, old) && self.is_uniform(ROOT, new);
                let compared = compared.filter(|_| twin.is_some_and(uniform));
                // Extents of an array of arrays depend on the array.
                Some(LaneExtent::Varying(match (twin, compared) {
                    (Some((_, new)), Some(name)) => self.as_long(&sizes, new, name),
                    (Some((old, new)), None) => self.transported(&sizes, value.home, old, home, new),
                    (None, _) => sizes,
                }))
            }
            Made::Root | Made::Subset { .. } => None,
        }
    }

    /// A scalar over plain extents as one over others, which should be equal; else it is an error that says this name.
    fn as_long(&mut self, scalar: &Value, new: ContextId, name: &str) -> Value {
        let ty = Type::array(self.dims(new), scalar.ty);
        let op = ArrayOp::Slice { dims: vec![None; ty.rank()], sources: vec![scalar.array] };
        let array = self.where_there_are_lanes(op, name, ty);
        if self.not_negative.contains(&scalar.array) {
            self.not_negative.insert(array);
        }
        Value { array, home: new, elements: new, ty: scalar.ty }
    }

    /// A scalar over a context that was made from `above`, as a scalar over another that was made in the same way from `base`.
    fn transported(
        &mut self,
        scalar: &Value,
        above: ContextId,
        old: ContextId,
        base: ContextId,
        new: ContextId,
    ) -> Value {
        let source = Value { array: scalar.array, home: above, elements: old, ty: scalar.ty };
        let array = self.gathered(&source, base, new);
        if self.not_negative.contains(&scalar.array) {
            self.not_negative.insert(array);
        }
        Value { array, home: new, elements: new, ty: scalar.ty }
    }

    /// The elements of a value for each lane of a context that was made from `base` by as many dimensions.
    pub fn gathered(&mut self, value: &Value, base: ContextId, elements: ContextId) -> ArrayId {
        let name: Name = self.name_of(value.array).into();
        let steps = self.steps(base, elements);
        let extents = self.dims(elements);
        if self.context(value.elements).dims.is_empty() {
            return self.replicated(value.array, &[], &extents);
        }
        let mut code = Code::over(self, elements);
        let coords = code.lane(base);
        let coords = code.climb(base, &coords, value.home);
        let index = code.own_indices(&steps);
        let own = code.lifter.steps(value.home, value.elements);
        let at = code.down(&coords, &own, &index, &Outside::Never);
        let f = code.b.finish_needed(&at);
        let ty = Type::array(extents.clone(), value.ty);
        let extents = extents.into_iter().map(operand).collect();
        let op = self.picked(extents, f, value.array);
        self.flat.bind_out(op, &name, ty)
    }

    /// The elements of an array at computed indices. An array outside of lanes that may fail to be computed is read by a function: where there
    /// are no lanes, nothing needs it.
    pub fn picked(&mut self, extents: Vec<Operand>, f: Lambda, array: ArrayId) -> ArrayOp {
        if !self.risky.contains(&array) {
            return ArrayOp::Backpermute { extents, f, sources: vec![array] };
        }
        let ty = self.flat.ty(array).element;
        let mut b = LambdaBuilder::new();
        let params = b.params(f.params.iter().map(|param| param.ty));
        let index = inline(&mut b, &f, &params);
        let element = if index.is_empty() {
            ScalarOperand::Outer(array)
        } else {
            b.instruction(ScalarOp::Read { array, index }, &[ty])[0].operand
        };
        ArrayOp::Generate { extents, f: b.finish(&[element]) }
    }

    /// An array repeated along new dimensions: `kept` dimensions first, then those of `extents` that are more, then its others.
    fn replicated(&mut self, array: ArrayId, dims: &[bool], extents: &[fusebox_ir::Extent]) -> ArrayId {
        let name: Name = self.name_of(array).into();
        let element = self.flat.ty(array).element;
        if self.risky.contains(&array) {
            let params = vec![("", ElementType::I64); extents.len()];
            let mut f = Lambda::build(&params, |_, _| Vec::new());
            let kept = f.params.iter().enumerate().filter(|(at, _)| dims.get(*at).copied().unwrap_or(false));
            f.results = kept.map(|(_, param)| param.id.into()).collect();
            let op = self.picked(extents.iter().map(|&extent| operand(extent)).collect(), f, array);
            return self.flat.bind_out(op, &name, Type::array(extents.to_vec(), element));
        }
        let dims = extents
            .iter()
            .enumerate()
            .map(|(at, &extent)| if dims.get(at).copied().unwrap_or(false) { None } else { Some(operand(extent)) })
            .collect();
        let ty = Type::array(extents.to_vec(), element);
        self.flat.bind_out(ArrayOp::Replicate { dims, sources: vec![array] }, &name, ty)
    }

    /// A value as one of the lanes of a context below its home.
    pub fn lifted(&mut self, value: &Value, home: ContextId) -> Value {
        if value.home == home {
            return value.clone();
        }
        if let Some(known) = self.lifts.get(&(value.array, value.home, home)) {
            return known.clone();
        }
        let elements = self.extents_for(value, home);
        let between = self.steps(value.home, home);
        let own = self.steps(value.home, value.elements);
        let new = self.steps(home, elements);
        let is_uniform = |lifter: &Self, steps: &[ContextId]| {
            steps.iter().all(|&step| matches!(lifter.context(step).made, Made::Uniform { .. }))
        };
        let array = if is_uniform(self, &between) && is_uniform(self, &own) && is_uniform(self, &new) {
            let (before, added) = (self.context(value.home).dims.len(), between.len());
            let extents = self.dims(elements);
            let kept: Vec<bool> = (0..extents.len()).map(|at| at < before || at >= before + added).collect();
            self.replicated(value.array, &kept, &extents)
        } else {
            self.gathered(value, home, elements)
        };
        if self.not_negative.contains(&value.array) {
            self.not_negative.insert(array);
        }
        let lifted = Value { array, home, elements, ty: value.ty };
        self.lifts.insert((value.array, value.home, home), lifted.clone());
        lifted
    }

    /// Whether flat arrays over two contexts have their elements in the same places, if their extents agree.
    pub fn same_layout(&self, a: ContextId, b: ContextId) -> bool {
        let (mut a, mut b) = (a, b);
        while a != b {
            let (x, y) = (self.context(a), self.context(b));
            match (&x.made, &y.made) {
                (Made::Uniform { .. }, Made::Uniform { .. }) => {}
                (Made::Ragged { sizes: s, .. }, Made::Ragged { sizes: t, .. }) if s.array == t.array => {}
                _ => return false,
            }
            (a, b) = (x.parent, y.parent);
        }
        true
    }

    /// The flat array of a value over a context that was made from its home, whose extents are at most the value's.
    pub fn conformed(&mut self, value: &Value, home: ContextId, elements: ContextId) -> ArrayId {
        let value = self.lifted(value, home);
        if self.same_layout(value.elements, elements) {
            return value.array;
        }
        match self.differing_sizes(value.elements, elements) {
            Some(sizes) => self.as_it_is_if_equal(&value, elements, sizes),
            None => self.gathered_checked(&value, elements),
        }
    }

    /// The extents by which two contexts alone differ, of rows that no type says to be as long as each other.
    fn differing_sizes(&self, a: ContextId, b: ContextId) -> Option<[Value; 2]> {
        let (mut a, mut b) = (a, b);
        loop {
            let (x, y) = (self.context(a), self.context(b));
            match (&x.made, &y.made) {
                (Made::Uniform { extent }, Made::Uniform { extent: other }) if extent == other => {
                    (a, b) = (x.parent, y.parent);
                }
                (Made::Ragged { sizes, .. }, Made::Ragged { sizes: other, .. }) if x.parent == y.parent => {
                    return Some([sizes.clone(), other.clone()]);
                }
                _ => return None,
            }
        }
    }

    /// The elements of a value as they are, if its rows are all as long as those of a context; only else each is looked up. Rows that come in
    /// from outside as several arrays mostly are, but nothing before the run says so.
    fn as_it_is_if_equal(&mut self, value: &Value, elements: ContextId, sizes: [Value; 2]) -> ArrayId {
        if let Some(&known) = self.conformed.get(&(value.array, elements)) {
            return known;
        }
        let mut parent = elements;
        while !matches!(self.context(parent).made, Made::Ragged { .. }) {
            parent = self.context(parent).parent;
        }
        parent = self.context(parent).parent;
        let vectors: Vec<ArrayId> = sizes
            .iter()
            .map(|sizes| {
                let lifted = self.lifted(sizes, parent);
                self.as_vector(lifted.array)
            })
            .collect();
        let count = self.count(parent);
        let f = Lambda::build(&[("a", ElementType::I64), ("b", ElementType::I64)], |f, p| {
            vec![f.binary(Binary::Eq, p[0], p[1])]
        });
        let op = ArrayOp::Map { f, sources: vectors };
        let equal = self.flat.bind_out(op, &Name::default(), Type::array(vec![count], ElementType::Bool));
        let op = ArrayOp::Fold {
            combine: Lambda::componentwise(&[(Binary::And, ElementType::Bool)]),
            seeds: vec![Operand::Constant(true.into())],
            sources: vec![equal],
            offsets: None,
            commutes: false,
        };
        let equal = self.flat.bind_out(op, &"equal".into(), Type::scalar(ElementType::Bool));

        let (ty, name) = (Type::array(self.dims(elements), value.ty), Name::from(self.name_of(value.array)));
        self.flat.open();
        let op =
            ArrayOp::Reshape { extents: ty.extents.iter().map(|&e| operand(e)).collect(), sources: vec![value.array] };
        let as_it_is = self.flat.bind(op, vec![(name.clone(), ty.clone())]);
        let then = self.flat.close(as_it_is);
        self.flat.open();
        let here = self.flat.here();
        let floor = std::mem::replace(&mut self.flat.floor, here);
        let looked_up = self.gathered_checked(value, elements);
        self.flat.floor = floor;
        let otherwise = self.flat.close(vec![looked_up]);
        self.forget_closed();
        let op = ArrayOp::Cond { condition: equal.into(), then, otherwise };
        let array = self.flat.bind(op, vec![(name, ty)])[0];
        self.conformed.insert((value.array, elements), array);
        array
    }

    /// As [`Self::conformed`], of arrays of the nested program.
    pub fn all_conformed<'i>(
        &mut self,
        sources: impl IntoIterator<Item = &'i ArrayId>,
        home: ContextId,
        elements: ContextId,
    ) -> Vec<ArrayId> {
        sources
            .into_iter()
            .map(|&source| {
                let value = self.array_value(source);
                self.conformed(&value, home, elements)
            })
            .collect()
    }

    /// As [`Self::gathered`]; where a row of the value is shorter than one of the context, that is an error.
    fn gathered_checked(&mut self, value: &Value, elements: ContextId) -> ArrayId {
        let text = self.name_of(value.array);
        let name: Name = text.as_str().into();
        let steps = self.steps(value.home, elements);
        let extents = self.dims(elements);
        let mut code = Code::over(self, elements);
        let coords = code.lane(value.home);
        let index = code.own_indices(&steps);
        let own = code.lifter.steps(value.home, value.elements);
        let at = code.down(&coords, &own, &index, &Outside::Error(text));
        let f = code.b.finish_needed(&at);
        let ty = Type::array(extents.clone(), value.ty);
        let extents = extents.into_iter().map(operand).collect();
        let op = self.picked(extents, f, value.array);
        self.flat.bind_out(op, &name, ty)
    }

    /// An array of the index of a nest, one for each lane of the context that has it.
    pub fn index_value(&mut self, step: ContextId) -> Value {
        let dims = self.dims(step);
        let array = match self.context(step).made {
            Made::Ragged { .. } => self.origin(step).1,
            Made::Root | Made::Uniform { .. } | Made::Subset { .. } => {
                self.coordinate_of(&dims, dims.len().saturating_sub(1))
            }
        };
        Value { array, home: step, elements: step, ty: ElementType::I64 }
    }
}
