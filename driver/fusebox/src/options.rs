//! What is to be compiled how.

use std::{fmt, num::NonZeroUsize, str::FromStr};

/// How programs are compiled and run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// What runs the program.
    pub backend: Backend,
    /// How many threads run it; without, as many as there are cores. Results do not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Whether programs are checked after each pass; builds with debug assertions always do.
    pub verify: bool,
    /// Whether scalar terms that a program uses several times are computed once; without, to see what that is worth, an embedded
    /// program's code grows as its unfolded terms do.
    pub sharing: bool,
    /// Whether a program that was compiled before with the same options is taken from the cache.
    pub cache: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { backend: Backend::default(), threads: None, verify: false, sharing: true, cache: true }
    }
}

impl Options {
    /// These options for another backend.
    pub fn on(backend: Backend) -> Self {
        Self { backend, ..Self::default() }
    }

    pub(crate) fn verifies(&self) -> bool {
        self.verify || cfg!(debug_assertions)
    }
}

/// What runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// All cores, compiled by Cranelift. Flat programs only.
    #[default]
    Cpu,
    /// The interpreter: every program, slowly; what programs mean.
    Interp,
}

impl Backend {
    /// Every backend there is.
    pub const ALL: [Self; 2] = [Self::Cpu, Self::Interp];

    /// The spelling on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Interp => "interp",
        }
    }

    /// One line that says what it is.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Cpu => "all cores, compiled by Cranelift; flat programs",
            Self::Interp => "the interpreter: every program, one thread, slow",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name of no backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no backend `{name}`; there are {}", Backend::ALL.map(Backend::name).join(", "))]
pub struct UnknownBackend {
    /// What was asked for.
    pub name: String,
}

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|backend| backend.name() == name).ok_or_else(|| UnknownBackend { name: name.into() })
    }
}
