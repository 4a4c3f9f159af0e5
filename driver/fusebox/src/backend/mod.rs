//! The only place that knows the backends: it turns a program or a plan into something that runs.

mod cpu;
mod interp;
mod without_checks;

use std::time::Duration;

use fusebox_ir::{Plan, Program, Value};

pub(crate) use self::cpu::MadePlan;
use crate::{Backend, Error, Options, RunReport, Stage};

/// A program that is loaded and ready to run, from any thread.
pub(crate) trait Executable: Send + Sync {
    /// Runs on inputs that fit.
    fn run(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport), Error>;
}

/// A loaded program, and how it came to be.
pub(crate) struct Loading {
    pub executable: Box<dyn Executable>,
    /// What each pass made.
    pub stages: Vec<Stage>,
    /// How long making and loading code took.
    pub code: Duration,
}

/// Compiles and loads a valid plan.
pub(crate) fn load_plan(plan: &Plan, options: &Options) -> Result<Loading, Error> {
    match options.backend {
        Backend::Cpu => cpu::load_plan(plan, options),
        Backend::Interp => {
            let executable = Box::new(interp::InterpretedPlan::new(plan));
            Ok(Loading { executable, stages: Vec::new(), code: Duration::ZERO })
        }
    }
}

/// Compiles and loads a valid program.
pub(crate) fn load(program: &Program, options: &Options) -> Result<Loading, Error> {
    match options.backend {
        Backend::Cpu => cpu::load(program, options),
        Backend::Interp => {
            let executable = Box::new(interp::Interpreted::new(program));
            Ok(Loading { executable, stages: Vec::new(), code: Duration::ZERO })
        }
    }
}

/// As [`load`], without the checks of the program's kernels. The interpreter checks all the same.
///
/// # Safety
/// As [`crate::compile_unchecked`].
#[allow(unsafe_code)]
pub(crate) unsafe fn load_unchecked(program: &Program, options: &Options) -> Result<Loading, Error> {
    match options.backend {
        // SAFETY: the caller promises the same.
        Backend::Cpu => unsafe { cpu::load_unchecked(program, options) },
        Backend::Interp => load(program, options),
    }
}
