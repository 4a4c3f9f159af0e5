//! Forms: how single statements are carried out, where that is not in the usual way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a statement is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Form {
    /// A scalar instruction that is a loop of a known number of turns: its body stands that many times in a row, so that what depends on the
    /// turn alone is constant.
    Unrolled {
        /// The statement (its position).
        statement: u32,
        /// How many turns it makes.
        turns: u32,
    },
    /// On a processor: a scatter's elements are put aside first, sorted by the parts of the targets that they go to, and then each part is combined
    /// by one thread, in the order of the source ([`fusebox_ir::analysis::kernels::in_partitions`]). In launches on several threads, of
    /// scatters in chunks in those that have one chunk.
    Partitioned {
        /// The statement (its position).
        statement: u32,
        /// Targets of a part: a power of two. Where that were more than 512 parts, twice as many, or four times.
        targets: u32,
        /// In launches in which the targets have so many bytes, or more.
        from: u64,
    },
    /// On a processor: each thread combines a scatter's elements, in any order, into a copy of its targets, and copies come together afterwards. There are
    /// as many copies as have so many targets for each element, at most. Where that is one, or the form is not given, one thread combines all elements.
    Copied {
        /// The statement (its position).
        statement: u32,
        /// Targets of all copies for each element.
        targets: u32,
    },
    /// On a processor: the elements of a gang that a scatter puts at places one behind the other are packed, and stored together
    /// ([`fusebox_ir::analysis::kernels::in_runs`]).
    Runs {
        /// The statement (its position).
        statement: u32,
    },
    /// On a processor: what a gang appends is stored as whole vectors, with lanes behind the elements that are kept. What is appended next is written over
    /// them, and no mask is made for each store ([`crate::appends::may_be_whole`]).
    Whole {
        /// The statement (its position).
        statement: u32,
    },
    /// On a processor: a reduce has one accumulator, which takes its elements one after the other, wherever its levels are not across lanes
    /// ([`crate::chains::may_be_chain`]).
    Chain {
        /// The statement (its position).
        statement: u32,
    },
    /// On a GPU: a scatter combines into copies of its targets in the shared memory of each block, where there are at most so many targets, and
    /// blocks combine what they have into the targets at their ends.
    Private {
        /// The statement (its position).
        statement: u32,
        /// Targets that a block has room for.
        cells: u32,
    },
    /// On a GPU: what a load reads at the points of a tile is in the shared memory of the block, which fills it with neighbours in memory.
    Staged {
        /// The statement (its position).
        statement: u32,
    },
    /// On a GPU: the two values of 32 bits of each target of a scatter are one word of 64 bits while it combines, so that one instruction swaps both.
    Packed {
        /// The statement (its position).
        statement: u32,
    },
}
