//! The values that a run holds, and how many bytes they take.

use std::cell::Cell;

use fusebox_ir::{Constant, ElementType, Fault, Place, Plan, RunError, ValueId};

use super::buffers::{BufferId, Buffers};
use crate::{BackendError, asked::Extents, machine::Machine};

/// A value: an array in memory; or a scalar that the host knows, or that nobody has written yet.
#[derive(Debug)]
pub(super) struct Value {
    /// The memory, which may hold more elements; none of a scalar that the device has not needed so far.
    pub(super) buffer: Option<BufferId>,
    /// The element of a scalar, where the host knows it: a size or a condition is asked for more than once.
    scalar: Cell<Option<Constant>>,
    /// Bytes that the run counts for a scalar without memory.
    counted: usize,
    pub(super) element: ElementType,
    pub(super) extents: Extents,
}

impl Value {
    pub(super) fn array(buffer: BufferId, element: ElementType, extents: Extents) -> Self {
        Self { buffer: Some(buffer), scalar: Cell::new(None), counted: 0, element, extents }
    }

    /// A scalar that needs no memory until a kernel reads it, and of which the run counts so many bytes all the same.
    pub(super) fn scalar(constant: Constant, counted: usize) -> Self {
        let scalar = Cell::new(Some(constant));
        Self { buffer: None, scalar, counted, element: constant.ty(), extents: Extents::new() }
    }

    /// A scalar that a kernel is going to write, without memory so far.
    pub(super) fn unwritten(element: ElementType, counted: usize) -> Self {
        Self { buffer: None, scalar: Cell::new(None), counted, element, extents: Extents::new() }
    }

    /// The element of a scalar, if the host knows it.
    pub(super) fn known(&self) -> Option<Constant> {
        self.scalar.get()
    }

    /// The host knows the element of a scalar.
    pub(super) fn learn(&self, constant: Option<Constant>) {
        self.scalar.set(constant);
    }

    /// What the host knows of it holds no more.
    pub(super) fn is_written(&self) {
        self.scalar.set(None);
    }
}

/// The values and buffers of a run of a plan. A run that is over leaves the tables to later ones, which then need no memory for them.
#[derive(Debug)]
pub struct Values<B> {
    pub(super) values: Vec<Option<Value>>,
    pub(super) buffers: Buffers<B>,
    /// Buffers of a replay.
    pub(crate) by_number: Vec<Option<B>>,
}

impl<B> Default for Values<B> {
    fn default() -> Self {
        Self { values: Vec::new(), buffers: Buffers::default(), by_number: Vec::new() }
    }
}

/// What a run of a plan took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The most bytes of elements at one time in values that the plan made, results included and inputs not. A scalar
    /// that the host knows counts for each of its names.
    pub peak_bytes: usize,
}

pub(super) struct Executor<'a, M: Machine> {
    pub(super) machine: &'a M,
    pub(super) plan: &'a Plan,
    pub(super) values: &'a mut [Option<Value>],
    pub(super) buffers: &'a mut Buffers<M::Buffer>,
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

    pub(super) fn value(&self, id: ValueId) -> Result<&Value> {
        self.values
            .get(id.index())
            .and_then(Option::as_ref)
            .ok_or_else(|| self.bad_plan(format!("`{}` ({id}) is used before it is made", self.name(id))))
    }

    pub(super) fn element(&self, id: ValueId) -> ElementType {
        self.plan.values[id.index()].ty.element
    }

    pub(super) fn set(&mut self, id: ValueId, value: Value) {
        self.free(id);
        match self.values.get_mut(id.index()) {
            Some(place) => *place = Some(value),
            None => self.drop_value(value),
        }
    }

    /// The same value once more, in the same memory.
    pub(super) fn again(&mut self, id: ValueId) -> Result<Value> {
        let value = self.value(id)?;
        if let (None, Some(constant), true) = (value.buffer, value.known(), self.machine.host_computes_scalars()) {
            return Ok(self.number(constant));
        }
        let buffer = self.bring(id)?;
        let Value { scalar, element, extents, .. } = self.value(id)?;
        let again = Value { scalar: scalar.clone(), ..Value::array(buffer, *element, extents.clone()) };
        self.buffers.share(buffer);
        Ok(again)
    }

    /// A buffer that was made, counted.
    pub(super) fn made(&mut self, buffer: M::Buffer) -> BufferId {
        let bytes = self.machine.bytes(&buffer);
        self.count(bytes);
        self.buffers.add(buffer, bytes)
    }

    fn count(&mut self, bytes: usize) {
        self.live_bytes += bytes;
        self.statistics.peak_bytes = self.statistics.peak_bytes.max(self.live_bytes);
    }

    /// A number of the plan as a value that the run makes.
    pub(super) fn number(&mut self, constant: Constant) -> Value {
        let bytes = constant.ty().bytes();
        self.count(bytes);
        Value::scalar(constant, bytes)
    }

    /// The memory of a value, which a scalar gets here.
    pub(super) fn bring(&mut self, id: ValueId) -> Result<BufferId> {
        let value = self.value(id)?;
        match (value.buffer, value.scalar.get()) {
            (Some(buffer), _) => Ok(buffer),
            (None, Some(constant)) => {
                let counted = value.counted;
                let buffer = self.machine.constant(constant)?;
                Ok(self.moved(id, buffer, counted))
            }
            (None, None) => {
                let (counted, element) = (value.counted, value.element);
                let Some(buffer) = self.machine.allocate(self.name(id), element, &[])? else {
                    let fault = Fault::TooLarge { array: self.name(id).to_owned(), extents: Vec::new() };
                    return Err(failed(&format!("program `{}`", self.plan.name), &Place::default(), fault));
                };
                Ok(self.moved(id, buffer, counted))
            }
        }
    }

    /// A scalar gets memory, whose bytes are counted already.
    fn moved(&mut self, id: ValueId, buffer: M::Buffer, counted: usize) -> BufferId {
        let buffer = self.buffers.add(buffer, counted);
        if let Some(value) = &mut self.values[id.index()] {
            (value.buffer, value.counted) = (Some(buffer), 0);
        }
        buffer
    }

    /// A scalar that a kernel is going to write, and of which the run counts its bytes.
    pub(super) fn unwritten(&mut self, element: ElementType) -> Value {
        self.count(element.bytes());
        Value::unwritten(element, element.bytes())
    }

    /// A buffer that a value is in.
    pub(super) fn buffer(&self, buffer: BufferId) -> Result<&M::Buffer> {
        self.buffers.get(buffer).ok_or_else(|| self.bad_plan("memory is used twice by one step".to_owned()))
    }

    /// The element of a scalar.
    pub(super) fn element_of(&self, id: ValueId) -> Result<Constant> {
        let value = self.value(id)?;
        if let Some(known) = value.scalar.get() {
            return Ok(known);
        }
        let Some(buffer) = value.buffer else {
            return Err(self.bad_plan(format!("`{}` ({id}) is in no memory", self.name(id))));
        };
        let constant = self.machine.scalar(self.buffer(buffer)?, value.element)?;
        value.scalar.set(Some(constant));
        Ok(constant)
    }

    pub(super) fn free(&mut self, id: ValueId) {
        if let Some(value) = self.values.get_mut(id.index()).and_then(Option::take) {
            self.drop_value(value);
        }
    }

    pub(super) fn drop_value(&mut self, value: Value) {
        self.live_bytes -= value.counted;
        if let Some((buffer, counted)) = value.buffer.and_then(|buffer| self.buffers.leave(buffer)) {
            self.live_bytes -= counted;
            self.machine.release(buffer);
        }
    }
}
