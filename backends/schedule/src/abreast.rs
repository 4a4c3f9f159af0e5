//! Points of a level whose inner levels run at the same time, step by step: where each step of a fold waits for the one before, those of
//! other points are done meanwhile.

use fusebox_ir::{Action, Association, Kernel};

use crate::gangs::inside;

/// Most points that are abreast: each has its own code.
pub const MOST_ABREAST: u32 = 8;

/// Whether a level may run for several points of the level around it at once. A ragged reduce in it must be known to go in order (`short`).
///
/// # Errors
/// The first reason why not.
pub fn may_be_abreast(kernel: &Kernel, level: usize, short: impl Fn(u32) -> bool) -> Result<(), String> {
    let Some(outer) = level.checked_sub(1) else {
        return Err("the outermost level has no points around it that could be abreast".to_owned());
    };
    for (position, statement) in inside(kernel, outer) {
        let depth = statement.depth as usize;
        let fits = match &statement.action {
            Action::Reduce { to, association, .. } => {
                let in_order = match *association {
                    Association::InOrder => true,
                    Association::Ragged { least, .. } => short(least),
                    _ => false,
                };
                in_order && *to as usize == level && depth == level + 1
            }
            Action::Load { .. } | Action::Scalar(_) | Action::Check { .. } => depth <= level + 1,
            Action::Store { .. } => depth <= level + 1 && !is_before(kernel, level, position),
            Action::Scan { .. } | Action::Append { .. } | Action::Scatter { .. } => false,
        };
        if !fits {
            return Err(format!("statement {position} cannot be done for several points of level {outer} at once"));
        }
    }
    Ok(())
}

/// Whether a statement stands before a level, in the one around: for points whose turn has not come it is executed more than once.
fn is_before(kernel: &Kernel, level: usize, position: usize) -> bool {
    let deeper = |statement: &fusebox_ir::Statement| statement.depth as usize > level;
    kernel.statements[position].depth as usize == level && kernel.statements[position..].iter().any(deeper)
}
