//! Backends that run plans: the passes, then code, then runs. Which backend it is makes no other difference.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use fusebox_backend::{BackendError, Compiled, DeviceArray, device_memory::Transfers, lock, profiled};
use fusebox_ir::{Array, FlatInterface, FlatKind, Plan, Program, ProvedPlan, Value};
use smallvec::SmallVec;

use super::{Executable, Loading, cpu, failed::failed, gpu, without_checks::without_checks};
use crate::{
    Backend, DeviceValue, Error, KernelTimes, Options, RunReport, Stage,
    device::{Place, is_empty},
    passes::run_to_plan,
    schedules::passed_over,
    times::LaunchCounts,
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
    let (counts, lists) = (LaunchCounts::default(), Mutex::default());
    let executable = Box::new(Loaded { program: loaded, interface, backend, counts, lists });
    Ok(Loading { executable, stages: Vec::new(), code, passed_over: Vec::new() })
}

struct Loaded {
    program: Box<dyn fusebox_backend::Program>,
    interface: FlatInterface,
    backend: Backend,
    counts: LaunchCounts,
    /// Empty lists for the arrays that runs give, as many as runs were under way at once.
    lists: Mutex<Vec<Vec<Array>>>,
}

impl Loaded {
    /// The arrays that the plan takes.
    fn flat(&self, inputs: &[DeviceValue]) -> Result<SmallVec<[DeviceArray; 8]>, Error> {
        let mut arrays = SmallVec::new();
        for (at, input) in inputs.iter().enumerate() {
            match input.place() {
                // Of any type, as on the host: the elements that are not there say none.
                Place::Flat { kind: FlatKind::Stream { .. }, arrays: own, .. } if is_empty(own) => {
                    let none = self.interface.flat_input(at, &Value::Stream(Vec::new()))?;
                    arrays.extend(none.into_iter().map(DeviceArray::of_host));
                }
                Place::Flat { arrays: own, .. } => arrays.extend(own.iter().cloned()),
                Place::Host(value) => {
                    arrays.extend(self.interface.flat_input(at, value)?.into_iter().map(DeviceArray::of_host));
                }
            }
        }
        Ok(arrays)
    }

    /// The results that arrays are.
    fn values(&self, arrays: Vec<DeviceArray>) -> Vec<DeviceValue> {
        let mut arrays = arrays.into_iter();
        let value = |&kind: &FlatKind| {
            let own: SmallVec<[DeviceArray; 2]> = arrays.by_ref().take(kind.arrays()).collect();
            let whole = own.len() == kind.arrays();
            whole.then(|| DeviceValue::new(self.backend, Place::Flat { kind, arrays: own, made: true }))
        };
        self.interface.results().iter().map_while(value).collect()
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

    fn run_into(&self, inputs: &[Value], results: &mut Vec<Value>) -> Result<RunReport, Error> {
        // Their memory is free for what the run makes.
        results.clear();
        let arrays = self.interface.flat(inputs)?;
        let mut flat = lock(&self.lists).pop().unwrap_or_default();
        let ran = self.program.run_into(&arrays, &mut flat);
        let made = self.interface.values_into(flat.drain(..), results);
        lock(&self.lists).push(flat);
        let statistics = ran.map_err(|error| failed(self.backend, error))?;
        made?;
        Ok(RunReport { peak_bytes: Some(statistics.peak_bytes) })
    }

    fn to_device(&self, values: &[Value]) -> Result<Vec<DeviceValue>, Error> {
        let brought = |array: &Array| self.program.to_device(array).map_err(|error| failed(self.backend, error));
        let place = |value: &Value| {
            let Some(kind) = FlatKind::of_value(value) else { return Ok::<Place, Error>(Place::Host(value.clone())) };
            let arrays = kind.flat(value)?.iter().map(brought).collect::<Result<_, _>>()?;
            Ok(Place::Flat { kind, arrays, made: false })
        };
        values.iter().map(|value| Ok(DeviceValue::new(self.backend, place(value)?))).collect()
    }

    fn run_on_device(&self, inputs: &[DeviceValue]) -> Result<(Vec<DeviceValue>, RunReport), Error> {
        let arrays = self.flat(inputs)?;
        let (results, statistics) = self.program.run_resident(&arrays).map_err(|error| failed(self.backend, error))?;
        let report = RunReport { peak_bytes: Some(statistics.peak_bytes) };
        Ok((self.values(results), report))
    }

    fn transfers(&self) -> Transfers {
        self.program.transfers()
    }

    fn run_timed(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport, KernelTimes), Error> {
        let (ran, launches) = profiled(|| self.run(inputs));
        let (results, report) = ran?;
        Ok((results, report, self.counts.times(self.program.plan(), &self.interface.flat(inputs)?, &launches)))
    }
}
