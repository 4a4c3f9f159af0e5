//! Which arrays there are, where their copies are, and which blocks are free. No driver is called here.

use std::{
    collections::{BTreeMap, HashMap},
    thread::ThreadId,
};

use fusebox_ir::{Array, ElementType};

use super::{CHUNK, GRAIN, QueueId, Transfers, error::LiveArray, error::MemoryError};

/// Where the valid copies of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// On the device, and the same on the host.
    Clean,
    /// On the device alone.
    Dirty,
    /// On the device, in memory of somebody else; it never leaves.
    Unmanaged,
    /// On the host alone; of memory to work in, nowhere.
    Evicted,
}

/// Work that may still use an array.
#[derive(Clone, Debug)]
pub(super) struct Task<E> {
    /// Whose work it is.
    pub queue: QueueId,
    /// The point after it.
    pub event: E,
}

/// An array.
#[derive(Debug)]
pub(super) struct Entry<E> {
    pub name: String,
    pub element: ElementType,
    pub extents: Vec<usize>,
    pub bytes: u64,
    /// Bytes of its block.
    pub room: u64,
    pub status: Status,
    /// Whether its values matter only while it is in use: memory to work in.
    pub scratch: bool,
    pub block: Option<u64>,
    pub host: Option<Array>,
    /// How many guards keep it on the device.
    pub uses: u32,
    /// How often somebody was going to write to it.
    pub writes: u64,
    /// When it was used last.
    pub stamp: u64,
    pub tasks: Vec<Task<E>>,
}

impl<E> Entry<E> {
    /// An array that is nowhere. Blocks that several arrays take in turn are of a multiple of [`CHUNK`] elements.
    pub fn new<D>(
        name: &str,
        element: ElementType,
        extents: &[usize],
        shares_blocks: bool,
    ) -> Result<Self, MemoryError<D>> {
        let too_large = || MemoryError::TooLarge { name: name.into() };
        let count = extents.iter().try_fold(1u64, |size, &extent| size.checked_mul(u64::try_from(extent).ok()?));
        let size = |elements: u64| elements.checked_mul(element.bytes() as u64);
        let bytes = count.and_then(size).filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or_else(too_large)?;
        let room = if shares_blocks {
            count.and_then(|count| count.max(1).checked_next_multiple_of(CHUNK)).and_then(size)
        } else {
            bytes.max(1).checked_next_multiple_of(GRAIN)
        };
        let room = room.ok_or_else(too_large)?;
        Ok(Self { element, extents: extents.to_vec(), ..Self::empty(name, bytes, room, Status::Evicted) })
    }

    pub fn adopted(name: &str, address: u64, bytes: u64) -> Self {
        let extents = vec![usize::try_from(bytes).unwrap_or(usize::MAX)];
        Self { extents, block: Some(address), ..Self::empty(name, bytes, bytes, Status::Unmanaged) }
    }

    fn empty(name: &str, bytes: u64, room: u64, status: Status) -> Self {
        Self {
            name: name.into(),
            element: ElementType::U8,
            extents: Vec::new(),
            bytes,
            room,
            status,
            scratch: false,
            block: None,
            host: None,
            uses: 0,
            writes: 0,
            stamp: 0,
            tasks: Vec::new(),
        }
    }

    fn may_leave(&self) -> bool {
        self.uses == 0 && matches!(self.status, Status::Clean | Status::Dirty)
    }
}

/// Memory of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub address: u64,
    pub room: u64,
}

/// A block of an array that nobody has any more, and that work may still use.
#[derive(Debug)]
struct Dying<E> {
    block: Block,
    tasks: Vec<Task<E>>,
}

#[derive(Debug)]
pub(super) struct Tables<E> {
    pub entries: BTreeMap<u64, Entry<E>>,
    /// Free blocks by their bytes.
    nursery: BTreeMap<u64, Vec<u64>>,
    dying: Vec<Dying<E>>,
    /// Bytes that are allocated from the driver.
    pub taken: u64,
    /// How many guards each thread has made that are still there.
    pub guards: HashMap<ThreadId, usize>,
    /// Counts uses; no clock is asked.
    now: u64,
    next: u64,
    pub transfers: Transfers,
}

impl<E> Default for Tables<E> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            nursery: BTreeMap::new(),
            dying: Vec::new(),
            taken: 0,
            guards: HashMap::new(),
            now: 0,
            next: 0,
            transfers: Transfers::default(),
        }
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

    pub fn has_free(&self, room: u64) -> bool {
        self.nursery.contains_key(&room)
    }

    pub fn take_free(&mut self, room: u64) -> Option<u64> {
        let blocks = self.nursery.get_mut(&room)?;
        let address = blocks.pop();
        if blocks.is_empty() {
            self.nursery.remove(&room);
        }
        address
    }

    /// A block that only work of this queue may still use, with that work: what the queue does later comes after it.
    pub fn take_dying(&mut self, room: u64, queue: QueueId) -> Option<(u64, Vec<Task<E>>)> {
        let own = |dying: &Dying<E>| dying.block.room == room && dying.tasks.iter().all(|task| task.queue == queue);
        let at = self.dying.iter().position(own)?;
        let Dying { block, tasks } = self.dying.swap_remove(at);
        Some((block.address, tasks))
    }

    pub fn give_free(&mut self, Block { address, room }: Block) {
        self.nursery.entry(room).or_default().push(address);
    }

    /// All free blocks, which are the driver's from here on.
    pub fn empty_nursery(&mut self) -> Vec<u64> {
        let nursery = std::mem::take(&mut self.nursery);
        self.taken -= nursery.iter().map(|(room, blocks)| room * blocks.len() as u64).sum::<u64>();
        nursery.into_values().flatten().collect()
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
            self.dying.push(Dying { block: Block { address, room: entry.room }, tasks: entry.tasks });
        }
        true
    }

    /// Blocks of arrays that nobody has and that no work uses any more.
    pub fn dead(&mut self, is_done: impl Fn(&E) -> bool) -> Vec<Block> {
        let mut dead = Vec::new();
        for mut dying in std::mem::take(&mut self.dying) {
            dying.tasks.retain(|task| !is_done(&task.event));
            if dying.tasks.is_empty() {
                dead.push(dying.block);
            } else {
                self.dying.push(dying);
            }
        }
        dead
    }

    pub fn events_of_dying(&self) -> impl Iterator<Item = &E> {
        self.dying.iter().flat_map(|dying| &dying.tasks).map(|task| &task.event)
    }

    /// Forgets work that is done.
    pub fn prune(&mut self, is_done: impl Fn(&E) -> bool) {
        for entry in self.entries.values_mut() {
            entry.tasks.retain(|task| !is_done(&task.event));
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

    /// Whether somebody else keeps arrays on the device who may let them go: this thread keeps none itself, so that no two wait for each
    /// other.
    pub fn others_hold(&self) -> bool {
        !self.guards.is_empty() && !self.guards.contains_key(&std::thread::current().id())
    }

    /// All blocks that are managed here, with the work that may use them.
    pub fn take_blocks(&mut self) -> Vec<(u64, Vec<Task<E>>)> {
        let mut blocks: Vec<(u64, Vec<Task<E>>)> =
            self.empty_nursery().into_iter().map(|address| (address, Vec::new())).collect();
        blocks.extend(std::mem::take(&mut self.dying).into_iter().map(|dying| (dying.block.address, dying.tasks)));
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
