//! Estimates of how much there is to do.

use fusebox_ir::{Action, Instruction, ScalarOp, ScalarPart, Statement};

/// Turns that loops of scalar code are taken to make.
const TURNS: u64 = 32;

/// Instructions of scalar code for one point of a statement.
pub(crate) fn statement(statement: &Statement) -> u64 {
    match &statement.action {
        Action::Scalar(scalar) => instruction(scalar),
        Action::Reduce { .. } | Action::Scan { .. } | Action::Scatter { .. } => 4,
        _ => 2,
    }
}

fn instruction(instruction: &Instruction) -> u64 {
    let turns = if matches!(instruction.op, ScalarOp::While { .. }) { TURNS } else { 1 };
    let bodies = instruction.op.parts().into_iter().filter_map(|part| match part {
        ScalarPart::Body(body) => Some(body),
        _ => None,
    });
    1 + turns * bodies.flat_map(|body| &body.instructions).map(self::instruction).sum::<u64>()
}
