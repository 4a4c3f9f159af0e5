//! What may fail when it is run.

use crate::{
    ArrayOp, Binary, Binding, Instruction, Lambda, Operand, Part, ScalarOp, ScalarOperand,
    operations::{Shape, Signature},
};

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
pub fn can_fail(binding: &Binding) -> bool {
    let mut waiting = vec![binding];
    while let Some(binding) = waiting.pop() {
        let op = &binding.op;
        let signature = Signature::of(binding, &|_| None);
        let compares = !signature.alike.is_empty()
            || signature.results.iter().any(|given| matches!(given.shape, Shape::Within(_)))
            || signature.extents.iter().any(|extent| !matches!(extent, Operand::Constant(_)));
        // What holds blocks that are run once, in any case or not at all, fails where they do.
        let of_blocks = matches!(op, ArrayOp::Cond { .. } | ArrayOp::Cluster { .. });
        if compares || (signature.fails && !of_blocks) {
            return true;
        }
        for part in op.parts() {
            match part {
                Part::Function(f) if function_can_fail(f) => return true,
                Part::Body(body) => waiting.extend(&body.bindings),
                _ => {}
            }
        }
    }
    false
}
