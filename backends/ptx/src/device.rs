//! What runs modules: a GPU, or something that behaves like one.

use fusebox_backend::BackendError;

/// A device. Addresses are its own; work is done in the order in which it is asked for.
pub trait Device: Send + Sync + 'static {
    /// A module that has been loaded.
    type Module: Send + Sync;

    /// The name by which the backend is chosen: `sim`, `cuda`.
    fn name(&self) -> &'static str;

    /// Allocates memory, whose bytes may be anything; none if there is not as much.
    ///
    /// # Errors
    /// What the device says.
    fn allocate(&self, bytes: u64) -> Result<Option<u64>, DeviceError>;

    /// Gives memory back once all work asked for before is done.
    fn free(&self, address: u64);

    /// Copies bytes to the device.
    ///
    /// # Errors
    /// What the device says.
    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies bytes from the device, once all work asked for before is done.
    ///
    /// # Errors
    /// What the device says: of that work too.
    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Copies bytes on the device.
    ///
    /// # Errors
    /// What the device says.
    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError>;

    /// Makes bytes zeros.
    ///
    /// # Errors
    /// What the device says.
    fn clear(&self, address: u64, bytes: u64) -> Result<(), DeviceError>;

    /// Loads the text of a module.
    ///
    /// # Errors
    /// Why it is refused.
    fn load(&self, text: &str) -> Result<Self::Module, DeviceError>;

    /// Launches an entry.
    ///
    /// # Errors
    /// What the device says; of a fault while it runs perhaps a later call.
    fn launch(&self, module: &Self::Module, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError>;

    /// Waits for all work asked for before.
    ///
    /// # Errors
    /// What the device says of that work.
    fn synchronise(&self) -> Result<(), DeviceError>;
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
