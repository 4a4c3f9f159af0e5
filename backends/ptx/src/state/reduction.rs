//! Reduces.

use super::{Accumulator, Table};
use crate::text::Reg;

/// A reduce under way.
#[derive(Clone, Debug)]
pub(crate) enum Reduction {
    /// One element after the other, into these registers.
    InOrder(Accumulator),
    /// Accumulators in memory.
    Table(Table),
    /// In order where there are fewer elements than so many, else accumulators in memory.
    Ragged {
        /// From how many elements on accumulators are used.
        least: u32,
        /// What counts elements.
        count: Reg,
        /// In order, from the seeds.
        short: Accumulator,
        /// The others.
        long: Table,
    },
}
