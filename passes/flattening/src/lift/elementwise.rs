//! Operations that make each element by itself.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, ElementType, Lambda, LambdaBuilder, Name, Operand, ScalarOperand, ScalarValue, Type,
    Var, analysis::sizes::Term, inline,
};

use super::{
    Bound, LaneOperand, Lifter, Value,
    code::{Code, Outside},
    context::{ContextId, LaneExtent, Made, ROOT},
    flat::operands,
    functions::Needs,
};
use crate::Error;

impl<'p> Lifter<'p> {
    /// An operation without blocks, for the lanes of a context.
    pub fn operation(&mut self, binding: &'p Binding, home: ContextId) -> Result<(), Error> {
        match &binding.op {
            ArrayOp::Constant { .. } => self.outside(binding),
            ArrayOp::Unit { f } => self.unit(binding, home, f),
            ArrayOp::Compute { sources } => self.compute(binding, home, sources),
            ArrayOp::Generate { f, .. } => self.generate(binding, home, f),
            ArrayOp::Map { f, sources } => self.map(binding, home, f, sources),
            ArrayOp::Backpermute { f, sources, .. } => self.backpermute(binding, home, f, sources),
            ArrayOp::Transform { index, f, sources, .. } => self.transform(binding, home, index, f, sources),
            ArrayOp::Replicate { dims, sources } => self.replicate(binding, home, dims, sources),
            // Of those of which anything is known of the offsets there are none any more.
            ArrayOp::ReplicateSegments { .. } => {
                fusebox_ir::bug!(self.program, "it is known how many offsets there are")
            }
            ArrayOp::Slice { dims, sources } => self.slice(binding, home, dims, sources),
            ArrayOp::Reshape { sources, .. } => self.reshape(binding, home, sources),
            ArrayOp::Concat { sources, dim } => self.concat(binding, home, sources, *dim),
            ArrayOp::Fold { .. } | ArrayOp::Scan { .. } => return self.rows(binding, home),
            ArrayOp::Sort { keys, carry } => self.sort(binding, home, keys, carry),
            ArrayOp::Permute { .. } => return self.permute(binding, home),
            ArrayOp::PermutedExpand { .. } => return self.permuted_expand(binding, home),
            ArrayOp::Expand { size, get, sources } => self.expand(binding, home, size, get, sources),
            ArrayOp::Filter { keep, sources } => self.filter(binding, home, keep, sources),
            ArrayOp::Stencil { .. } => return self.stencil(binding, home),
            ArrayOp::Nest { .. }
            | ArrayOp::Element { .. }
            | ArrayOp::Cond { .. }
            | ArrayOp::While { .. }
            | ArrayOp::Foreign { .. }
            | ArrayOp::Consume { .. }
            | ArrayOp::Cluster { .. } => return self.control(binding, home),
        }
        Ok(())
    }

    /// An operation that depends on no lane: as it is, of flat values.
    pub fn outside(&mut self, binding: &'p Binding) {
        let own = self.bound_outside(binding);
        for (var, id) in binding.results.iter().zip(own) {
            self.define_plain(var, id);
        }
    }

    /// The flat results of an operation that depends on no lane.
    pub fn bound_outside(&mut self, binding: &'p Binding) -> Vec<ArrayId> {
        let own: Vec<ArrayId> = binding.results.iter().map(|_| self.flat.id()).collect();
        let position = |id: ArrayId| binding.results.iter().position(|var| var.id == id);
        let mut names = std::collections::HashMap::new();
        let mut uses = binding.op.uses();
        binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| uses.push(id)));
        for id in uses {
            let flat = match position(id) {
                Some(at) => own[at],
                None => self.array_value(id).array,
            };
            names.insert(id, flat);
        }
        self.guard_extents(binding, &mut names);
        if let ArrayOp::Stencil { boundaries, .. } = &binding.op {
            // Each array has one boundary: arrays that were two stay two.
            let mut taken = std::collections::BTreeSet::new();
            for boundary in boundaries {
                let Some(&flat) = names.get(&boundary.array) else { continue };
                if !taken.insert(flat) {
                    let ty = self.flat.ty(flat).clone();
                    let op = ArrayOp::Slice { dims: vec![None; ty.rank()], sources: vec![flat] };
                    let copy = self.flat.bind(op, vec![(Name::default(), ty)])[0];
                    names.insert(boundary.array, copy);
                }
            }
        }
        let mut map = |id: ArrayId| Operand::Value(names.get(&id).copied().unwrap_or(id));
        let mut op = binding.op.clone();
        op.substitute(&mut map);
        let results = binding.results.iter().zip(&own).map(|(var, &id)| {
            let mut ty = var.ty.clone();
            ty.substitute(&mut map);
            (id, var.name.clone(), ty)
        });
        let results: Vec<_> = results.collect();
        let level = self.flat.here();
        self.flat.bind_ids(level, op, results);
        own
    }

    /// A flat array or scalar outside of lanes as the value of the nested program that it is.
    pub fn define_plain(&mut self, var: &fusebox_ir::Var, id: ArrayId) {
        let elements = self.plain_elements(&var.ty);
        self.define(var, Value { array: id, home: ROOT, elements, ty: var.ty.element });
    }

    /// The context of the elements of an array outside of lanes.
    pub fn plain_elements(&mut self, ty: &Type) -> ContextId {
        self.lane_extents(&ty.extents).into_iter().fold(ROOT, |at, extent| match extent {
            LaneExtent::Uniform(extent) => self.uniform(at, extent),
            LaneExtent::Varying(_) => at,
        })
    }

    /// Scalar code for each lane of a context: flat arrays, one for each result.
    pub fn scalar_code(&mut self, home: ContextId, f: &Lambda, results: &[(Name, ElementType)]) -> Vec<ArrayId> {
        let dims = self.dims(home);
        let mut needs = Needs::default();
        self.needs(f, &mut needs);
        if home != ROOT && needs.scalars.is_empty() {
            let f = self.indexed(home, &[], f);
            let types = results.iter().map(|(name, ty)| (name.clone(), Type::array(dims.clone(), *ty))).collect();
            return self.flat.bind(ArrayOp::Generate { extents: operands(&dims), f }, types);
        }
        let ([f], extras) = self.functions_of_lanes(home, [(f, 0)]);
        let types = results.iter().map(|(name, ty)| (name.clone(), Type::array(dims.clone(), *ty))).collect();
        let op = if home == ROOT { ArrayOp::Unit { f } } else { self.mapped(home, f, extras) };
        self.flat.bind(op, types)
    }

    /// A function of elements of arrays over a context, where there are any.
    fn mapped(&self, context: ContextId, f: Lambda, sources: Vec<ArrayId>) -> ArrayOp {
        if !sources.is_empty() {
            return ArrayOp::Map { f, sources };
        }
        let dims = self.dims(context);
        let mut b = LambdaBuilder::new();
        b.params(dims.iter().map(|_| ElementType::I64));
        let results = inline(&mut b, &f, &[]);
        ArrayOp::Generate { extents: operands(&dims), f: b.finish(&results) }
    }

    fn unit(&mut self, binding: &'p Binding, home: ContextId, f: &'p Lambda) {
        if let [var] = &binding.results[..]
            && let Some(value) = self.size_of_no_lane(binding, var, home)
        {
            return self.define(var, value);
        }
        let results: Vec<_> = binding.results.iter().map(|var| (var.name.clone(), var.ty.element)).collect();
        let ids = self.scalar_code(home, f, &results);
        for (var, array) in binding.results.iter().zip(ids) {
            self.define(var, Value { array, home, elements: home, ty: var.ty.element });
        }
    }

    /// A number whose code uses a lane, but which is one sum in all of them, from what depends on none: computed once.
    fn size_of_no_lane(&mut self, binding: &Binding, var: &Var, home: ContextId) -> Option<Value> {
        if home == ROOT || self.can_fail(binding) {
            return None;
        }
        let size = self.sizes.value(var.id)?;
        let mut f = LambdaBuilder::new();
        let mut sum = ScalarValue::int(ScalarOperand::Constant(size.rest().into()));
        for (term, factor) in size.terms() {
            let Term::Value(id) = term else { return None };
            let Some(Bound::Value(value)) = self.env.get(id).filter(|_| *id != var.id) else { return None };
            if value.home != ROOT || value.elements != ROOT {
                return None;
            }
            let part = f.mul(ScalarValue::outer(value.array, ElementType::I64), *factor);
            sum = f.add(sum, part);
        }
        let f = f.finish(&[sum]);
        let array = self.flat.unit(&var.name.0, f);
        Some(Value { array, home: ROOT, elements: ROOT, ty: ElementType::I64 })
    }

    fn compute(&mut self, binding: &'p Binding, home: ContextId, sources: &[ArrayId]) {
        for (var, &source) in binding.results.iter().zip(sources) {
            let value = self.array_value(source);
            let Value { array, elements, .. } = self.declared(&value, home, &var.ty, &self.source_name(var.id));
            let ty = Type::array(self.dims(elements), var.ty.element);
            let array = self.flat.bind(ArrayOp::Compute { sources: vec![array] }, vec![(var.name.clone(), ty)])[0];
            self.define(var, Value { array, home, elements, ty: var.ty.element });
        }
    }

    fn generate(&mut self, binding: &'p Binding, home: ContextId, f: &'p Lambda) {
        let elements = self.elements(home, &binding.results[0].ty);
        let steps = self.steps(home, elements);
        let mut needs = Needs::default();
        self.needs(f, &mut needs);
        let contexts = self.all_elements(home, &binding.results);
        let op = if needs.scalars.is_empty() {
            let f = self.indexed(elements, &steps, f);
            ArrayOp::Generate { extents: operands(&self.dims(elements)), f }
        } else {
            let indices: Vec<ArrayId> = steps.iter().map(|&step| self.index_array(step, elements)).collect();
            let ([f], extras) = self.functions_of_lanes(elements, [(f, indices.len())]);
            self.mapped(elements, f, [indices, extras].concat())
        };
        self.bind_results(binding, home, op, &contexts);
    }

    /// For each lane of a context the index along a dimension by which it, or one above it, was made.
    pub fn index_array(&mut self, step: ContextId, context: ContextId) -> ArrayId {
        let below = self.steps(step, context);
        let uniform = |lifter: &Self, at: ContextId| matches!(lifter.context(at).made, Made::Uniform { .. });
        if uniform(self, step) && below.iter().all(|&at| uniform(self, at)) {
            let (dims, dim) = (self.dims(context), self.context(step).dims.len() - 1);
            return self.coordinate_of(&dims, dim);
        }
        let index = self.index_value(step);
        self.lifted(&index, context).array
    }

    fn map(&mut self, binding: &'p Binding, home: ContextId, f: &'p Lambda, sources: &[ArrayId]) {
        let elements = self.elements(home, &binding.results[0].ty);
        let arrays = self.all_conformed(sources, home, elements);
        let ([f], extras) = self.functions_of_lanes(elements, [(f, sources.len())]);
        let contexts = self.all_elements(home, &binding.results);
        self.bind_results(binding, home, ArrayOp::Map { f, sources: [arrays, extras].concat() }, &contexts);
    }

    /// An operation whose elements are elements of one source, at an index that `index` computes from that of the result.
    pub fn moved(
        &mut self,
        var: &fusebox_ir::Var,
        source: ArrayId,
        home: ContextId,
        index: impl FnOnce(&mut Code<'_, 'p>, &[ScalarOperand]) -> Vec<ScalarOperand>,
    ) {
        let elements = self.elements(home, &var.ty);
        let value = self.array_value(source);
        let name = self.source_name(source);
        let array = self.moved_array(&var.name, &value, &Outside::Error(name), (home, elements), index);
        self.define(var, Value { array, home, elements, ty: var.ty.element });
    }

    /// As [`Self::moved`], the flat array.
    pub fn moved_array(
        &mut self,
        name: &Name,
        value: &Value,
        outside: &Outside,
        (home, elements): (ContextId, ContextId),
        index: impl FnOnce(&mut Code<'_, 'p>, &[ScalarOperand]) -> Vec<ScalarOperand>,
    ) -> ArrayId {
        let extents = self.dims(elements);
        let ty = Type::array(extents.clone(), value.ty);
        let steps = self.steps(home, elements);
        let mut code = Code::over(self, elements);
        let own = code.own_indices(&steps);
        let from = index(&mut code, &own);
        let coords = code.lane(value.home);
        let inner = code.lifter.steps(value.home, value.elements);
        let at = code.down(&coords, &inner, &from, outside);
        let f = code.b.finish_needed(&at);
        let op = self.picked(operands(&extents), f, value.array);
        self.flat.bind(op, vec![(name.clone(), ty)])[0]
    }

    fn backpermute(&mut self, binding: &'p Binding, home: ContextId, f: &'p Lambda, sources: &[ArrayId]) {
        for (var, &source) in binding.results.iter().zip(sources) {
            self.moved(var, source, home, |code, index| code.call(f, index));
        }
    }

    fn transform(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        index: &'p Lambda,
        f: &'p Lambda,
        sources: &[ArrayId],
    ) {
        let elements = self.elements(home, &binding.results[0].ty);
        let moved: Vec<ArrayId> = sources
            .iter()
            .map(|&source| {
                let (value, name) = (self.array_value(source), self.source_name(source));
                self.moved_array(
                    &name.as_str().into(),
                    &value,
                    &Outside::Error(name.clone()),
                    (home, elements),
                    |code, own| code.call(index, own),
                )
            })
            .collect();
        let ([f], extras) = self.functions_of_lanes(elements, [(f, sources.len())]);
        let contexts = self.all_elements(home, &binding.results);
        self.bind_results(binding, home, ArrayOp::Map { f, sources: [moved, extras].concat() }, &contexts);
    }

    /// A scalar operand inside of code.
    pub fn code_operand(code: &mut Code<'_, 'p>, operand: &LaneOperand) -> ScalarOperand {
        match operand {
            LaneOperand::Outside(operand) => operand.in_scalar(),
            LaneOperand::Varying(value) => code.element(value, &[], &Outside::Never),
            LaneOperand::Index(step) => {
                let coords = code.lane(*step);
                code.own_index(*step, &coords)
            }
        }
    }
}
