//! How much work functions are: estimates that decide what is done, never what it means.

use crate::{Binary, Instruction, Lambda, ScalarOp, Unary};

/// Instructions on one element in the time of a byte from memory.
pub const PER_BYTE: u64 = 4;
/// The most that work is counted: beyond this a function is dear, however dear.
const MOST_WORK: u64 = 1 << 20;
/// How often a loop is taken to turn.
const TURNS: u64 = 64;

/// Weighted instructions of one call: 1 for what every machine does in a cycle on vectors; divisions and roots, functions, loops more.
/// The right weights differ by machine.
pub fn work(f: &Lambda) -> u64 {
    let sum: u64 = f.instructions.iter().map(of_instruction).fold(0, u64::saturating_add);
    sum.min(MOST_WORK)
}

fn of_instruction(instruction: &Instruction) -> u64 {
    let float = instruction.results.first().is_some_and(|result| result.ty.is_float());
    match &instruction.op {
        ScalarOp::Unary { function, .. } => match function {
            Unary::Sqrt => 6,
            Unary::Neg
            | Unary::Not
            | Unary::Complement
            | Unary::Abs
            | Unary::Sign
            | Unary::Popcount
            | Unary::Clz
            | Unary::Ctz
            | Unary::Floor
            | Unary::Ceil
            | Unary::Trunc
            | Unary::Round
            | Unary::IsNan
            | Unary::IsInf => 1,
            _ => 24,
        },
        ScalarOp::Binary { function, .. } => match function {
            Binary::Div if float => 6,
            Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor => 12,
            Binary::Pow | Binary::Atan2 | Binary::Hypot => 48,
            _ => 1,
        },
        ScalarOp::Fma { .. } | ScalarOp::Convert { .. } | ScalarOp::Assert { .. } => 1,
        ScalarOp::Bits { .. } => 0,
        ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } => 2,
        // Vector code runs both branches where lanes disagree.
        ScalarOp::If { then, otherwise, .. } => 1 + work(then) + work(otherwise),
        ScalarOp::While { condition, step, .. } => TURNS * (1 + work(condition) + work(step)),
    }
}
