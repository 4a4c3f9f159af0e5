//! What a launch took.

/// Counts of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, each counted once for a group of lanes that carries it out.
    pub instructions: u64,
    /// Instructions, counted for every lane.
    pub thread_instructions: u64,
    /// Branches that parted the lanes of a group.
    pub divergent_branches: u64,
    /// Loads of device memory by groups of lanes.
    pub loads: u64,
    /// Stores to device memory by groups of lanes.
    pub stores: u64,
    /// Atomic updates, counted for every lane.
    pub atomics: u64,
    /// Pieces of 32 bytes that loads of device memory touch.
    pub sectors_loaded: u64,
    /// Pieces of 32 bytes that stores to device memory touch.
    pub sectors_stored: u64,
    /// Accesses of shared memory that wait for another one of the same group, of another word in the same bank.
    pub bank_conflicts: u64,
    /// Barriers that blocks passed.
    pub barriers: u64,
}
