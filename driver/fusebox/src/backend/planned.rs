//! Backends that run plans: the passes, then code, then runs. Which backend it is makes no other difference.

use std::{sync::Arc, time::Instant};

use fusebox_backend::{BackendError, Compiled, DeviceArray, device_memory::Transfers, profiled};
use fusebox_ir::{Array, FlatInterface, Nested, Plan, Program, ProvedPlan, Value};
use smallvec::SmallVec;

use super::{Executable, Loading, cpu, failed::failed, gpu, without_checks::without_checks};
use crate::{
    Backend, DeviceValue, Error, KernelTimes, Options, RunReport, Stage, device::Place, passes::run_to_plan,
    schedules::passed_over, times::times,
};

/// Compiles and loads a valid program.
pub(super) fn load(program: &Program, options: &Options) -> Result<Loading, Error> {
    let made = MadePlan::of(program, options)?;
    made.load(options).map(|loading| Loading { stages: made.stages, ..loading })
}

/// A plan that the passes have made and that nobody has changed.
pub(crate) struct MadePlan {
    stages: Vec<Stage>,
    plan: ProvedPlan,
    interface: FlatInterface,
}

impl MadePlan {
    /// The plan of a valid program.
    pub(crate) fn of(program: &Program, options: &Options) -> Result<Self, Error> {
        let (stages, plan) = made(program, options)?;
        Ok(Self { stages, plan, interface: FlatInterface::of(program) })
    }

    /// What was made.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Compiles and loads it.
    pub(crate) fn load(&self, options: &Options) -> Result<Loading, Error> {
        loaded(&self.plan, self.interface.clone(), options)
    }
}

/// As [`load`], without the checks of the program's kernels.
///
/// # Safety
/// As [`crate::compile_unchecked`].
#[allow(unsafe_code)]
pub(super) unsafe fn load_unchecked(program: &Program, options: &Options) -> Result<Loading, Error> {
    let (stages, plan) = made(program, options)?;
    // SAFETY: what lowering has left unchecked it has proved; for what it checked the caller vouches.
    let bare = unsafe { ProvedPlan::new(without_checks(&plan)) };
    loaded(&bare, FlatInterface::of(program), options).map(|loading| Loading { stages, ..loading })
}

/// What each pass makes of a program.
fn made(program: &Program, options: &Options) -> Result<(Vec<Stage>, ProvedPlan), Error> {
    run_to_plan(program, options)
}

/// The backend that options name, for this plan.
fn backend_for(plan: &Plan, options: &Options) -> Result<Arc<dyn fusebox_backend::Backend>, Error> {
    match options.backend {
        Backend::Cuda => gpu::cuda(plan, options),
        Backend::Sim => gpu::simulator(plan, options),
        Backend::Cpu | Backend::Interp | Backend::Auto => Ok(cpu::backend_for(plan, options)?),
    }
}

/// Compiles and loads a plan that needs no guards.
fn loaded(plan: &ProvedPlan, interface: FlatInterface, options: &Options) -> Result<Loading, Error> {
    let backend = backend_for(plan, options)?;
    let passed_over = passed_over(plan, options)?;
    let loading = load_by(|| backend.compile_proved(plan), interface, options.backend)?;
    Ok(Loading { passed_over, ..loading })
}

/// Compiles and loads a valid plan.
pub(super) fn load_plan(plan: &Plan, options: &Options) -> Result<Loading, Error> {
    let backend = backend_for(plan, options)?;
    let passed_over = passed_over(plan, options)?;
    let loading = load_by(|| backend.compile(plan), FlatInterface::of_arrays(plan.outputs.len()), options.backend)?;
    Ok(Loading { passed_over, ..loading })
}

fn load_by(
    compile: impl FnOnce() -> Result<Box<dyn Compiled>, BackendError>,
    interface: FlatInterface,
    backend: Backend,
) -> Result<Loading, Error> {
    let begin = Instant::now();
    let loaded = compile().and_then(|compiled| compiled.load()).map_err(|error| failed(backend, error))?;
    let code = begin.elapsed();
    let executable = Box::new(Loaded { program: loaded, interface, backend });
    Ok(Loading { executable, stages: Vec::new(), code, passed_over: Vec::new() })
}

struct Loaded {
    program: Box<dyn fusebox_backend::Program>,
    interface: FlatInterface,
    backend: Backend,
}

impl Loaded {
    /// The arrays that the plan takes. Where one of the inputs is on the host, as streams are, all of them go through it.
    fn flat(&self, inputs: &[DeviceValue]) -> Result<SmallVec<[DeviceArray; 8]>, Error> {
        let mut arrays = SmallVec::new();
        for input in inputs {
            match input.place() {
                Place::Array(array) => arrays.push(array.clone()),
                Place::Nested { extents, values } => arrays.extend([extents.clone(), values.clone()]),
                Place::Host(_) => {
                    let values = inputs.iter().map(DeviceValue::to_host).collect::<Result<Vec<_>, _>>()?;
                    return Ok(self.interface.flat(&values)?.into_iter().map(DeviceArray::of_host).collect());
                }
            }
        }
        Ok(arrays)
    }

    /// The results that arrays are. Where one is a stream, which is on the host, all arrays are copied there.
    fn values(&self, arrays: Vec<DeviceArray>) -> Result<Vec<DeviceValue>, Error> {
        let of_device = |array: &DeviceArray| array.to_host().map_err(|error| failed(self.backend, error));
        let mut on_host = Vec::new();
        if self.interface.arrays_of_results().any(|(_, stream)| stream) {
            let arrays = arrays.iter().map(of_device).collect::<Result<Vec<_>, _>>()?;
            on_host = self.interface.values(arrays)?;
        }
        let mut on_host = on_host.into_iter();
        let mut arrays = arrays.into_iter();
        let place = |(count, stream)| {
            let value = on_host.next();
            Some(match (count, stream) {
                (1, false) => Place::Array(arrays.next()?),
                (_, false) => Place::Nested { extents: arrays.next()?, values: arrays.next()? },
                (_, true) => {
                    arrays.by_ref().take(count).for_each(drop);
                    Place::Host(value?)
                }
            })
        };
        let places = self.interface.arrays_of_results().map_while(place);
        Ok(places.map(|place| DeviceValue::new(self.backend, place)).collect())
    }
}

impl Executable for Loaded {
    fn run(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport), Error> {
        let arrays = self.interface.flat(inputs)?;
        let (results, statistics) =
            self.program.run_with_statistics(&arrays).map_err(|error| failed(self.backend, error))?;
        let report = RunReport { peak_bytes: Some(statistics.peak_bytes) };
        Ok((self.interface.values(results)?, report))
    }

    fn to_device(&self, values: &[Value]) -> Result<Vec<DeviceValue>, Error> {
        let brought = |array: &Array| self.program.to_device(array).map_err(|error| failed(self.backend, error));
        let place = |value: &Value| {
            Ok::<Place, Error>(match value {
                Value::Array(array) => Place::Array(brought(array)?),
                Value::Nested(Nested { extents, values }) => {
                    Place::Nested { extents: brought(extents)?, values: brought(values)? }
                }
                // Its elements are put together for each run.
                Value::Stream(_) => Place::Host(value.clone()),
            })
        };
        values.iter().map(|value| Ok(DeviceValue::new(self.backend, place(value)?))).collect()
    }

    fn run_on_device(&self, inputs: &[DeviceValue]) -> Result<(Vec<DeviceValue>, RunReport), Error> {
        let arrays = self.flat(inputs)?;
        let (results, statistics) = self.program.run_resident(&arrays).map_err(|error| failed(self.backend, error))?;
        let report = RunReport { peak_bytes: Some(statistics.peak_bytes) };
        Ok((self.values(results)?, report))
    }

    fn transfers(&self) -> Transfers {
        self.program.transfers()
    }

    fn run_timed(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport, KernelTimes), Error> {
        let (ran, launches) = profiled(|| self.run(inputs));
        let (results, report) = ran?;
        Ok((results, report, times(self.program.plan(), &self.interface.flat(inputs)?, &launches)))
    }
}
