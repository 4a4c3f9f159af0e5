//! What makes the nest of a kernel: the kernel, what there is to run it on, and what is known where loops stand.

use std::collections::BTreeSet;

use fusebox_ir::{Kernel, analysis::kernels::LongLevels};

use crate::{
    choose::{Preferences, at_once::AtOnce, tile::Tile, together::Together},
    nest::Gang,
    schedule::{Axis, Nest},
    target::Cpu,
};

/// What is known of the length of a level where its loops stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Trip {
    /// Thresholds of ragged reduces that have been decided.
    pub(super) decided: BTreeSet<u32>,
    /// It has fewer steps.
    pub(super) below: Option<i64>,
    /// It has more steps than stand in a row.
    pub(super) many: bool,
    /// Where it has fewer steps than so many it runs as a row, and here it has more.
    pub(super) no_row: Option<u32>,
    /// It has so many steps at least.
    pub(super) least: u32,
}

/// The panels of a nest.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    /// The level before whose loops they are made.
    pub(super) before: usize,
    /// The level that has a gang at each step.
    pub(super) level: usize,
    /// It has fewer steps.
    pub(super) fewer_than: u32,
    /// The loads.
    pub(super) statements: Vec<u32>,
    /// Where the level across lanes is inside of the one before whose loops they are made: the lanes of a gang, which is a window.
    pub(super) window: Option<u32>,
}

impl Panels {
    /// How many steps of the level inside of a level run outside of it.
    pub(super) fn window(&self, outer: usize) -> Option<u32> {
        self.window.filter(|_| self.before == outer)
    }
}

/// Makes the nest of a kernel.
pub(super) struct Builder<'k> {
    pub(super) kernel: &'k Kernel,
    /// What the kernel is where levels are long.
    pub(super) long_levels: &'k LongLevels,
    pub(super) machine: Room<'k>,
    pub(super) preferences: Preferences,
    /// Steps of a level that run all at once.
    pub(super) at_once: Option<AtOnce>,
    /// A level that has fewer steps than this.
    pub(super) short: Option<(usize, u32)>,
    /// What is copied to panels.
    pub(super) panels: Option<Panels>,
    /// A level that has fewer steps than so many, which are few.
    pub(super) count: Option<(usize, u32)>,
    /// A level that has too many steps for panels.
    pub(super) long: Option<usize>,
    /// A level of which pieces run outside of the one around it, and the steps of a piece.
    pub(super) interchanged: Option<(usize, Axis)>,
    /// How rows of the level across lanes are folded together, if they are.
    pub(super) together: Option<Together>,
    /// Whether the nest is being made in which they are.
    pub(super) rows_together: bool,
    /// How many steps the level across lanes has at least, by the choices around.
    pub(super) least: u32,
    /// A level that has this many steps or more.
    pub(super) longer_than: Option<(usize, u32)>,
    /// Steps of two levels that run at once around rows, where the nest being made has them.
    pub(super) tile: Option<Tile>,
    /// Gangs of columns that run at once in the nest being made.
    pub(super) gangs_of_columns: u32,
    /// A level that has fewer steps than this, which are a row.
    pub(super) shorter_than: Option<(usize, u32)>,
    pub(super) nest: Nest,
}

/// What there is to run on.
pub(super) enum Room<'k> {
    /// Threads, with a level across lanes.
    Cores(&'k Cpu, Option<Gang>),
    /// One thread of many, which goes through levels one step after the other.
    Thread,
}

impl Room<'_> {
    pub(super) fn set_gang(&mut self, gang: Option<Gang>) {
        if let Self::Cores(_, own) = self {
            *own = gang;
        }
    }
}
