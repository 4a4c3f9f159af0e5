//! Backends that run plans: the passes, then code, then runs. Which backend it is makes no other difference.

use std::{sync::Arc, time::Instant};

use fusebox_backend::{BackendError, Compiled, profiled};
use fusebox_ir::{FlatInterface, Plan, Program, ProvedPlan, Value};

use super::{Executable, Loading, cpu, failed::failed, gpu, without_checks::without_checks};
use crate::{Backend, Error, KernelTimes, Options, RunReport, Stage, passes::run_to_plan, times::times};

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
    load_by(|| backend.compile_proved(plan), interface, options.backend)
}

/// Compiles and loads a valid plan.
pub(super) fn load_plan(plan: &Plan, options: &Options) -> Result<Loading, Error> {
    let backend = backend_for(plan, options)?;
    load_by(|| backend.compile(plan), FlatInterface::of_arrays(plan.outputs.len()), options.backend)
}

fn load_by(
    compile: impl FnOnce() -> Result<Box<dyn Compiled>, BackendError>,
    interface: FlatInterface,
    backend: Backend,
) -> Result<Loading, Error> {
    let begin = Instant::now();
    let loaded = compile().and_then(|compiled| compiled.load()).map_err(|error| failed(backend, error))?;
    let code = begin.elapsed();
    Ok(Loading { executable: Box::new(Loaded { program: loaded, interface, backend }), stages: Vec::new(), code })
}

struct Loaded {
    program: Box<dyn fusebox_backend::Program>,
    interface: FlatInterface,
    backend: Backend,
}

impl Executable for Loaded {
    fn run(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport), Error> {
        let arrays = self.interface.flat(inputs)?;
        let (results, statistics) =
            self.program.run_with_statistics(&arrays).map_err(|error| failed(self.backend, error))?;
        let report = RunReport { peak_bytes: Some(statistics.peak_bytes) };
        Ok((self.interface.values(results)?, report))
    }

    fn run_timed(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport, KernelTimes), Error> {
        let (ran, launches) = profiled(|| self.run(inputs));
        let (results, report) = ran?;
        Ok((results, report, times(self.program.plan(), &self.interface.flat(inputs)?, &launches)))
    }
}
