//! What may be computed where it is not needed.

use crate::{Binary, ElementType, Instruction, ScalarOp, ScalarOperand};

/// Whether computing an instruction where it is not needed costs little and cannot fail.
pub fn is_cheap(instruction: &Instruction) -> bool {
    match &instruction.op {
        ScalarOp::Unary { .. } | ScalarOp::Convert { .. } | ScalarOp::Bits { .. } => true,
        ScalarOp::Binary { function, a: _, b } => {
            let integer =
                instruction.results.iter().all(|result| result.ty != ElementType::F32 && result.ty != ElementType::F64);
            match function {
                Binary::Div => !integer,
                Binary::Rem | Binary::DivFloor | Binary::ModFloor => {
                    matches!(b, ScalarOperand::Constant(c) if c.bits() != 0) && integer
                }
                _ => true,
            }
        }
        ScalarOp::Fma { .. }
        | ScalarOp::Read { .. }
        | ScalarOp::ReadFlat { .. }
        | ScalarOp::While { .. }
        | ScalarOp::Assert { .. } => false,
        ScalarOp::If { then, otherwise, .. } => then.instructions.iter().chain(&otherwise.instructions).all(is_cheap),
    }
}
