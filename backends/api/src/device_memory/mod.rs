//! The memory of a device as a cache of host arrays: programs larger than the device run.
//!
//! Four layers: the driver's allocations ([`Remote`]); a free list by size, the nursery; a table of arrays with their host copies; and, when
//! nothing else helps, the eviction of the array that was not used for longest. Memory is found in this order: in the nursery, at the exact
//! size; fresh, from the driver; in the nursery again, once the blocks of dropped arrays are in it; fresh, after the whole nursery went back
//! to the driver; and then an array is evicted, its block goes to the nursery, and all begins anew.
//! Source: Clifton-Everest's thesis on irregular array sequences (UNSW), the part on device memory as a cache.

mod array;
mod error;
mod pins;
mod simulated;
mod tables;

pub use array::ResidentArray;
pub use error::{LiveArray, MemoryError};
pub use pins::{Access, Pins};
pub use simulated::{NotAllocated, Simulated, SimulatedEvent};

use crate::lock;
use std::{
    fmt,
    sync::{Arc, Mutex},
};
use tables::{Entry, Status, Tables};

/// Memory requests are for a multiple of so many elements, so that free blocks fit more often.
pub const CHUNK: u64 = 128;

/// What a device and its driver do.
pub trait Remote: Send + Sync {
    /// A point in the work of the device.
    type Event: Send;
    /// What the driver says when something is wrong.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Fresh memory; none if there is not as much.
    ///
    /// # Errors
    /// What the driver says.
    fn allocate(&self, bytes: u64) -> Result<Option<u64>, Self::Error>;

    /// Gives memory back to the driver; no work uses it.
    fn free(&self, address: u64);

    /// Copies to the device, before any work that is asked for later.
    ///
    /// # Errors
    /// What the driver says.
    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Copies from the device, after all work that was asked for before.
    ///
    /// # Errors
    /// What the driver says.
    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// Whether the work before the event is done.
    ///
    /// # Errors
    /// What the driver says of that work.
    fn is_done(&self, event: &Self::Event) -> Result<bool, Self::Error>;

    /// Waits for the work before the event.
    ///
    /// # Errors
    /// What the driver says of that work.
    fn wait(&self, event: &Self::Event) -> Result<(), Self::Error>;
}

/// What was copied, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Copies to the device.
    pub uploads: u64,
    /// Bytes of these.
    pub uploaded_bytes: u64,
    /// Copies to the host.
    pub downloads: u64,
    /// Bytes of these.
    pub downloaded_bytes: u64,
    /// Arrays that had to leave the device.
    pub evictions: u64,
}

/// The memory of one device. Copies share it.
pub struct DeviceMemory<R: Remote>(Arc<Shared<R>>);

impl<R: Remote> Clone for DeviceMemory<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<R: Remote> fmt::Debug for DeviceMemory<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceMemory").field("live", &self.live()).finish()
    }
}

/// What arrays and guards have of it.
struct Shared<R: Remote> {
    remote: R,
    tables: Mutex<Tables<R::Event>>,
    /// Arrays that nobody has any more. They have a lock of their own, since an array may be dropped anywhere.
    dropped: Mutex<Vec<u64>>,
}

impl<R: Remote> Drop for Shared<R> {
    fn drop(&mut self) {
        let tables = self.tables.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (address, events) in tables.take_blocks() {
            // Where it is not known whether work uses the memory, it stays.
            if events.iter().all(|event| self.remote.wait(event).is_ok()) {
                self.remote.free(address);
            }
        }
    }
}

impl<R: Remote> DeviceMemory<R> {
    /// The memory of a device, with nothing in it.
    pub fn new(remote: R) -> Self {
        let (tables, dropped) = (Mutex::new(Tables::default()), Mutex::new(Vec::new()));
        Self(Arc::new(Shared { remote, tables, dropped }))
    }

    /// The device.
    pub fn remote(&self) -> &R {
        &self.0.remote
    }

    /// Memory for an array that the device is going to write: its only copy will be there.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`], [`MemoryError::Device`].
    pub fn allocate(
        &self,
        name: &str,
        elements: u64,
        element_bytes: u64,
    ) -> Result<ResidentArray<R>, MemoryError<R::Error>> {
        let mut tables = lock(&self.0.tables);
        let mut entry = Entry::new(name, elements, element_bytes)?;
        entry.block = Some(self.0.block(&mut tables, name, entry.room)?);
        entry.status = Status::Dirty;
        Ok(self.array(&mut tables, entry))
    }

    /// An array that the host has. It goes to the device when somebody first needs it there.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`].
    pub fn import(
        &self,
        name: &str,
        bytes: Arc<[u8]>,
        element_bytes: u64,
    ) -> Result<ResidentArray<R>, MemoryError<R::Error>> {
        let mut tables = lock(&self.0.tables);
        let elements = (bytes.len() as u64).div_ceil(element_bytes.max(1));
        let mut entry = Entry::new(name, elements, element_bytes)?;
        entry.bytes = bytes.len() as u64;
        (entry.host, entry.status) = (Some(bytes), Status::Evicted);
        Ok(self.array(&mut tables, entry))
    }

    /// An array in memory of the device that somebody else manages: it never leaves, and is not freed here.
    pub fn adopt(&self, name: &str, address: u64, bytes: u64) -> ResidentArray<R> {
        let mut tables = lock(&self.0.tables);
        let entry = Entry::adopted(name, address, bytes);
        self.array(&mut tables, entry)
    }

    fn array(&self, tables: &mut Tables<R::Event>, entry: Entry<R::Event>) -> ResidentArray<R> {
        let bytes = entry.bytes;
        ResidentArray::new(self.0.clone(), tables.insert(entry), bytes)
    }

    /// Brings arrays to the device, and keeps them there until the guard goes.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`] if they do not fit beside what is in use; [`MemoryError::Device`].
    pub fn pin(&self, arrays: &[(&ResidentArray<R>, Access)]) -> Result<Pins<R>, MemoryError<R::Error>> {
        Pins::new(self.0.clone(), arrays)
    }

    /// What was copied so far.
    pub fn transfers(&self) -> Transfers {
        lock(&self.0.tables).transfers
    }

    /// The arrays that are on the device, by name.
    pub fn live(&self) -> Vec<LiveArray> {
        let mut tables = lock(&self.0.tables);
        self.0.bury(&mut tables);
        tables.live()
    }

    /// Gives all blocks that nobody uses back to the driver.
    pub fn reclaim(&self) {
        let mut tables = lock(&self.0.tables);
        self.0.bury(&mut tables);
        self.0.purge(&mut tables);
    }
}

impl<R: Remote> Shared<R> {
    /// A block of exactly so many bytes, by the order of the module's documentation.
    fn block(&self, tables: &mut Tables<R::Event>, name: &str, room: u64) -> Result<u64, MemoryError<R::Error>> {
        self.bury(tables);
        loop {
            if let Some(address) = tables.take_free(room) {
                return Ok(address);
            }
            if let Some(address) = self.fresh(room)? {
                return Ok(address);
            }
            self.clean(tables)?;
            if let Some(address) = tables.take_free(room) {
                return Ok(address);
            }
            self.purge(tables);
            if let Some(address) = self.fresh(room)? {
                return Ok(address);
            }
            self.evict(tables, name, room)?;
        }
    }

    fn fresh(&self, room: u64) -> Result<Option<u64>, MemoryError<R::Error>> {
        self.remote.allocate(room).map_err(MemoryError::Device)
    }

    /// Blocks of dropped arrays go to the nursery, unless work still uses them.
    fn bury(&self, tables: &mut Tables<R::Event>) {
        lock(&self.dropped).retain(|&key| !tables.drop_array(key));
        let is_done = |event: &R::Event| self.remote.is_done(event).unwrap_or(false);
        tables.bury(is_done);
    }

    /// As [`Self::bury`], and waits for that work.
    fn clean(&self, tables: &mut Tables<R::Event>) -> Result<(), MemoryError<R::Error>> {
        self.bury(tables);
        for event in tables.events_of_dying() {
            self.remote.wait(event).map_err(MemoryError::Device)?;
        }
        tables.bury(|_| true);
        Ok(())
    }

    fn purge(&self, tables: &mut Tables<R::Event>) {
        for address in tables.empty_nursery() {
            self.remote.free(address);
        }
    }

    /// The array that was not used for longest, of those that are not in use, leaves the device.
    fn evict(&self, tables: &mut Tables<R::Event>, name: &str, room: u64) -> Result<(), MemoryError<R::Error>> {
        let is_done = |event: &R::Event| self.remote.is_done(event).unwrap_or(false);
        tables.prune(is_done);
        let victim = match tables.oldest(true) {
            Some(victim) => victim,
            // All that could leave is used by work that is under way: the one that began first is waited for.
            None => tables.oldest(false).ok_or_else(|| tables.exhausted(name, room))?,
        };
        let Tables { entries, transfers, .. } = &mut *tables;
        let Some(entry) = entries.get_mut(&victim) else { return Ok(()) };
        for event in entry.tasks.drain(..) {
            self.remote.wait(&event).map_err(MemoryError::Device)?;
        }
        if entry.status == Status::Dirty {
            entry.host = Some(self.downloaded(transfers, entry.block, entry.bytes)?);
        }
        entry.status = Status::Evicted;
        transfers.evictions += 1;
        let (block, room) = (entry.block.take(), entry.room);
        if let Some(address) = block {
            tables.give_free(address, room);
        }
        Ok(())
    }

    fn downloaded(
        &self,
        transfers: &mut Transfers,
        block: Option<u64>,
        bytes: u64,
    ) -> Result<Arc<[u8]>, MemoryError<R::Error>> {
        let mut copy = vec![0; bytes as usize];
        if let Some(address) = block {
            self.remote.download(address, &mut copy).map_err(MemoryError::Device)?;
        }
        transfers.downloads += 1;
        transfers.downloaded_bytes += bytes;
        Ok(copy.into())
    }
}
