//! In which order each level runs. Scans decide it, folds take either order, and what keeps to the order of its elements needs a level that
//! runs up.

use super::{Conflict, Finder, Over, Why, conflict, placement::Nest};
use crate::{ArrayOp, Direction, LevelOrder, PermuteOrder, analysis::algebra};

/// Orders of all levels, if no two operations need different ones.
pub(super) fn all(finder: &Finder<'_>, nest: &mut Nest) -> Result<(), Conflict> {
    for position in 0..finder.len() {
        let ArrayOp::Scan { direction, .. } = finder.op(position) else { continue };
        let order = if *direction == Direction::Left { LevelOrder::Up } else { LevelOrder::Down };
        let level = nest.points[position].depth as usize - 1;
        match nest.orders[level] {
            (LevelOrder::Parallel, _) => nest.orders[level] = (order, position),
            (other, _) if other == order => {}
            (_, by) => return Err(conflict(by, position, Why::Directions)),
        }
    }
    for position in 0..finder.len() {
        let depth = nest.points[position].depth as usize;
        let op = finder.op(position);
        let (levels, in_order) = match op {
            ArrayOp::Fold { combine, seeds, commutes, .. } => {
                let levels = nest.to[position] as usize..depth;
                // Seeds come from the left, which is the end of a level that runs down.
                let seeded = !seeds.is_empty() && !*commutes && !algebra(combine).commutes;
                let in_order = seeded || levels.len() > 1;
                for level in levels.clone() {
                    if nest.orders[level].0 == LevelOrder::Parallel {
                        nest.orders[level] = (LevelOrder::Up, position);
                    }
                }
                (levels, in_order)
            }
            ArrayOp::Permute { combine, order, .. } | ArrayOp::PermutedExpand { combine, order, .. } => {
                let known = algebra(combine);
                let any =
                    *order == PermuteOrder::Unique || *order == PermuteOrder::Source && known.commutes && !known.rounds;
                (0..depth, !any)
            }
            ArrayOp::Filter { .. } => (0..depth, nest.appended == Some(position)),
            _ => continue,
        };
        if let Some(&(_, by)) = levels.map(|level| &nest.orders[level]).find(|(order, _)| *order == LevelOrder::Down)
            && in_order
        {
            return Err(conflict(by, position, Why::SourceOrder));
        }
    }
    debug_assert!(nest.levels.iter().all(|level| !matches!(level, Over::Inner(at) if *at >= finder.len())));
    Ok(())
}
