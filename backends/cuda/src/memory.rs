//! Which addresses are allocated: what is copied lies in one allocation, or is refused.

use crate::error::Error;
use std::collections::BTreeMap;

/// Bytes of each allocation, by its address.
#[derive(Debug, Default)]
pub(crate) struct Allocations(BTreeMap<u64, u64>);

impl Allocations {
    pub fn insert(&mut self, address: u64, bytes: u64) {
        self.0.insert(address, bytes);
    }

    /// False if nothing was allocated at the address.
    pub fn remove(&mut self, address: u64) -> bool {
        self.0.remove(&address).is_some()
    }

    /// Whether so many bytes from the address on are in one allocation.
    ///
    /// # Errors
    /// [`Error::NotAllocated`].
    pub fn check(&self, address: u64, bytes: u64) -> Result<(), Error> {
        let inside = self.0.range(..=address).next_back().is_some_and(|(&begin, &size)| {
            let offset = address - begin;
            offset <= size && size - offset >= bytes
        });
        if inside { Ok(()) } else { Err(Error::NotAllocated { address, bytes }) }
    }

    /// All addresses.
    pub fn drain(&mut self) -> impl Iterator<Item = u64> {
        std::mem::take(&mut self.0).into_keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_inside_of_one_allocation() {
        let mut allocations = Allocations::default();
        allocations.insert(1000, 100);
        allocations.insert(1100, 50);
        for (address, bytes, inside) in [
            (1000, 100, true),
            (1050, 50, true),
            (1100, 50, true),
            (1000, 101, false),
            (999, 1, false),
            (1150, 1, false),
        ] {
            assert_eq!(allocations.check(address, bytes).is_ok(), inside, "{address} {bytes}");
        }
        assert!(allocations.check(1000, u64::MAX).is_err());
        assert!(allocations.remove(1000) && !allocations.remove(1000));
        assert!(allocations.check(1000, 1).is_err());
    }
}
