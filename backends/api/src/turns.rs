//! Several turns of a loop of rows at once, or launches of rows one after the other, which are one turn of no loop.

use fusebox_ir::analysis::kernels::RowUse;

use crate::asked::Few;

/// What a machine has to know to say whether it does launches in strips of rows.
#[derive(Clone, Copy, Debug)]
pub struct RowShape {
    /// Rows of every array that changes.
    pub rows: i64,
    /// Bytes of one row of all arrays that are read or written row by row; in the mean, if they are segments.
    pub row_bytes: usize,
    /// How many rows above and below of an array the launches need for one row after them, at most.
    pub reach: (i64, i64),
}

/// How the rows of an array lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowBytes {
    /// Each row has so many bytes.
    Each(usize),
    /// Row r has the elements of segment r, of so many bytes each, and all rows have at most so many elements.
    Segment(usize, i64),
}

/// Some turns of a loop of rows, to be done at once.
#[derive(Debug)]
pub struct Turns<'a, B> {
    /// How many: at least one.
    pub turns: usize,
    /// Rows of every array that changes.
    pub rows: i64,
    /// Bytes of one row, as [`RowShape::row_bytes`].
    pub all_row_bytes: usize,
    /// The launches of a turn, in order.
    pub launches: Few<TurnLaunch<'a, B>>,
    /// Of each array that changes how its rows lie.
    pub row_bytes: &'a [RowBytes],
    /// Where segments begin and end: a number for each row, and one behind.
    pub offsets: Option<&'a B>,
    /// For each array of the state: which of those that change it is at the beginning of a turn, if it is there before; and which stands there
    /// at the end.
    pub states: &'a [(Option<usize>, usize)],
    /// The state before the first turn: as many as are there before.
    pub before: Few<&'a B>,
    /// Where the state after the last turn goes, whose elements may be anything now.
    pub after: Few<&'a mut B>,
}

/// A launch of a turn.
#[derive(Debug)]
pub struct TurnLaunch<'a, B> {
    /// Position in the plan's kernels.
    pub kernel: usize,
    /// The kernel's sizes.
    pub sizes: Few<i64>,
    /// The kernel's arrays, and what it does with them.
    pub arrays: Few<(TurnArray<'a, B>, RowUse)>,
}

/// An array of a launch of a turn.
#[derive(Debug)]
pub enum TurnArray<'a, B> {
    /// It is the same in all turns.
    Same(&'a B),
    /// The array of this number among those that change.
    Changing(usize),
}

impl<B> TurnArray<'_, B> {
    /// The number of one that changes.
    pub(crate) fn changing(&self) -> Option<usize> {
        match *self {
            TurnArray::Same(_) => None,
            TurnArray::Changing(number) => Some(number),
        }
    }
}
