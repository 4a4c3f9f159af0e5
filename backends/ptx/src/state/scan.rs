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
    /// For each doubling the lanes as they were before it.
    pub(crate) had: Reg,
    pub(crate) total: Option<Table>,
}

impl Running {
    /// Bytes of a value of all components.
    pub(crate) fn stride(&self) -> u64 {
        8 * self.types.len() as u64 + 8
    }
}
