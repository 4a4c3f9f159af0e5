//! The memory that the code of a lane works on: one block, in which everything has its place before a lane begins.
//!
//! Places are numbers of words. First come words that code and helpers share, then scalars, where arrays are, their extents, and the argument
//! tables of launches.

/// The address of what runs the lane, for helpers.
pub(super) const LANES: usize = 0;
/// The address of scratch memory of kernels.
pub(super) const SCRATCH: usize = 1;
/// The address of the error slot.
pub(super) const SLOT: usize = 2;
/// The address of the table of pieces of memory.
pub(super) const PIECES: usize = 3;
/// Not 0 if somebody wants to know what launches take.
pub(super) const TIMED: usize = 4;
/// The piece of memory that was freed last, which names the one before; 0: none.
pub(super) const FREE: usize = 5;
/// From how many bytes on a helper makes an array.
pub(super) const LIMIT: usize = 6;
/// The estimate, a number of parts of a nanosecond as `f64`, from which on a launch of a plan is not small.
pub(super) const LONG: usize = 7;
/// Bytes of the arrays that there are, and the most that there were at one time.
pub(super) const LIVE: usize = 8;
pub(super) const PEAK: usize = 9;
/// Words of these.
const HEADER: usize = 2 * LINE;

/// Words of a line: a scalar has one, as vector code may read as many behind it as behind any array.
pub(super) const LINE: usize = 8;

/// Words that say where an array is: its address, its elements, and the piece of memory it is in.
pub(super) const PLACE: usize = 3;
pub(super) const ELEMENTS: usize = 1;
pub(super) const PIECE: usize = 2;

/// Why a lane did not end, as its code says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It asks for an array that all threads should make, or a plan for a launch that they should share.
    Large = 1,
    /// Something fails: the lane is to be run as plans are, which says what.
    Failed = 2,
}

/// In the place of an array where there is none.
pub(super) const NO_ARRAY: i64 = -1;

pub(super) type Result<T = ()> = std::result::Result<T, Stop>;

/// Where everything is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    pub scalars: usize,
    pub arrays: usize,
    pub extents: usize,
    pub words: usize,
}

impl Layout {
    pub(super) fn scalar(&self, number: usize) -> usize {
        HEADER + number * LINE
    }

    /// Where it is said where an array is.
    pub(super) fn place(&self, array: usize) -> usize {
        self.scalar(self.scalars) + array * PLACE
    }

    pub(super) fn extent(&self, number: usize) -> usize {
        self.place(self.arrays) + number
    }

    /// A word of an argument table.
    pub(super) fn word(&self, number: usize) -> usize {
        self.extent(self.extents) + number
    }

    /// Words of a frame.
    pub(super) fn all(&self) -> usize {
        self.word(self.words)
    }
}

/// Words at a multiple of 64 bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([u64; LINE]);

/// The memory.
#[derive(Debug, Default)]
pub(super) struct Frame(Vec<Line>);

impl Frame {
    /// Zeros, and a line more, which vector code may read.
    pub(super) fn clear(&mut self, words: usize) {
        self.0.clear();
        self.0.resize(words.div_ceil(LINE) + 1, Line([0; LINE]));
    }

    pub(super) fn get(&self, at: usize) -> u64 {
        self.0[at / LINE].0[at % LINE]
    }

    pub(super) fn set(&mut self, at: usize, word: u64) {
        self.0[at / LINE].0[at % LINE] = word;
    }

    /// Where a word is.
    pub(super) fn address(&mut self, at: usize) -> u64 {
        self.0[at / LINE..].as_mut_ptr() as u64 + (at % LINE * 8) as u64
    }
}
