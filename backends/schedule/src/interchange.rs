//! Loops interchanged: pieces of a level run outside of the level around it, so that what both levels touch is a tile. Lines of memory that neighbours
//! along the outer level share are then in the caches when the next of them comes.

use fusebox_ir::{Action, Kernel, ScatterOrder};

use crate::{
    effects::has_effect,
    gangs::{inside, is_counted_before},
};

/// Whether pieces of the level inside of a level may run outside of it.
///
/// # Errors
/// The first reason why not.
pub fn may_be_interchanged(kernel: &Kernel, outer: usize) -> Result<(), String> {
    let inner = outer + 1;
    if inner >= kernel.levels.len() {
        return Err(format!("there is no level inside of level {outer}"));
    }
    if !is_counted_before(kernel, inner) {
        return Err(format!("how many steps level {inner} has is not known before the loops"));
    }
    for (position, statement) in inside(kernel, outer) {
        let direct = statement.depth as usize == inner;
        if direct && has_effect(statement) {
            return Err(format!("statement {position} stands between both levels, and would run once for each piece"));
        }
        let (along, moves) = match &statement.action {
            Action::Reduce { to, .. } => (true, *to as usize > inner),
            Action::Scan { .. } => (true, statement.depth as usize > inner + 1),
            Action::Append { .. } => (false, false),
            Action::Scatter { order, .. } => (false, matches!(order, ScatterOrder::Any | ScatterOrder::Unique)),
            Action::Load { .. } | Action::Scalar(_) | Action::Check { .. } | Action::Store { .. } => (false, true),
        };
        if !moves {
            let what = if along { "goes along one of both levels" } else { "takes its elements in order" };
            return Err(format!("statement {position} {what}"));
        }
    }
    Ok(())
}
