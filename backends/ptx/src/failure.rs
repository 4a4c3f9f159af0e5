//! Checks that fail: each place where one may has a number, and what it says is read from the error slot after the launch.

use fusebox_ir::{Failure, FailureKind, Fault, RunError};

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
    let Failure { operation, place, fault } = &sites.get(site)?.failure;
    let mut some = |count: usize| {
        let mut numbers: Vec<i64> = words.by_ref().take(count).collect();
        numbers.resize(count, 0);
        numbers
    };
    let fault = match fault {
        FailureKind::Index { array, index, extents } => {
            Fault::Index { array: array.clone(), index: some(index.len()), extents: some(extents.len()) }
        }
        FailureKind::NegativeExtent { array, .. } => Fault::NegativeExtent { array: array.clone(), extent: some(1)[0] },
        FailureKind::DivisionByZero => Fault::DivisionByZero,
        FailureKind::EmptyFold { array, .. } => Fault::EmptyFold { array: array.clone(), row: some(1)[0] },
        FailureKind::Offsets { offsets, .. } => {
            let numbers = some(3);
            Fault::Offsets { offsets: offsets.clone(), position: numbers[0], value: numbers[1], extent: numbers[2] }
        }
        FailureKind::NoOffsets { offsets } => Fault::NoOffsets { offsets: offsets.clone() },
        FailureKind::Assertion { message, shown } => Fault::assertion(message, &some(shown.len())),
        FailureKind::TooLarge { array, extents } => {
            Fault::TooLarge { array: array.clone(), extents: some(extents.len()) }
        }
    };
    Some(RunError { operation: operation.clone(), place: place.clone(), fault })
}
