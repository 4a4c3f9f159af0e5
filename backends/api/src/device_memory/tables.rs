//! Which arrays there are, where their copies are, and which blocks are free. No driver is called here.

use std::{collections::BTreeMap, sync::Arc};

use super::{CHUNK, Transfers, error::LiveArray, error::MemoryError};

/// Where the valid copies of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// On the device, and the same on the host.
    Clean,
    /// On the device alone.
    Dirty,
    /// On the device, in memory of somebody else; it never leaves.
    Unmanaged,
    /// On the host alone.
    Evicted,
}

/// An array.
#[derive(Debug)]
pub(super) struct Entry<E> {
    pub name: String,
    pub bytes: u64,
    /// Bytes of its block: a multiple of the chunk.
    pub room: u64,
    pub status: Status,
    pub block: Option<u64>,
    pub host: Option<Arc<[u8]>>,
    /// How many guards keep it on the device.
    pub uses: u32,
    /// When it was used last.
    pub stamp: u64,
    /// Work that may still use it.
    pub tasks: Vec<E>,
}

impl<E> Entry<E> {
    pub fn new<D>(name: &str, elements: u64, element_bytes: u64) -> Result<Self, MemoryError<D>> {
        let size = |elements: u64| elements.checked_mul(element_bytes);
        let room = elements.max(1).checked_next_multiple_of(CHUNK).and_then(size);
        let (Some(bytes), Some(room)) = (size(elements), room) else {
            return Err(MemoryError::TooLarge { name: name.into() });
        };
        let (name, status) = (name.into(), Status::Evicted);
        Ok(Self { name, bytes, room, status, block: None, host: None, uses: 0, stamp: 0, tasks: Vec::new() })
    }

    pub fn adopted(name: &str, address: u64, bytes: u64) -> Self {
        let (name, status) = (name.into(), Status::Unmanaged);
        Self {
            name,
            bytes,
            room: bytes,
            status,
            block: Some(address),
            host: None,
            uses: 0,
            stamp: 0,
            tasks: Vec::new(),
        }
    }

    fn may_leave(&self) -> bool {
        self.uses == 0 && matches!(self.status, Status::Clean | Status::Dirty)
    }
}

/// A block of an array that nobody has any more, and that work may still use.
#[derive(Debug)]
struct Dying<E> {
    address: u64,
    room: u64,
    tasks: Vec<E>,
}

#[derive(Debug)]
pub(super) struct Tables<E> {
    pub entries: BTreeMap<u64, Entry<E>>,
    /// Free blocks by their bytes.
    nursery: BTreeMap<u64, Vec<u64>>,
    dying: Vec<Dying<E>>,
    /// Counts uses; no clock is asked.
    now: u64,
    next: u64,
    pub transfers: Transfers,
}

impl<E> Default for Tables<E> {
    fn default() -> Self {
        let (entries, nursery, dying) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { entries, nursery, dying, now: 0, next: 0, transfers: Transfers::default() }
    }
}

impl<E> Tables<E> {
    /// The next point in time.
    pub fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    pub fn insert(&mut self, mut entry: Entry<E>) -> u64 {
        entry.stamp = self.tick();
        self.next += 1;
        self.entries.insert(self.next, entry);
        self.next
    }

    pub fn take_free(&mut self, room: u64) -> Option<u64> {
        let blocks = self.nursery.get_mut(&room)?;
        let address = blocks.pop();
        if blocks.is_empty() {
            self.nursery.remove(&room);
        }
        address
    }

    pub fn give_free(&mut self, address: u64, room: u64) {
        self.nursery.entry(room).or_default().push(address);
    }

    pub fn empty_nursery(&mut self) -> impl Iterator<Item = u64> + use<E> {
        std::mem::take(&mut self.nursery).into_values().flatten()
    }

    /// Nobody has the array any more. False if a guard still keeps it on the device.
    pub fn drop_array(&mut self, key: u64) -> bool {
        if self.entries.get(&key).is_some_and(|entry| entry.uses > 0) {
            return false;
        }
        let Some(entry) = self.entries.remove(&key) else { return true };
        if entry.status != Status::Unmanaged
            && let Some(address) = entry.block
        {
            self.dying.push(Dying { address, room: entry.room, tasks: entry.tasks });
        }
        true
    }

    /// Blocks that no work uses any more go to the nursery.
    pub fn bury(&mut self, is_done: impl Fn(&E) -> bool) {
        for mut dying in std::mem::take(&mut self.dying) {
            dying.tasks.retain(|task| !is_done(task));
            if dying.tasks.is_empty() {
                self.give_free(dying.address, dying.room);
            } else {
                self.dying.push(dying);
            }
        }
    }

    pub fn events_of_dying(&self) -> impl Iterator<Item = &E> {
        self.dying.iter().flat_map(|dying| &dying.tasks)
    }

    /// Forgets work that is done.
    pub fn prune(&mut self, is_done: impl Fn(&E) -> bool) {
        for entry in self.entries.values_mut() {
            entry.tasks.retain(|task| !is_done(task));
        }
    }

    /// The array that leaves next; with `idle`, only of those that no work uses.
    pub fn oldest(&self, idle: bool) -> Option<u64> {
        let may_leave = |entry: &Entry<E>| entry.may_leave() && (!idle || entry.tasks.is_empty());
        let entries = self.entries.iter().filter(|(_, entry)| may_leave(entry));
        entries.min_by_key(|(_, entry)| entry.stamp).map(|(&key, _)| key)
    }

    /// What is on the device, in the order in which it came to be.
    pub fn live(&self) -> Vec<LiveArray> {
        let there = self.entries.values().filter(|entry| entry.block.is_some());
        let array =
            |entry: &Entry<E>| LiveArray { name: entry.name.clone(), bytes: entry.room, stays: !entry.may_leave() };
        there.map(array).collect()
    }

    pub fn exhausted<D>(&self, name: &str, bytes: u64) -> MemoryError<D> {
        MemoryError::Exhausted { name: name.into(), bytes, live: self.live() }
    }

    /// All blocks that are managed here, with the work that may use them.
    pub fn take_blocks(&mut self) -> Vec<(u64, Vec<E>)> {
        let mut blocks: Vec<(u64, Vec<E>)> = self.empty_nursery().map(|address| (address, Vec::new())).collect();
        blocks.extend(std::mem::take(&mut self.dying).into_iter().map(|dying| (dying.address, dying.tasks)));
        for entry in std::mem::take(&mut self.entries).into_values() {
            if entry.status != Status::Unmanaged
                && let Some(address) = entry.block
            {
                blocks.push((address, entry.tasks));
            }
        }
        blocks
    }
}
