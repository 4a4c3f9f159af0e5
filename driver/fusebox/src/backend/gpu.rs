//! The backends `cuda` and `sim`: PTX on the GPU of this machine, or on a simulated one.

use std::sync::Arc;

use fusebox_backend::Backend;
use fusebox_ir::Plan;

use crate::{Error, Options};

#[cfg(feature = "gpu")]
mod there {
    use std::{
        collections::HashMap,
        sync::{LazyLock, Mutex},
    };

    use fusebox_backend::lock;
    use fusebox_cuda::{Cuda, Gpu};
    use fusebox_ptx::{
        Device, DeviceMemory, PtxBackend,
        sim::{Options as Machine, Simulator},
    };
    use fusebox_schedule::Target;

    use super::*;

    /// Backends by the bytes that their arrays take at most. All programs with one limit share the memory of the device, so that arrays stay
    /// there from one to the next.
    type Backends<D> = LazyLock<Mutex<HashMap<Option<u64>, Arc<PtxBackend<D>>>>>;

    /// The GPU, once it was asked for and is there.
    static CUDA: Backends<Cuda> = LazyLock::new(Mutex::default);
    /// Simulated ones.
    static SIMULATED: Backends<Simulator> = LazyLock::new(Mutex::default);

    /// The backend of this limit, which `open` makes the first time.
    fn shared<D: Device>(
        backends: &Backends<D>,
        options: &Options,
        open: impl FnOnce() -> Result<(D, Target, u64), Error>,
    ) -> Result<Arc<PtxBackend<D>>, Error> {
        let mut backends = lock(backends);
        if let Some(backend) = backends.get(&options.device_memory) {
            return Ok(backend.clone());
        }
        let (device, target, room) = open()?;
        let memory = DeviceMemory::with_limit(device, options.device_memory.unwrap_or(room));
        let made = Arc::new(PtxBackend::with_memory(memory, target));
        backends.insert(options.device_memory, made.clone());
        Ok(made)
    }

    /// What the first GPU is; or why there is none.
    pub(crate) fn first() -> Result<String, String> {
        let gpus = fusebox_cuda::gpus().map_err(|error| error.to_string())?;
        let gpu = gpus.first().ok_or("the driver knows no GPU")?;
        described(gpu).map(|_| gpu.name.clone())
    }

    /// What code for a GPU is made for; or why there is none.
    fn described(gpu: &Gpu) -> Result<Target, String> {
        let too_old = || format!("{} is {}, and code is made from sm_70 on", gpu.name, gpu.architecture());
        Target::of_gpu(&gpu.architecture()).ok_or_else(too_old)
    }

    /// A backend with the schedules that options give for a plan, if they do.
    fn scheduled<D: Device>(
        backend: Arc<PtxBackend<D>>,
        plan: &Plan,
        options: &Options,
    ) -> Result<Arc<dyn Backend>, Error> {
        let Some(text) = &options.schedules else { return Ok(backend) };
        let schedules = Arc::new(crate::schedules::read(text, plan)?);
        Ok(Arc::new(backend.with_schedules(schedules)))
    }

    pub(crate) fn cuda(plan: &Plan, options: &Options) -> Result<Arc<dyn Backend>, Error> {
        scheduled(shared(&CUDA, options, opened)?, plan, options)
    }

    /// The GPU, what code is made for, and the bytes that arrays may take.
    fn opened() -> Result<(Cuda, Target, u64), Error> {
        let none = |source| Error::Backend { backend: "cuda", source };
        let device = Cuda::open(fusebox_cuda::Options::default()).map_err(|error| none(Box::new(error)))?;
        let target = described(device.gpu()).map_err(|why| none(why.into()))?;
        let room = device.room().map_err(|error| none(Box::new(error)))?;
        Ok((device, target, room))
    }

    pub(crate) fn simulator(plan: &Plan, options: &Options) -> Result<Arc<dyn Backend>, Error> {
        let open = || {
            let described = Target::named("sm_90").ok_or_else(|| Error::Backend {
                backend: "sim",
                source: "the simulated GPU is not described".into(),
            })?;
            Ok((Simulator::new(Machine::default()), described, u64::MAX))
        };
        scheduled(shared(&SIMULATED, options, open)?, plan, options)
    }
}

#[cfg(not(feature = "gpu"))]
mod there {
    use super::*;

    const NONE: &str = "this build has no code for GPUs: the feature `gpu` of `fusebox` is off";

    pub(crate) fn none<T>(backend: &'static str) -> Result<T, Error> {
        Err(Error::Backend { backend, source: NONE.into() })
    }

    pub(crate) fn first() -> Result<String, String> {
        Err(NONE.to_owned())
    }

    pub(crate) fn cuda(_: &Plan, _: &Options) -> Result<Arc<dyn Backend>, Error> {
        none("cuda")
    }

    pub(crate) fn simulator(_: &Plan, _: &Options) -> Result<Arc<dyn Backend>, Error> {
        none("sim")
    }
}

#[cfg(not(feature = "gpu"))]
pub(crate) use there::none;
pub(crate) use there::{cuda, first, simulator};
