//! An array that may be on the device, on the host, or on both.

use std::{fmt, sync::Arc};

use super::{Remote, Shared, error::MemoryError, tables::Status};
use crate::lock;

/// An array of a [`DeviceMemory`](super::DeviceMemory). When it is dropped, its block is free.
pub struct ResidentArray<R: Remote> {
    shared: Arc<Shared<R>>,
    key: u64,
    bytes: u64,
}

impl<R: Remote> fmt::Debug for ResidentArray<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentArray").field("key", &self.key).field("bytes", &self.bytes).finish()
    }
}

impl<R: Remote> ResidentArray<R> {
    pub(super) fn new(shared: Arc<Shared<R>>, key: u64, bytes: u64) -> Self {
        Self { shared, key, bytes }
    }

    pub(super) fn key_in(&self, shared: &Arc<Shared<R>>) -> Option<u64> {
        Arc::ptr_eq(&self.shared, shared).then_some(self.key)
    }

    /// Bytes of its elements.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a copy is on the device.
    pub fn is_resident(&self) -> bool {
        let tables = lock(&self.shared.tables);
        tables.entries.get(&self.key).is_some_and(|entry| entry.block.is_some())
    }

    /// The values on the host: copied from the device if only that has them, and only then.
    ///
    /// # Errors
    /// [`MemoryError::Device`].
    pub fn to_host(&self) -> Result<Arc<[u8]>, MemoryError<R::Error>> {
        let mut tables = lock(&self.shared.tables);
        let now = tables.tick();
        let tables = &mut *tables;
        let Some(entry) = tables.entries.get_mut(&self.key) else { return Ok(Arc::new([])) };
        if let (Status::Clean | Status::Evicted, Some(host)) = (entry.status, &entry.host) {
            return Ok(host.clone());
        }
        let host = self.shared.downloaded(&mut tables.transfers, entry.block, entry.bytes)?;
        entry.stamp = now;
        if entry.status == Status::Dirty {
            (entry.status, entry.host) = (Status::Clean, Some(host.clone()));
        }
        Ok(host)
    }
}

impl<R: Remote> Drop for ResidentArray<R> {
    fn drop(&mut self) {
        lock(&self.shared.dropped).push(self.key);
    }
}
