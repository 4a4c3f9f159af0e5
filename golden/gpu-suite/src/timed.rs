//! A device that adds up how long it worked.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use fusebox_ptx::{Device, DeviceError, DeviceLaunch};

/// Another device; each launch and each copy on it is waited for.
pub(crate) struct Timed<D> {
    device: D,
    worked: Mutex<Duration>,
    launches: AtomicU64,
}

impl<D: Device> Timed<D> {
    pub(crate) fn new(device: D) -> Self {
        Self { device, worked: Mutex::default(), launches: AtomicU64::new(0) }
    }

    /// How long the device has worked since this was asked last, and how many launches there were.
    pub(crate) fn taken(&self) -> (Duration, u64) {
        let mut worked = self.worked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (std::mem::take(&mut worked), self.launches.swap(0, Ordering::Relaxed))
    }

    fn timed(&self, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        self.device.synchronise()?;
        let before = Instant::now();
        work()?;
        self.device.synchronise()?;
        *self.worked.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += before.elapsed();
        Ok(())
    }
}

impl<D: Device> Device for Timed<D> {
    type Module = D::Module;

    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn allocate(&self, bytes: u64) -> Result<Option<u64>, DeviceError> {
        self.device.allocate(bytes)
    }

    fn free(&self, address: u64) {
        self.device.free(address);
    }

    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.device.upload(address, bytes)
    }

    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.device.download(address, bytes)
    }

    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.timed(|| self.device.copy(from, to, bytes))
    }

    fn clear(&self, address: u64, bytes: u64) -> Result<(), DeviceError> {
        self.timed(|| self.device.clear(address, bytes))
    }

    fn load(&self, text: &str) -> Result<Self::Module, DeviceError> {
        self.device.load(text)
    }

    fn launch(&self, module: &Self::Module, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        self.launches.fetch_add(1, Ordering::Relaxed);
        self.timed(|| self.device.launch(module, launch))
    }

    fn synchronise(&self) -> Result<(), DeviceError> {
        self.device.synchronise()
    }
}
