//! Statements that do more than compute: what one thread does at a point, and what threads do together.

mod append;
pub(crate) mod atomic;
mod load;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod scatter;
mod store;
pub(crate) mod table;

use crate::text::Reg;

/// A reduce or scan whose elements several threads make.
#[derive(Clone, Debug)]
pub(crate) enum Together {
    /// A thread combines its elements in registers, and says whether it has any.
    Own {
        /// One for each component.
        accumulators: Vec<Reg>,
        /// Whether they hold anything.
        present: Option<Reg>,
    },
    /// Elements go to memory, each to its place.
    Put(Staged),
    /// Results come from memory, each from its place.
    Take(Staged),
}

/// Elements of a chunk in memory.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    pub(crate) place: Reg,
}
