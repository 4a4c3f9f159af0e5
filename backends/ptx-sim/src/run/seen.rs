//! What a group of lanes was like earlier.

/// What a group was like at one of its turns.
/// Source: Brent, "An improved Monte Carlo factorization algorithm", BIT 1980: a state is kept for twice as many turns each time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Of its step and its registers.
    pub hash: u64,
    /// Of memory.
    pub version: u64,
    pub turns: u64,
    /// Turns after which another state is kept.
    pub limit: u64,
}
