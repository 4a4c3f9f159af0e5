//! What the totals of a kernel's tiles need of it: a first pass over a tile, whose carry is not known yet, computes no more.

use std::collections::HashSet;

use crate::{
    Action, Association, Constant, Failure, FailureKind, Kernel, LocalId, Place, ScalarOperand, Statement,
    analysis::need::local,
};

/// What is made out of the results of scans along a level.
fn made_of_scans(kernel: &Kernel, level: usize) -> HashSet<LocalId> {
    let mut made: HashSet<LocalId> = HashSet::new();
    for statement in &kernel.statements {
        let scan = statement.depth as usize == level + 1 && matches!(statement.action, Action::Scan { .. });
        if scan || statement.used_locals().iter().any(|id| made.contains(id)) {
            made.extend(defined(statement));
        }
    }
    made
}

/// Whether the scans along the outermost level are in tiles, and none of them needs what one of them makes: then the total of a tile can
/// be computed before the tile's carry is known.
pub fn has_totals(kernel: &Kernel) -> bool {
    has_totals_along(kernel, 0)
}

/// The same of the scans along another level.
pub fn has_totals_along(kernel: &Kernel, level: usize) -> bool {
    let made = made_of_scans(kernel, level);
    let apart = kernel.statements.iter().all(|statement| match &statement.action {
        Action::Scan { association, .. } if statement.depth as usize == level + 1 => {
            matches!(association, Association::Tiles { .. })
                && !statement.used_locals().iter().any(|id| made.contains(id))
        }
        _ => true,
    });
    // Bounds of inner levels count as uses of what is inside.
    let bound = |operand: ScalarOperand| matches!(operand, ScalarOperand::Local(id) if made.contains(&id));
    apart && !kernel.levels.iter().any(|level| bound(level.from) || bound(level.to))
}

/// The kernel with only those statements that the totals of tiles need, and the checks before them; others do nothing, at their places.
pub fn totals_only(kernel: &Kernel) -> Kernel {
    totals_along(kernel, 0)
}

/// The same for the totals of scans along another level: of checks only those inside of it.
pub fn totals_along(kernel: &Kernel, level: usize) -> Kernel {
    let without_checks = needed(kernel, 0, level);
    let deepest = without_checks.iter().map(|&position| kernel.statements[position].depth).max().unwrap_or(0);
    let needed = needed(kernel, deepest, level);
    let mut kernel = kernel.clone();
    for (position, statement) in kernel.statements.iter_mut().enumerate() {
        if !needed.contains(&position) {
            let message = String::new();
            let fault = FailureKind::Assertion { message, shown: Vec::new() };
            let failure = Failure { operation: String::new(), place: Place::default(), fault };
            statement.action = Action::Check { condition: Constant::from(true).into(), failure };
            statement.when = None;
            statement.depth = statement.depth.min(deepest);
        }
    }
    kernel
}

/// Statements that totals of scans along a level need; of checks those of depth 1 to `checks`.
fn needed(kernel: &Kernel, checks: u32, level: usize) -> HashSet<usize> {
    // Checks of what scans make are the second pass's.
    let made = made_of_scans(kernel, level);
    let mut positions = HashSet::new();
    let mut locals: HashSet<LocalId> = HashSet::new();
    for (position, statement) in kernel.statements.iter().enumerate().rev() {
        let wanted = match &statement.action {
            Action::Scan { .. } if statement.depth as usize == level + 1 => true,
            Action::Check { .. } => {
                statement.depth <= checks && !statement.used_locals().iter().any(|id| made.contains(id))
            }
            Action::Load { .. } | Action::Scalar(_) | Action::Reduce { .. } | Action::Scan { .. } => {
                defined(statement).iter().any(|id| locals.contains(id))
            }
            Action::Store { .. } | Action::Append { .. } | Action::Scatter { .. } => false,
        };
        if wanted {
            positions.insert(position);
            locals.extend(statement.used_locals());
            for level in &kernel.levels[..statement.depth as usize] {
                locals.extend([level.from, level.to].iter().filter_map(local));
            }
        }
    }
    positions
}

fn defined(statement: &Statement) -> Vec<LocalId> {
    statement.results().into_iter().map(|local| local.id).collect()
}
