//! A queue of work, and the memory that launches work in: allocated once, and used by one launch after the other.

use std::{cell::Cell, sync::Arc};

use fusebox_backend::device_memory::{DeviceMemory, MemoryError, QueueId, ResidentArray};

use crate::device::{Device, DeviceError};

/// Bytes of the error slot at least: most kernels leave few numbers.
const SLOT: u64 = 128;
/// Memory is not used for what needs less than this part of it, but for what is small anyway.
const MOST_WASTE: u64 = 4;
const SMALL: u64 = 1 << 16;

/// A queue, and memory that only its work uses.
pub(crate) struct Workspace<D: Device> {
    pub(crate) queue: D::Queue,
    pub(crate) id: QueueId,
    /// Whether the error slot holds zeros, where its memory is still there.
    pub(crate) slot_is_clear: Cell<bool>,
    slot: Option<Arc<ResidentArray<D>>>,
    counts: Option<Arc<ResidentArray<D>>>,
    scratch: Vec<Option<Arc<ResidentArray<D>>>>,
}

impl<D: Device> Workspace<D> {
    pub(crate) fn new(device: &D) -> Result<Self, DeviceError> {
        let (queue, id) = (device.queue()?, QueueId::unique());
        Ok(Self { queue, id, slot_is_clear: Cell::new(false), slot: None, counts: None, scratch: Vec::new() })
    }

    /// The error slot, of so many bytes or more.
    pub(crate) fn slot(
        &mut self,
        memory: &DeviceMemory<D>,
        bytes: u64,
    ) -> Result<Arc<ResidentArray<D>>, MemoryError<DeviceError>> {
        let before = self.slot.take();
        let slot = match before.filter(|slot| slot.bytes() >= bytes) {
            Some(slot) => slot,
            None => {
                self.slot_is_clear.set(false);
                Arc::new(memory.scratch("the error slot", bytes.max(SLOT))?)
            }
        };
        Ok(self.slot.insert(slot).clone())
    }

    /// Memory for so many numbers of steps.
    pub(crate) fn counts(
        &mut self,
        memory: &DeviceMemory<D>,
        numbers: usize,
    ) -> Result<Arc<ResidentArray<D>>, MemoryError<DeviceError>> {
        let name = || "numbers of steps".to_owned();
        again(&mut self.counts, memory, 8 * numbers.max(1) as u64, name)
    }

    /// Memory to work in, by its position in the kernel.
    pub(crate) fn scratch(
        &mut self,
        memory: &DeviceMemory<D>,
        position: usize,
        bytes: u64,
        name: impl Fn() -> String,
    ) -> Result<Arc<ResidentArray<D>>, MemoryError<DeviceError>> {
        if self.scratch.len() <= position {
            self.scratch.resize(position + 1, None);
        }
        again(&mut self.scratch[position], memory, bytes, name)
    }
}

/// The memory that is there, if it is of use for so many bytes; else new memory.
fn again<D: Device>(
    place: &mut Option<Arc<ResidentArray<D>>>,
    memory: &DeviceMemory<D>,
    bytes: u64,
    name: impl Fn() -> String,
) -> Result<Arc<ResidentArray<D>>, MemoryError<DeviceError>> {
    // A device that looks for faults gets memory of the very size, so that it sees what is behind the end.
    let fits = |array: &Arc<ResidentArray<D>>| {
        let there = array.bytes();
        let little = there <= SMALL || there / MOST_WASTE <= bytes;
        there == bytes || memory.remote().keeps_blocks() && there > bytes && little
    };
    if let Some(array) = place.take().filter(fits) {
        return Ok(place.insert(array).clone());
    }
    Ok(place.insert(Arc::new(memory.scratch(&name(), bytes)?)).clone())
}
