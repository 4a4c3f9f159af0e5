//! Arrays of users that stay on a device.

use std::sync::{Arc, OnceLock};

use fusebox_backend::{BackendError, DeviceArray, Given, OnDevice, Stored};
use fusebox_ir::{Array, Constant, ElementType};

use crate::{core::Core, device::Device, gpu::Buffer};

/// What errors of copies name.
const OPERATION: &str = "a copy to the host";

/// An array of a device: the first elements of a buffer.
pub(crate) struct Resident<D: Device> {
    buffer: Buffer<D>,
    element: ElementType,
    extents: Vec<usize>,
    /// Once it was asked for.
    host: OnceLock<Array>,
}

impl<D: Device> Resident<D> {
    /// The whole of a buffer.
    pub(crate) fn new(buffer: Buffer<D>, array: &Array) -> Self {
        Self { buffer, element: array.element(), extents: array.extents().to_vec(), host: array.clone().into() }
    }

    /// A result of a run.
    pub(crate) fn of_result(stored: Stored<Given<'_, Buffer<D>>>) -> Self {
        let Stored { buffer, element, extents, scalar } = stored;
        let buffer = match buffer {
            Given::Own(buffer) => buffer,
            Given::Shared(buffer) => buffer.clone(),
        };
        let known = scalar.filter(|_| extents.is_empty());
        let host = known.map_or_else(OnceLock::new, |constant| Array::scalar(constant).into());
        Self { buffer, element, extents: extents.iter().map(|&extent| extent as usize).collect(), host }
    }

    /// As an input of a run; none if it is on another device.
    pub(crate) fn stored(&self, core: &Core<D>) -> Option<Stored<Buffer<D>>> {
        let (buffer, element) = (self.buffer.clone(), self.element);
        let extents = self.extents.iter().map(|&extent| extent as i64).collect();
        core.memory.has(&buffer.array).then(|| Stored { buffer, element, extents, scalar: self.scalar() })
    }

    /// The element of a scalar, where the host knows it.
    fn scalar(&self) -> Option<Constant> {
        let known = || self.host.get().cloned().or_else(|| self.buffer.array.on_host());
        self.extents
            .is_empty()
            .then(known)
            .flatten()
            .filter(|host| host.element() == self.element)
            .map(|host| host.get(0))
    }

    pub(crate) fn shared(self) -> DeviceArray {
        DeviceArray::of_device(Arc::new(self))
    }
}

impl<D: Device> OnDevice for Resident<D> {
    fn element(&self) -> ElementType {
        self.element
    }

    fn extents(&self) -> &[usize] {
        &self.extents
    }

    fn to_host(&self) -> Result<Array, BackendError> {
        if let Some(host) = self.host.get() {
            return Ok(host.clone());
        }
        let host = self.buffer.to_host(OPERATION, "an array", self.element, &self.extents)?;
        Ok(self.host.get_or_init(|| host).clone())
    }
}
