//! A device while a plan runs on it: arrays in its memory, and work on them.

use std::{cell::RefCell, sync::Arc};

use fusebox_backend::{
    BackendError,
    device_memory::{Access, MemoryError, Pins, ResidentArray},
};
use fusebox_ir::{Array, ElementType, Plan};

use crate::{
    core::{Core, memory_error, too_large},
    device::{Device, DeviceError, device_error},
    kernel::{CompiledKernel, LoadedKernel},
    sort::modules::Modules,
    workspace::Workspace,
};

/// An array of a device. Clones are the same array.
#[derive(Debug)]
pub struct Buffer<D: Device> {
    pub(crate) array: Arc<ResidentArray<D>>,
}

impl<D: Device> Clone for Buffer<D> {
    fn clone(&self) -> Self {
        Self { array: self.array.clone() }
    }
}

impl<D: Device> From<ResidentArray<D>> for Buffer<D> {
    fn from(array: ResidentArray<D>) -> Self {
        Self { array: Arc::new(array) }
    }
}

impl<D: Device> Buffer<D> {
    /// Bytes of elements.
    pub(crate) fn bytes(&self) -> u64 {
        self.array.bytes()
    }

    /// The first elements as an array of the host, which shares the memory of a copy that is there.
    pub(crate) fn to_host(
        &self,
        operation: &str,
        name: &str,
        element: ElementType,
        extents: &[usize],
    ) -> Result<Array, BackendError> {
        let failed = |error| memory_error(operation, error);
        let wanted = extents.iter().product::<usize>() * element.bytes();
        if wanted as u64 == self.bytes() {
            let host = self.array.to_host().map_err(failed)?;
            if host.element() == element
                && let Ok(host) = host.reshaped(extents)
            {
                return Ok(host);
            }
        }
        let Ok(mut host) = Array::zeros(element, extents) else {
            return Err(too_large(operation, name, extents.iter().map(|&extent| extent as i64).collect()));
        };
        self.array.read(host.bytes_mut()).map_err(failed)?;
        Ok(host)
    }
}

/// A device, for one run of a plan.
pub(crate) struct Gpu<'a, D: Device> {
    pub(crate) plan: &'a Plan,
    pub(crate) kernels: &'a [CompiledKernel],
    pub(crate) loaded: &'a [LoadedKernel<D>],
    /// From how many elements of an array on positions in it are long.
    pub(crate) wide_from: i64,
    pub(crate) sorts: &'a Modules<D>,
    pub(crate) written_out: &'a crate::written_out::WrittenOut<Buffer<D>>,
    pub(crate) core: &'a Core<D>,
    pub(crate) workspace: RefCell<Workspace<D>>,
}

impl<D: Device> Gpu<'_, D> {
    pub(crate) fn device(&self) -> &D {
        self.core.device()
    }

    /// What errors of the whole program name.
    pub(crate) fn operation(&self) -> String {
        format!("program `{}`", self.plan.name)
    }

    pub(crate) fn memory_error(&self, error: MemoryError<DeviceError>) -> BackendError {
        memory_error(&self.operation(), error)
    }

    /// Asks for work on arrays, which stay on the device until it is done.
    pub(crate) fn work<T>(
        &self,
        operation: &str,
        arrays: &[(&ResidentArray<D>, Access)],
        work: impl FnOnce(&Pins<D>, &D::Queue) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let pins = self.core.memory.pin(arrays).map_err(|error| memory_error(operation, error))?;
        let workspace = self.workspace.borrow();
        let result = work(&pins, &workspace.queue);
        // Work that failed has begun, perhaps.
        match self.device().record(&workspace.queue) {
            Ok(event) => pins.release(workspace.id, &event),
            Err(error) => {
                let waited = self.device().synchronise(&workspace.queue);
                drop(pins);
                result?;
                return Err(device_error(operation, &waited.err().unwrap_or(error)));
            }
        }
        result
    }

    /// An array that the device is going to write; none if there is no memory for it, whatever else leaves.
    pub(crate) fn allocate(
        &self,
        name: &str,
        element: ElementType,
        extents: &[usize],
    ) -> Result<Option<Buffer<D>>, BackendError> {
        let queue = self.workspace.borrow().id;
        let array = match self.core.memory.allocate(name, element, extents, Some(queue)) {
            Ok(array) => array,
            Err(MemoryError::TooLarge { .. }) => return Ok(None),
            Err(MemoryError::Exhausted { live, .. }) if live.iter().all(|array| !array.stays) => return Ok(None),
            Err(error) => return Err(self.memory_error(error)),
        };
        self.clear_behind(&array)?;
        Ok(Some(array.into()))
    }

    /// What lies behind the elements in their last word is read with them: atomic operations on small elements take the whole word.
    fn clear_behind(&self, array: &ResidentArray<D>) -> Result<(), BackendError> {
        let bytes = array.bytes();
        let room = bytes.max(1).next_multiple_of(fusebox_backend::device_memory::GRAIN);
        if room == bytes {
            return Ok(());
        }
        let operation = self.operation();
        self.work(&operation, &[(array, Access::Write)], |pins, queue| {
            let cleared = self.device().clear(queue, pins.address(0) + bytes, room - bytes);
            cleared.map_err(|error| device_error(&operation, &error))
        })
    }

    /// Memory of so many bytes for a step of an operation, or the error of an array that does not fit.
    pub(crate) fn needed(&self, bytes: u64, what: &str) -> Result<Buffer<D>, BackendError> {
        let extent = usize::try_from(bytes).ok();
        let array = extent.map(|extent| self.allocate(what, ElementType::U8, &[extent])).transpose()?.flatten();
        let extents = || vec![i64::try_from(bytes).unwrap_or(i64::MAX)];
        array.ok_or_else(|| too_large(&self.operation(), what, extents()))
    }

    /// An array of the host, which goes to the device when work needs it there.
    pub(crate) fn imported(&self, name: &str, array: &Array) -> Result<Buffer<D>, BackendError> {
        self.core.memory.import(name, array).map(Buffer::from).map_err(|error| self.memory_error(error))
    }

    /// Makes sure that nobody else has the array, so that it may be written: a copy, if somebody has.
    pub(crate) fn make_own(&self, buffer: &mut Buffer<D>, name: &str) -> Result<(), BackendError> {
        if Arc::get_mut(&mut buffer.array).is_some() {
            return Ok(());
        }
        let copy = self.needed(buffer.bytes(), name)?;
        self.copy_bytes(buffer, (&copy, 0), buffer.bytes())?;
        *buffer = copy;
        Ok(())
    }

    /// Copies the first bytes.
    pub(crate) fn copy_bytes(
        &self,
        from: &Buffer<D>,
        (to, at): (&Buffer<D>, u64),
        bytes: u64,
    ) -> Result<(), BackendError> {
        if bytes > from.bytes() || at > to.bytes() || bytes > to.bytes() - at {
            return Err(BackendError::BadPlan { message: "a copy of more than there is".to_owned() });
        }
        if bytes == 0 {
            return Ok(());
        }
        let operation = self.operation();
        let arrays = [(&*from.array, Access::Read), (&*to.array, Access::Write)];
        self.work(&operation, &arrays, |pins, queue| {
            let copied = self.device().copy(queue, pins.address(0), pins.address(1) + at, bytes);
            copied.map_err(|error| device_error(&operation, &error))
        })
    }

    /// The first bytes of an array.
    pub(crate) fn bytes_of(&self, buffer: &Buffer<D>, bytes: usize) -> Result<Vec<u8>, BackendError> {
        if bytes as u64 > buffer.bytes() {
            return Err(BackendError::BadPlan { message: "a value is larger than its memory".to_owned() });
        }
        let mut read = vec![0; bytes];
        if bytes > 0 {
            buffer.array.read(&mut read).map_err(|error| self.memory_error(error))?;
        }
        Ok(read)
    }
}
