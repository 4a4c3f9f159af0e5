//! The fusebox side: programs compiled as the options say.

use std::num::NonZeroUsize;

use anyhow::Result;
use fusebox::{
    Fusion,
    ir::{Array, Program as Ir, Value},
};

use crate::{data::Data, program::Program};

/// A way to compile programs, of those that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// How operations are combined.
    pub fusion: Fusion,
    /// Whether the checks of kernels are left out.
    pub unchecked: bool,
}

impl Way {
    /// What it is called in figures.
    pub fn name(self) -> String {
        format!("{}{}", self.fusion, if self.unchecked { ", unchecked" } else { "" })
    }
}

impl From<Fusion> for Way {
    fn from(fusion: Fusion) -> Self {
        Self { fusion, unchecked: false }
    }
}

/// What programs are compiled with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setting {
    /// Which way.
    pub way: Way,
    /// How many threads; none: all cores.
    pub threads: Option<NonZeroUsize>,
}

impl Setting {
    fn options(self) -> fusebox::Options {
        fusebox::Options { threads: self.threads, fusion: self.way.fusion, ..fusebox::Options::default() }
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
        let options = setting.options();
        let compiled = fusebox::compile_program(&ir, &options)?;
        if !setting.way.unchecked {
            return Ok(Self { program, compiled, arguments });
        }
        // Inputs may come from files. A program that fails on them fails here, and the same run would fail unchecked.
        compiled.run(&arguments)?;
        // SAFETY: with its checks the program does not fail on these inputs, and it is run on no others.
        #[allow(unsafe_code)]
        let compiled = unsafe { fusebox::compile_unchecked(&ir, &options) }?;
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
