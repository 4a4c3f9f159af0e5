//! The values that a run holds, and how many bytes they take.

use std::sync::Arc;

use fusebox_ir::{ElementType, Fault, Place, Plan, RunError, ValueId};
use smallvec::SmallVec;

use crate::{BackendError, machine::Machine};

/// The extents of a value. Of few dimensions they need no memory of their own: a call on small arrays takes a microsecond.
pub type Extents = SmallVec<[i64; 4]>;

/// A value: a buffer, perhaps shared, and what it stands for.
#[derive(Debug)]
pub struct Stored<B> {
    /// The memory.
    pub buffer: Arc<B>,
    /// The element type.
    pub element: ElementType,
    /// The extents; the buffer may hold more.
    pub extents: Extents,
}

impl<B> Clone for Stored<B> {
    fn clone(&self) -> Self {
        Self { buffer: self.buffer.clone(), element: self.element, extents: self.extents.clone() }
    }
}

/// A value that was handed in, with the sizes it binds already checked.
pub type Handed<B> = (ValueId, Stored<B>);

/// What a run of a plan took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The most bytes of elements at one time in values that the plan made, results included and inputs not.
    pub peak_bytes: usize,
}

pub(super) struct Executor<'a, M: Machine> {
    pub(super) machine: &'a M,
    pub(super) plan: &'a Plan,
    pub(super) values: Vec<Option<Stored<M::Buffer>>>,
    /// Bytes of the buffers that this run has made and not released.
    pub(super) live_bytes: usize,
    pub(super) statistics: Statistics,
}

pub(super) type Result<T, E = BackendError> = std::result::Result<T, E>;

pub(super) fn failed(operation: &str, place: &Place, fault: Fault) -> BackendError {
    RunError { operation: operation.to_owned(), place: place.clone(), fault }.into()
}

impl<M: Machine> Executor<'_, M> {
    pub(super) fn name(&self, id: ValueId) -> &str {
        self.plan.values.get(id.index()).map_or("?", |value| &value.name)
    }

    pub(super) fn bad_plan(&self, message: String) -> BackendError {
        BackendError::BadPlan { message }
    }

    pub(super) fn value(&self, id: ValueId) -> Result<&Stored<M::Buffer>> {
        self.values
            .get(id.index())
            .and_then(Option::as_ref)
            .ok_or_else(|| self.bad_plan(format!("`{}` ({id}) is used before it is made", self.name(id))))
    }

    pub(super) fn element(&self, id: ValueId) -> ElementType {
        self.plan.values[id.index()].ty.element
    }

    pub(super) fn set(&mut self, id: ValueId, stored: Stored<M::Buffer>) {
        self.free(id);
        if let Some(value) = self.values.get_mut(id.index()) {
            *value = Some(stored);
        }
    }

    /// Counts a buffer that was made.
    pub(super) fn made(&mut self, buffer: M::Buffer) -> Arc<M::Buffer> {
        self.live_bytes += self.machine.bytes(&buffer);
        self.statistics.peak_bytes = self.statistics.peak_bytes.max(self.live_bytes);
        Arc::new(buffer)
    }

    pub(super) fn free(&mut self, id: ValueId) {
        if let Some(stored) = self.values.get_mut(id.index()).and_then(Option::take)
            && let Ok(buffer) = Arc::try_unwrap(stored.buffer)
        {
            self.live_bytes = self.live_bytes.saturating_sub(self.machine.bytes(&buffer));
            self.machine.release(buffer);
        }
    }
}
