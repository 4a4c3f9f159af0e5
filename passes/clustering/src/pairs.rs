//! Pairs of nodes that might be fused, and why some never are.

use crate::graph::Complete;

/// Two nodes that might be fused: a producer and its consumer, or two that traverse the same array.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// The producer, or the earlier one.
    pub(crate) a: usize,
    pub(crate) b: usize,
    /// The outputs of `a` that `b` traverses; none of two that only read the same.
    pub(crate) outputs: Vec<usize>,
    /// The arrays that need not be read (again) if they are fused.
    pub(crate) weight: u32,
    /// Why they are never fused, whatever else is.
    pub(crate) refused: Option<Refusal>,
}

impl Pair {
    /// Whether it is a producer and its consumer.
    pub(crate) fn is_vertical(&self) -> bool {
        !self.outputs.is_empty()
    }
}

/// Why nodes cannot share a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An edge between the two must be complete.
    Complete(Complete),
    /// Something between them must be complete.
    Between(usize),
    /// The first is too expensive to be computed wherever the second reads it.
    Expensive(usize),
    /// One is needed anyway, the other only by a branch.
    Need,
    /// Different segments.
    Segments,
    /// They run in different orders.
    Order,
    /// It is stored too, so it is made in the order of memory.
    Stored(usize),
    /// Rows of different lengths are combined inside.
    Inner,
    /// Two groups of elements would be appended, one beside the other.
    Appends(usize, usize),
    /// Something outside the cluster would have to stand between.
    Cycle(usize),
    /// Nothing that is read or made is shared.
    Apart,
    /// The shared analysis of nests says no.
    Nest(String),
}
