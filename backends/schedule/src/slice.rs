//! What a statement needs of its level, where that can be computed at any time, again and again.

use std::collections::BTreeSet;

use fusebox_ir::{
    Action, Kernel, LocalId, Statement,
    analysis::{kernels::is_cheap, need::local},
};

/// More statements than this for an element are not limited by accumulators in memory.
pub const MOST_STATEMENTS: usize = 24;

/// A reduce or a scan of a level, and the loads and cheap instructions of that level that its elements are made of; none if they are made of
/// something else, or of too much.
pub fn free_slice(kernel: &Kernel, level: usize, position: usize) -> Option<BTreeSet<usize>> {
    let statements = &kernel.statements;
    let mut slice = BTreeSet::from([position]);
    let wanted = |statement: &Statement| -> Vec<LocalId> {
        match &statement.action {
            // What comes out of a scan is not needed for its total.
            Action::Scan { values, .. } | Action::Reduce { values, .. } => {
                values.iter().chain(&statement.when).filter_map(local).collect()
            }
            _ => statement.used_locals(),
        }
    };
    let mut locals: BTreeSet<LocalId> = wanted(&statements[position]).into_iter().collect();
    let inner = (0..position).rev().filter(|&earlier| statements[earlier].depth as usize > level);
    for earlier in inner {
        let statement = &statements[earlier];
        if !statement.results().into_iter().any(|result| locals.contains(&result.id)) {
            continue;
        }
        let free = statement.depth as usize == level + 1
            && match &statement.action {
                Action::Load { map, outside, .. } => !map.checked && outside.is_none(),
                Action::Scalar(instruction) => is_cheap(instruction),
                _ => false,
            };
        if !free {
            return None;
        }
        slice.insert(earlier);
        locals.extend(wanted(statement));
    }
    (slice.len() <= MOST_STATEMENTS).then_some(slice)
}
