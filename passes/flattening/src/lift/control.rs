//! What holds blocks, where no lane decides what is run: nests, clusters, fallbacks.

use fusebox_ir::{ArrayOp, Binding, Block, ElementType::I64, Extent, Lambda, Operand, Type, Var};

use super::{
    Bound, Lifter, Value,
    alone::Alone,
    branches::Branch,
    code::{Code, Outside},
    context::{ContextId, LaneExtent, Made, ROOT},
    flat::operands,
    lane::type_in_lane,
    loops::Loop,
};
use crate::Error;

impl<'p> Lifter<'p> {
    /// Lifts a binding, whatever it is.
    pub fn binding(&mut self, binding: &'p Binding) -> Result<(), Error> {
        self.flat.place = binding.place.clone();
        let home = self.home_of(binding);
        if home == ROOT && is_flat(binding) {
            let asks = self.guard.is_some() && self.asks_of_extents(binding);
            match asks.then(|| self.perhaps_no_lanes()).flatten() {
                Some(lanes) => self.outside_if_needed(binding, lanes),
                None => self.outside(binding),
            }
        } else {
            self.done.lifted += 1;
            let asked = self.asks(binding, home);
            self.operation(binding, home)?;
            self.is_asked(binding, home, asked);
        }
        if home == ROOT && self.is_risky(binding) {
            for var in &binding.results {
                if let Bound::Value(value) = self.bound(var.id) {
                    self.risky.insert(value.array);
                    self.needed_by_lanes(var, &value);
                }
            }
        }
        Ok(())
    }

    /// A number in lanes that is the same in all of them, and may fail.
    fn needed_by_lanes(&mut self, var: &Var, value: &Value) {
        if self.guard.is_none() || !var.ty.is_scalar() || value.ty != I64 {
            return;
        }
        if let Some(lanes) = self.perhaps_no_lanes() {
            let array = self.number_if_needed(value.array, lanes, &var.name.0);
            self.define(var, Value { array, ..value.clone() });
        }
    }

    /// Whether computing a binding outside of lanes, or something that it is made of, may fail.
    fn is_risky(&self, binding: &Binding) -> bool {
        self.can_fail(binding)
            || binding.op.uses().into_iter().any(|id| match self.bound(id) {
                Bound::Value(value) => self.risky.contains(&value.array),
                Bound::Index(_) | Bound::Code(..) | Bound::Missing => false,
            })
    }

    pub fn control(&mut self, binding: &'p Binding, home: ContextId) -> Result<(), Error> {
        match &binding.op {
            ArrayOp::Nest { body, .. } => match self.alone(binding, home, body) {
                Alone::Never => self.nest(binding, home, body),
                Alone::Always => self.nest_alone(binding, body),
                Alone::If(long) => self.nest_either(binding, body, long),
            },
            ArrayOp::Element { source, index } => self.element(binding, home, *source, index),
            ArrayOp::Cond { condition, then, otherwise } => {
                self.cond(&Branch { binding, home, then, otherwise }, *condition)
            }
            ArrayOp::While { condition, step, starts } => self.repeat(&Loop { binding, home, condition, step, starts }),
            ArrayOp::Foreign { fallback, arguments, .. } => self.foreign(binding, fallback, arguments),
            ArrayOp::Cluster { body, .. } => {
                self.bindings(body)?;
                self.given(binding, body);
                Ok(())
            }
            _ => self.consume(binding, home),
        }
    }

    /// The results of a binding are those of a block that was lifted in its place.
    fn given(&mut self, binding: &'p Binding, body: &'p Block) {
        for (var, &result) in binding.results.iter().zip(&body.results) {
            let value = self.array_value(result);
            self.define(var, value);
        }
    }

    pub fn nest(&mut self, binding: &'p Binding, home: ContextId, body: &'p Block) -> Result<(), Error> {
        let extents = self.lane_extents(&binding.results[0].ty.extents);
        if self.guard.is_none() {
            for extent in &extents {
                if let LaneExtent::Uniform(Extent::Value(size)) = extent {
                    self.outside_extents.insert(*size);
                }
            }
        }
        let mut lanes = home;
        for (param, extent) in body.params.iter().zip(&extents) {
            lanes = self.extend(home, lanes, extent);
            self.env.insert(param.id, Bound::Index(lanes));
        }
        let (outside, mark) = (std::mem::replace(&mut self.here, lanes), self.mark());
        let guard = self.needed_in(lanes);
        self.bindings(body)?;
        for (var, &result) in binding.results.iter().zip(&body.results) {
            let value = self.array_value(result);
            let value = self.declared(&value, lanes, &type_in_lane(&var.ty), &self.source_name(var.id));
            let value = Value { home, ..value };
            let value = if home == ROOT && var.ty.inner.is_empty() { self.plain(var, value) } else { value };
            self.define(var, value);
        }
        self.undo(mark);
        (self.here, self.guard) = (outside, guard);
        Ok(())
    }

    /// A value outside of lanes as the array that its type says.
    pub fn plain(&mut self, var: &Var, value: Value) -> Value {
        let elements = self.plain_elements(&var.ty);
        let dims = self.dims(elements);
        let array = if self.flat.ty(value.array).rank() == dims.len() {
            value.array
        } else {
            self.reshaped_here(value.array, dims)
        };
        Value { array, elements, ..value }
    }

    pub fn reshaped_here(&mut self, array: fusebox_ir::ArrayId, extents: Vec<Extent>) -> fusebox_ir::ArrayId {
        let ty = self.flat.ty(array).clone();
        let name = self.name_of(array);
        let op = ArrayOp::Reshape { extents: operands(&extents), sources: vec![array] };
        self.flat.bind(op, vec![(name.into(), Type::array(extents, ty.element))])[0]
    }

    /// A value in the lanes of a context, with the extents that a type declares; where it has others, that is an error. Extents that
    /// the type does not say are its own.
    pub fn declared(&mut self, value: &Value, home: ContextId, ty: &Type, name: &str) -> Value {
        let value = self.lifted(value, home);
        let steps = self.steps(home, value.elements);
        let mut at = home;
        // Contexts of the value, and what stands for them.
        let mut twins = Vec::new();
        for (&step, &extent) in steps.iter().zip(ty.all_extents()) {
            let same = self.context(step).parent == at;
            at = match extent {
                Extent::Unknown if same => step,
                Extent::Unknown => match self.own_extent(&value, step, home, &twins, Some(name)) {
                    Some(extent) => self.extend(home, at, &extent),
                    None => at,
                },
                known => {
                    let extent = self.lane_extent(known);
                    self.extend(home, at, &extent)
                }
            };
            twins.push((step, at));
        }
        let wanted: Vec<Option<String>> = ty.all_extents().map(|&extent| self.said(extent)).collect();
        self.brought(&value, home, at, name, &wanted)
    }

    /// What messages call a declared extent.
    pub fn said(&self, extent: Extent) -> Option<String> {
        match extent {
            Extent::Value(id) => Some(self.source_name(id)),
            Extent::Constant(number) => Some(number.to_string()),
            Extent::Unknown => None,
        }
    }

    /// A value in the lanes of `home` over another context made from it; where it has other extents than those called `wanted`, that is an error.
    pub fn brought(
        &mut self,
        value: &Value,
        home: ContextId,
        at: ContextId,
        name: &str,
        wanted: &[Option<String>],
    ) -> Value {
        if at == value.elements {
            return value.clone();
        }
        let dims = self.dims(at);
        let array = if self.same_layout(at, value.elements) {
            if self.dims(value.elements) == dims {
                value.array
            } else if self.guard.is_some() && self.same_in_lanes(&self.dims(value.elements), &dims) {
                self.reshaped_here(value.array, dims)
            } else {
                // Compares extents.
                let op = ArrayOp::Slice { dims: vec![None; dims.len()], sources: vec![value.array] };
                self.where_there_are_lanes(op, name, Type::array(dims, value.ty))
            }
        } else {
            let own = self.steps(home, at);
            let mut code = Code::over(self, at);
            let lane = code.lane(home);
            let mut index = code.own_indices(&own);
            let declared = Value { elements: at, ..value.clone() };
            for (dim, right) in wanted.iter().enumerate().take(own.len()) {
                let Some(right) = right else { continue };
                let expected = code.extent_at(&declared, &lane, dim, &index);
                let found = code.extent_at(value, &lane, dim, &index);
                index[dim] = code.if_equal((found, name), (expected, right), &lane, index[dim]);
            }
            let element = code.element_at(value, &lane, &index, &Outside::Never);
            let f = code.b.finish_needed(&[element]);
            let op = ArrayOp::Generate { extents: operands(&dims), f };
            self.flat.bind(op, vec![(name.into(), Type::array(dims, value.ty))])[0]
        };
        Value { array, home, elements: at, ty: value.ty }
    }

    /// A constant as a value outside of lanes.
    pub fn operand_value(&mut self, operand: Operand) -> Value {
        match operand {
            Operand::Value(id) => self.array_value(id),
            Operand::Constant(constant) => {
                let f = Lambda { results: vec![constant.into()], ..Lambda::default() };
                let ty = constant.ty();
                let array = self.flat.bind_out(ArrayOp::Unit { f }, &"".into(), Type::scalar(ty));
                Value { array, home: ROOT, elements: ROOT, ty }
            }
        }
    }

    /// The fallback, in the place of the operation.
    fn foreign(&mut self, binding: &'p Binding, fallback: &'p Block, arguments: &[Operand]) -> Result<(), Error> {
        let values: Vec<Value> = arguments.iter().map(|&argument| self.operand_value(argument)).collect();
        for (param, value) in fallback.params.iter().zip(&values) {
            let steps = self.steps(value.home, value.elements);
            for (extent, &step) in param.ty.extents.iter().zip(&steps) {
                if let Extent::Value(id) = extent
                    && let Some(size) = fallback.sizes.iter().find(|size| size.id == *id)
                    && !self.env.contains_key(id)
                {
                    let extent = self.extent_value(step);
                    self.define(size, extent);
                }
            }
            self.define(param, value.clone());
        }
        self.bindings(fallback)?;
        for (var, &result) in binding.results.iter().zip(&fallback.results) {
            let value = self.array_value(result);
            let value = self.declared(&value, value.home, &var.ty, &self.source_name(var.id));
            self.define(var, value);
        }
        for var in fallback.sizes.iter().chain(&fallback.params) {
            self.env.remove(&var.id);
        }
        Ok(())
    }

    /// The extent along a step of a value, as a scalar of lanes.
    pub fn extent_value(&mut self, step: ContextId) -> Value {
        match self.context(step).made.clone() {
            Made::Ragged { sizes, .. } => sizes,
            Made::Uniform { extent: Extent::Value(id) } => Value { array: id, home: ROOT, elements: ROOT, ty: I64 },
            Made::Uniform { extent } => self.operand_value(super::flat::operand(extent)),
            Made::Root | Made::Subset { .. } => fusebox_ir::bug!(self.program, "an array has no such dimension"),
        }
    }
}

/// Whether nothing in a binding is nested parallelism, or an array of arrays.
pub(super) fn is_flat(binding: &Binding) -> bool {
    let nested = |var: &Var| !var.ty.inner.is_empty();
    let is_nested = |binding: &Binding| {
        binding.results.iter().any(nested)
            || matches!(
                binding.op,
                ArrayOp::Nest { .. } | ArrayOp::Element { .. } | ArrayOp::Consume { chunks: false, .. }
            )
    };
    let mut inside = binding.op.bodies().flat_map(Block::blocks);
    !is_nested(binding) && inside.all(|block| !block.params.iter().any(nested) && !block.bindings.iter().any(is_nested))
}
