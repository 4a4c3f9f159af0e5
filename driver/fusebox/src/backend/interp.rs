//! The backend `interp`: the interpreter runs the program or the plan as it was read.

use fusebox_ir::{Plan, Program, RunError, Value, analysis::with_checks};

use super::Executable;
use crate::{Error, InputError, RunReport};

/// A program that the interpreter runs.
pub(super) struct Interpreted {
    program: Program,
}

impl Interpreted {
    pub(super) fn new(program: &Program) -> Self {
        Self { program: program.clone() }
    }
}

impl Executable for Interpreted {
    fn runs_as_read(&self) -> bool {
        true
    }

    fn run(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport), Error> {
        let results = fusebox_interp::run(&self.program, inputs).map_err(|error| failed(error, &self.program.name))?;
        Ok((results, RunReport::default()))
    }
}

/// A plan that the interpreter runs.
pub(super) struct InterpretedPlan {
    plan: Plan,
}

impl InterpretedPlan {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut plan = plan.clone();
        for kernel in &mut plan.kernels {
            *kernel = with_checks(kernel); // so that errors are those of compiled code
        }
        Self { plan }
    }
}

impl Executable for InterpretedPlan {
    fn run(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport), Error> {
        let run = fusebox_interp::run_plan(&self.plan, inputs);
        let (results, counts) = run.map_err(|error| failed(error, &self.plan.name))?;
        Ok((results, RunReport { peak_bytes: usize::try_from(counts.peak_bytes).ok() }))
    }
}

fn failed(error: fusebox_interp::Error, name: &str) -> Error {
    match error {
        fusebox_interp::Error::Run(error) => Error::Run(error),
        fusebox_interp::Error::Input { name, expected, given } => {
            InputError::Type { input: name, expected, found: given }.into()
        }
        error @ (fusebox_interp::Error::BadPlan { .. } | fusebox_interp::Error::Deep { .. }) => {
            Error::Backend { backend: "interp", source: Box::new(error) }
        }
        // Inputs were checked; what the interpreter still finds is about extents.
        other => Error::Run(RunError {
            operation: format!("program `{name}`"),
            place: Default::default(),
            fault: fusebox_ir::Fault::Assertion { message: other.to_string() },
        }),
    }
}
