//! Accumulators of one thread in its local memory.

use fusebox_ir::ElementType;

use crate::text::Reg;

/// Which accumulator an element belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// The element's number modulo so many.
    Interleaved(u32),
    /// So many runs of neighbours.
    Runs(u32),
    /// The same of a number of elements that is not known before: elements of a block are kept until they have all come.
    Kept(u32),
}

/// Accumulators in memory.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) lanes: Lanes,
    pub(crate) types: Vec<ElementType>,
    /// Bytes of an accumulator, and where in it the byte is that says whether it holds anything.
    pub(crate) stride: u64,
    pub(crate) levels: Vec<Level>,
}

#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) base: Reg,
    /// Elements of the block under way.
    pub(crate) count: Reg,
    /// Of runs.
    pub(crate) run: Option<Run>,
}

/// The run under way.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Elements of a run.
    pub(crate) length: Reg,
    pub(crate) lane: Reg,
    pub(crate) within: Reg,
    /// Elements of this level that have not come.
    pub(crate) rest: Reg,
}
