//! The fusebox side: programs compiled as the options say.

use std::num::NonZeroUsize;

use anyhow::Result;
use fusebox::{
    Fusion,
    ir::{Array, Program as Ir, Value},
};

use crate::{data::Data, program::Program};

/// What programs are compiled with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setting {
    /// How operations are combined.
    pub fusion: Fusion,
    /// How many threads; none: all cores.
    pub threads: Option<NonZeroUsize>,
}

impl Setting {
    fn options(self) -> fusebox::Options {
        fusebox::Options { threads: self.threads, fusion: self.fusion, ..fusebox::Options::default() }
    }
}

/// A program compiled, with its inputs.
pub struct Compiled<'p> {
    program: &'p Program,
    compiled: fusebox::Program,
    arguments: Vec<Value>,
}

impl<'p> Compiled<'p> {
    /// Compiles a program for inputs.
    ///
    /// # Errors
    /// Inputs that are missing; programs that the backend does not run.
    pub fn new(program: &'p Program, data: &Data, setting: Setting) -> Result<Self> {
        let ir: Ir = program.ir()?;
        let arguments = program.arguments(&ir, data)?;
        let compiled = fusebox::compile_program(&ir, &setting.options())?;
        Ok(Self { program, compiled, arguments })
    }

    /// Runs it: all its results.
    ///
    /// # Errors
    /// What fails inside.
    pub fn run(&self) -> Result<Vec<Value>> {
        Ok(self.compiled.run(&self.arguments)?)
    }

    /// Those of its results that count.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn results(&self) -> Result<Vec<Array>> {
        self.program.select(self.run()?)
    }
}
