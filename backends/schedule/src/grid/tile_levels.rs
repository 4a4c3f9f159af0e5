//! Which levels of a kernel tiles are of.

/// Which levels tiles are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileLevels {
    /// How many are around those of the tile.
    pub outer: usize,
    /// How many the tile has: one or two.
    pub levels: usize,
    /// Whether there is one inside.
    pub inner: bool,
}

impl TileLevels {
    /// The level of rows, if the tile has one.
    pub fn rows(self) -> Option<usize> {
        (self.levels == 2).then_some(self.outer)
    }

    /// The level of columns.
    pub fn columns(self) -> usize {
        self.points() - 1
    }

    /// How many levels a point is numbered by.
    pub fn points(self) -> usize {
        self.outer + self.levels
    }
}
