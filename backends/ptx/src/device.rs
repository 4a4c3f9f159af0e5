//! What runs modules: a GPU, or something that behaves like one.

use fusebox_backend::{BackendError, device_memory::Remote};

/// A device: memory ([`Remote`]), and queues of work. Addresses are its own.
pub trait Device: Remote<Error = DeviceError> + 'static {
    /// A module that has been loaded.
    type Module: Send + Sync;
    /// Work that is done in the order in which it is asked for: a stream. Nothing orders the work of two queues.
    type Queue: Send;

    /// The name by which the backend is chosen: `sim`, `cuda`.
    fn name(&self) -> &'static str;

    /// A new queue.
    ///
    /// # Errors
    /// What the device says.
    fn queue(&self) -> Result<Self::Queue, DeviceError>;

    /// Copies bytes on the device.
    ///
    /// # Errors
    /// What the device says.
    fn copy(&self, queue: &Self::Queue, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError>;

    /// Makes bytes zeros.
    ///
    /// # Errors
    /// What the device says.
    fn clear(&self, queue: &Self::Queue, address: u64, bytes: u64) -> Result<(), DeviceError>;

    /// Loads the text of a module.
    ///
    /// # Errors
    /// Why it is refused.
    fn load(&self, text: &str) -> Result<Self::Module, DeviceError>;

    /// Launches an entry.
    ///
    /// # Errors
    /// What the device says; of a fault while it runs perhaps a later call.
    fn launch(&self, queue: &Self::Queue, module: &Self::Module, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError>;

    /// A point after all work of a queue so far.
    ///
    /// # Errors
    /// What the device says.
    fn record(&self, queue: &Self::Queue) -> Result<Self::Event, DeviceError>;

    /// Waits for all work of a queue so far.
    ///
    /// # Errors
    /// What the device says of that work.
    fn synchronise(&self, queue: &Self::Queue) -> Result<(), DeviceError>;
}

/// A launch of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLaunch<'a> {
    /// The name of the entry.
    pub entry: &'a str,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// The parameters, 64 bits each.
    pub arguments: &'a [u64],
}

/// What a device says when something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DeviceError {
    /// In words.
    pub message: String,
}

/// What a device says, of something that is done for a kernel or another operation.
pub(crate) fn device_error(operation: &str, error: &DeviceError) -> BackendError {
    BackendError::Compile { kernel: operation.to_owned(), message: format!("the device says: {error}") }
}
