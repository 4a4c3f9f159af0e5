//! An array that may be on the device, on the host, or on both.

use std::{fmt, sync::Arc};

use fusebox_ir::Array;

use super::{Pins, Remote, Shared, error::MemoryError, tables::Status};
use crate::lock;

/// An array of a [`DeviceMemory`](super::DeviceMemory). When it is dropped, its block is free.
pub struct ResidentArray<R: Remote> {
    pub(super) shared: Arc<Shared<R>>,
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

    /// The values, if the host has a valid copy of them: nothing is copied.
    pub fn on_host(&self) -> Option<Array> {
        let tables = lock(&self.shared.tables);
        let entry = tables.entries.get(&self.key)?;
        entry.host.clone().filter(|_| matches!(entry.status, Status::Clean | Status::Evicted))
    }

    /// The values on the host: copied from the device if only that has them, and only then.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`] if the host has no memory for them; [`MemoryError::Device`].
    pub fn to_host(&self) -> Result<Array, MemoryError<R::Error>> {
        if let Some(host) = self.on_host() {
            return Ok(host);
        }
        let (element, extents, writes) = {
            let tables = lock(&self.shared.tables);
            let Some(entry) = tables.entries.get(&self.key) else { return Err(self.too_large()) };
            (entry.element, entry.extents.clone(), entry.writes)
        };
        let mut host = Array::zeros(element, &extents).map_err(|_| self.too_large())?;
        self.read(host.bytes_mut())?;
        let mut tables = lock(&self.shared.tables);
        if let Some(entry) = tables.entries.get_mut(&self.key)
            && (entry.status, entry.writes) == (Status::Dirty, writes)
        {
            (entry.status, entry.host) = (Status::Clean, Some(host.clone()));
        }
        Ok(host)
    }

    /// Copies the first bytes to the host.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`] if there are not as many; [`MemoryError::Device`].
    pub fn read(&self, bytes: &mut [u8]) -> Result<(), MemoryError<R::Error>> {
        if bytes.len() as u64 > self.bytes {
            return Err(self.too_large());
        }
        let (pins, tasks) = {
            let mut tables = lock(&self.shared.tables);
            let tables = &mut *tables;
            let Some(entry) = tables.entries.get_mut(&self.key) else { return Err(self.too_large()) };
            let here = matches!(entry.status, Status::Clean | Status::Evicted);
            if let Some(host) = entry.host.as_ref().filter(|_| here) {
                bytes.copy_from_slice(&host.bytes()[..bytes.len()]);
                return Ok(());
            }
            let tasks = entry.tasks.clone();
            let address = entry.block;
            // Others go on while the device copies.
            (address.map(|address| Pins::keep(&self.shared, tables, self.key, address)), tasks)
        };
        // Memory to work in that is nowhere.
        let Some(pins) = pins else { return Err(self.too_large()) };
        for task in &tasks {
            self.shared.remote.wait(&task.event).map_err(MemoryError::Device)?;
        }
        self.shared.remote.download(pins.address(0), bytes).map_err(MemoryError::Device)?;
        let mut tables = lock(&self.shared.tables);
        tables.transfers.downloads += 1;
        tables.transfers.downloaded_bytes += bytes.len() as u64;
        drop(tables); // letting the array go takes the lock
        drop(pins);
        Ok(())
    }

    fn too_large(&self) -> MemoryError<R::Error> {
        let tables = lock(&self.shared.tables);
        MemoryError::TooLarge { name: tables.entries.get(&self.key).map_or_else(String::new, |e| e.name.clone()) }
    }
}

impl<R: Remote> Drop for ResidentArray<R> {
    fn drop(&mut self) {
        lock(&self.shared.dropped).push(self.key);
    }
}
