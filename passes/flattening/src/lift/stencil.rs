//! Stencils: with taps of distance 0 along the lanes, or, where arrays have extents of their own in each lane, as reads at computed indices.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Boundary,
    ElementType::{Bool, I64},
    Lambda, ScalarOperand, Tap, TapBoundary,
};

use super::{
    LaneOperand, Lifter, Value,
    code::{Code, Outside},
    context::ContextId,
    flat::operands,
    functions::Needs,
};
use crate::Error;

impl<'p> Lifter<'p> {
    pub fn stencil(&mut self, binding: &'p Binding, home: ContextId) -> Result<(), Error> {
        let ArrayOp::Stencil { f, taps, boundaries } = &binding.op else {
            fusebox_ir::bug!(self.program, "it is a stencil");
        };
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
            let ([f], _) = self.functions(elements, [(f, taps.len())]);
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
                        LaneOperand::Varying(_) | LaneOperand::Index(_) => {
                            fusebox_ir::bug!(self.program, "a constant of a boundary is the same in all lanes here")
                        }
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
