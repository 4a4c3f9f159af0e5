//! Operations that arrange elements: slices, replicates, reshapes, concatenations, stencils.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Boundary, ElementType,
    ElementType::{Bool, I64},
    Lambda, Operand, ScalarOperand, Tap, TapBoundary, Type,
};

use super::{
    Bound, LaneOperand, Lifter, Value,
    code::{Code, Needs, Outside},
    context::{ContextId, Made},
    flat::operands,
};
use crate::Error;

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
        let message = format!("`{name}` and `{result}` should have as many elements in each lane");
        let x = code.assert(same, message, x, value.ty);
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
            let message = format!("the extents of what `{result}` is made of do not add up to its own in each lane");
            let first = code.assert(agree, message, index[dim], I64);
            let element = concatenated(&mut code, &values, &names, &sizes, &lane, &index, dim, first);
            let f = code.b.finish_needed(&[element]);
            ArrayOp::Generate { extents: operands(&extents), f }
        };
        let array = self.flat.bind(op, vec![(var.name.clone(), ty)])[0];
        self.define(var, Value { array, home, elements, ty: var.ty.element });
    }

    pub fn stencil(&mut self, binding: &'p Binding, home: ContextId) -> Result<(), Error> {
        let ArrayOp::Stencil { f, taps, boundaries } = &binding.op else { return Ok(()) };
        let elements = self.elements(home, &binding.results[0].ty);
        let mut needs = Needs::default();
        self.needs(f, &mut needs);
        let values: Vec<Value> = boundaries
            .iter()
            .map(|boundary| {
                let value = self.array_value(boundary.array);
                self.lifted(&value, home)
            })
            .collect();
        let plain = needs.scalars.is_empty() && !needs.coords;
        let uniform =
            self.is_uniform(home, elements) && values.iter().all(|value| self.is_uniform(home, value.elements));
        let contexts = self.all_elements(home, &binding.results);
        let varies = boundaries.iter().any(|boundary| match &boundary.boundary {
            Boundary::Constant(operand) => !matches!(self.lane_operand(*operand), LaneOperand::Outside(_)),
            _ => false,
        });
        if plain && uniform && !varies {
            let lanes = self.context(home).dims.len();
            let (functions, _) = self.functions(elements, &[(f, taps.len())]);
            let f = functions.into_iter().next().unwrap_or_default();
            let flat = |id: ArrayId| boundaries.iter().position(|b| b.array == id).map_or(id, |at| values[at].array);
            let lifted_taps: Vec<Tap> = taps
                .iter()
                .map(|tap| Tap {
                    array: flat(tap.array),
                    offsets: std::iter::repeat_n(0, lanes).chain(tap.offsets.iter().copied()).collect(),
                })
                .collect();
            let mut lifted = Vec::new();
            for (boundary, value) in boundaries.iter().zip(&values) {
                let boundary = match &boundary.boundary {
                    Boundary::Function(f) => {
                        // At an index outside the lane is inside.
                        let steps = self.steps(home, value.elements);
                        Boundary::Function(self.indexed(value.elements, &steps, f))
                    }
                    Boundary::Constant(operand) => match self.lane_operand(*operand) {
                        LaneOperand::Outside(operand) => Boundary::Constant(operand),
                        LaneOperand::Varying(_) | LaneOperand::Index(_) => Boundary::Clamp,
                    },
                    same => same.clone(),
                };
                lifted.push(TapBoundary { array: value.array, boundary });
            }
            let distinct: std::collections::BTreeSet<ArrayId> = lifted.iter().map(|boundary| boundary.array).collect();
            if distinct.len() == boundaries.len() {
                self.bind_results(
                    binding,
                    home,
                    ArrayOp::Stencil { f, taps: lifted_taps, boundaries: lifted },
                    &contexts,
                );
                return Ok(());
            }
        }
        self.stencil_by_reads(binding, home, elements, (f, taps, boundaries), &values);
        Ok(())
    }

    /// A stencil as reads at computed indices, for lanes whose arrays have extents of their own.
    fn stencil_by_reads(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        elements: ContextId,
        (f, taps, boundaries): (&'p Lambda, &'p [Tap], &'p [TapBoundary]),
        values: &[Value],
    ) {
        let steps = self.steps(home, elements);
        let constants: Vec<Option<LaneOperand>> = boundaries
            .iter()
            .map(|boundary| match &boundary.boundary {
                Boundary::Constant(operand) => Some(self.lane_operand(*operand)),
                _ => None,
            })
            .collect();
        let names: Vec<String> = boundaries.iter().map(|boundary| self.source_name(boundary.array)).collect();
        let mut code = Code::over(self, elements);
        let lane = code.lane(home);
        let index = code.own_indices(&steps);
        let mut arguments = Vec::new();
        for tap in taps {
            let Some(at) = boundaries.iter().position(|boundary| boundary.array == tap.array) else { continue };
            let value = &values[at];
            let zeros = vec![Code::constant(0); index.len()];
            let sizes: Vec<ScalarOperand> =
                (0..index.len()).map(|dim| code.extent_at(value, &lane, dim, &zeros)).collect();
            let moved: Vec<ScalarOperand> = index
                .iter()
                .zip(&tap.offsets)
                .map(
                    |(&i, &offset)| {
                        if offset == 0 { i } else { code.binary(Binary::Add, i, Code::constant(offset), I64) }
                    },
                )
                .collect();
            let name = Outside::Error(names[at].clone());
            arguments.push(match (&boundaries[at].boundary, &constants[at]) {
                (Boundary::Clamp, _) => {
                    let inside = each(&mut code, &moved, &sizes, clamped);
                    code.element_at(value, &lane, &inside, &name)
                }
                (Boundary::Mirror, _) => {
                    let inside = each(&mut code, &moved, &sizes, mirrored);
                    code.element_at(value, &lane, &inside, &name)
                }
                (Boundary::Wrap, _) => {
                    let inside = each(&mut code, &moved, &sizes, |code, i, n| code.binary(Binary::ModFloor, i, n, I64));
                    code.element_at(value, &lane, &inside, &name)
                }
                (Boundary::Constant(_), constant) => {
                    let inside = all_inside(&mut code, &moved, &sizes);
                    code.choose(
                        inside,
                        value.ty,
                        |code| code.element_at(value, &lane, &moved, &Outside::Never),
                        |code| match constant {
                            Some(operand) => Self::code_operand(code, operand),
                            None => Code::constant(0),
                        },
                    )
                }
                (Boundary::Function(g), _) => {
                    let inside = all_inside(&mut code, &moved, &sizes);
                    code.choose(
                        inside,
                        value.ty,
                        |code| code.element_at(value, &lane, &moved, &Outside::Never),
                        |code| code.call(g, &moved)[0],
                    )
                }
            });
        }
        let results = code.call(f, &arguments);
        let f = code.b.finish_needed(&results);
        let extents = operands(&self.dims(elements));
        let contexts = self.all_elements(home, &binding.results);
        self.bind_results(binding, home, ArrayOp::Generate { extents, f }, &contexts);
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

fn each(
    code: &mut Code<'_, '_>,
    index: &[ScalarOperand],
    sizes: &[ScalarOperand],
    inside: impl Fn(&mut Code<'_, '_>, ScalarOperand, ScalarOperand) -> ScalarOperand,
) -> Vec<ScalarOperand> {
    index
        .iter()
        .zip(sizes)
        .map(|(&i, &n)| {
            // An empty dimension has nothing to be brought inside: the index stays outside.
            let some = code.binary(Binary::Gt, n, Code::constant(0), Bool);
            code.choose(some, I64, |code| inside(code, i, n), |_| i)
        })
        .collect()
}

fn clamped(code: &mut Code<'_, '_>, i: ScalarOperand, n: ScalarOperand) -> ScalarOperand {
    let last = code.binary(Binary::Sub, n, Code::constant(1), I64);
    let low = code.binary(Binary::Max, i, Code::constant(0), I64);
    code.binary(Binary::Min, low, last, I64)
}

/// Reflected without repeating the edges: a period of 2(n - 1), and of one element that.
fn mirrored(code: &mut Code<'_, '_>, i: ScalarOperand, n: ScalarOperand) -> ScalarOperand {
    let last = code.binary(Binary::Sub, n, Code::constant(1), I64);
    let period = code.binary(Binary::Mul, last, Code::constant(2), I64);
    let period = code.binary(Binary::Max, period, Code::constant(1), I64);
    let folded = code.binary(Binary::ModFloor, i, period, I64);
    let back = code.binary(Binary::Sub, period, folded, I64);
    let folded = code.binary(Binary::Min, folded, back, I64);
    code.binary(Binary::Min, folded, last, I64)
}

fn all_inside(code: &mut Code<'_, '_>, index: &[ScalarOperand], sizes: &[ScalarOperand]) -> ScalarOperand {
    let mut all = ScalarOperand::Constant(true.into());
    for (&i, &n) in index.iter().zip(sizes) {
        let low = code.binary(Binary::Ge, i, Code::constant(0), Bool);
        let high = code.binary(Binary::Lt, i, n, Bool);
        let both = code.binary(Binary::And, low, high, Bool);
        all = code.binary(Binary::And, all, both, Bool);
    }
    all
}
