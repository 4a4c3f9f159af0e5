//! Scans.

use fusebox_ir::ElementType;

use super::{Accumulator, Table};
use crate::text::Reg;

/// A scan under way.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) types: Vec<ElementType>,
    /// What is before the gang, or before the element where there are no gangs.
    pub(crate) running: Accumulator,
    pub(crate) gangs: Option<Gangs>,
}

/// The gangs of a tile.
#[derive(Clone, Debug)]
pub(crate) struct Gangs {
    pub(crate) lanes: u32,
    pub(crate) carry: Accumulator,
    /// The running total without the carry.
    pub(crate) bare: Accumulator,
    /// What the gang gives so far.
    pub(crate) prefix: Accumulator,
    pub(crate) lane: Reg,
    /// Elements of the tile.
    pub(crate) count: Reg,
    pub(crate) had: Had,
    pub(crate) total: Option<Table>,
    /// Whether there may be more steps than the lanes of one gang.
    pub(crate) several: bool,
    /// Whether the total of a tile is needed: not where there is only one, and nobody asks for the total of all.
    pub(crate) totals: bool,
}

/// For each doubling the lanes of the gang as they were before it.
#[derive(Clone, Debug)]
pub(crate) enum Had {
    /// All of them, in memory.
    Memory(Reg),
    /// Those that are still needed: of doubling d the last 2^d, from the last on.
    Registers(Vec<Vec<Accumulator>>),
}

impl Running {
    /// Bytes of a value of all components.
    pub(crate) fn stride(&self) -> u64 {
        8 * self.types.len() as u64 + 8
    }
}
