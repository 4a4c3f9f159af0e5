//! Checks that fail: each place where one may has a number, and what it says is read from the error slot after the launch.

use fusebox_ir::{Failure, RunError};

/// A place in the code where a check may fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// What the error says.
    pub failure: Failure,
    /// How many numbers (`i64`) the code leaves in the slot, in the order of the fault's operands.
    pub operands: usize,
}

/// Bytes of the error slot of a launch: the number of a site plus 1 (0: nothing failed), then its numbers.
pub fn slot_bytes(sites: &[Site]) -> u64 {
    8 * (1 + sites.iter().map(|site| site.operands).max().unwrap_or(0) as u64)
}

/// The error in a slot, if there is one. Where several checks failed it is that of the first that got the slot.
pub fn error(sites: &[Site], slot: &[u8]) -> Option<RunError> {
    let mut words = slot.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(i64::from_le_bytes);
    let site = usize::try_from(words.next()?).ok()?.checked_sub(1)?;
    Some(sites.get(site)?.failure.error(|_| words.next().unwrap_or(0)))
}
