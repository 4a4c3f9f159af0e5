//! What all programs on a device share: its memory, queues that no run has now, and scalars that are on it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use fusebox_backend::{
    BackendError,
    device_memory::{DeviceMemory, MemoryError, ResidentArray},
    lock,
};
use fusebox_ir::{Array, Constant, ElementType, Fault, Place, RunError};

use crate::{
    device::{Device, DeviceError, device_error},
    workspace::Workspace,
};

/// Scalars that are kept on a device at most.
const MOST_SCALARS: usize = 1024;

/// A device and what is on it.
pub(crate) struct Core<D: Device> {
    pub(crate) memory: DeviceMemory<D>,
    idle: Mutex<Vec<Workspace<D>>>,
    scalars: Mutex<BTreeMap<(ElementType, u64), Arc<ResidentArray<D>>>>,
}

impl<D: Device> Core<D> {
    pub(crate) fn new(memory: DeviceMemory<D>) -> Self {
        Self { memory, idle: Mutex::default(), scalars: Mutex::default() }
    }

    pub(crate) fn device(&self) -> &D {
        self.memory.remote()
    }

    /// A queue with memory to work in: that of a run that is over, or a new one.
    pub(crate) fn workspace(&self, operation: &str) -> Result<Workspace<D>, BackendError> {
        let idle = lock(&self.idle).pop();
        match idle {
            Some(workspace) => Ok(workspace),
            None => Workspace::new(self.device()).map_err(|error| device_error(operation, &error)),
        }
    }

    /// A run is over that had this.
    pub(crate) fn put_back(&self, workspace: Workspace<D>) {
        lock(&self.idle).push(workspace);
    }

    /// A scalar on the device. It is the same for all who ask for it, and nobody writes to it.
    pub(crate) fn scalar(&self, constant: Constant) -> Result<Arc<ResidentArray<D>>, MemoryError<DeviceError>> {
        let key = (constant.ty(), constant.bits());
        let mut scalars = lock(&self.scalars);
        if let Some(scalar) = scalars.get(&key) {
            return Ok(scalar.clone());
        }
        let scalar = Arc::new(self.memory.import(&constant.to_string(), &Array::scalar(constant))?);
        if scalars.len() < MOST_SCALARS {
            scalars.insert(key, scalar.clone());
        }
        Ok(scalar)
    }
}

/// Why there is no memory, of something that an operation needs.
pub(crate) fn memory_error(operation: &str, error: MemoryError<DeviceError>) -> BackendError {
    match error {
        MemoryError::Device(error) => device_error(operation, &error),
        MemoryError::TooLarge { name } => too_large(operation, &name, Vec::new()),
        error => BackendError::NoRoom { operation: operation.to_owned(), message: error.to_string() },
    }
}

/// The error of an array that no memory holds.
pub(crate) fn too_large(operation: &str, array: &str, extents: Vec<i64>) -> BackendError {
    let fault = Fault::TooLarge { array: array.to_owned(), extents };
    RunError { operation: operation.to_owned(), place: Place::default(), fault }.into()
}
