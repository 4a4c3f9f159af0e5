//! The only place that knows the backends: it turns a program or a plan into something that runs.

mod cpu;
mod failed;
mod gpu;
mod interp;
mod planned;
mod without_checks;

use std::time::Duration;

use fusebox_backend::device_memory::Transfers;
use fusebox_ir::{Plan, Program, Value};

#[cfg(not(feature = "gpu"))]
pub(crate) use self::gpu::none as no_gpus;
pub(crate) use self::{failed::failed, planned::MadePlan};
use crate::{Backend, DeviceValue, Error, KernelTimes, Options, RunReport, Stage, device::Place};

/// A program that is loaded and ready to run, from any thread.
pub(crate) trait Executable: Send + Sync {
    /// Runs on inputs that fit.
    fn run(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport), Error>;

    /// As [`Self::run`], with results in the place of what `results` held.
    fn run_into(&self, inputs: &[Value], results: &mut Vec<Value>) -> Result<RunReport, Error> {
        results.clear();
        let (made, report) = self.run(inputs)?;
        results.extend(made);
        Ok(report)
    }

    /// Whether it runs the program as it was read, without any pass.
    fn runs_as_read(&self) -> bool {
        false
    }

    /// Brings values to where the program runs.
    fn to_device(&self, values: &[Value]) -> Result<Vec<DeviceValue>, Error> {
        Ok(values.iter().map(|value| DeviceValue::new(Backend::Interp, Place::Host(value.clone()))).collect())
    }

    /// As [`Self::run`], from and to values that stay where the program runs.
    fn run_on_device(&self, inputs: &[DeviceValue]) -> Result<(Vec<DeviceValue>, RunReport), Error> {
        let inputs = inputs.iter().map(DeviceValue::to_host).collect::<Result<Vec<_>, _>>()?;
        let (results, report) = self.run(&inputs)?;
        Ok((self.to_device(&results)?, report))
    }

    /// What was copied between the host and the device so far, by all programs on it.
    fn transfers(&self) -> Transfers {
        Transfers::default()
    }

    /// As [`Self::run`], with what each kernel took; of what runs no kernels, nothing.
    fn run_timed(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport, KernelTimes), Error> {
        self.run(inputs).map(|(results, report)| (results, report, KernelTimes::default()))
    }
}

/// A loaded program, and how it came to be.
pub(crate) struct Loading {
    pub executable: Box<dyn Executable>,
    /// What each pass made.
    pub stages: Vec<Stage>,
    /// How long making and loading code took.
    pub code: Duration,
    /// The targets of the schedules that were given, where it runs by none of them.
    pub passed_over: Vec<String>,
}

impl Backend {
    /// The backend that [`Backend::Auto`] stands for on this machine, and why; any other backend as it is.
    pub fn chosen(self) -> (Self, Option<String>) {
        if self != Self::Auto {
            return (self, None);
        }
        match gpu::first() {
            Ok(name) => (Self::Cuda, Some(format!("there is a GPU: {name}"))),
            Err(why) => (Self::Cpu, Some(format!("there is no GPU: {why}"))),
        }
    }
}

/// Compiles and loads a valid plan.
pub(crate) fn load_plan(plan: &Plan, options: &Options) -> Result<Loading, Error> {
    let options = chosen(options);
    match options.backend {
        Backend::Interp => {
            let executable = Box::new(interp::InterpretedPlan::new(plan));
            Ok(Loading { executable, stages: Vec::new(), code: Duration::ZERO, passed_over: Vec::new() })
        }
        _ => planned::load_plan(plan, &options),
    }
}

/// Compiles and loads a valid program.
pub(crate) fn load(program: &Program, options: &Options) -> Result<Loading, Error> {
    let options = chosen(options);
    match options.backend {
        Backend::Interp => {
            let executable = Box::new(interp::Interpreted::new(program));
            Ok(Loading { executable, stages: Vec::new(), code: Duration::ZERO, passed_over: Vec::new() })
        }
        _ => planned::load(program, &options),
    }
}

/// As [`load`], without the checks of the program's kernels. The interpreter checks all the same.
///
/// # Safety
/// As [`crate::compile_unchecked`].
#[allow(unsafe_code)]
pub(crate) unsafe fn load_unchecked(program: &Program, options: &Options) -> Result<Loading, Error> {
    let options = chosen(options);
    match options.backend {
        Backend::Interp => load(program, &options),
        // SAFETY: the caller promises the same.
        _ => unsafe { planned::load_unchecked(program, &options) },
    }
}

/// Options with a backend that is not [`Backend::Auto`].
fn chosen(options: &Options) -> Options {
    Options { backend: options.backend.chosen().0, ..options.clone() }
}
