//! How the results of kernels associate: which elements of reduces, scans and scatters are combined with which, in numbers that no machine changes.
//!
//! This is the contract of bits. Every lowering and the interpreter of plans follow it, whatever their vectors, threads and caches are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Elements of a reduce that are combined by themselves.
pub const BLOCK: i64 = 4096;
/// Elements of a tile of a scan.
pub const TILE: i64 = 32_768;
/// Bytes of the interleaved accumulators of a reduce that does not gather: so many that additions of one lane do not wait for each other.
pub const ACCUMULATOR_BYTES: usize = 256;
/// Bytes of a gang of a scan.
pub const GANG_BYTES: usize = 64;
/// Lanes of a reduce whose loop gathers.
pub const GATHER_LANES: u32 = 4;
/// From how many elements on the lanes of a reduce pay whose level gathers and has another length for each of its outer steps.
pub const RAGGED_LEAST: u32 = 64;
/// Most chunks of a scatter.
const MOST_CHUNKS: i64 = 64;
/// Fewest steps of a chunk of a scatter.
const CHUNK_STEPS: i64 = 16_384;
/// Fewest steps of a chunk for each target: a copy of the targets has to pay.
const STEPS_A_TARGET: i64 = 4;

/// K and q of [`ScatterOrder::Chunks`]: how many chunks there are and how many steps each has (the last may have fewer), of a scatter in a
/// kernel whose outermost level has `steps` steps, into arrays of `targets` elements. Both are at least 1.
pub fn chunks(steps: i64, targets: i64) -> (i64, i64) {
    let count = (steps / targets.saturating_mul(STEPS_A_TARGET).max(CHUNK_STEPS)).clamp(1, MOST_CHUNKS);
    (count, ((steps.max(0) as u64).div_ceil(count as u64) as i64).max(1))
}

/// How a reduce or scan associates.
///
/// *Elements.* Those of a reduce are numbered 0, 1, 2, … in the order in which its points are met inside one point of depth `to`
/// (of a scan: from the start of the level), whether `when` holds or not. An element that takes no part is absent, and combining with
/// something absent gives the other side: so a lane, a block, a copy starts with its first element, and empty ones are left out (known
/// identities such as -0.0 of `+` give the same bits). Where the level is `Down` the operands of every combination change places, and
/// nothing else.
///
/// *Blocks* of 4,096 elements are combined by themselves, also where an element of the block is absent; their results are the elements of
/// another such reduce (again in blocks of 4,096 if there are more). The seeds are combined with the result at the very end, on the left;
/// where nothing takes part they are the result. `InOrder` alone starts from the seeds: `((seed ⊕ x0) ⊕ x1) ⊕ …`.
///
/// *Tiles* of scans: `carry` starts as the seeds (or absent). In each tile `running` starts as `carry`; in a gang (the last may be short)
/// lane l takes lane l-1, then l-2, l-4, …, each as `lane[l - s] ⊕ lane[l]`; the inclusive result is `running ⊕ lane[l]`, the exclusive one
/// `running ⊕ lane[l - 1]` (of lane 0: `running`); then `running` becomes the inclusive result of the last lane. After the tile, `carry` becomes
/// `carry ⊕ total of the tile`, the total by `Interleaved` with `total_lanes` or, where those are 0, the `running` of the same gangs without
/// a carry. `totals` are the last `carry`. At points without an element results are as if nothing were combined in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Association {
    /// One element after the other (no blocks): columns, and what must be in order.
    InOrder,
    /// `lanes` interleaved accumulators (lane l takes elements l, l + L, l + 2L, … of the block), folded by halves: lane l takes lane
    /// l + L/2, and so on; blocks of 4,096 by themselves. For functions known to commute, choices by positions among them.
    Interleaved {
        /// L: a power of two, [`BLOCK`] at most (as all lanes are).
        lanes: u32,
    },
    /// In a level of data-dependent length whose loop gathers, if the function rounds or code of the level reads arrays: one after the other (from the seeds, as [`Self::InOrder`]) where there are
    /// fewer than `least` elements, those with `when` off counted too; else as [`Self::Interleaved`].
    Ragged {
        /// L for the long ones: a power of two.
        lanes: u32,
        /// From how many elements on the lanes are used.
        least: u32,
    },
    /// `lanes` runs of neighbours in a block of n elements, run l being elements `l·r .. (l + 1)·r` with r = ⌈n / L⌉, each in order; then
    /// combined as neighbours (0,1), (2,3), …, until one is left. For functions not known to commute.
    Runs {
        /// L: a power of two.
        lanes: u32,
    },
    /// Of scans: gangs of `lanes` (Kogge-Stone inside), tiles of 32,768 elements, carries from the left.
    Tiles {
        /// The gang: a power of two.
        lanes: u32,
        /// Whether tiles' totals are `Interleaved` with this L (known to commute), or 0: the running total without carry.
        total_lanes: u32,
    },
}

/// In which order a scatter combines elements of one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScatterOrder {
    /// Any: known to commute and not to round.
    Any,
    /// Targets are promised to be distinct.
    Unique,
    /// In source order, up to association in K contiguous chunks of the outermost level: n its number of steps, m the number of
    /// elements of an array scattered to, K = clamp(n / max(16384, 4 m), 1, 64) and q = ⌈n / K⌉ ([`chunks`]); chunk c has steps c·q up to (c + 1)·q. The first
    /// combines into the array itself, each other into a copy whose elements are absent at first (the first new element is taken as it is);
    /// then copies are combined in, in order, each copy's element as the new one.
    Chunks,
    /// One after the other in source order.
    InOrder,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_by_steps_and_targets() {
        assert_eq!(chunks(0, 10), (1, 1));
        assert_eq!(chunks(16_383, 1), (1, 16_383));
        assert_eq!(chunks(2 * 16_384 + 1, 1), (2, 16_385));
        assert_eq!(chunks(1 << 40, 1), (64, 1 << 34));
        assert_eq!(chunks(1 << 20, 1 << 16), (4, 1 << 18));
        assert_eq!(chunks(i64::MAX, i64::MAX), (1, i64::MAX));
    }
}
