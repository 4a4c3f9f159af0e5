//! A device as a machine that runs plans: its memory holds the values of a run.

use std::sync::Arc;

use fusebox_backend::{BackendError, Launch, Machine, Sort, Stored};
use fusebox_ir::{Array, Constant, ElementType, Fault, Place, Plan, RunError};

use crate::{
    device::{Device, DeviceError},
    kernel::{CompiledKernel, LoadedKernel},
    launch, sort,
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
    pub(crate) sorts: &'a sort::Modules<D>,
}

/// What a device says, of something that is done for a kernel or another operation.
pub(crate) fn device_error(operation: &str, error: &DeviceError) -> BackendError {
    BackendError::Compile { kernel: operation.to_owned(), message: format!("the device says: {error}") }
}

impl<D: Device> Gpu<'_, D> {
    fn said<T>(&self, result: Result<T, DeviceError>) -> Result<T, BackendError> {
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

impl<D: Device> Machine for Gpu<'_, D> {
    type Buffer = Buffer<D>;

    fn allocate(&self, element: ElementType, extents: &[usize]) -> Option<Buffer<D>> {
        let bytes = extents.iter().try_fold(element.bytes(), |size, &extent| size.checked_mul(extent))?;
        self.memory(u64::try_from(bytes).ok()?).ok()?
    }

    fn bytes(&self, buffer: &Buffer<D>) -> usize {
        buffer.bytes as usize
    }

    fn constant(&self, constant: Constant) -> Result<Buffer<D>, BackendError> {
        self.scalar_buffer(constant)
    }

    fn written_out(&self, element: ElementType, extents: &[i64], data: &[Constant]) -> Result<Buffer<D>, BackendError> {
        let extents: Vec<usize> = extents.iter().map(|&extent| extent as usize).collect();
        let array = Array::from_constants(element, &extents, data)
            .map_err(|error| BackendError::BadPlan { message: error.to_string() })?;
        self.uploaded(array.bytes())
    }

    fn scalar(&self, buffer: &Buffer<D>, element: ElementType) -> Result<Constant, BackendError> {
        let bytes = self.bytes_of(buffer, element.bytes())?;
        let mut bits = [0; 8];
        bits[..bytes.len()].copy_from_slice(&bytes);
        Ok(Constant::from_bits(element, u64::from_le_bytes(bits)))
    }

    fn copy(
        &self,
        from: &Buffer<D>,
        to: &mut Buffer<D>,
        element: ElementType,
        count: usize,
    ) -> Result<(), BackendError> {
        let bytes = (count * element.bytes()) as u64;
        if bytes > from.bytes || bytes > to.bytes {
            return Err(BackendError::BadPlan { message: "a copy of more than there is".to_owned() });
        }
        if bytes == 0 { Ok(()) } else { self.said(self.device.copy(from.address, to.address, bytes)) }
    }

    fn launch(&self, launch: Launch<'_, Buffer<D>>) -> Result<(), BackendError> {
        launch::run(self, &launch)
    }

    fn sort(&self, sort: Sort<'_, Buffer<D>>) -> Result<(), BackendError> {
        sort::run(self, sort)
    }

    fn release(&self, buffer: Buffer<D>) {
        drop(buffer);
    }
}
