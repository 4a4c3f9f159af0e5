//! Which level has pieces that run outside of the level around it: where what is loaded lies side by side along the outer level, and apart along
//! the inner one, as in a transposition; and where rows that are combined across lanes are loaded again at each step of the outer level, as in the
//! product of a matrix and another that is transposed.

use fusebox_ir::{
    Action, Kernel, KernelArrayId, Statement,
    analysis::kernels::{AcrossLanes, Lanes, trip_count},
};

use super::{
    Choice,
    builder::{Builder, Room},
};
use crate::{
    gangs::inside,
    interchange::may_be_interchanged,
    nest::Gang,
    schedule::{Axis, Nest, Node, SplitBy},
};

/// Steps of a window: so many lines are in the innermost cache until the outer level has gone through them, even where they are as far apart as lines that
/// share a set of it, and a processor sees so many rows of memory at once that are read in order. Of rows across lanes, so many are in a cache.
pub(super) const WINDOW: u32 = 8;

/// Shorter rows across lanes are no window.
const LONG_ROW: i64 = 64;

/// Arrays of which a load has its neighbours along one level, and not along the level inside of it.
fn across(kernel: &Kernel, outer: usize) -> impl Iterator<Item = KernelArrayId> {
    let (around, own) = (Lanes::of(kernel, outer), Lanes::of(kernel, outer + 1));
    inside(kernel, outer + 1).filter_map(move |(_, statement)| {
        let Action::Load { array, map, .. } = &statement.action else { return None };
        let apart = !matches!(own.position(map), AcrossLanes::Uniform | AcrossLanes::Linear(Some(1)));
        (apart && around.position(map) == AcrossLanes::Linear(Some(1))).then_some(*array)
    })
}

/// Whether rows along the level across lanes differ between steps of the level around it, and are the same at all steps of the one around that.
fn rows_come_again(kernel: &Kernel, outer: usize, gang: Gang) -> bool {
    let (around, own) = (Lanes::of(kernel, outer), Lanes::of(kernel, outer + 1));
    let again = |statement: &Statement| match &statement.action {
        Action::Load { map, .. } => {
            statement.depth as usize == gang.level + 1
                && around.position(map) == AcrossLanes::Uniform
                && own.position(map) != AcrossLanes::Uniform
        }
        _ => false,
    };
    gang.level == outer + 2
        && trip_count(&kernel.levels[gang.level]).is_none_or(|count| count >= LONG_ROW)
        && inside(kernel, outer).any(|(_, statement)| again(statement))
}

impl Builder<'_> {
    /// How many steps of the level inside of a level run at a time, outside of the level.
    pub(super) fn window(&self, outer: usize) -> Option<u32> {
        let Room::Cores(_, gang) = self.machine else { return None };
        if let Some(panels) = self.panels.as_ref().filter(|_| self.interchanged.is_none()) {
            return panels.window(outer);
        }
        if self.interchanged.is_some()
            || self.at_once.is_some()
            || self.rows_together
            || self.nest.partitioned().is_some()
            || self.preferences.interchanged == Some(false)
            || gang.is_some_and(|gang| gang.masked)
        {
            return None;
        }
        may_be_interchanged(self.kernel, outer).ok()?;
        let rows = gang.is_some_and(|gang| rows_come_again(self.kernel, outer, gang));
        if self.preferences.interchanged.is_none() && !rows && across(self.kernel, outer).next().is_none() {
            return None;
        }
        let lanes = gang.filter(|gang: &Gang| gang.level == outer + 1).map_or(1, |gang| gang.lanes);
        let steps = self.tile.map_or(WINDOW.max(lanes), |tile| tile.columns);
        let longer = trip_count(&self.kernel.levels[outer + 1]).is_none_or(|count| count > i64::from(steps));
        longer.then_some(steps)
    }

    /// How many steps of the outermost level load from one line, where the level inside runs in windows for that: a share of fewer would load whole lines and
    /// use parts of them.
    pub(super) fn steps_of_a_line(&self) -> u32 {
        let Room::Cores(cpu, _) = self.machine else { return 1 };
        if self.window(0).is_none() {
            return 1;
        }
        let bytes = across(self.kernel, 0).map(|array| self.kernel.arrays[array.index()].element.bytes());
        bytes.min().map_or(1, |bytes| cpu.line / bytes as u32)
    }

    /// Whether rows across lanes are the steps of a window.
    pub(super) fn windows_are_rows(&self, gang: Gang) -> bool {
        let outer = gang.level.checked_sub(2);
        outer.is_some_and(|outer| rows_come_again(self.kernel, outer, gang) && self.window(outer).is_some())
    }

    /// Whether a level runs in windows, outside of the level around it.
    pub(super) fn is_in_window(&self, level: usize) -> bool {
        self.interchanged.is_some_and(|(own, _)| own == level)
    }

    /// What the loops of a level run over where they stand: its steps, or those of a window.
    pub(super) fn axis_of(&self, level: usize) -> Axis {
        match self.interchanged {
            Some((own, steps)) if own == level => steps,
            _ => Axis(level as u32),
        }
    }
}

/// The pieces of a nest that run outside of the level around them, and why.
pub(super) fn choice(nest: &Nest, kernel: &Kernel) -> Option<Choice> {
    let levels = kernel.levels.len();
    let mut nodes: Vec<&Node> = nest.nodes.iter().collect();
    while let Some(node) = nodes.pop() {
        match node {
            Node::Loop(each) => {
                let level = nest.level_of(levels, each.axis)?;
                if let [Node::Loop(around)] = each.body.as_slice()
                    && nest.level_of(levels, around.axis).is_some_and(|outer| outer < level)
                    && let Some((split, true)) = nest.made_by(levels, each.axis)
                    && let SplitBy::Steps(steps) = split.by
                {
                    let rows = nest.gang_of(levels, &each.body).is_some_and(|gang| gang.level > level);
                    let (because, otherwise) = if around.pack.is_empty() && !rows {
                        (
                            "what is loaded lies side by side along the outer level: each line stays in the caches until all of it is used",
                            "each line is loaded again for each of its elements",
                        )
                    } else {
                        (
                            "what so many steps load is the same for all steps of the outer level, and stays in the caches until all of them had it",
                            "each step of the outer level loads all of it again",
                        )
                    };
                    return Some(Choice {
                        about: format!("the order of levels {} and {level}", level - 1),
                        chosen: format!(
                            "{steps} steps of level {level} at a time, for all steps of level {}",
                            level - 1
                        ),
                        because: because.to_owned(),
                        instead_of: vec![format!("one level inside of the other: {otherwise}")],
                    });
                }
                nodes.extend(&each.body);
            }
            Node::Do(_) => {}
            Node::Choose { then, otherwise, .. } => nodes.extend(then.iter().chain(otherwise)),
        }
    }
    None
}
