//! The memory of a device as a cache of host arrays: programs larger than the device run.
//!
//! Four layers: the driver's allocations ([`Remote`]); a free list by size, the nursery; a table of arrays with their host copies; and, when
//! nothing else helps, the eviction of the array that was not used for longest. Memory is found in this order: in the nursery, at the exact
//! size; fresh, from the driver; in the nursery again, once the blocks of dropped arrays are in it; fresh, after the whole nursery went back
//! to the driver; and then an array is evicted, its block goes to the nursery, and all begins anew. What the work of one queue is going to
//! write may take the block of a dropped array that only work of the same queue still uses, before any fresh memory is asked for.
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
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use fusebox_ir::{Array, ElementType};
use tables::{Block, Entry, Status, Tables};

/// Memory requests are for a multiple of so many elements, so that free blocks fit more often.
pub const CHUNK: u64 = 128;

/// Bytes that blocks are multiples of. What is uploaded is followed by zeros up to such a multiple.
pub const GRAIN: u64 = 16;

/// A queue of work that a device does in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueId(u64);

impl QueueId {
    /// A number that no other queue of this process has.
    #[must_use]
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a device and its driver do.
pub trait Remote: Send + Sync {
    /// A point in the work of the device.
    type Event: Clone + Send;
    /// What the driver says when something is wrong.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Fresh memory, whose bytes may be anything; none if there is not as much. The name is that of the array which it is for.
    ///
    /// # Errors
    /// What the driver says.
    fn allocate(&self, name: &str, bytes: u64) -> Result<Option<u64>, Self::Error>;

    /// Gives memory back to the driver; no work uses it.
    fn free(&self, address: u64);

    /// Copies to the device, before any work that is asked for later in any queue. Zeros follow, up to a multiple of [`GRAIN`] bytes.
    ///
    /// # Errors
    /// What the driver says.
    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Copies from the device; no work that is under way writes there.
    ///
    /// # Errors
    /// What the driver says.
    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// As [`Self::download`], of an array that leaves the device: some of it may never have been written.
    ///
    /// # Errors
    /// As [`Self::download`].
    fn save(&self, address: u64, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.download(address, bytes)
    }

    /// Whether free blocks are kept, for later arrays. A device that looks for uses of what was freed says no; its blocks are as large as
    /// their arrays.
    fn keeps_blocks(&self) -> bool {
        true
    }

    /// What memory holds may be anything from here on: another array has it, or work that begins anew.
    fn forget(&self, _address: u64) {}

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
    /// Bytes that are taken from the driver at most.
    limit: u64,
    tables: Mutex<Tables<R::Event>>,
    /// Told whenever a guard lets arrays go.
    released: Condvar,
    /// Arrays that nobody has any more. They have a lock of their own, since an array may be dropped anywhere.
    dropped: Mutex<Vec<u64>>,
}

impl<R: Remote> Drop for Shared<R> {
    fn drop(&mut self) {
        let tables = self.tables.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (address, tasks) in tables.take_blocks() {
            // Where it is not known whether work uses the memory, it stays.
            if tasks.iter().all(|task| self.remote.wait(&task.event).is_ok()) {
                self.remote.free(address);
            }
        }
    }
}

impl<R: Remote> DeviceMemory<R> {
    /// The memory of a device, with nothing in it.
    pub fn new(remote: R) -> Self {
        Self::with_limit(remote, u64::MAX)
    }

    /// The same, where at most so many bytes are taken from the driver.
    pub fn with_limit(remote: R, limit: u64) -> Self {
        let (tables, released, dropped) = (Mutex::new(Tables::default()), Condvar::new(), Mutex::new(Vec::new()));
        Self(Arc::new(Shared { remote, limit, tables, released, dropped }))
    }

    /// The device.
    pub fn remote(&self) -> &R {
        &self.0.remote
    }

    /// Memory for an array that the device is going to write: its only copy will be there. With a queue, only its work will write it: then
    /// its block may be one that work of the same queue still uses.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`], [`MemoryError::TooLarge`], [`MemoryError::Device`].
    pub fn allocate(
        &self,
        name: &str,
        element: ElementType,
        extents: &[usize],
        queue: Option<QueueId>,
    ) -> Result<ResidentArray<R>, MemoryError<R::Error>> {
        let mut entry = Entry::new(name, element, extents, self.0.remote.keeps_blocks())?;
        let mut tables = lock(&self.0.tables);
        self.0.bury(&mut tables);
        entry.status = Status::Dirty;
        let own = queue.filter(|_| !tables.has_free(entry.room)).and_then(|queue| tables.take_dying(entry.room, queue));
        if let Some((address, tasks)) = own {
            (entry.block, entry.tasks) = (Some(address), tasks);
            return Ok(self.array(&mut tables, entry));
        }
        loop {
            match self.0.block(&mut tables, name, entry.room) {
                Ok(address) => {
                    entry.block = Some(address);
                    return Ok(self.array(&mut tables, entry));
                }
                Err(MemoryError::Exhausted { .. }) if tables.others_hold() => tables = pins::waited(&self.0, tables),
                Err(error) => return Err(error),
            }
        }
    }

    /// Memory to work in, of so many bytes: it is on the device while it is in use, and what it holds is worth nothing otherwise.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`].
    pub fn scratch(&self, name: &str, bytes: u64) -> Result<ResidentArray<R>, MemoryError<R::Error>> {
        let extent = usize::try_from(bytes).map_err(|_| MemoryError::TooLarge { name: name.into() })?;
        let mut entry = Entry::new(name, ElementType::U8, &[extent], self.0.remote.keeps_blocks())?;
        entry.scratch = true;
        Ok(self.array(&mut lock(&self.0.tables), entry))
    }

    /// An array that the host has. It goes to the device when somebody first needs it there.
    ///
    /// # Errors
    /// [`MemoryError::TooLarge`].
    pub fn import(&self, name: &str, array: &Array) -> Result<ResidentArray<R>, MemoryError<R::Error>> {
        let mut entry = Entry::new(name, array.element(), array.extents(), self.0.remote.keeps_blocks())?;
        entry.host = Some(array.clone());
        Ok(self.array(&mut lock(&self.0.tables), entry))
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

    /// Whether an array is of this memory.
    pub fn has(&self, array: &ResidentArray<R>) -> bool {
        array.key_in(&self.0).is_some()
    }

    /// Brings arrays to the device, and keeps them there until the guard goes. Waits where other threads keep too many.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`] if they do not fit beside what is in use; [`MemoryError::Device`].
    pub fn pin(&self, arrays: &[(&ResidentArray<R>, Access)]) -> Result<Pins<R>, MemoryError<R::Error>> {
        Pins::new(&self.0, arrays)
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
        if room > self.limit {
            return Err(tables.exhausted(name, room));
        }
        self.bury(tables);
        loop {
            if let Some(address) = self.free_block(tables, room) {
                return Ok(address);
            }
            if let Some(address) = self.fresh(tables, name, room)? {
                return Ok(address);
            }
            self.clean(tables)?;
            if let Some(address) = self.free_block(tables, room) {
                return Ok(address);
            }
            self.purge(tables);
            if let Some(address) = self.fresh(tables, name, room)? {
                return Ok(address);
            }
            self.evict(tables, name, room)?;
        }
    }

    fn free_block(&self, tables: &mut Tables<R::Event>, room: u64) -> Option<u64> {
        let address = tables.take_free(room)?;
        self.remote.forget(address);
        Some(address)
    }

    fn fresh(
        &self,
        tables: &mut Tables<R::Event>,
        name: &str,
        room: u64,
    ) -> Result<Option<u64>, MemoryError<R::Error>> {
        if tables.taken.checked_add(room).is_none_or(|taken| taken > self.limit) {
            return Ok(None);
        }
        let fresh = self.remote.allocate(name, room).map_err(MemoryError::Device)?;
        tables.taken += if fresh.is_some() { room } else { 0 };
        Ok(fresh)
    }

    /// Nobody uses a block any more.
    fn give_back(&self, tables: &mut Tables<R::Event>, block: Block) {
        if self.remote.keeps_blocks() {
            tables.give_free(block);
        } else {
            self.remote.free(block.address);
            tables.taken -= block.room;
        }
    }

    /// Blocks of dropped arrays go to the nursery, unless work still uses them.
    fn bury(&self, tables: &mut Tables<R::Event>) {
        lock(&self.dropped).retain(|&key| !tables.drop_array(key));
        for block in tables.dead(|event| self.remote.is_done(event).unwrap_or(false)) {
            self.give_back(tables, block);
        }
    }

    /// As [`Self::bury`], and waits for that work.
    fn clean(&self, tables: &mut Tables<R::Event>) -> Result<(), MemoryError<R::Error>> {
        self.bury(tables);
        for event in tables.events_of_dying() {
            self.remote.wait(event).map_err(MemoryError::Device)?;
        }
        for block in tables.dead(|_| true) {
            self.give_back(tables, block);
        }
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
        for task in entry.tasks.drain(..) {
            self.remote.wait(&task.event).map_err(MemoryError::Device)?;
        }
        if entry.status == Status::Dirty && !entry.scratch {
            entry.host = Some(self.saved(transfers, entry)?);
        }
        entry.status = Status::Evicted;
        transfers.evictions += 1;
        let (block, room) = (entry.block.take(), entry.room);
        if let Some(address) = block {
            self.give_back(tables, Block { address, room });
        }
        Ok(())
    }

    /// The values of an array that leaves.
    fn saved(&self, transfers: &mut Transfers, entry: &Entry<R::Event>) -> Result<Array, MemoryError<R::Error>> {
        let too_large = |_| MemoryError::TooLarge { name: entry.name.clone() };
        let mut host = Array::zeros(entry.element, &entry.extents).map_err(too_large)?;
        if let Some(address) = entry.block {
            self.remote.save(address, host.bytes_mut()).map_err(MemoryError::Device)?;
        }
        transfers.downloads += 1;
        transfers.downloaded_bytes += entry.bytes;
        Ok(host)
    }
}
