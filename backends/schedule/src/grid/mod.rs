//! Which threads of a GPU do what: the ways in which a kernel is shared, read from the loops of its nest.
//!
//! A nest says it with loops; this is what the loops mean together. The scheduler makes nests of grids, backends read grids of nests, and
//! the validator asks whether a grid keeps the bits of the kernel and fits the machine.

pub(crate) mod facts;
mod halo;
mod legal;
mod limits;
mod long_rows;
mod neighbours;

mod read;
mod scatters;
mod tile_levels;
mod tiled;

use std::fmt;

use fusebox_ir::association::{BLOCK, TILE};

pub(crate) use self::tiled::words as words_of_accumulators;
pub use self::{
    facts::{Ragged, cannot_fail, chunk_levels, flat_levels, is_exact, is_in_chunks, lanes_of_reduces, ragged, tiles},
    halo::{Along, Halo, HaloDim, halos},
    legal::faults,
    limits::MOST_SHARED,
    long_rows::{LongRows, long_rows},
    neighbours::{contiguous, items, may_take_neighbours},
    read::read,
    scatters::{faults_of_scatters, scatter_forms},
    tile_levels::TileLevels,
    tiled::{LEAST_TURNED, Stage, Tiled, faults_of_tiles, stage, tiled},
};

/// Threads of a warp: those that run together, and exchange registers.
pub const WARP: u32 = 32;

/// Which threads do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// One thread does all of it.
    One,
    /// A thread for each point of the first levels, by turns: `grid_threads`.
    Points {
        /// How many levels.
        levels: usize,
        /// Threads of a block.
        threads: u32,
        /// Neighbouring points of the innermost level that a thread takes at once: `unroll`.
        items: u32,
    },
    /// A block of threads for each point of the first levels, by turns: `blocks`. Its threads share the steps of the next levels, whose reduces they
    /// combine: `block_threads`.
    Rows {
        /// How many levels blocks share.
        outer: usize,
        /// How many levels the threads of a block share.
        inner: usize,
        /// Threads of a block.
        threads: u32,
    },
    /// A warp for each point of the first levels, by turns: `warps`. Its threads share the steps of the next levels, whose reduces they combine:
    /// `warp_threads`.
    WarpRows {
        /// How many levels warps share.
        outer: usize,
        /// How many levels the threads of a warp share.
        inner: usize,
        /// Warps of a block.
        warps: u32,
    },
    /// A thread for each point of the first levels that has few steps of the next, which it goes through alone: `grid_threads`. Points that have more
    /// are taken one by one by the whole warp that they belong to, whose threads share the steps: `warp_threads` behind a choice.
    ShortOrLong {
        /// How many levels threads share.
        outer: usize,
        /// Threads of a block.
        threads: u32,
        /// From how many steps on the warp takes a point, where the reduces of the level fix it as they do.
        least: u32,
        /// From how many steps on all warps of the grid share those of a point, as long as there are few such points: `warps` in that choice. 0: none is so long.
        cut: u32,
    },
    /// Blocks share pieces of 4,096 elements of the first levels; what the pieces give is combined when all are done.
    Fold {
        /// How many levels, numbered together.
        inner: usize,
        /// Threads of a block.
        threads: u32,
    },
    /// A block or thread for each chunk of the outermost level, each with its copy of a scatter's targets, which are combined when all are done.
    Chunks {
        /// The threads of a block make the elements of a chunk, from so many levels numbered together; 0: one thread does.
        levels: usize,
        /// Threads of a block.
        threads: u32,
    },
    /// A block takes a tile of the points of two levels; what they read together is in its shared memory.
    Tiled(Tiled),
    /// Blocks share tiles of the outermost level; scans and appends carry from tile to tile.
    Tiles {
        /// Steps of a tile.
        steps: u32,
        /// Threads of a block.
        threads: u32,
    },
}

/// Which accumulator of a block of elements an element belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// The element's number modulo so many.
    Interleaved(u32),
    /// So many runs of neighbours.
    Runs(u32),
}

impl Lanes {
    /// How many.
    pub fn count(self) -> u32 {
        let (Self::Interleaved(count) | Self::Runs(count)) = self;
        count
    }
}

impl Grid {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        match *self {
            Self::One => 1,
            Self::Tiled(tiled) => tiled.threads,
            Self::WarpRows { warps, .. } => warps.saturating_mul(WARP),
            Self::Points { threads, .. }
            | Self::Rows { threads, .. }
            | Self::ShortOrLong { threads, .. }
            | Self::Fold { threads, .. }
            | Self::Chunks { threads, .. }
            | Self::Tiles { threads, .. } => threads,
        }
    }

    /// How many levels are numbered together, or shared, from the outermost.
    pub fn shared_levels(&self) -> usize {
        match *self {
            Self::One => 0,
            Self::Points { levels, .. } => levels,
            Self::Rows { outer, inner, .. } | Self::WarpRows { outer, inner, .. } => outer + inner,
            Self::ShortOrLong { outer, .. } => outer + 1,
            Self::Fold { inner, .. } => inner,
            Self::Chunks { levels, .. } => levels.max(1),
            Self::Tiles { .. } => 1,
            // What is inside of a tile is read by several threads too.
            Self::Tiled(tiled) => tiled.outer + tiled.levels + 2 * usize::from(tiled.steps > 0),
        }
    }
}

/// In words.
impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::One => f.write_str("one thread"),
            Self::Points { items: 2.., levels, .. } => {
                write!(
                    f,
                    "a thread for neighbouring points of the first {levels} levels, as many as one access of memory has"
                )
            }
            Self::Points { levels: 1, .. } => f.write_str("a thread for each step of the outermost level"),
            Self::Points { levels, .. } => write!(f, "a thread for each point of the first {levels} levels"),
            Self::Rows { outer, inner, threads } => write!(
                f,
                "a block of {threads} threads for each point of the first {outer}, which share the next {inner}"
            ),
            Self::WarpRows { outer, inner, .. } => {
                write!(f, "a warp for each point of the first {outer}, whose threads share the next {inner}")
            }
            Self::ShortOrLong { outer, least, cut, .. } => {
                write!(
                    f,
                    "a thread for each point of the first {outer} with fewer than {least} steps of the next, a warp for each other"
                )?;
                if cut > 0 { write!(f, " with fewer than {cut}, all warps for the rest") } else { Ok(()) }
            }
            Self::Fold { inner, threads } => write!(
                f,
                "blocks of {threads} threads fold {} elements each of the first {inner}, one folds the rest",
                with_comma(BLOCK)
            ),
            Self::Chunks { levels: 0, .. } => f.write_str("a thread for each chunk of a scatter"),
            Self::Chunks { levels, threads: _ } => write!(
                f,
                "a block of threads for each chunk of a scatter, which share the first {levels}, and the targets"
            ),
            Self::Tiled(Tiled { extents: (_, columns), levels: 1, steps: 0, .. }) => {
                write!(f, "a block for each tile of {columns} points, which they read from shared memory")
            }
            Self::Tiled(Tiled { extents: (rows, columns), steps: 0, .. }) => {
                write!(f, "a block for each tile of {rows} by {columns} points, which they read from shared memory")
            }
            Self::Tiled(Tiled { extents: (_, columns), points: (_, across), levels: 1, steps, .. }) => write!(
                f,
                "a block for each tile of {columns} points, {across} of them a thread's, {steps} steps in shared memory at a time"
            ),
            Self::Tiled(Tiled { extents: (rows, columns), points: (down, across), steps, .. }) => write!(
                f,
                "a block for each tile of {rows} by {columns} points, {down} by {across} of them a thread's, {steps} steps in shared memory at a time"
            ),
            Self::Tiles { threads, .. } => write!(f, "blocks of {threads} threads take tiles, with look-back"),
        }
    }
}

/// A number of four or five digits as people write it.
fn with_comma(number: i64) -> String {
    format!("{},{:03}", number / 1000, number % 1000)
}

/// Steps of a tile: as the kernel's scans combine them, or fewer where every order is right.
pub fn tile_steps(exact: bool) -> u32 {
    (if exact { BLOCK } else { TILE }) as u32
}
