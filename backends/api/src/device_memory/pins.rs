//! Arrays that stay on the device while somebody uses them.

use std::sync::Arc;

use super::{
    Remote, ResidentArray, Shared,
    error::MemoryError,
    tables::{Status, Tables},
};
use crate::lock;

/// What is going to be done with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its copy on the host stays valid.
    Read,
    /// Its copy on the host is outdated; what the device does not write keeps its value.
    Write,
}

/// Keeps arrays on the device. Dropped without an event, it says that no work uses them any more.
pub struct Pins<R: Remote> {
    shared: Arc<Shared<R>>,
    /// With addresses, in the order in which they were given.
    arrays: Vec<(u64, u64)>,
}

impl<R: Remote> std::fmt::Debug for Pins<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pins").field("arrays", &self.arrays).finish()
    }
}

impl<R: Remote> Pins<R> {
    pub(super) fn new(
        shared: Arc<Shared<R>>,
        arrays: &[(&ResidentArray<R>, Access)],
    ) -> Result<Self, MemoryError<R::Error>> {
        let mut tables = lock(&shared.tables);
        let keys: Vec<(u64, Access)> =
            arrays.iter().filter_map(|(array, access)| Some((array.key_in(&shared)?, *access))).collect();
        assert_eq!(keys.len(), arrays.len(), "an array is pinned in the memory of another device");
        // All of them are in use before one is brought, so that none drives out another.
        for (key, _) in &keys {
            if let Some(entry) = tables.entries.get_mut(key) {
                entry.uses += 1;
            }
        }
        let mut pins = Self { shared: shared.clone(), arrays: keys.iter().map(|(key, _)| (*key, 0)).collect() };
        for (number, (key, access)) in keys.into_iter().enumerate() {
            match bring(&shared, &mut tables, key, access) {
                Ok(address) => pins.arrays[number].1 = address,
                Err(error) => {
                    drop(tables); // dropping the guard takes the lock
                    return Err(error);
                }
            }
        }
        Ok(pins)
    }

    /// Where the array of this number is.
    pub fn address(&self, number: usize) -> u64 {
        self.arrays[number].1
    }

    /// Lets the arrays go, when the work before an event is done. `event` makes one for each array.
    pub fn release(mut self, event: impl Fn() -> R::Event) {
        let arrays = std::mem::take(&mut self.arrays);
        let mut tables = lock(&self.shared.tables);
        for (key, _) in arrays {
            let now = tables.tick();
            if let Some(entry) = tables.entries.get_mut(&key) {
                (entry.uses, entry.stamp) = (entry.uses - 1, now);
                entry.tasks.retain(|task| !self.shared.remote.is_done(task).unwrap_or(false));
                entry.tasks.push(event());
            }
        }
    }
}

impl<R: Remote> Drop for Pins<R> {
    fn drop(&mut self) {
        let mut tables = lock(&self.shared.tables);
        for (key, _) in std::mem::take(&mut self.arrays) {
            let now = tables.tick();
            if let Some(entry) = tables.entries.get_mut(&key) {
                (entry.uses, entry.stamp) = (entry.uses - 1, now);
            }
        }
    }
}

/// The address of an array, brought to the device if it is not there.
fn bring<R: Remote>(
    shared: &Shared<R>,
    tables: &mut Tables<R::Event>,
    key: u64,
    access: Access,
) -> Result<u64, MemoryError<R::Error>> {
    let absent = tables.entries.get(&key).filter(|entry| entry.status == Status::Evicted);
    if let Some((name, room)) = absent.map(|entry| (entry.name.clone(), entry.room)) {
        let address = shared.block(tables, &name, room)?;
        let host = tables.entries.get(&key).and_then(|entry| entry.host.clone());
        if let Some(bytes) = host {
            if let Err(error) = shared.remote.upload(address, &bytes) {
                tables.give_free(address, room);
                return Err(MemoryError::Device(error));
            }
            tables.transfers.uploads += 1;
            tables.transfers.uploaded_bytes += bytes.len() as u64;
        }
        if let Some(entry) = tables.entries.get_mut(&key) {
            (entry.block, entry.status) = (Some(address), Status::Clean);
        }
    }
    let Some(entry) = tables.entries.get_mut(&key) else { return Ok(0) };
    if access == Access::Write && entry.status == Status::Clean {
        (entry.status, entry.host) = (Status::Dirty, None);
    }
    Ok(entry.block.unwrap_or(0))
}
