//! What may fail when it is run.

use crate::{ArrayOp, Binary, Instruction, Lambda, Part, ScalarOp, ScalarOperand};

/// Whether a function may fail, or never end: reads, integer divisions whose divisor is no constant other than 0, assertions, loops.
pub fn function_can_fail(f: &Lambda) -> bool {
    f.instructions.iter().any(instruction_can_fail)
}

/// Whether an instruction may fail, or never end, given its operands.
pub fn instruction_can_fail(instruction: &Instruction) -> bool {
    let mut waiting = vec![instruction];
    while let Some(instruction) = waiting.pop() {
        let fails = match &instruction.op {
            ScalarOp::Unary { .. } | ScalarOp::Fma { .. } | ScalarOp::Convert { .. } | ScalarOp::Bits { .. } => false,
            ScalarOp::Binary { function, a: _, b } => {
                let divides = matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor);
                let float = instruction.results.first().is_some_and(|result| result.ty.is_float());
                let safe = matches!(b, ScalarOperand::Constant(by) if by.bits() != 0);
                divides && !float && !safe
            }
            ScalarOp::If { then, otherwise, .. } => {
                waiting.extend(then.instructions.iter().chain(&otherwise.instructions));
                false
            }
            ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } | ScalarOp::While { .. } | ScalarOp::Assert { .. } => {
                true
            }
        };
        if fails {
            return true;
        }
    }
    false
}

/// Whether an operation may fail by itself or by its functions; also if only because extents disagree or are negative.
///
/// What cannot is safe to compute although nothing might need it.
pub fn can_fail(op: &ArrayOp) -> bool {
    match op {
        ArrayOp::Constant { .. } | ArrayOp::Compute { .. } => false,
        ArrayOp::Unit { f } => function_can_fail(f),
        ArrayOp::Filter { keep, sources } => function_can_fail(keep) || sources.len() > 1,
        ArrayOp::Sort { keys, carry } => keys.len() + carry.len() > 1,
        ArrayOp::Fold { combine, seeds, sources, offsets, .. } => {
            function_can_fail(combine) || seeds.is_empty() || sources.len() > 1 || offsets.is_some()
        }
        ArrayOp::Scan { combine, sources, offsets, .. } => {
            function_can_fail(combine) || sources.len() > 1 || offsets.is_some()
        }
        ArrayOp::Generate { extents, f } => {
            function_can_fail(f) || extents.iter().any(|extent| !matches!(extent, crate::Operand::Constant(_)))
        }
        // The extents of sources and of the binding are compared; indices and targets may be outside.
        ArrayOp::Map { .. }
        | ArrayOp::Backpermute { .. }
        | ArrayOp::Transform { .. }
        | ArrayOp::Replicate { .. }
        | ArrayOp::Slice { .. }
        | ArrayOp::Reshape { .. }
        | ArrayOp::Concat { .. }
        | ArrayOp::Permute { .. }
        | ArrayOp::Expand { .. }
        | ArrayOp::PermutedExpand { .. }
        | ArrayOp::Stencil { .. }
        | ArrayOp::Nest { .. }
        | ArrayOp::Element { .. }
        | ArrayOp::While { .. }
        | ArrayOp::Foreign { .. }
        | ArrayOp::Consume { .. } => true,
        ArrayOp::Cond { .. } | ArrayOp::Cluster { .. } => op.parts().into_iter().any(|part| match part {
            Part::Body(body) => body.bindings.iter().any(|binding| can_fail(&binding.op)),
            _ => false,
        }),
    }
}
