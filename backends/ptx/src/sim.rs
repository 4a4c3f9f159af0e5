//! The simulator of PTX as a device.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fusebox_ptx_sim as sim;

use crate::device::{Device, DeviceError, DeviceLaunch};

pub use fusebox_ptx_sim::Options;

/// A simulated GPU.
#[derive(Debug)]
pub struct Simulator {
    device: Mutex<sim::Device>,
}

impl Simulator {
    /// A device with nothing on it.
    pub fn new(options: Options) -> Self {
        Self { device: Mutex::new(sim::Device::new(options)) }
    }

    fn device(&self) -> MutexGuard<'_, sim::Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that are allocated.
    pub fn used_bytes(&self) -> u64 {
        self.device().usage().0
    }
}

fn said(fault: &sim::Fault) -> DeviceError {
    DeviceError { message: fault.to_string() }
}

impl Device for Simulator {
    type Module = sim::Module;

    fn name(&self) -> &'static str {
        "sim"
    }

    fn allocate(&self, bytes: u64) -> Result<Option<u64>, DeviceError> {
        match self.device().allocate("memory", bytes) {
            Ok(address) => Ok(Some(address)),
            Err(fault) if fault.kind == sim::FaultKind::OutOfMemory => Ok(None),
            Err(fault) => Err(said(&fault)),
        }
    }

    fn free(&self, address: u64) {
        // Nobody else frees what a buffer owns.
        _ = self.device().free(address);
    }

    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.device().write(address, bytes).map_err(|fault| said(&fault))
    }

    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let read = self.device().read(address, bytes.len() as u64).map_err(|fault| said(&fault))?;
        bytes.copy_from_slice(&read);
        Ok(())
    }

    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        let mut device = self.device();
        let read = device.read(from, bytes).map_err(|fault| said(&fault))?;
        device.write(to, &read).map_err(|fault| said(&fault))
    }

    fn clear(&self, address: u64, bytes: u64) -> Result<(), DeviceError> {
        let zeros = usize::try_from(bytes).map(|bytes| vec![0; bytes]);
        let zeros = zeros.map_err(|error| DeviceError { message: error.to_string() })?;
        self.device().write(address, &zeros).map_err(|fault| said(&fault))
    }

    fn load(&self, text: &str) -> Result<sim::Module, DeviceError> {
        sim::Module::parse(text).map_err(|error| DeviceError { message: error.to_string() })
    }

    fn launch(&self, module: &sim::Module, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        let extents = sim::Launch { grid: [launch.blocks, 1, 1], block: [launch.threads, 1, 1], shared: 0 };
        let counts = self.device().launch(module, launch.entry, extents, launch.arguments);
        counts.map(|_| ()).map_err(|fault| said(&fault))
    }

    fn synchronise(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}
