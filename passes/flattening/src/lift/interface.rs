//! The whole program: arrays of arrays come in and go out as extents and values.

use fusebox_ir::{ArrayId, ArrayOp, Binary, ElementType::I64, Extent, Output, Program, Type, Var, analysis::Answer};

use super::{
    Done, Lifter, Value,
    code::Code,
    context::{LaneExtent, Made, ROOT},
    flat::operands,
};
use crate::{Error, interface::has_flat_interface};

impl<'p> Lifter<'p> {
    pub fn run(mut self) -> Result<(Program, Done), Error> {
        let program = self.program;
        has_flat_interface(program)?;
        self.inputs()?;
        self.bindings(&program.body)?;
        let (mut outputs, mut results) = (Vec::new(), Vec::new());
        for (&id, output) in program.body.results.iter().zip(&program.outputs) {
            let value = self.array_value(id);
            if output.ty.inner.is_empty() {
                results.push(value.array);
                outputs.push(Output { name: output.name.clone(), ty: self.output_type(&output.ty) });
                continue;
            }
            let value =
                if self.is_of(id, &output.ty) { value } else { self.declared(&value, ROOT, &output.ty, &output.name) };
            let (extents, values) = self.apart(&value, &output.ty);
            let mut outer: Vec<Extent> = self.output_type(&output.ty).extents;
            let level = output.ty.inner.first().map_or(0, Vec::len);
            if level != 1 {
                outer.push(Extent::Constant(level as i64));
            }
            outputs.push(Output { name: format!("{}.extents", output.name), ty: Type::array(outer, I64) });
            outputs.push(Output {
                name: format!("{}.values", output.name),
                ty: Type::array(vec![Extent::Unknown], output.ty.element),
            });
            results.extend([extents, values]);
        }
        let done = self.done;
        let body = self.flat.finish(results);
        let program = Program { name: program.name.clone(), body, outputs }.renumbered();
        Ok((program, done))
    }

    /// Whether a value is known to have the extents that a type says.
    fn is_of(&self, id: ArrayId, ty: &Type) -> bool {
        let own = self.source_type(id).all_extents();
        let known = |(&wanted, &own): (&Extent, &Extent)| {
            wanted == Extent::Unknown || wanted == own || self.sizes.equal(wanted, own) == Answer::Proved
        };
        ty.all_extents().zip(own).all(known)
    }

    /// A declared type of a result, of flat inputs; what is computed from extents of arrays of arrays is not said.
    fn output_type(&mut self, ty: &Type) -> Type {
        let mut ty = Type { inner: Vec::new(), ..ty.clone() };
        for extent in &mut ty.extents {
            if let Extent::Value(id) = *extent {
                let flat = self.scalar_value(id).array;
                *extent = if self.is_input(flat) { Extent::Value(flat) } else { Extent::Unknown };
            }
        }
        ty
    }

    fn is_input(&self, flat: ArrayId) -> bool {
        self.inputs.contains(&flat)
    }

    /// Sizes and inputs; of an array of arrays its extents and its values.
    fn inputs(&mut self) -> Result<(), Error> {
        let body = &self.program.body;
        // Sizes that only the arrays inside bind are computed from their extents.
        let outer: Vec<ArrayId> = body
            .params
            .iter()
            .flat_map(|var| &var.ty.extents)
            .filter_map(|extent| if let Extent::Value(id) = extent { Some(*id) } else { None })
            .collect();
        let mut order: Vec<&Var> = body.sizes.iter().filter(|var| outer.contains(&var.id)).collect();
        // In the order in which the flat inputs meet them.
        order.sort_by_key(|var| outer.iter().position(|id| *id == var.id));
        let mut values = Vec::new();
        let mut given = Vec::new();
        for param in &body.params {
            for extent in &param.ty.extents {
                if let Extent::Value(id) = extent
                    && let Some(at) = order.iter().position(|var| var.id == *id)
                {
                    let var = order.remove(at);
                    let id = self.flat.size(&var.name);
                    self.inputs.insert(id);
                    self.define_plain(var, id);
                }
            }
            if param.ty.inner.is_empty() {
                let ty = Type { stream: param.ty.stream, ..self.flat_type(&param.ty) };
                let id = self.flat.param(&param.name, ty);
                self.inputs.insert(id);
                self.define_plain(param, id);
                continue;
            }
            let level = param.ty.inner[0].len();
            let mut extents = self.flat_type(&param.ty).extents;
            if level != 1 {
                extents.push(Extent::Constant(level as i64));
            }
            let sizes = self.flat.id();
            given.push((sizes, format!("{}.extents", param.name.0), Type::array(extents.clone(), I64)));
            let count = self.flat.size(&format!("{}.total", param.name.0).as_str().into());
            self.inputs.insert(count);
            let data = self.flat.id();
            let data_type = Type::array(vec![Extent::Value(count)], param.ty.element);
            given.push((data, format!("{}.values", param.name.0), data_type));
            for (id, name, ty) in given.drain(..) {
                self.inputs.insert(id);
                self.flat.param_as(id, &name.as_str().into(), ty);
            }
            values.push((param, sizes, data, count));
        }
        for (param, sizes, data, count) in values {
            self.nested_input(param, sizes, data, count);
        }
        Ok(())
    }

    pub fn flat_type(&mut self, ty: &Type) -> Type {
        let extents = ty
            .extents
            .iter()
            .map(|&extent| match extent {
                Extent::Value(id) => Extent::Value(self.scalar_value(id).array),
                other => other,
            })
            .collect();
        Type::array(extents, ty.element)
    }

    fn nested_input(&mut self, param: &'p Var, sizes: ArrayId, data: ArrayId, count: ArrayId) {
        self.names.insert(data, param.name.0.clone());
        let level = param.ty.inner[0].clone();
        let outer = self.plain_elements(&param.ty);
        let lanes = self.count(outer);
        let mut at = outer;
        let ragged = level.iter().rposition(|extent| *extent == Extent::Unknown);
        for (dim, &extent) in level.iter().enumerate() {
            let known = match extent {
                Extent::Unknown => None,
                Extent::Value(id) if !self.env.contains_key(&id) => {
                    // The extent of the first array; 0 if there is none.
                    let vector = self.as_vector(sizes);
                    let mut code = Code::new(self, ROOT);
                    let some =
                        code.binary(Binary::Gt, Code::extent(lanes), Code::constant(0), fusebox_ir::ElementType::Bool);
                    let first = code.choose(
                        some,
                        I64,
                        |code| code.read(vector, vec![Code::constant(dim as i64)]),
                        |_| Code::constant(0),
                    );
                    let f = code.b.finish_needed(&[first]);
                    let unit = self.flat.unit("size", f);
                    if let Some(var) = self.program.body.sizes.iter().find(|var| var.id == id) {
                        self.define_plain(var, unit);
                    }
                    Some(self.lane_extent(extent))
                }
                extent => Some(self.lane_extent(extent)),
            };
            let known = known.unwrap_or_else(|| {
                let own = if level.len() == 1 {
                    sizes
                } else {
                    let rank = self.context(outer).dims.len();
                    let mut dims: Vec<Option<fusebox_ir::Operand>> = vec![None; rank];
                    dims.push(Some((dim as i64).into()));
                    let ty = Type::array(self.dims(outer), I64);
                    self.flat.bind_out(ArrayOp::Slice { dims, sources: vec![sizes] }, &"extents".into(), ty)
                };
                self.not_negative.insert(own);
                LaneExtent::Varying(Value { array: own, home: outer, elements: outer, ty: I64 })
            });
            at = match &known {
                LaneExtent::Varying(own) if ragged == Some(dim) && dim + 1 == level.len() => {
                    self.ragged(at, own, Some(count))
                }
                known => self.extend(ROOT, at, known),
            };
        }
        let array = self.reshaped(data, self.dims(at));
        self.define(param, Value { array, home: ROOT, elements: at, ty: param.ty.element });
    }

    /// The extents of the arrays of an array of arrays, and all values in order.
    pub fn apart(&mut self, value: &Value, ty: &Type) -> (ArrayId, ArrayId) {
        let (rank, level) = (ty.rank(), ty.inner.first().map_or(0, Vec::len));
        let steps = self.steps(ROOT, value.elements);
        let outer = if rank == 0 { ROOT } else { steps[rank - 1] };
        let plain = self.plain_of(&steps[..rank]);
        let dims = self.dims(plain);
        let mut extents = dims.clone();
        if level != 1 {
            extents.push(Extent::Constant(level as i64));
        }
        let mut code = Code::new(self, outer);
        let params: Vec<_> = (0..extents.len()).map(|_| code.b.param("", I64).operand).collect();
        let zeros = vec![Code::constant(0); level];
        let index: Vec<_> = params[..rank].iter().copied().chain(zeros).collect();
        let sizes: Vec<_> = (0..level).map(|dim| code.extent_at(value, &[], rank + dim, &index)).collect();
        let mut size = sizes.last().copied().unwrap_or(Code::constant(0));
        for dim in (0..level.saturating_sub(1)).rev() {
            let at = params[rank];
            let here = code.binary(Binary::Eq, at, Code::constant(dim as i64), fusebox_ir::ElementType::Bool);
            size = code.choose(here, I64, |_| sizes[dim], |_| size);
        }
        let f = code.b.finish_needed(&[size]);
        let op = ArrayOp::Generate { extents: operands(&extents), f };
        let extents = self.flat.bind(op, vec![("extents".into(), Type::array(extents, I64))])[0];
        let values = self.as_vector(value.array);
        (extents, values)
    }

    /// The context of the outer extents of an array of arrays, which are the same however it is held.
    fn plain_of(&mut self, steps: &[super::context::ContextId]) -> super::context::ContextId {
        steps.iter().fold(ROOT, |at, &step| match self.context(step).made.clone() {
            Made::Uniform { extent } => self.uniform(at, extent),
            Made::Ragged { sizes, .. } => self.uniform(at, Extent::Value(sizes.array)),
            Made::Root | Made::Subset { .. } => at,
        })
    }
}
