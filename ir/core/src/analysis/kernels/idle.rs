//! Levels without whose steps a kernel does nothing around them, however many points that is.

use crate::{
    Action, Kernel, ScalarOperand, Statement,
    analysis::{function_can_fail, instruction_can_fail},
};

/// Levels such that, where one of them has no steps, nothing happens at any point of a depth: what the statements there and inside of it make is
/// used by nobody. Their bounds are constants and sizes, so that a launch knows their steps.
///
/// An array of 2^49 rows of no elements takes no memory, and no time either where its rows are not gone through.
pub fn idle_without(kernel: &Kernel, depth: usize) -> Vec<usize> {
    let known = |bound: ScalarOperand| match bound {
        ScalarOperand::Constant(_) => true,
        ScalarOperand::Local(id) => kernel.sizes.iter().any(|size| size.id == id),
        ScalarOperand::Outer(_) => false,
    };
    let puts = |statement: &Statement| matches!(statement.action, Action::Append { .. });
    // The number of elements put is stored at depth 0.
    if depth == 0 && kernel.statements.iter().any(puts) {
        return Vec::new();
    }
    let first = kernel.statements.iter().filter(|statement| statement.depth as usize >= depth && acts(statement));
    let first = first.map(|statement| statement.depth as usize).min().unwrap_or(0);
    let levels = kernel.levels.iter().enumerate().take(first).skip(depth);
    levels.filter(|(_, level)| known(level.from) && known(level.to)).map(|(level, _)| level).collect()
}

/// Whether a statement does something at a point beside making values for others at it.
fn acts(statement: &Statement) -> bool {
    match &statement.action {
        Action::Load { map, outside, .. } => map.checked || outside.as_ref().is_some_and(function_can_fail),
        Action::Scalar(instruction) => instruction_can_fail(instruction),
        Action::Check { .. }
        | Action::Reduce { .. }
        | Action::Scan { .. }
        | Action::Store { .. }
        | Action::Append { .. }
        | Action::Scatter { .. } => true,
    }
}
