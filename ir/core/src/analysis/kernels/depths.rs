//! Where in a kernel each local is made, and how long its levels are.

use std::collections::HashMap;

use crate::{Action, Kernel, Level, LocalId, ScalarOperand};

/// The depth at which each local of a kernel is made: sizes at 0, the index of a level inside of it, results of a reduce at the depth that it
/// reduces to, totals of a scan around its level.
pub fn depths(kernel: &Kernel) -> HashMap<LocalId, usize> {
    let mut known: HashMap<LocalId, usize> = kernel.sizes.iter().map(|size| (size.id, 0)).collect();
    known.extend(kernel.levels.iter().enumerate().map(|(depth, level)| (level.index.id, depth + 1)));
    for statement in &kernel.statements {
        let depth = statement.depth as usize;
        match &statement.action {
            Action::Load { result, .. } => {
                known.insert(result.id, depth);
            }
            Action::Scalar(instruction) => known.extend(instruction.results.iter().map(|result| (result.id, depth))),
            Action::Reduce { results, to, .. } => known.extend(results.iter().map(|result| (result.id, *to as usize))),
            Action::Scan { results, totals, .. } => {
                known.extend(results.iter().map(|result| (result.id, depth)));
                known.extend(totals.iter().map(|total| (total.id, depth.saturating_sub(1))));
            }
            Action::Check { .. } | Action::Store { .. } | Action::Append { .. } | Action::Scatter { .. } => {}
        }
    }
    known
}

/// How many steps a level has, where its bounds are numbers.
pub fn trip_count(level: &Level) -> Option<i64> {
    let number = |operand: ScalarOperand| match operand {
        ScalarOperand::Constant(constant) => constant.as_i64(),
        ScalarOperand::Local(_) | ScalarOperand::Outer(_) => None,
    };
    Some(number(level.to)?.checked_sub(number(level.from)?).unwrap_or(0).max(0))
}
