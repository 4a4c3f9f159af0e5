//! The one estimate of how much work scalar code is. It decides what is done, and never what that means.
//!
//! The unit is what a core does for one element in the time in which its vector unit retires one simple instruction (an addition, a
//! comparison): an instruction on a vector of n elements is n units. The right weights differ from machine to machine.

use crate::{Action, ArrayOp, Binary, Binding, Instruction, Lambda, ScalarOp, Statement, Unary};

/// Instructions on one element in the time of a byte from memory.
pub const PER_BYTE: u64 = 4;
/// The most that work is counted: beyond this a function is expensive, however expensive.
const MOST_WORK: u64 = 1 << 20;
/// How often a loop in scalar code is taken to turn.
const ASSUMED_TRIPS: u64 = 64;
/// What a load, a store, a check or an accumulator takes at one point of a kernel, beside the time of memory.
const PER_ACCESS: u64 = 2;

/// Units of one call.
pub fn work(f: &Lambda) -> u64 {
    let sum: u64 = f.instructions.iter().map(work_of_instruction).fold(0, u64::saturating_add);
    sum.min(MOST_WORK)
}

/// Whether elements cost less to make than to read: repeated ones of a smaller array, or some that are made of their indices alone.
pub fn costs_less_than_its_read(binding: &Binding) -> bool {
    match &binding.op {
        ArrayOp::Replicate { .. } | ArrayOp::ReplicateSegments { .. } => true,
        ArrayOp::Generate { f, .. } => {
            let mut reads = false;
            f.outer_uses(&mut |_| reads = true);
            let bytes: usize = binding.results.iter().map(|var| var.ty.element.bytes()).sum();
            !reads && work(f) <= bytes as u64 * PER_BYTE
        }
        _ => false,
    }
}

/// Units of a kernel's statement at one point of its depth.
pub fn work_of_statement(statement: &Statement) -> u64 {
    match &statement.action {
        Action::Scalar(instruction) => work_of_instruction(instruction),
        Action::Reduce { combine, .. } | Action::Scan { combine, .. } | Action::Scatter { combine, .. } => {
            PER_ACCESS + work(combine)
        }
        Action::Load { outside, .. } => PER_ACCESS + outside.as_ref().map_or(0, work),
        Action::Store { .. } | Action::Append { .. } | Action::Check { .. } => PER_ACCESS,
    }
}

/// Units of one execution of an instruction.
pub fn work_of_instruction(instruction: &Instruction) -> u64 {
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
        ScalarOp::While { condition, step, .. } => ASSUMED_TRIPS * (1 + work(condition) + work(step)),
    }
}
