//! Tiles of rows and columns: where rows across lanes are combined with each other, as in the product of a matrix and another that is transposed, some
//! steps of both levels around run at once. What a row and what a column load serves for several accumulators then, and no accumulator leaves its register.

use super::{
    builder::{Builder, Room},
    jam::BESIDE,
    rows::Row,
};
use crate::{
    gangs::inside,
    jam::{MOST_JAMMED, may_jam, shared_loads},
    registers::registers_innermost,
};

/// Statements of an iteration of all steps, at most.
const STATEMENTS: u32 = 256;

/// Steps of two levels that run at once, around rows across lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    /// The outer level.
    pub(super) level: usize,
    /// Steps of it.
    pub(super) rows: u32,
    /// Steps of the level inside, which are a window.
    pub(super) columns: u32,
}

impl Builder<'_> {
    /// The tile around the level across lanes where that is such a row: of those whose accumulators are all in registers, the one that loads least for each.
    pub(super) fn tile(&self, row: Row) -> Option<Tile> {
        let (Room::Cores(cpu, Some(gang)), None) = (&self.machine, self.preferences.jam) else { return None };
        let level = gang.level.checked_sub(2)?;
        let may = |level: usize| may_jam(self.kernel, level, false).is_ok() && shared_loads(self.kernel, level) > 0;
        // A row of one iteration is folded at once: what it loads is little beside that.
        if row.fewer_than <= row.lanes * row.unroll + 1 || !may(level) || !may(level + 1) {
            return None;
        }
        let one = registers_innermost(self.kernel, cpu, (level, row.lanes), |_| true);
        let statements = inside(self.kernel, gang.level).count() as u32 * row.unroll;
        let fits = |rows: u32, columns: u32| {
            // A gang of each column, and of one row, waits for the other side.
            one > 0
                && one * row.unroll * rows * columns + one * columns + BESIDE <= cpu.registers
                && statements * rows * columns <= STATEMENTS
        };
        let sides = |rows: u32| (2..=MOST_JAMMED / rows).map(move |columns| (rows, columns));
        let tiles = (2..=MOST_JAMMED / 2).flat_map(sides).filter(|&(rows, columns)| fits(rows, columns));
        // As many loads for each accumulator are as good; then fewer rows are left over.
        let (rows, columns) = tiles.min_by(|a, b| ((a.0 + a.1) * b.0 * b.1).cmp(&((b.0 + b.1) * a.0 * a.1)))?;
        Some(Tile { level, rows, columns })
    }
}
