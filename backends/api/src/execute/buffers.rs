//! The memory of a run: which buffers there are, and how many values are in each.

/// The number of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferId(u32);

/// Buffers by number. Numbers of buffers that are gone are given again.
#[derive(Debug)]
pub(super) struct Buffers<B> {
    slots: Vec<Slot<B>>,
    free: Vec<BufferId>,
}

#[derive(Debug)]
struct Slot<B> {
    /// None while a launch has it, and where it is gone.
    buffer: Option<B>,
    /// How many values are in it.
    values: usize,
    /// Bytes that the run counts as its own: none of inputs and sizes.
    counted: usize,
}

impl<B> Default for Buffers<B> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<B> Buffers<B> {
    /// A buffer that one value is in, of which the run counts so many bytes.
    pub(super) fn add(&mut self, buffer: B, counted: usize) -> BufferId {
        let slot = Slot { buffer: Some(buffer), values: 1, counted };
        if let Some(id) = self.free.pop() {
            self.slots[id.0 as usize] = slot;
            return id;
        }
        self.slots.push(slot);
        BufferId(self.slots.len() as u32 - 1)
    }

    /// One more value is in it.
    pub(super) fn share(&mut self, id: BufferId) {
        self.slots[id.0 as usize].values += 1;
    }

    pub(super) fn is_shared(&self, id: BufferId) -> bool {
        self.slots[id.0 as usize].values > 1
    }

    /// One value less is in it; the buffer, if that was the last, and the bytes that were counted.
    pub(super) fn leave(&mut self, id: BufferId) -> Option<(B, usize)> {
        let slot = &mut self.slots[id.0 as usize];
        slot.values -= 1;
        if slot.values > 0 {
            return None;
        }
        let counted = slot.counted;
        self.free.push(id);
        slot.buffer.take().map(|buffer| (buffer, counted))
    }

    /// None while it is taken.
    pub(super) fn get(&self, id: BufferId) -> Option<&B> {
        self.slots[id.0 as usize].buffer.as_ref()
    }

    pub(super) fn take(&mut self, id: BufferId) -> Option<B> {
        self.slots[id.0 as usize].buffer.take()
    }

    pub(super) fn put(&mut self, id: BufferId, buffer: B) {
        self.slots[id.0 as usize].buffer = Some(buffer);
    }

    /// What is still there goes: a run that failed leaves values behind.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = B> {
        self.free.clear();
        self.slots.drain(..).filter_map(|slot| slot.buffer)
    }
}
