//! Which loops of scalar instructions may stand as often as they turn.

use fusebox_ir::{
    Action, Instruction, Kernel, ScalarOp, ScalarPart,
    analysis::kernels::{Trips, constant_trips},
};

/// Turns, at most.
const MOST_TURNS: u32 = 256;
/// Instructions of all turns, at most.
const MOST_INSTRUCTIONS: usize = 4096;

/// The turns of a statement that is a loop, if they are known and their code is not too much.
pub(crate) fn trips(kernel: &Kernel, position: usize) -> Option<Trips> {
    let Action::Scalar(instruction) = &kernel.statements.get(position)?.action else { return None };
    let ScalarOp::While { condition, step, starts } = &instruction.op else { return None };
    let trips = constant_trips(condition, step, starts, MOST_TURNS)?;
    let length = instructions(step.instructions.iter());
    (length.saturating_mul(trips.turns as usize) <= MOST_INSTRUCTIONS).then_some(trips)
}

/// Instructions with those of their bodies.
fn instructions<'k>(list: impl Iterator<Item = &'k Instruction>) -> usize {
    list.map(|instruction| {
        let bodies = instruction.op.parts().into_iter().filter_map(|part| match part {
            ScalarPart::Body(body) => Some(instructions(body.instructions.iter())),
            ScalarPart::Operand(_) | ScalarPart::Array(_) => None,
        });
        1 + bodies.sum::<usize>()
    })
    .sum()
}
