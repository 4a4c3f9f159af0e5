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
    /// Atomic updates of device memory, counted for every lane.
    pub atomics: u64,
    /// Atomic updates of shared memory, counted for every lane.
    pub shared_atomics: u64,
    /// Pieces of 32 bytes that loads of device memory touch.
    pub sectors_loaded: u64,
    /// Pieces of 32 bytes that stores to device memory touch.
    pub sectors_stored: u64,
    /// Accesses of shared memory that wait for another one of the same group, of another word in the same bank.
    pub bank_conflicts: u64,
    /// Barriers that blocks passed.
    pub barriers: u64,
    /// Instructions of the warp that carried out most of them.
    pub longest_warp: u64,
}

impl Counts {
    /// Adds those of another launch; of warps that carried out most the one that did more stays.
    pub fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.thread_instructions += other.thread_instructions;
        self.divergent_branches += other.divergent_branches;
        self.loads += other.loads;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.shared_atomics += other.shared_atomics;
        self.sectors_loaded += other.sectors_loaded;
        self.sectors_stored += other.sectors_stored;
        self.bank_conflicts += other.bank_conflicts;
        self.barriers += other.barriers;
        self.longest_warp = self.longest_warp.max(other.longest_warp);
    }
}
