//! A GPU as a device.

use crate::cache::Cache;
use crate::driver::{self, Gpu, call, gpus};
use crate::error::Error;
use crate::event::Event;
use crate::memory::Allocations;
use crate::module::Module;
use crate::queue::Queue;
use crate::staging::Staging;
use cudarc::driver::{result, sys};
use fusebox_backend::device_memory::GRAIN;
use fusebox_ptx::{Device, DeviceError, DeviceLaunch};
use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The part of all memory that is left to the driver, and how much at least.
const PART_OF_DRIVER: u64 = 32;
const LEAST_OF_DRIVER: u64 = 256 << 20;

/// How a GPU is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The number of the GPU, from 0.
    pub ordinal: usize,
    /// Where machine code is kept between processes; none: nowhere.
    pub cache: Option<PathBuf>,
}

impl Default for Options {
    /// The first GPU, and the project's folder for caches.
    fn default() -> Self {
        Self { ordinal: 0, cache: Cache::folder() }
    }
}

/// A GPU. Each queue is a stream of its own; copies from and to the host have one too.
#[derive(Debug)]
pub struct Cuda {
    gpu: Gpu,
    driver: i32,
    cache: Option<Cache>,
    context: sys::CUcontext,
    transfers: Queue,
    allocations: Mutex<Allocations>,
    staging: Mutex<Staging>,
}

// SAFETY: the driver takes contexts and streams from any thread; every call makes the context current in its own thread first.
unsafe impl Send for Cuda {}
// SAFETY: as above; what is not the driver's is behind locks.
unsafe impl Sync for Cuda {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cuda {
    /// Opens a GPU.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::NoGpu`], [`Error::NoSuchGpu`], [`Error::Driver`].
    pub fn open(options: Options) -> Result<Self, Error> {
        let gpus = gpus()?;
        let count = gpus.len();
        let Some(gpu) = gpus.into_iter().nth(options.ordinal) else {
            return Err(Error::NoSuchGpu { ordinal: options.ordinal, count });
        };
        let driver = driver::version()?;
        let device = call("opening a GPU", || result::device::get(options.ordinal as i32))?;
        // SAFETY: the device is one that the driver has given. The context is never released: other libraries in the process may use it.
        let context = call("opening a GPU", || unsafe { result::primary_ctx::retain(device) })?;
        // SAFETY: the context is there.
        call("choosing a GPU", || unsafe { result::ctx::set_current(context) })?;
        let transfers = Queue::new(context)?;
        let cache = options.cache.map(Cache::new);
        let (allocations, staging) = (Mutex::default(), Mutex::default());
        Ok(Self { gpu, driver, cache, context, transfers, allocations, staging })
    }

    /// Which GPU it is.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The version of CUDA that the driver is for: `12.2`.
    pub fn driver(&self) -> String {
        format!("{}.{}", self.driver / 1000, self.driver % 1000 / 10)
    }

    /// Bytes of memory that are free, and that there are.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn memory(&self) -> Result<(u64, u64), Error> {
        self.current()?;
        let (free, all) = call("asking for memory", result::mem_get_info)?;
        Ok((free as u64, all as u64))
    }

    /// Bytes that arrays may take: what is free, but for a part that the driver needs for code and for the local memory of threads. It asks for
    /// that when a kernel is loaded or launched, and then it is too late to make room.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn room(&self) -> Result<u64, Error> {
        let (free, all) = self.memory()?;
        Ok(free.saturating_sub((all / PART_OF_DRIVER).max(LEAST_OF_DRIVER)))
    }

    fn current(&self) -> Result<(), Error> {
        // SAFETY: the context is there as long as the process.
        call("choosing a GPU", || unsafe { result::ctx::set_current(self.context) })
    }

    pub(crate) fn try_allocate(&self, bytes: u64) -> Result<Option<u64>, Error> {
        self.current()?;
        let size = bytes.max(1) as usize;
        // SAFETY: the device gives no address away, and copies are only of what was allocated. The memory is there for any stream.
        let found = call("allocating memory", || unsafe { result::malloc_sync(size) });
        match found {
            Ok(address) => {
                lock(&self.allocations).insert(address, bytes);
                Ok(Some(address))
            }
            Err(Error::Driver { said, .. }) if said == "CUDA_ERROR_OUT_OF_MEMORY" => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn release(&self, address: u64) -> Result<(), Error> {
        self.current()?;
        // SAFETY: the address was allocated so, and was not freed: it is no longer in the table. The driver waits for work that was asked for
        // before.
        call("freeing memory", || unsafe { result::free_sync(address) })
    }

    pub(crate) fn try_free(&self, address: u64) {
        if lock(&self.allocations).remove(address) {
            // An error here is one of earlier work, which the next call that can fail says as well.
            _ = self.release(address);
        }
    }

    fn try_copy(&self, queue: &Queue, from: u64, to: u64, bytes: u64) -> Result<(), Error> {
        let allocations = lock(&self.allocations);
        allocations.check(from, bytes)?;
        allocations.check(to, bytes)?;
        self.current()?;
        // SAFETY: both places are allocated.
        call("copying on the GPU", || unsafe { result::memcpy_dtod_async(to, from, bytes as usize, queue.stream) })
    }

    fn try_clear(&self, queue: &Queue, address: u64, bytes: u64) -> Result<(), Error> {
        let allocations = lock(&self.allocations);
        allocations.check(address, bytes)?;
        self.current()?;
        // SAFETY: the place is allocated.
        call("clearing memory", || unsafe { result::memset_d8_async(address, 0, bytes as usize, queue.stream) })
    }

    /// Copies, and waits until the copy is there: work of any stream may use it.
    pub(crate) fn try_upload(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let room = (bytes.len() as u64).next_multiple_of(GRAIN);
        lock(&self.allocations).check(address, room)?;
        self.current()?;
        lock(&self.staging).upload(self.context, self.transfers.stream, address, bytes)?;
        self.transfers.wait()
    }

    pub(crate) fn try_download(&self, address: u64, bytes: &mut [u8]) -> Result<(), Error> {
        lock(&self.allocations).check(address, bytes.len() as u64)?;
        self.current()?;
        lock(&self.staging).download(self.context, self.transfers.stream, address, bytes)
    }

    fn try_launch(&self, queue: &Queue, module: &Module, launch: &DeviceLaunch<'_>) -> Result<(), Error> {
        self.current()?;
        let function = module.function(launch.entry)?;
        let mut arguments = launch.arguments.to_vec();
        let mut pointers: Vec<*mut c_void> = arguments.iter_mut().map(ptr_of).collect();
        let (grid, block) = ((launch.blocks, 1, 1), (launch.threads, 1, 1));
        let doing = format!("launching `{}` with {} blocks of {} threads", launch.entry, launch.blocks, launch.threads);
        // SAFETY: function and stream are there, and the arguments live until the driver has copied them, which it does before it returns.
        // That there are as many as the entry has, and that the entry touches no other memory, is what the maker of the module vouches for.
        call(&doing, || unsafe { result::launch_kernel(function.0, grid, block, 0, queue.stream, &mut pointers) })
    }

    /// Waits for the work of all streams.
    fn wait_for_all(&self) -> Result<(), Error> {
        self.current()?;
        call("waiting for work", result::ctx::synchronize)
    }
}

fn ptr_of(argument: &mut u64) -> *mut c_void {
    std::ptr::from_mut(argument).cast()
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // What is wrong with the work was said to who asked for it, or nobody asks any more.
        _ = self.wait_for_all();
        let addresses: Vec<u64> = lock(&self.allocations).drain().collect();
        for address in addresses {
            _ = self.release(address);
        }
        *lock(&self.staging) = Staging::default();
    }
}

impl Device for Cuda {
    type Module = Module;
    type Queue = Queue;

    fn name(&self) -> &'static str {
        "cuda"
    }

    fn queue(&self) -> Result<Queue, DeviceError> {
        Ok(Queue::new(self.context)?)
    }

    fn copy(&self, queue: &Queue, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        Ok(self.try_copy(queue, from, to, bytes)?)
    }

    fn clear(&self, queue: &Queue, address: u64, bytes: u64) -> Result<(), DeviceError> {
        Ok(self.try_clear(queue, address, bytes)?)
    }

    fn load(&self, text: &str) -> Result<Module, DeviceError> {
        self.current()?;
        let architecture = self.gpu.architecture();
        Ok(Module::load(self.context, text, self.cache.as_ref(), &architecture, self.driver)?)
    }

    fn launch(&self, queue: &Queue, module: &Module, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        Ok(self.try_launch(queue, module, launch)?)
    }

    fn record(&self, queue: &Queue) -> Result<Arc<Event>, DeviceError> {
        Ok(Arc::new(queue.record()?))
    }

    fn synchronise(&self, queue: &Queue) -> Result<(), DeviceError> {
        Ok(queue.wait()?)
    }
}
