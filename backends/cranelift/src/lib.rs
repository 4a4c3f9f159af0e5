#![doc = include_str!("../README.md")]

mod alike;
mod beside;
mod caches;
mod code_memory;
mod compile;
mod cpu;
pub mod emit;
mod estimate;
mod failure;
mod huge;
mod kernel;
mod lanes;
mod launch;
mod load;
mod loaded_kernel;
pub mod lower;
mod machine;
mod making;
mod rounding;
mod short_code;
mod sort;
mod threads;
mod wide;

pub use code_memory::Block;
pub use compile::CompiledPlan;
pub use fusebox_vector as vector;
pub use fusebox_wide::Features;
pub use kernel::{CompiledKernel, compile_kernel, compile_scheduled};
pub use load::LoadedPlan;
pub use short_code::{ShortCode, short_code};
pub use wide::WideKernel;

use std::sync::{Arc, Mutex, atomic::AtomicUsize};

use fusebox_backend::{Backend, BackendError, Compiled, Pool};
use fusebox_ir::{Plan, ProvedPlan, validate_plan};
use fusebox_schedule::{Book, Sorts, Strips};

use threads::Threads;

/// Beyond any machine's, and what systems still give stacks for.
const MOST_THREADS: usize = 1024;

/// The second cache of a core where the system does not say how large it is.
const USUAL_SECOND_CACHE: usize = 512 << 10;

/// How the backend runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Threads; 0: as many as the machine has.
    pub threads: usize,
    /// Whether kernels may be compiled for gangs.
    pub vectors: bool,
    /// Whether gangs may take vectors of 64 or 32 bytes, where the machine has them.
    pub wide: bool,
    /// What code for such vectors may use; none: whatever the machine has. A backend for features that the machine lacks is refused.
    pub features: Option<Features>,
    /// Most bytes of memory that are kept for later arrays.
    pub pool_bytes: usize,
    /// From how many nanoseconds of (estimated) work on a kernel is shared among threads at first. Launches of a sixteenth to eight times as much are
    /// tried both ways when there are many, and done the way that takes less time.
    pub share_from_ns: u64,
    /// From how many nanoseconds of (estimated) work on that it saves, kernels that need nothing of each other run at once, if none of them is
    /// shared among threads.
    pub at_once_from_ns: u64,
    /// From how many bytes of arrays on a kernel is taken to go over more memory than caches hold.
    pub out_of_cache_bytes: usize,
    /// From how many bytes of arrays on turns of loops, and kernels that follow each other, are done over one strip of rows after another.
    pub strips_from_bytes: usize,
    /// Bytes of the rows of such a strip; 0: three quarters of the second cache of a core.
    pub strip_bytes: usize,
    /// From how many bytes an array of a lane is made by all threads: its lane is left until the others are done.
    pub lane_bytes: usize,
    /// After how many runs a plan whose launches are small gets code that runs all of them in one call; 0: never.
    pub script_from_runs: u32,
    /// Schedules that some kernels are run by, and strips, which count more than the two numbers above. One for 16 bytes (`sse`) alone keeps its kernel from code for longer vectors: on a machine with AVX-512 those
    /// of `avx512` count, else those of `avx2`.
    pub schedules: Arc<Book>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threads: 0,
            vectors: true,
            wide: true,
            features: None,
            pool_bytes: 1 << 30,
            share_from_ns: 20_000,
            at_once_from_ns: 20_000,
            out_of_cache_bytes: 32 << 20,
            strips_from_bytes: Strips::FROM as usize,
            strip_bytes: 0,
            lane_bytes: 1 << 20,
            script_from_runs: 8,
            schedules: Arc::default(),
        }
    }
}

/// The targets whose schedules this machine carries out, the widest vectors first: schedules for the others are passed over.
pub fn targets() -> Vec<&'static str> {
    let wide = Features::of_this_machine().map(|features| if features.avx512 { "avx512" } else { "avx2" });
    wide.into_iter().chain(["sse"]).collect()
}

/// The backend: a pool of threads, and memory that is used again.
#[derive(Debug)]
pub struct Cranelift {
    config: Config,
    /// What wide code may use; none: there is none.
    features: Option<Features>,
    shared: Arc<Shared>,
}

/// What all loaded plans of a backend share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) threads: Threads,
    pub(crate) memory: Pool,
    pub(crate) share_from_ns: u64,
    pub(crate) at_once_from_ns: u64,
    pub(crate) out_of_cache_bytes: usize,
    pub(crate) strips_from_bytes: usize,
    pub(crate) strip_bytes: usize,
    pub(crate) lane_bytes: usize,
    pub(crate) script_from_runs: u32,
    pub(crate) sorts: Sorts,
    /// What threads need to run lanes, of runs that are over.
    pub(crate) lanes: Mutex<Vec<lanes::Worker>>,
    /// How many lanes, and runs of small plans, went on as plans do, after their code had stopped.
    pub(crate) lanes_stopped: AtomicUsize,
}

impl Shared {
    /// The same for a thread that nobody helps.
    fn alone(&self) -> Self {
        Self {
            threads: Threads::alone(),
            memory: Pool::new(lanes::POOL_BYTES),
            lanes: Mutex::default(),
            lanes_stopped: AtomicUsize::new(0),
            ..*self
        }
    }
}

/// Bytes of a strip, and from how many bytes on there are strips.
fn strips(config: &Config) -> (usize, usize) {
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    match (config.schedules.strips(), config.strip_bytes) {
        (Some(Strips::Never), own) => (own, usize::MAX),
        (Some(Strips::Of { bytes: own, from }), _) => (bytes(own), bytes(from)),
        (None, 0) => {
            let second = caches::second().unwrap_or(USUAL_SECOND_CACHE);
            (bytes(Strips::bytes_for(second as u64)), config.strips_from_bytes)
        }
        (None, own) => (own, config.strips_from_bytes),
    }
}

impl Cranelift {
    /// A backend of its own threads.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] if the system gives no threads, or [`Config::features`] are not those of this machine.
    pub fn new(config: Config) -> Result<Self, BackendError> {
        let features = wide::features(&config)?;
        let count = if config.threads == 0 {
            std::thread::available_parallelism().map_or(1, usize::from)
        } else {
            config.threads
        };
        if count > MOST_THREADS {
            let what = format!("{count} threads: {MOST_THREADS} at most");
            return Err(BackendError::Unsupported { backend: "cpu", what });
        }
        let threads = Threads::new(count)
            .map_err(|error| BackendError::Unsupported { backend: "cpu", what: format!("{count} threads: {error}") })?;
        let (strip_bytes, strips_from_bytes) = strips(&config);
        let shared = Shared {
            threads,
            memory: Pool::with_advice(config.pool_bytes, huge::pages),
            share_from_ns: config.share_from_ns,
            at_once_from_ns: config.at_once_from_ns,
            out_of_cache_bytes: config.out_of_cache_bytes,
            strips_from_bytes,
            strip_bytes,
            lane_bytes: config.lane_bytes,
            script_from_runs: config.script_from_runs,
            sorts: config.schedules.sorts().unwrap_or(Sorts::USUAL),
            lanes: Mutex::default(),
            lanes_stopped: AtomicUsize::new(0),
        };
        Ok(Self { config, features, shared: Arc::new(shared) })
    }

    /// How it runs.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Bytes of memory that are kept for later arrays.
    pub fn kept_bytes(&self) -> usize {
        self.shared.memory.kept_bytes()
    }

    /// Compiles a plan as far as no machine is needed. Whoever wrote it: where an unchecked index is outside of its array, or an append finds
    /// no room, the run fails instead of touching other memory. What is plainly inside costs nothing.
    ///
    /// # Errors
    /// [`BackendError::BadPlan`] if it is not valid, [`BackendError::Unsupported`], [`BackendError::Compile`].
    pub fn compile_plan(&self, plan: &Plan) -> Result<CompiledPlan, BackendError> {
        validate_plan(plan).map_err(|errors| BackendError::BadPlan { message: errors.to_string() })?;
        CompiledPlan::guarded(plan, &self.config, self.features, self.shared.clone())
    }

    /// The same without any guard: of a plan as lowering makes it, which leaves out the checks that it has proved to be needless. Results are
    /// those of [`Self::compile_plan`].
    ///
    /// # Errors
    /// [`BackendError::Unsupported`], [`BackendError::Compile`].
    pub fn compile_proved_plan(&self, plan: &ProvedPlan) -> Result<CompiledPlan, BackendError> {
        CompiledPlan::new(plan, &self.config, self.features, self.shared.clone())
    }
}

impl Backend for Cranelift {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn compile(&self, plan: &Plan) -> Result<Box<dyn Compiled>, BackendError> {
        Ok(Box::new(self.compile_plan(plan)?))
    }

    fn compile_proved(&self, plan: &ProvedPlan) -> Result<Box<dyn Compiled>, BackendError> {
        Ok(Box::new(self.compile_proved_plan(plan)?))
    }
}
