//! The level that loops are emitted for.

use std::ops::Range;

use crate::vector::Value;

/// A level that is being emitted.
#[derive(Clone)]
pub(super) struct EmittedLevel {
    pub(super) depth: usize,
    pub(super) inner: Range<usize>,
    /// The level's first index.
    pub(super) from: Value,
    /// The one behind its last.
    pub(super) to: Value,
    /// Its scans in tiles.
    pub(super) tiled: Vec<usize>,
    /// Its reduces in blocks, and scans whose totals are.
    pub(super) blocked: Vec<usize>,
    /// Whether the accumulators of a block are in registers from its first element to its result.
    pub(super) held: bool,
}

impl EmittedLevel {
    /// A level without tiles and blocks.
    pub(super) fn plain(depth: usize, inner: Range<usize>, from: Value, to: Value) -> Self {
        Self { depth, inner, from, to, tiled: Vec::new(), blocked: Vec::new(), held: false }
    }
}
