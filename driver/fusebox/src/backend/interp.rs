//! The interpreter as a backend: the program as it was read.

use fusebox_ir::{Program, RunError, Value};

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
    fn run(&self, inputs: &[Value]) -> Result<(Vec<Value>, RunReport), Error> {
        let results = fusebox_interp::run(&self.program, inputs).map_err(|error| match error {
            fusebox_interp::Error::Run(error) => Error::Run(error),
            fusebox_interp::Error::Input { name, expected, given } => {
                InputError::Type { input: name, expected, found: given }.into()
            }
            // Inputs were checked; what the interpreter still finds is about extents.
            other => Error::Run(RunError {
                operation: format!("program `{}`", self.program.name),
                place: Default::default(),
                fault: fusebox_ir::Fault::Assertion { message: other.to_string() },
            }),
        })?;
        Ok((results, RunReport::default()))
    }
}
