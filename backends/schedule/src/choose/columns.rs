//! Columns that are combined: the outermost level is across lanes, and the level inside goes from row to row. A gang reads little of each row, and each
//! combination waits for the one before it; several gangs at once read more of a row, and none waits for another.

use fusebox_ir::{
    Action,
    analysis::kernels::{AcrossLanes, Lanes, trip_count},
};

use super::builder::{Builder, Room};
use crate::{
    gangs::{has_border, inside, may_be_lanes},
    jam::{combines, may_jam},
    nest::Gang,
    registers::registers_innermost,
    schedule::Node,
};

/// Statements of all gangs at once, at most.
const STATEMENTS: u32 = 64;

/// Lanes of gangs of few columns.
const NARROW: u32 = 8;

/// Gangs at once where columns are not many: threads have something to share then.
const SOME: u32 = 2;

/// Columns are many from so many times the gangs at once on.
const MANY: u32 = 2;

impl Builder<'_> {
    /// All loops and statements: where columns are combined, by how many there are.
    pub(super) fn whole(&mut self) -> Vec<Node> {
        let Some((gang, most)) = self.most_gangs_of_columns() else { return self.whole_nest() };
        let steps = trip_count(&self.kernel.levels[gang.level]);
        let (some, many) = (SOME * gang.lanes, MANY * most * gang.lanes);
        let mut nest = |gangs: u32| {
            self.gangs_of_columns = gangs;
            let nodes = self.whole_nest();
            self.gangs_of_columns = 1;
            nodes
        };
        match steps {
            Some(steps) if steps < some.into() => nest(1),
            Some(steps) if steps < many.into() => nest(SOME),
            Some(_) => nest(most),
            None => {
                let choose = |fewer_than: u32, then, otherwise| {
                    vec![Node::Choose { level: gang.level as u32, fewer_than, then, otherwise }]
                };
                let few = nest(1);
                let some_nest = nest(SOME);
                let otherwise = if most > SOME { choose(many, some_nest, nest(most)) } else { some_nest };
                choose(some, few, otherwise)
            }
        }
    }

    /// Gangs of few lanes for columns that do not fill another: single columns would each go through all rows.
    pub(super) fn narrow_columns(&self) -> Option<Gang> {
        let (gang, _) = self.most_gangs_of_columns()?;
        let fits = gang.lanes > NARROW && may_be_lanes(self.kernel, gang.level, NARROW).is_ok();
        fits.then_some(Gang { lanes: NARROW, ..gang })
    }

    /// How many gangs of columns run at once, at most: as many as have their accumulators in half of the registers.
    fn most_gangs_of_columns(&self) -> Option<(Gang, u32)> {
        let Room::Cores(cpu, Some(gang)) = self.machine else { return None };
        let kernel = self.kernel;
        let plain = gang.level == 0
            && !gang.masked
            && kernel.levels.len() == 2
            && self.preferences.jam != Some(1)
            && self.at_once.is_none()
            && self.panels.is_none()
            && !self.rows_together
            && self.short.is_none();
        if !plain || !combines(kernel, 0) || has_border(kernel, 0) || may_jam(kernel, 0, false).is_err() {
            return None;
        }
        let (columns, rows) = (Lanes::of(kernel, 0), Lanes::of(kernel, 1));
        let mut read = false;
        for (_, statement) in inside(kernel, 1) {
            let Action::Load { map, .. } = &statement.action else { continue };
            match columns.position(map) {
                AcrossLanes::Uniform => {}
                AcrossLanes::Linear(Some(1)) => read |= rows.position(map) != AcrossLanes::Uniform,
                _ => return None,
            }
        }
        let one = registers_innermost(kernel, cpu, (0, gang.lanes), |_| true);
        let statements = inside(kernel, 0).count() as u32;
        let fits = |gangs: &u32| one * gangs <= cpu.accumulator_registers() && statements * gangs <= STATEMENTS;
        let most = (1..=3).map(|bits| 1 << bits).take_while(fits).last()?;
        (read && one > 0).then_some((gang, most))
    }
}
