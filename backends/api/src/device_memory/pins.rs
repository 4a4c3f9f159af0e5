//! Arrays that stay on the device while somebody uses them.

use std::{
    sync::{Arc, MutexGuard, PoisonError},
    thread::ThreadId,
};

use super::{
    QueueId, Remote, ResidentArray, Shared,
    error::MemoryError,
    tables::{Block, Status, Tables, Task},
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
    /// In the order in which they were given.
    arrays: Vec<Pinned>,
    /// Who made it; none once the arrays are let go.
    thread: Option<ThreadId>,
}

/// An array that stays.
#[derive(Clone, Copy, Debug)]
struct Pinned {
    key: u64,
    address: u64,
    /// Whether its block holds nothing of it.
    is_new: bool,
}

impl<R: Remote> std::fmt::Debug for Pins<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pins").field("arrays", &self.arrays).finish()
    }
}

impl<R: Remote> Pins<R> {
    /// Waits while other threads keep so much that the arrays do not fit; not where this thread keeps arrays itself.
    pub(super) fn new(
        shared: &Arc<Shared<R>>,
        arrays: &[(&ResidentArray<R>, Access)],
    ) -> Result<Self, MemoryError<R::Error>> {
        let keys: Vec<(u64, Access)> =
            arrays.iter().filter_map(|(array, access)| Some((array.key_in(shared)?, *access))).collect();
        assert_eq!(keys.len(), arrays.len(), "an array is pinned in the memory of another device");
        let mut tables = lock(&shared.tables);
        loop {
            match brought(shared, &mut tables, &keys) {
                Ok(arrays) => return Ok(Self::kept(shared, &mut tables, arrays)),
                Err(MemoryError::Exhausted { .. }) if tables.others_hold() => tables = waited(shared, tables),
                Err(error) => return Err(error),
            }
        }
    }

    /// Keeps an array that is on the device.
    pub(super) fn keep(shared: &Arc<Shared<R>>, tables: &mut Tables<R::Event>, key: u64, address: u64) -> Self {
        if let Some(entry) = tables.entries.get_mut(&key) {
            entry.uses += 1;
        }
        Self::kept(shared, tables, vec![Pinned { key, address, is_new: false }])
    }

    fn kept(shared: &Arc<Shared<R>>, tables: &mut Tables<R::Event>, arrays: Vec<Pinned>) -> Self {
        let thread = std::thread::current().id();
        *tables.guards.entry(thread).or_default() += 1;
        Self { shared: shared.clone(), arrays, thread: Some(thread) }
    }

    /// Where the array of this number is.
    pub fn address(&self, number: usize) -> u64 {
        self.arrays[number].address
    }

    /// Whether the array of this number has a block that holds nothing of it yet.
    pub fn is_new(&self, number: usize) -> bool {
        self.arrays[number].is_new
    }

    /// Lets the arrays go, when the work of a queue before an event is done.
    pub fn release(mut self, queue: QueueId, event: &R::Event) {
        self.let_go(Some((queue, event)));
    }

    fn let_go(&mut self, work: Option<(QueueId, &R::Event)>) {
        let Some(thread) = self.thread.take() else { return };
        let shared = self.shared.clone();
        let mut tables = lock(&shared.tables);
        for Pinned { key, .. } in std::mem::take(&mut self.arrays) {
            let now = tables.tick();
            let Some(entry) = tables.entries.get_mut(&key) else { continue };
            (entry.uses, entry.stamp) = (entry.uses - 1, now);
            if let Some((queue, event)) = work {
                // Work of one queue is done in order: the last event stands for those before.
                entry.tasks.retain(|task| task.queue != queue);
                entry.tasks.push(Task { queue, event: event.clone() });
            }
        }
        if let Some(guards) = tables.guards.get_mut(&thread) {
            *guards -= 1;
            if *guards == 0 {
                tables.guards.remove(&thread);
            }
        }
        shared.released.notify_all();
    }
}

impl<R: Remote> Drop for Pins<R> {
    fn drop(&mut self) {
        self.let_go(None);
    }
}

/// Waits until somebody lets arrays go.
pub(super) fn waited<'t, R: Remote>(
    shared: &'t Shared<R>,
    tables: MutexGuard<'t, Tables<R::Event>>,
) -> MutexGuard<'t, Tables<R::Event>> {
    shared.released.wait(tables).unwrap_or_else(PoisonError::into_inner)
}

/// Brings arrays to the device; each is in use once more, or none is.
fn brought<R: Remote>(
    shared: &Shared<R>,
    tables: &mut Tables<R::Event>,
    keys: &[(u64, Access)],
) -> Result<Vec<Pinned>, MemoryError<R::Error>> {
    // All of them are in use before one is brought, so that none drives out another.
    for (key, _) in keys {
        if let Some(entry) = tables.entries.get_mut(key) {
            entry.uses += 1;
        }
    }
    let mut arrays = Vec::with_capacity(keys.len());
    for &(key, access) in keys {
        match bring(shared, tables, key, access) {
            Ok(pinned) => arrays.push(pinned),
            Err(error) => {
                let now = tables.tick();
                for (key, _) in keys {
                    if let Some(entry) = tables.entries.get_mut(key) {
                        (entry.uses, entry.stamp) = (entry.uses - 1, now);
                    }
                }
                return Err(error);
            }
        }
    }
    Ok(arrays)
}

/// An array on the device, to which it is brought if it is not there.
fn bring<R: Remote>(
    shared: &Shared<R>,
    tables: &mut Tables<R::Event>,
    key: u64,
    access: Access,
) -> Result<Pinned, MemoryError<R::Error>> {
    let absent = tables.entries.get(&key).filter(|entry| entry.status == Status::Evicted);
    let absent = absent.map(|entry| (entry.name.clone(), entry.room, entry.host.clone()));
    let mut is_new = false;
    if let Some((name, room, host)) = absent {
        let address = shared.block(tables, &name, room)?;
        is_new = host.is_none();
        if let Some(host) = host {
            if let Err(error) = shared.remote.upload(address, host.bytes()) {
                shared.give_back(tables, Block { address, room });
                return Err(MemoryError::Device(error));
            }
            tables.transfers.uploads += 1;
            tables.transfers.uploaded_bytes += host.bytes().len() as u64;
        }
        if let Some(entry) = tables.entries.get_mut(&key) {
            (entry.block, entry.status) = (Some(address), Status::Clean);
        }
    }
    let Some(entry) = tables.entries.get_mut(&key) else { return Ok(Pinned { key, address: 0, is_new }) };
    if access == Access::Write {
        entry.writes += 1;
        if entry.status == Status::Clean {
            (entry.status, entry.host) = (Status::Dirty, None);
        }
    }
    Ok(Pinned { key, address: entry.block.unwrap_or(0), is_new })
}
