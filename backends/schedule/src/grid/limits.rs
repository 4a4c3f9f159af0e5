//! What blocks of a GPU have.

/// Bytes of shared memory that a block may have without asking for more at its launch.
pub const MOST_SHARED: u64 = 48 << 10;

/// 32-bit registers that addresses, indices and what is being computed take of each thread, beside accumulators.
pub(super) const OTHER_REGISTERS: u32 = 64;
