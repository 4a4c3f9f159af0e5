//! The memory that values of a plan would be in: shared by names of one value, taken over, counted.

use std::{cell::Cell, rc::Rc};

/// Bytes of all memory, now and at most.
#[derive(Debug, Default)]
pub(super) struct Meter {
    live: Cell<u64>,
    peak: Cell<u64>,
}

impl Meter {
    /// Memory that lives until its last name goes.
    pub(super) fn memory(self: &Rc<Self>, bytes: u64) -> Rc<Memory> {
        self.live.set(self.live.get() + bytes);
        self.peak.set(self.peak.get().max(self.live.get()));
        Rc::new(Memory { bytes, meter: Rc::clone(self) })
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak.get()
    }
}

/// The memory of a value.
#[derive(Debug)]
pub(super) struct Memory {
    bytes: u64,
    meter: Rc<Meter>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.meter.live.set(self.meter.live.get() - self.bytes);
    }
}
