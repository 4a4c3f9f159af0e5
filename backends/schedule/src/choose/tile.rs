//! Tiles of rows and columns: where rows across lanes are combined with each other, as in the product of a matrix and another that is transposed, some
//! steps of both levels around run at once. What a row and what a column load serves for several accumulators then, and no accumulator leaves its register.

use fusebox_ir::Kernel;

use super::{Preferences, jam::BESIDE, rows::Row, together::STATEMENTS};
use crate::{
    gangs::inside,
    jam::{MOST_JAMMED, may_jam, shared_loads},
    nest::Gang,
    registers::registers_innermost,
    target::Cpu,
};

/// Steps of two levels that run at once, around rows across lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    /// The outer level.
    pub(super) level: usize,
    /// Steps of it.
    pub(super) rows: u32,
    /// Steps of the level inside, which are a window.
    pub(super) columns: u32,
    /// How the level inside of both runs; where it is longer than a block, each block of it.
    pub(super) row: Row,
}

impl Tile {
    /// The tile around the level across lanes where that is such a row: of those whose accumulators are all in registers, the one that loads least for each.
    pub(super) fn of(kernel: &Kernel, cpu: &Cpu, (gang, row): (Gang, Row), preferences: Preferences) -> Option<Self> {
        let level = gang.level.checked_sub(2).filter(|_| preferences.jam.is_none())?;
        let may = |level: usize| may_jam(kernel, level, false).is_ok() && shared_loads(kernel, level) > 0;
        // A row of one iteration is folded at once: what it loads is little beside that.
        if row.fewer_than <= row.lanes * row.unroll + 1 || !may(level) || !may(level + 1) {
            return None;
        }
        let one = registers_innermost(kernel, cpu, (level, row.lanes), |_| true);
        let statements = inside(kernel, gang.level).count() as u32 * row.unroll;
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
        Some(Self { level, rows, columns, row })
    }
}
