//! Loops of scalars that the steps of a level go through, each step as long as it likes: nearly all of the level's time is in them.

use fusebox_ir::{
    Action, ElementType, Instruction, Kernel, ScalarOp, ScalarPart,
    analysis::kernels::{AcrossLanes, Lanes},
};

use crate::{gangs::inside, unroll::trips};

/// Whether a step of a level goes through a loop, other than one whose turns stand one behind the other.
pub(crate) fn has_loops(kernel: &Kernel, level: usize) -> bool {
    let mut found = false;
    in_loops(kernel, level, &mut |_| found = true);
    found
}

/// Bytes of the widest type that differs from lane to lane in such loops; none where nothing does.
pub(crate) fn bytes_in_loops(kernel: &Kernel, level: usize) -> Option<usize> {
    let lanes = Lanes::of(kernel, level);
    let mut bytes = None;
    in_loops(kernel, level, &mut |instruction| {
        let varies = instruction.results.iter().filter(|result| lanes.local(result.id) != AcrossLanes::Uniform);
        let own = varies.filter(|result| result.ty != ElementType::Bool).map(|result| result.ty.bytes());
        bytes = bytes.max(own.max());
    });
    bytes
}

/// The instructions that are loops, and those inside of them.
fn in_loops(kernel: &Kernel, level: usize, found: &mut impl FnMut(&Instruction)) {
    for (position, statement) in inside(kernel, level) {
        if let Action::Scalar(instruction) = &statement.action
            && trips(kernel, position).is_none()
        {
            within(instruction, false, found);
        }
    }
}

fn within(instruction: &Instruction, in_loop: bool, found: &mut impl FnMut(&Instruction)) {
    let in_loop = in_loop || matches!(instruction.op, ScalarOp::While { .. });
    if in_loop {
        found(instruction);
    }
    for part in instruction.op.parts() {
        if let ScalarPart::Body(body) = part {
            body.instructions.iter().for_each(|instruction| within(instruction, in_loop, found));
        }
    }
}
