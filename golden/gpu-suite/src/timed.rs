//! A device that adds up how long it worked.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use fusebox_ptx::{Device, DeviceError, DeviceLaunch, Remote};

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

    fn timed(&self, queue: &D::Queue, work: impl FnOnce() -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        self.device.synchronise(queue)?;
        let before = Instant::now();
        work()?;
        self.device.synchronise(queue)?;
        *self.worked.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += before.elapsed();
        Ok(())
    }
}

impl<D: Device> Remote for Timed<D> {
    type Event = D::Event;
    type Error = DeviceError;

    fn allocate(&self, name: &str, bytes: u64) -> Result<Option<u64>, DeviceError> {
        self.device.allocate(name, bytes)
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

    fn save(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.device.save(address, bytes)
    }

    fn keeps_blocks(&self) -> bool {
        self.device.keeps_blocks()
    }

    fn forget(&self, address: u64) {
        self.device.forget(address);
    }

    fn is_done(&self, event: &D::Event) -> Result<bool, DeviceError> {
        self.device.is_done(event)
    }

    fn wait(&self, event: &D::Event) -> Result<(), DeviceError> {
        self.device.wait(event)
    }
}

impl<D: Device> Device for Timed<D> {
    type Module = D::Module;
    type Queue = D::Queue;

    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn queue(&self) -> Result<D::Queue, DeviceError> {
        self.device.queue()
    }

    fn copy(&self, queue: &D::Queue, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.timed(queue, || self.device.copy(queue, from, to, bytes))
    }

    fn clear(&self, queue: &D::Queue, address: u64, bytes: u64) -> Result<(), DeviceError> {
        self.timed(queue, || self.device.clear(queue, address, bytes))
    }

    fn load(&self, text: &str) -> Result<Self::Module, DeviceError> {
        self.device.load(text)
    }

    fn launch(&self, queue: &D::Queue, module: &Self::Module, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        self.launches.fetch_add(1, Ordering::Relaxed);
        self.timed(queue, || self.device.launch(queue, module, launch))
    }

    fn record(&self, queue: &D::Queue) -> Result<D::Event, DeviceError> {
        self.device.record(queue)
    }

    fn synchronise(&self, queue: &D::Queue) -> Result<(), DeviceError> {
        self.device.synchronise(queue)
    }
}
