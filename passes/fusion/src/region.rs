//! What is known of a block beside its graph: where its operations stand, and who uses what.

use egg::Id;
use fusebox_ir::ArrayId;
use rustc_hash::FxHashMap;

/// What is known of a block beside its graph.
#[derive(Default)]
pub(crate) struct Region {
    /// Of the binding at each position: its class, if it is an operation of the graph.
    pub classes: Vec<Option<Id>>,
    /// Dependences that no clustering fuses on the way to a binding, the most.
    pub levels: Vec<usize>,
    /// The level of what makes an array in this block.
    pub level_of: FxHashMap<ArrayId, usize>,
}

/// How a binding uses a value.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Use {
    /// Element by element, in its own order or another: clustering may fuse.
    Traversed,
    /// Around each place.
    Tapped,
    /// By index, in a function.
    Read,
    /// As a scalar, as a whole, in a block.
    Other,
}

/// Who of the graph uses each class, by position, and how.
pub(crate) type Inside = FxHashMap<Id, Vec<(usize, Use)>>;
