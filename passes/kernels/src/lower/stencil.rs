//! Stencils: taps are loads whose maps have offsets and boundaries.

use fusebox_ir::{
    ArrayId, Binary, Boundary, Constant, DimBoundary, ElementType, Lambda, LambdaBuilder, Place, PlanExtent,
    PlanOperand, ScalarOp, ScalarOperand, Tap, TapBoundary, Unary, ValueId,
    analysis::need::{certainly_executed, free_uses, local},
    bug,
};

use super::fuse::Fusing;
use crate::{
    bounds::linear::Linear,
    locals::scalar_code,
    nest::{KernelBuilder, ProgramPoint},
};

/// A boundary with its scalars in the plan.
#[derive(Clone)]
enum Outside {
    Dim(DimBoundary),
    Value(PlanOperand),
    Function(Lambda),
}

/// A tap of an array of the plan.
struct PlanTap<'t> {
    array: ValueId,
    offsets: &'t [i64],
}

impl Fusing<'_, '_> {
    /// The elements that a stencil taps.
    pub(super) fn taps(
        &mut self,
        position: usize,
        f: &Lambda,
        taps: &[Tap],
        boundaries: &[TapBoundary],
        code: &mut LambdaBuilder,
    ) -> Vec<ScalarOperand> {
        let lower = self.lower;
        let boundary = |of: ArrayId| {
            let found = boundaries.iter().find(|boundary| boundary.array == of).map(|boundary| &boundary.boundary);
            match found {
                Some(Boundary::Clamp) => Outside::Dim(DimBoundary::Clamp),
                Some(Boundary::Mirror) => Outside::Dim(DimBoundary::Mirror),
                Some(Boundary::Wrap) => Outside::Dim(DimBoundary::Wrap),
                Some(Boundary::Constant(operand)) => Outside::Value(lower.operand(*operand)),
                Some(Boundary::Function(function)) => Outside::Function(function.clone()),
                None => bug!(lower.program(), "{of} is tapped, and has no boundary"),
            }
        };
        let (place, at, index) = (&self.binding(position).place, self.point(position), self.index(position));
        let certain = certain_params(f);
        let nest = &mut self.nest;
        taps.iter()
            .enumerate()
            .map(|(number, tap)| {
                let outside = boundary(tap.array);
                let tap = PlanTap { array: lower.array(tap.array), offsets: &tap.offsets };
                match &outside {
                    // An empty array fails; if no branch needs it, it must not: then the index is computed where it is needed.
                    Outside::Dim(boundary) if !certain[number] && nest.may_be_empty(tap.array, at.depth) => {
                        by_hand(nest, code, &tap, *boundary, &index, place)
                    }
                    _ => loaded(nest, &tap, &outside, &index, at, place),
                }
            })
            .collect()
    }
}

fn loaded(
    nest: &mut KernelBuilder<'_>,
    tap: &PlanTap<'_>,
    outside: &Outside,
    index: &[ScalarOperand],
    at: ProgramPoint,
    place: &Place,
) -> ScalarOperand {
    let boundary = if let Outside::Dim(boundary) = outside { *boundary } else { DimBoundary::None };
    let dims: Vec<(Linear, DimBoundary)> = index
        .iter()
        .zip(tap.offsets)
        .map(|(&index, &offset)| (nest.known.form(index).offset(offset), boundary))
        .collect();
    let outside = match outside {
        Outside::Dim(_) => None,
        Outside::Value(operand) => {
            let value = nest.operand(*operand);
            Some(Lambda { results: vec![value], ..Lambda::default() })
        }
        Outside::Function(function) => {
            let mut code = scalar_code();
            let there: Vec<ScalarOperand> = index
                .iter()
                .zip(tap.offsets)
                .map(|(&index, &offset)| {
                    let b = Constant::from(offset).into();
                    nest.push(
                        &mut code,
                        ScalarOp::Binary { function: Binary::Add, a: index, b },
                        ElementType::I64,
                        place,
                    )
                })
                .collect();
            let results = nest.call(function, &there, &mut code);
            Some(nest.strict_function(&code.finish(&results)))
        }
    };
    nest.load(tap.array, &dims, outside, at, place)
}

/// The same as scalar code that reads, which may stand in a branch.
fn by_hand(
    nest: &mut KernelBuilder<'_>,
    code: &mut LambdaBuilder,
    tap: &PlanTap<'_>,
    boundary: DimBoundary,
    index: &[ScalarOperand],
    place: &Place,
) -> ScalarOperand {
    let extents: Vec<PlanExtent> = nest.known.values.ty(tap.array).extents.clone();
    let whole = |value: i64| ScalarOperand::from(Constant::from(value));
    let binary = |nest: &mut KernelBuilder<'_>, code: &mut LambdaBuilder, function, a, b| {
        nest.push(code, ScalarOp::Binary { function, a, b }, ElementType::I64, place)
    };
    let mut there = Vec::new();
    for ((&index, &offset), &extent) in index.iter().zip(tap.offsets).zip(&extents) {
        let extent = nest.extent(extent);
        let last = binary(nest, code, Binary::Sub, extent, whole(1));
        let raw = binary(nest, code, Binary::Add, index, whole(offset));
        there.push(match boundary {
            DimBoundary::None => raw,
            DimBoundary::Clamp => {
                let below = binary(nest, code, Binary::Min, raw, last);
                binary(nest, code, Binary::Max, below, whole(0))
            }
            // Of an empty array the index is out of bounds whatever it is; a divisor of 0 would say something else.
            DimBoundary::Wrap => {
                let divisor = binary(nest, code, Binary::Max, extent, whole(1));
                binary(nest, code, Binary::ModFloor, raw, divisor)
            }
            DimBoundary::Mirror => {
                let twice = binary(nest, code, Binary::Mul, last, whole(2));
                let period = binary(nest, code, Binary::Max, twice, whole(1));
                let inside = binary(nest, code, Binary::ModFloor, raw, period);
                // Distance from the far edge, folded back.
                let over = binary(nest, code, Binary::Sub, inside, last);
                let distance =
                    nest.push(code, ScalarOp::Unary { function: Unary::Abs, a: over }, ElementType::I64, place);
                binary(nest, code, Binary::Sub, last, distance)
            }
        });
    }
    nest.read(code, tap.array, there, place)
}

/// Which parameters a function certainly needs.
fn certain_params(f: &Lambda) -> Vec<bool> {
    let certain: Vec<_> = certainly_executed(f);
    let direct: Vec<_> = f.results.iter().filter_map(local).collect();
    let used = |id| {
        direct.contains(&id)
            || certain.iter().any(|instruction| match &instruction.op {
                ScalarOp::If { condition, .. } => local(condition) == Some(id),
                ScalarOp::While { starts, .. } => starts.iter().filter_map(local).any(|start| start == id),
                ScalarOp::Binary { function: Binary::LogicalAnd | Binary::LogicalOr, a, .. } => local(a) == Some(id),
                _ => free_uses(instruction).contains(&id),
            })
    };
    f.params.iter().map(|param| used(param.id)).collect()
}
