//! A simulated device that does work as late as it may: where somebody waits for it, and not before. A GPU is somewhere between that and the
//! simulator, which does it at once. Whatever has to be waited for, and is not, gives other results here.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use fusebox_ptx::{Device, DeviceError, DeviceLaunch, Remote, sim::Simulator};

/// The device.
pub struct Late {
    simulator: Arc<Simulator>,
    /// Pieces of work that were done, and how many of these somebody waited for as soon as they were asked for.
    done: Arc<AtomicU64>,
    late: Arc<AtomicU64>,
}

type Work = Box<dyn FnOnce(&Simulator) -> Result<(), DeviceError> + Send>;

/// Work in the order in which it is done.
#[derive(Clone, Default)]
pub struct Queue(Arc<Mutex<Line>>);

#[derive(Default)]
struct Line {
    waiting: VecDeque<Work>,
    asked: u64,
    done: u64,
    /// What went wrong stays so.
    failed: Option<DeviceError>,
}

/// After so many pieces of work of a queue.
#[derive(Clone)]
pub struct Event(Queue, u64);

impl Late {
    pub fn new(simulator: Simulator) -> Self {
        Self { simulator: Arc::new(simulator), done: Arc::default(), late: Arc::default() }
    }

    /// Pieces of work that were done, and those of them before which other work had been asked for that waited too.
    pub fn worked(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.late.load(Ordering::Relaxed))
    }

    fn ask(&self, queue: &Queue, work: Work) {
        let mut line = queue.0.lock().unwrap();
        line.asked += 1;
        line.waiting.push_back(work);
    }

    fn work(&self, queue: &Queue, until: u64) -> Result<(), DeviceError> {
        let mut line = queue.0.lock().unwrap();
        while line.done < until {
            let Some(work) = line.waiting.pop_front() else { break };
            self.done.fetch_add(1, Ordering::Relaxed);
            self.late.fetch_add(u64::from(!line.waiting.is_empty()), Ordering::Relaxed);
            line.done += 1;
            if line.failed.is_none() {
                line.failed = work(&self.simulator).err();
            }
        }
        line.failed.clone().map_or(Ok(()), Err)
    }
}

impl Remote for Late {
    type Event = Event;
    type Error = DeviceError;

    fn allocate(&self, name: &str, bytes: u64) -> Result<Option<u64>, DeviceError> {
        self.simulator.allocate(name, bytes)
    }

    fn free(&self, address: u64) {
        self.simulator.free(address);
    }

    fn upload(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.simulator.upload(address, bytes)
    }

    fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.simulator.download(address, bytes)
    }

    fn save(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.simulator.save(address, bytes)
    }

    fn keeps_blocks(&self) -> bool {
        self.simulator.keeps_blocks()
    }

    // `forget` says what memory is from here on, and work that was asked for before still uses it: the simulator is not told.

    fn is_done(&self, event: &Event) -> Result<bool, DeviceError> {
        Ok(event.0.0.lock().unwrap().done >= event.1)
    }

    fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        self.work(&event.0, event.1)
    }
}

impl Device for Late {
    type Module = Arc<<Simulator as Device>::Module>;
    type Queue = Queue;

    fn name(&self) -> &'static str {
        "late"
    }

    fn queue(&self) -> Result<Queue, DeviceError> {
        Ok(Queue::default())
    }

    fn copy(&self, queue: &Queue, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.ask(queue, Box::new(move |simulator| simulator.copy(&(), from, to, bytes)));
        Ok(())
    }

    fn clear(&self, queue: &Queue, address: u64, bytes: u64) -> Result<(), DeviceError> {
        self.ask(queue, Box::new(move |simulator| simulator.clear(&(), address, bytes)));
        Ok(())
    }

    fn load(&self, text: &str) -> Result<Self::Module, DeviceError> {
        self.simulator.load(text).map(Arc::new)
    }

    fn launch(&self, queue: &Queue, module: &Self::Module, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        let (module, entry, arguments) = (module.clone(), launch.entry.to_owned(), launch.arguments.to_vec());
        let (blocks, threads) = (launch.blocks, launch.threads);
        self.ask(
            queue,
            Box::new(move |simulator| {
                simulator.launch(&(), &module, &DeviceLaunch { entry: &entry, blocks, threads, arguments: &arguments })
            }),
        );
        Ok(())
    }

    fn record(&self, queue: &Queue) -> Result<Event, DeviceError> {
        let asked = queue.0.lock().unwrap().asked;
        Ok(Event(queue.clone(), asked))
    }

    fn synchronise(&self, queue: &Queue) -> Result<(), DeviceError> {
        self.work(queue, u64::MAX)
    }
}
