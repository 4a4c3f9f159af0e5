//! The simulator of PTX as a device.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use fusebox_backend::device_memory::Remote;
use fusebox_ptx_sim as sim;

use crate::device::{Device, DeviceError, DeviceLaunch};

pub use fusebox_ptx_sim::{Counts as CarriedOut, Options};

/// A simulated GPU.
///
/// Work is done when it is asked for. What is freed is not used again, unless [`Self::that_keeps_blocks`] says so, so that every access of it
/// is found.
#[derive(Debug)]
pub struct Simulator {
    device: Mutex<sim::Device>,
    keeps_blocks: bool,
    counts: Counts,
    carried_out: Mutex<sim::Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    uploads: AtomicU64,
    uploaded_bytes: AtomicU64,
    downloads: AtomicU64,
    downloaded_bytes: AtomicU64,
    launches: AtomicU64,
}

/// What a simulated GPU was asked for: every copy, whatever it is for, error slots and numbers of steps too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Copies from the host.
    pub uploads: u64,
    /// Bytes of these.
    pub uploaded_bytes: u64,
    /// Copies to the host, each of which waits for the device: round trips.
    pub downloads: u64,
    /// Bytes of these.
    pub downloaded_bytes: u64,
    /// Entries that were launched.
    pub launches: u64,
}

impl Simulator {
    /// A device with nothing on it.
    pub fn new(options: Options) -> Self {
        let device = Mutex::new(sim::Device::new(options));
        Self { device, keeps_blocks: false, counts: Counts::default(), carried_out: Mutex::default() }
    }

    /// The same, where free blocks are used again, as on a GPU.
    #[must_use]
    pub fn that_keeps_blocks(self) -> Self {
        Self { keeps_blocks: true, ..self }
    }

    fn device(&self) -> MutexGuard<'_, sim::Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that are allocated.
    pub fn used_bytes(&self) -> u64 {
        self.device().usage().0
    }

    /// What it was asked for so far.
    pub fn asked(&self) -> Asked {
        let Counts { uploads, uploaded_bytes, downloads, downloaded_bytes, launches } = &self.counts;
        let [uploads, uploaded_bytes, downloads, downloaded_bytes, launches] =
            [uploads, uploaded_bytes, downloads, downloaded_bytes, launches].map(|count| count.load(Ordering::Relaxed));
        Asked { uploads, uploaded_bytes, downloads, downloaded_bytes, launches }
    }

    /// What all launches so far took: instructions, and what of memory they touched.
    pub fn carried_out(&self) -> CarriedOut {
        self.carried_out.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn copied_to_host(&self, bytes: &mut [u8], read: Result<Vec<u8>, sim::Fault>) -> Result<(), DeviceError> {
        bytes.copy_from_slice(&read.map_err(|fault| said(&fault))?);
        self.counts.downloads.fetch_add(1, Ordering::Relaxed);
        self.counts.downloaded_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

fn said(fault: &sim::Fault) -> DeviceError {
    DeviceError { message: fault.to_string() }
}

impl Remote for Simulator {
    type Event = ();
    type Error = DeviceError;

    fn allocate(&self, name: &str, bytes: u64) -> Result<Option<u64>, DeviceError> {
        match self.device().allocate(name, bytes) {
            Ok(address) => Ok(Some(address)),
            Err(fault) if fault.kind == sim::FaultKind::OutOfMemory => Ok(None),
            Err(fault) => Err(said(&fault)),
        }
    }

    fn free(&self, address: u64) {
        // Nobody else frees what a block is.
        _ = self.device().free(address);
    }

    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(fusebox_backend::device_memory::GRAIN as usize), 0);
        self.device().write(address, &padded).map_err(|fault| said(&fault))?;
        self.counts.uploads.fetch_add(1, Ordering::Relaxed);
        self.counts.uploaded_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let read = self.device().read(address, bytes.len() as u64);
        self.copied_to_host(bytes, read)
    }

    fn save(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let read = self.device().read_anything(address, bytes.len() as u64);
        self.copied_to_host(bytes, read)
    }

    fn keeps_blocks(&self) -> bool {
        self.keeps_blocks
    }

    fn forget(&self, address: u64) {
        // Blocks are allocations of it.
        _ = self.device().forget(address);
    }

    fn is_done(&self, (): &()) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn wait(&self, (): &()) -> Result<(), DeviceError> {
        Ok(())
    }
}

impl Device for Simulator {
    type Module = sim::Module;
    type Queue = ();

    fn name(&self) -> &'static str {
        "sim"
    }

    fn queue(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn copy(&self, (): &(), from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        let mut device = self.device();
        let read = device.read(from, bytes).map_err(|fault| said(&fault))?;
        device.write(to, &read).map_err(|fault| said(&fault))
    }

    fn clear(&self, (): &(), address: u64, bytes: u64) -> Result<(), DeviceError> {
        let zeros = usize::try_from(bytes).map(|bytes| vec![0; bytes]);
        let zeros = zeros.map_err(|error| DeviceError { message: error.to_string() })?;
        self.device().write(address, &zeros).map_err(|fault| said(&fault))
    }

    fn load(&self, text: &str) -> Result<sim::Module, DeviceError> {
        sim::Module::parse(text).map_err(|error| DeviceError { message: error.to_string() })
    }

    fn launch(&self, (): &(), module: &sim::Module, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        let extents = sim::Launch { grid: [launch.blocks, 1, 1], block: [launch.threads, 1, 1], shared: 0 };
        self.counts.launches.fetch_add(1, Ordering::Relaxed);
        let counts = self.device().launch(module, launch.entry, extents, launch.arguments);
        let counts = counts.map_err(|fault| said(&fault))?;
        self.carried_out.lock().unwrap_or_else(PoisonError::into_inner).add(&counts);
        Ok(())
    }

    fn record(&self, (): &()) -> Result<(), DeviceError> {
        Ok(())
    }

    fn synchronise(&self, (): &()) -> Result<(), DeviceError> {
        Ok(())
    }
}
