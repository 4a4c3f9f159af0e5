//! The fusebox side: programs compiled as the options say.

use std::{fmt, num::NonZeroUsize, str::FromStr};

use anyhow::{Result, bail};
use fusebox::ir::{Array, Program as Ir, Value};

use crate::{data::Data, program::Program};

/// How operations are combined into passes over memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fusion {
    /// Each operation runs by itself.
    #[default]
    None,
    /// Neighbours are combined wherever they may be.
    Greedy,
    /// The combination that moves the least memory.
    Optimal,
}

impl Fusion {
    /// Every way there is.
    pub const ALL: [Self; 3] = [Self::None, Self::Greedy, Self::Optimal];

    /// The spelling on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Greedy => "greedy",
            Self::Optimal => "optimal",
        }
    }

    /// Whether the driver can do it.
    pub fn is_supported(self) -> bool {
        self == Self::None
    }
}

impl fmt::Display for Fusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Fusion {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|fusion| fusion.name() == name) {
            Some(fusion) if fusion.is_supported() => Ok(fusion),
            Some(fusion) => bail!("the driver does not do fusion `{fusion}` yet"),
            None => bail!("there is no fusion `{name}`; there are {}", Self::ALL.map(Self::name).join(", ")),
        }
    }
}

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
        fusebox::Options { threads: self.threads, ..fusebox::Options::default() }
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
