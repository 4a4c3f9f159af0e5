//! Nests for launches in which the level across lanes has few steps: lanes along another level, or narrow gangs.

use fusebox_ir::{Action, Kernel, analysis::kernels::trip_count};

use super::{
    builder::{Builder, Room},
    gain::Tally,
    gang::{SHORTEST, gang_along},
    rows::{MOST_STATEMENTS, rows},
};
use crate::{
    gangs::{inside, is_counted_before, may_be_lanes, may_run_twice},
    jam::combines,
    nest::Gang,
    schedule::Node,
};

/// Lanes of gangs along columns of small matrices: rows of four, and of eight.
const NARROW: [u32; 2] = [4, 8];

/// Gangs of the shortest vectors, for short rows whose rest would be single steps: where rows are added to others.
fn narrow(kernel: &Kernel, gang: Gang) -> Option<Gang> {
    let scatters = inside(kernel, gang.level).filter_map(|(_, statement)| match &statement.action {
        Action::Scatter { arrays, .. } => arrays.iter().map(|array| kernel.arrays[array.index()].element.bytes()).max(),
        _ => None,
    });
    let lanes = SHORTEST / scatters.max()? as u32;
    let narrower = gang.level > 0 && lanes > 1 && lanes < gang.lanes && may_be_lanes(kernel, gang.level, lanes).is_ok();
    narrower.then_some(Gang { lanes, ..gang })
}

impl Builder<'_> {
    /// Where the level across lanes may be too short for gangs: it, an outer level that can take its place, and below how many steps. Where
    /// steps of the level around run all at once none takes its place.
    pub(super) fn short(&self) -> Option<(Gang, Option<Gang>, u32)> {
        let (Room::Cores(cpu, _), gang) = (&self.machine, self.gang()?) else { return None };
        let known =
            trip_count(&self.kernel.levels[gang.level]).is_some() || !is_counted_before(self.kernel, gang.level);
        if known || gang.masked || self.preferences.gang.is_some() || self.kernel.statements.len() > MOST_STATEMENTS {
            return None;
        }
        if self.at_once.is_some() {
            return Some((gang, None, gang.lanes));
        }
        let outer = (0..gang.level).rev().filter_map(|level| {
            // What is combined has few elements then, and what is done with the result counts as much. Other rows have gangs of their own.
            let few = combines(self.kernel, gang.level).then(|| Tally::of_few_inside(self.kernel, cpu, level));
            let gains = |tally: Tally| Some((tally, gang_along(self.kernel, cpu, level, &tally)?));
            few.into_iter().chain([Tally::of(self.kernel, cpu, level)]).find_map(gains)
        });
        let Some((tally, outer)) = outer.max_by_key(|(tally, gang)| (tally.score(), gang.level)) else {
            let narrow = narrow(self.kernel, gang).or_else(|| self.narrow_columns());
            return narrow.map(|narrow| (gang, Some(narrow), gang.lanes));
        };
        // The last gang is masked, or overlaps the one before it.
        let whole = rows(self.kernel, cpu, gang, self.preferences.rows).iter().any(|row| row.lanes > 1)
            || (self.preferences.overlap != Some(false) && may_run_twice(self.kernel, gang.level));
        let own = Tally::of_few_inside(self.kernel, cpu, gang.level);
        Some((gang, Some(outer), own.short_below(gang.lanes, whole, (&tally, outer.lanes))))
    }

    /// Whether the level that takes the place of a gang's may have few steps, too: small matrices, of which there are many.
    pub(super) fn may_be_short_too(&self, gang: Gang, outer: Gang) -> bool {
        // What is combined along the level has rows for few steps.
        let combined = inside(self.kernel, gang.level)
            .any(|(_, statement)| matches!(statement.action, Action::Reduce { to, .. } if to as usize <= gang.level));
        !combined
            && outer.level > 0
            && outer.level < gang.level
            && trip_count(&self.kernel.levels[outer.level]).is_none()
            && is_counted_before(self.kernel, outer.level)
    }

    /// All loops and statements where a gang's level is short: those with gangs of another level, or narrow gangs where that is short, too.
    pub(super) fn both_short(&mut self, gang: Gang, outer: Gang, otherwise: Vec<Node>) -> Vec<Node> {
        let legal = |lanes: &u32| *lanes < gang.lanes && may_be_lanes(self.kernel, gang.level, *lanes).is_ok();
        let lanes: Vec<u32> = NARROW.into_iter().filter(legal).collect();
        let mut then: Option<Vec<Node>> = None;
        for lanes in lanes {
            self.machine.set_gang(Some(Gang { lanes, ..gang }));
            // One nest for each: code takes time.
            self.long = Some(self.kernel.levels.len() - 1);
            let own = self.whole();
            self.long = None;
            then = Some(match then {
                None => own,
                Some(then) => vec![Node::Choose { level: gang.level as u32, fewer_than: lanes, then, otherwise: own }],
            });
        }
        let Some(then) = then else { return otherwise };
        vec![Node::Choose { level: outer.level as u32, fewer_than: outer.lanes, then, otherwise }]
    }
}
