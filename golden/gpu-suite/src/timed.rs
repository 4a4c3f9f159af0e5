//! A device that adds up how long it worked.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use fusebox_ptx::{Device, DeviceError, DeviceLaunch, Remote};

use crate::watch::Watch;

/// Another device, each launch and each copy on which is timed.
///
/// Before each of them the device clears some memory. Meanwhile the host asks for the work, so that its own time is in no figure; and nothing of
/// what the work reads is left in caches.
pub(crate) struct Timed<D: Watch> {
    device: D,
    /// Where that memory is, and how much.
    cleared: Option<(u64, u64)>,
    /// Whether work is timed.
    times: AtomicBool,
    /// What each piece of work was, and where it began and ended.
    worked: Mutex<Vec<Piece<D::Point>>>,
    launches: AtomicU64,
}

/// A piece of work.
struct Piece<P> {
    name: String,
    first: P,
    last: P,
}

/// What a device has done.
pub(crate) struct Taken {
    /// How long it worked.
    pub(crate) worked: Duration,
    pub(crate) launches: u64,
    /// The same for each entry of a module, and for copies and clears; what took longest comes first.
    pub(crate) parts: Vec<Part>,
}

/// All pieces of work that have one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) worked: Duration,
    pub(crate) times: u64,
}

impl<D: Watch> Timed<D> {
    /// With so many bytes that are cleared before each piece of work, if there is room.
    pub(crate) fn new(device: D, bytes: u64) -> Result<Self, DeviceError> {
        let address = if bytes > 0 { device.allocate("memory that is cleared", bytes)? } else { None };
        let cleared = address.map(|address| (address, bytes));
        Ok(Self {
            device,
            cleared,
            times: AtomicBool::new(true),
            worked: Mutex::default(),
            launches: AtomicU64::new(0),
        })
    }

    /// Whether work is timed from here on.
    pub(crate) fn times(&self, times: bool) {
        self.times.store(times, Ordering::Relaxed);
    }

    fn worked(&self) -> MutexGuard<'_, Vec<Piece<D::Point>>> {
        self.worked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the device has done since this was asked last.
    pub(crate) fn taken(&self) -> Result<Taken, DeviceError> {
        let mut worked = Duration::ZERO;
        let mut parts: HashMap<String, (Duration, u64)> = HashMap::new();
        for piece in std::mem::take(&mut *self.worked()) {
            let time = self.device.between(&piece.first, &piece.last)?;
            worked += time;
            let (all, times) = parts.entry(piece.name).or_default();
            *all += time;
            *times += 1;
        }
        let mut parts: Vec<Part> =
            parts.into_iter().map(|(name, (worked, times))| Part { name, worked, times }).collect();
        parts.sort_by(|a, b| b.worked.cmp(&a.worked).then_with(|| a.name.cmp(&b.name)));
        Ok(Taken { worked, launches: self.launches.swap(0, Ordering::Relaxed), parts })
    }

    fn timed(
        &self,
        queue: &D::Queue,
        name: &str,
        work: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        if !self.times.load(Ordering::Relaxed) {
            return work();
        }
        if let Some((address, bytes)) = self.cleared {
            self.device.clear(queue, address, bytes)?;
        }
        let first = self.device.point(queue)?;
        work()?;
        let last = self.device.point(queue)?;
        self.worked().push(Piece { name: name.to_owned(), first, last });
        Ok(())
    }
}

impl<D: Watch> Remote for Timed<D> {
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

impl<D: Watch> Device for Timed<D> {
    type Module = D::Module;
    type Queue = D::Queue;

    fn name(&self) -> &'static str {
        self.device.name()
    }

    fn queue(&self) -> Result<D::Queue, DeviceError> {
        self.device.queue()
    }

    fn copy(&self, queue: &D::Queue, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.timed(queue, "copy", || self.device.copy(queue, from, to, bytes))
    }

    fn clear(&self, queue: &D::Queue, address: u64, bytes: u64) -> Result<(), DeviceError> {
        self.timed(queue, "clear", || self.device.clear(queue, address, bytes))
    }

    fn load(&self, text: &str) -> Result<Self::Module, DeviceError> {
        self.device.load(text)
    }

    fn launch(&self, queue: &D::Queue, module: &Self::Module, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        self.launches.fetch_add(1, Ordering::Relaxed);
        self.timed(queue, launch.entry, || self.device.launch(queue, module, launch))
    }

    fn record(&self, queue: &D::Queue) -> Result<D::Event, DeviceError> {
        self.device.record(queue)
    }

    fn synchronise(&self, queue: &D::Queue) -> Result<(), DeviceError> {
        self.device.synchronise(queue)
    }
}
