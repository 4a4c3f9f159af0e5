//! Which statements a schedule places.

use fusebox_ir::{Action, Constant, Kernel, ScalarOperand, Statement};

/// Whether a statement does more than compute a value: it changes memory or an accumulator, or may fail.
pub fn has_effect(statement: &Statement) -> bool {
    match &statement.action {
        Action::Load { map, .. } => map.checked,
        // Instructions that may fail do so only where their values are needed, as everywhere inside of a function.
        Action::Scalar(_) => false,
        // What never fails, as parts of kernels have where a statement is left out.
        Action::Check { condition, .. } => *condition != ScalarOperand::Constant(Constant::from(true)),
        Action::Reduce { .. }
        | Action::Scan { .. }
        | Action::Store { .. }
        | Action::Append { .. }
        | Action::Scatter { .. } => true,
    }
}

/// The statements of a kernel that a schedule places, by position.
pub fn effects(kernel: &Kernel) -> impl Iterator<Item = (usize, &Statement)> {
    kernel.statements.iter().enumerate().filter(|(_, statement)| has_effect(statement))
}
