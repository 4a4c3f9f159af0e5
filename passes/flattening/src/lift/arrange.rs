//! Operations that arrange elements: slices, replicates, reshapes, concatenations, stencils.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, ElementType,
    ElementType::{Bool, I64},
    Operand, ScalarOperand, Type,
};

use super::{
    Bound, LaneOperand, Lifter, Value,
    code::{Code, Outside},
    context::{ContextId, Made},
    flat::operands,
    lane::in_lane,
};
use crate::faults;

impl<'p> Lifter<'p> {
    fn lane_operands(&mut self, dims: &[Option<Operand>]) -> Vec<Option<LaneOperand>> {
        dims.iter().map(|dim| dim.map(|operand| self.lane_operand(operand))).collect()
    }

    /// Whether a context was made by uniform dimensions alone.
    pub fn is_uniform(&self, from: ContextId, to: ContextId) -> bool {
        self.steps(from, to).iter().all(|&step| matches!(self.context(step).made, Made::Uniform { .. }))
    }

    pub fn slice(&mut self, binding: &'p Binding, home: ContextId, dims: &[Option<Operand>], sources: &[ArrayId]) {
        for (var, &source) in binding.results.iter().zip(sources) {
            let value = self.array_value(source);
            if let Some(value) = self.row_of(&value, dims) {
                self.define(var, value);
                continue;
            }
            let fixed = self.lane_operands(dims);
            let outside = fixed.iter().flatten().all(|operand| matches!(operand, LaneOperand::Outside(_)));
            let elements = self.elements(home, &var.ty);
            if outside && self.is_uniform(value.home, value.elements) && self.is_uniform(home, elements) {
                let lifted = self.lifted(&value, home);
                if self.is_uniform(home, lifted.elements) {
                    let lanes = self.context(home).dims.len();
                    let dims: Vec<Option<Operand>> = std::iter::repeat_n(None, lanes)
                        .chain(fixed.iter().map(|operand| match operand {
                            Some(LaneOperand::Outside(operand)) => Some(*operand),
                            _ => None,
                        }))
                        .collect();
                    let op = ArrayOp::Slice { dims, sources: vec![lifted.array] };
                    let ty = Type::array(self.dims(elements), var.ty.element);
                    let array = self.flat.bind(op, vec![(var.name.clone(), ty)])[0];
                    self.define(var, Value { array, home, elements, ty: var.ty.element });
                    continue;
                }
            }
            self.moved(var, source, home, |code, index| {
                let mut kept = index.iter();
                fixed
                    .iter()
                    .map(|operand| match operand {
                        Some(operand) => Self::code_operand(code, operand),
                        None => kept.next().copied().unwrap_or(Code::constant(0)),
                    })
                    .collect()
            });
        }
    }

    /// The row at the index of nests over an array's outermost dimensions: the array itself, in the lanes of those nests.
    pub fn row_of(&mut self, value: &Value, dims: &[Option<Operand>]) -> Option<Value> {
        let fixed = dims.iter().take_while(|dim| dim.is_some()).count();
        if fixed == 0 || dims[fixed..].iter().any(Option::is_some) {
            return None;
        }
        let steps = self.steps(value.home, value.elements);
        for (dim, &step) in dims[..fixed].iter().zip(&steps) {
            match dim {
                Some(Operand::Value(id)) if matches!(self.bound(*id), Bound::Index(index) if index == step) => {}
                _ => return None,
            }
        }
        let home = steps[fixed - 1];
        self.is_above(home, self.here).then(|| Value { home, ..value.clone() })
    }

    pub fn replicate(&mut self, binding: &'p Binding, home: ContextId, dims: &[Option<Operand>], sources: &[ArrayId]) {
        for (var, &source) in binding.results.iter().zip(sources) {
            let elements = self.elements(home, &var.ty);
            let value = self.array_value(source);
            if self.is_uniform(home, elements) && self.is_uniform(value.home, value.elements) {
                let lifted = self.lifted(&value, home);
                if self.is_uniform(home, lifted.elements) {
                    let lanes = self.context(home).dims.len();
                    let extents = self.dims(elements);
                    let dims = extents
                        .iter()
                        .enumerate()
                        .map(|(at, &extent)| {
                            let is_new = at >= lanes && dims[at - lanes].is_some();
                            is_new.then(|| super::flat::operand(extent))
                        })
                        .collect();
                    let op = ArrayOp::Replicate { dims, sources: vec![lifted.array] };
                    let ty = Type::array(extents, var.ty.element);
                    let array = self.flat.bind(op, vec![(var.name.clone(), ty)])[0];
                    self.define(var, Value { array, home, elements, ty: var.ty.element });
                    continue;
                }
            }
            self.moved(var, source, home, |_, index| {
                index.iter().zip(dims).filter(|(_, dim)| dim.is_none()).map(|(&index, _)| index).collect()
            });
        }
    }

    /// The elements are those of the source in order; each lane has as many before as after.
    pub fn reshape(&mut self, binding: &'p Binding, home: ContextId, sources: &[ArrayId]) {
        for (var, &source) in binding.results.iter().zip(sources) {
            let elements = self.elements(home, &var.ty);
            let value = self.array_value(source);
            let value = self.lifted(&value, home);
            let extents = self.dims(elements);
            let uniform = self.is_uniform(home, elements) && self.is_uniform(home, value.elements);
            let ty = Type::array(extents.clone(), var.ty.element);
            let mut array = value.array;
            if !uniform {
                array = self.same_size(&value, elements, &self.source_name(source), &self.source_name(var.id));
            }
            let op = ArrayOp::Reshape { extents: operands(&extents), sources: vec![array] };
            let array = self.flat.bind(op, vec![(var.name.clone(), ty)])[0];
            self.define(var, Value { array, home, elements, ty: var.ty.element });
        }
    }

    /// The elements of a value, or an error where a lane has not as many as a context says.
    fn same_size(&mut self, value: &Value, elements: ContextId, name: &str, result: &str) -> ArrayId {
        let mut code = Code::over(self, value.elements);
        let coords = code.coords.clone();
        let lane = code.lane(value.home);
        let mut all = Vec::new();
        for context in [value.elements, elements] {
            let steps = code.lifter.steps(value.home, context);
            let zeros = vec![Code::constant(0); steps.len()];
            let of = Value { elements: context, ..value.clone() };
            let mut product = Code::constant(1);
            for dim in 0..steps.len() {
                let size = code.extent_at(&of, &lane, dim, &zeros);
                product = code.binary(Binary::Mul, product, size, I64);
            }
            all.push(product);
        }
        let same = code.binary(Binary::Eq, all[0], all[1], Bool);
        let x = code.read(value.array, coords);
        let (message, lane) = in_lane(&faults::unequal_extents(result, name), &lane);
        let x = code.assert(same, (message, [&[all[1], all[0]][..], &lane].concat()), x, value.ty);
        let f = code.b.finish_needed(&[x]);
        let dims = self.dims(value.elements);
        let op = ArrayOp::Generate { extents: operands(&dims), f };
        self.flat.bind_out(op, &name.into(), Type::array(dims, value.ty))
    }

    pub fn concat(&mut self, binding: &'p Binding, home: ContextId, sources: &[ArrayId], dim: usize) {
        let Some(var) = binding.results.first() else { return };
        let elements = self.elements(home, &var.ty);
        let values: Vec<Value> = sources
            .iter()
            .map(|&source| {
                let value = self.array_value(source);
                self.lifted(&value, home)
            })
            .collect();
        let extents = self.dims(elements);
        let ty = Type::array(extents.clone(), var.ty.element);
        let uniform =
            self.is_uniform(home, elements) && values.iter().all(|value| self.is_uniform(home, value.elements));
        let op = if uniform {
            let dim = self.context(home).dims.len() + dim;
            ArrayOp::Concat { sources: values.iter().map(|value| value.array).collect(), dim }
        } else {
            let steps = self.steps(home, elements);
            let names: Vec<String> = sources.iter().map(|&source| self.source_name(source)).collect();
            let result = self.source_name(var.id);
            let mut code = Code::over(self, elements);
            let lane = code.lane(home);
            let index = code.own_indices(&steps);
            let zeros = vec![Code::constant(0); steps.len()];
            // All lengths together are that of the result.
            let mut total = Code::constant(0);
            let sizes: Vec<ScalarOperand> =
                values.iter().map(|value| code.extent_at(value, &lane, dim, &zeros)).collect();
            for &size in &sizes {
                total = code.binary(Binary::Add, total, size, I64);
            }
            let declared = Value { elements, home, ..values[0].clone() };
            let declared = code.extent_at(&declared, &lane, dim, &zeros);
            let agree = code.binary(Binary::Eq, total, declared, Bool);
            let message = format!("the extents of what `{result}` is made of do not add up to its own");
            let message = in_lane(&message, &lane);
            let first = code.assert(agree, message, index[dim], I64);
            let element = concatenated(&mut code, &values, &names, &sizes, &lane, &index, dim, first);
            let f = code.b.finish_needed(&[element]);
            ArrayOp::Generate { extents: operands(&extents), f }
        };
        let array = self.flat.bind(op, vec![(var.name.clone(), ty)])[0];
        self.define(var, Value { array, home, elements, ty: var.ty.element });
    }
}

/// The element of the array, of several one after the other, in which the index lies.
#[allow(clippy::too_many_arguments)] // one recursion over what was found out
fn concatenated(
    code: &mut Code<'_, '_>,
    values: &[Value],
    names: &[String],
    sizes: &[ScalarOperand],
    lane: &[ScalarOperand],
    index: &[ScalarOperand],
    dim: usize,
    at: ScalarOperand,
) -> ScalarOperand {
    let mut index = index.to_vec();
    index[dim] = at;
    let here = |code: &mut Code<'_, '_>| code.element_at(&values[0], lane, &index, &Outside::Error(names[0].clone()));
    if values.len() == 1 {
        return here(code);
    }
    let first = code.binary(Binary::Lt, at, sizes[0], Bool);
    let ty: ElementType = values[0].ty;
    let rest = code.binary(Binary::Sub, at, sizes[0], I64);
    code.choose(first, ty, here, |code| {
        concatenated(code, &values[1..], &names[1..], &sizes[1..], lane, &index, dim, rest)
    })
}
