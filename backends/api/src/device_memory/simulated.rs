//! A device of limited memory, for tests where there is none.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, atomic::AtomicBool, atomic::Ordering},
};

use super::Remote;
use crate::lock;

/// Memory of so many bytes. Allocations are contiguous, so that free bytes in pieces do not help.
#[derive(Debug)]
pub struct Simulated {
    capacity: u64,
    blocks: Mutex<BTreeMap<u64, Vec<u8>>>,
    pending: Mutex<BTreeSet<u64>>,
    next: Mutex<u64>,
    /// Whether events stay pending until somebody waits for them.
    slow: AtomicBool,
}

/// A point in its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedEvent(u64);

/// A use of memory that is not allocated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at {address:#x} are not allocated")]
pub struct NotAllocated {
    address: u64,
    bytes: usize,
}

/// The lowest address.
const BASE: u64 = 0x1000;

impl Simulated {
    /// A device with nothing on it.
    pub fn new(capacity: u64) -> Self {
        let (blocks, pending) = (Mutex::default(), Mutex::default());
        Self { capacity, blocks, pending, next: Mutex::new(0), slow: AtomicBool::new(false) }
    }

    /// From here on, work is done only when somebody waits for it.
    pub fn work_slowly(&self) {
        self.slow.store(true, Ordering::Relaxed);
    }

    /// A point after all work so far.
    pub fn record(&self) -> SimulatedEvent {
        let mut next = lock(&self.next);
        *next += 1;
        if self.slow.load(Ordering::Relaxed) {
            lock(&self.pending).insert(*next);
        }
        SimulatedEvent(*next)
    }

    /// What a kernel does: changes bytes of some blocks.
    ///
    /// # Errors
    /// If an address is no block.
    pub fn run(&self, addresses: &[u64], kernel: impl FnOnce(&mut [Vec<u8>])) -> Result<(), NotAllocated> {
        let mut blocks = lock(&self.blocks);
        let missing = |address: u64| NotAllocated { address, bytes: 0 };
        let taken: Result<Vec<Vec<u8>>, NotAllocated> =
            addresses.iter().map(|address| blocks.get(address).cloned().ok_or_else(|| missing(*address))).collect();
        let mut taken = taken?;
        kernel(&mut taken);
        blocks.extend(addresses.iter().copied().zip(taken));
        Ok(())
    }

    /// Bytes that are allocated.
    pub fn used(&self) -> u64 {
        lock(&self.blocks).values().map(|block| block.len() as u64).sum()
    }
}

impl Remote for Simulated {
    type Event = SimulatedEvent;
    type Error = NotAllocated;

    fn allocate(&self, _: &str, bytes: u64) -> Result<Option<u64>, NotAllocated> {
        let mut blocks = lock(&self.blocks);
        // The first gap that is large enough.
        let mut begin = BASE;
        for (&address, block) in blocks.iter() {
            if address - begin >= bytes {
                break;
            }
            begin = address + block.len() as u64;
        }
        if begin.checked_add(bytes).is_none_or(|end| end > BASE + self.capacity) {
            return Ok(None);
        }
        blocks.insert(begin, vec![0xcd; bytes as usize]);
        Ok(Some(begin))
    }

    fn free(&self, address: u64) {
        lock(&self.blocks).remove(&address);
    }

    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), NotAllocated> {
        let mut blocks = lock(&self.blocks);
        let block = blocks.get_mut(&address).and_then(|block| block.get_mut(..bytes.len()));
        block.ok_or(NotAllocated { address, bytes: bytes.len() })?.copy_from_slice(bytes);
        Ok(())
    }

    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), NotAllocated> {
        let blocks = lock(&self.blocks);
        let block = blocks.get(&address).and_then(|block| block.get(..bytes.len()));
        bytes.copy_from_slice(block.ok_or(NotAllocated { address, bytes: bytes.len() })?);
        Ok(())
    }

    fn is_done(&self, event: &SimulatedEvent) -> Result<bool, NotAllocated> {
        Ok(!lock(&self.pending).contains(&event.0))
    }

    fn wait(&self, event: &SimulatedEvent) -> Result<(), NotAllocated> {
        // Work is done in order.
        lock(&self.pending).retain(|&pending| pending > event.0);
        Ok(())
    }
}
