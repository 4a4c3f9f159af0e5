//! A device while a plan runs on it: memory of its own, and what is moved there and back.

use std::sync::Arc;

use fusebox_backend::{BackendError, Stored};
use fusebox_ir::{Array, Constant, Fault, Place, Plan, RunError};

use crate::{
    device::{Device, DeviceError, device_error},
    kernel::{CompiledKernel, LoadedKernel},
    sort::modules::Modules,
};

/// Bytes that allocations are multiples of: atomic operations on small elements take the whole word around them.
const GRAIN: u64 = 16;

/// Memory of a device, given back when it is dropped.
#[derive(Debug)]
pub struct Buffer<D: Device> {
    pub(crate) address: u64,
    /// Bytes of elements.
    bytes: u64,
    device: Arc<D>,
}

impl<D: Device> Buffer<D> {
    /// Bytes of elements.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<D: Device> Drop for Buffer<D> {
    fn drop(&mut self) {
        self.device.free(self.address);
    }
}

/// A device, for one run of a plan.
pub(crate) struct Gpu<'a, D: Device> {
    pub(crate) plan: &'a Plan,
    pub(crate) kernels: &'a [CompiledKernel],
    pub(crate) loaded: &'a [LoadedKernel<D>],
    /// From how many elements of an array on positions in it are long.
    pub(crate) wide_from: i64,
    pub(crate) device: &'a Arc<D>,
    pub(crate) sorts: &'a Modules<D>,
}

impl<D: Device> Gpu<'_, D> {
    pub(crate) fn said<T>(&self, result: Result<T, DeviceError>) -> Result<T, BackendError> {
        result.map_err(|error| device_error(&format!("program {}", self.plan.name), &error))
    }

    /// Memory of so many bytes; none if there is not as much.
    pub(crate) fn memory(&self, bytes: u64) -> Result<Option<Buffer<D>>, BackendError> {
        let Some(room) = bytes.max(1).checked_next_multiple_of(GRAIN) else { return Ok(None) };
        let Some(address) = self.said(self.device.allocate(room))? else { return Ok(None) };
        let buffer = Buffer { address, bytes, device: self.device.clone() };
        if bytes < room {
            // What lies behind the elements in their last word is read with them.
            self.said(self.device.clear(address + bytes, room - bytes))?;
        }
        Ok(Some(buffer))
    }

    /// Memory of so many bytes for a launch, or the error of an array that does not fit.
    pub(crate) fn needed(&self, bytes: u64, what: &str) -> Result<Buffer<D>, BackendError> {
        self.memory(bytes)?.ok_or_else(|| {
            let extents = vec![i64::try_from(bytes).unwrap_or(i64::MAX)];
            let fault = Fault::TooLarge { array: what.to_owned(), extents };
            RunError { operation: format!("program `{}`", self.plan.name), place: Place::default(), fault }.into()
        })
    }

    pub(crate) fn uploaded(&self, bytes: &[u8]) -> Result<Buffer<D>, BackendError> {
        let buffer = self.needed(bytes.len() as u64, "memory of the device")?;
        self.said(self.device.upload(buffer.address, bytes))?;
        Ok(buffer)
    }

    pub(crate) fn scalar_buffer(&self, constant: Constant) -> Result<Buffer<D>, BackendError> {
        self.uploaded(&constant.bits().to_le_bytes()[..constant.ty().bytes()])
    }

    pub(crate) fn bytes_of(&self, buffer: &Buffer<D>, bytes: usize) -> Result<Vec<u8>, BackendError> {
        if bytes as u64 > buffer.bytes {
            return Err(BackendError::BadPlan { message: "a value is larger than its memory".to_owned() });
        }
        let mut read = vec![0; bytes];
        if bytes > 0 {
            self.said(self.device.download(buffer.address, &mut read))?;
        }
        Ok(read)
    }

    /// A result as a host array.
    pub(crate) fn downloaded(&self, stored: Stored<&Buffer<D>>, name: &str) -> Result<Array, BackendError> {
        let extents: Vec<usize> = stored.extents.iter().map(|&extent| extent as usize).collect();
        let Ok(mut array) = Array::zeros(stored.element, &extents) else {
            let fault = Fault::TooLarge { array: name.to_owned(), extents: stored.extents.to_vec() };
            let operation = format!("program `{}`", self.plan.name);
            return Err(RunError { operation, place: Place::default(), fault }.into());
        };
        let bytes = self.bytes_of(stored.buffer, array.bytes().len())?;
        array.bytes_mut().copy_from_slice(&bytes);
        Ok(array)
    }
}
