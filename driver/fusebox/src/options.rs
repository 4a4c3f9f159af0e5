//! What is to be compiled how.

use std::{fmt, num::NonZeroUsize, str::FromStr, sync::Arc};

/// How programs are compiled and run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// What runs the program.
    pub backend: Backend,
    /// How many threads run it; without, as many as there are cores. Results do not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// The longest vectors that code on the backend `cpu` takes: 128, 256 or 512 bits; without, the longest that the machine has. Results do not depend
    /// on it.
    pub vector_bits: Option<u32>,
    /// On the backends `cuda` and `sim`, how many bytes of the device's memory arrays take at most; without, as many as there are. Arrays
    /// beyond that wait on the host. Results do not depend on it.
    pub device_memory: Option<u64>,
    /// How operations become fewer passes over memory; results do not depend on it, but for how sums of floats associate.
    pub fusion: Fusion,
    /// How lanes of nests run and their arrays are held; results do not depend on it, but for how sums of floats associate. On GPUs lanes never run one at
    /// a time: there [`Alone`](crate::Flattening::Alone) is [`Regular`](crate::Flattening::Regular).
    pub flattening: crate::Flattening,
    /// Whether programs are checked after each pass; builds with debug assertions always do.
    pub verify: bool,
    /// Whether scalar terms that a program uses several times are computed once; without, to see what that is worth, an embedded
    /// program's code grows as its unfolded terms do.
    pub sharing: bool,
    /// Whether a program that was compiled before with the same options is taken from the cache.
    pub cache: bool,
    /// Schedules that kernels are run by on the backends `cpu`, `cuda` and `sim`, as `dump --stage schedule` prints them or as JSON; other kernels are
    /// scheduled as always, and so are those whose schedules are for vectors or an architecture that this machine does not have. Results do not depend on them: what would change one is refused.
    pub schedules: Option<Arc<str>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backend: Backend::default(),
            threads: None,
            vector_bits: None,
            device_memory: None,
            fusion: Fusion::default(),
            flattening: crate::Flattening::Alone,
            verify: false,
            sharing: true,
            cache: true,
            schedules: None,
        }
    }
}

impl Options {
    /// These options for another backend.
    pub fn on(backend: Backend) -> Self {
        Self { backend, ..Self::default() }
    }

    /// How lanes run on the backend.
    pub(crate) fn way(&self) -> crate::Flattening {
        match (self.flattening, self.backend) {
            (crate::Flattening::Alone, Backend::Cuda | Backend::Sim) => crate::Flattening::Regular,
            (way, _) => way,
        }
    }

    pub(crate) fn verifies(&self) -> bool {
        self.verify || cfg!(debug_assertions)
    }
}

/// How operations become fewer passes over memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fusion {
    /// Not at all: each operation is a pass of its own, and stores what it makes.
    None,
    /// Producers become one operation with what reads them; then operations join clusters one after the other, wherever they may.
    Greedy,
    /// The same, but clusters are those that move the least, by integer linear programming; where a limit is reached, the best found.
    #[default]
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
}

impl fmt::Display for Fusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name of no way to fuse.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no fusion `{name}`; there are {}", Fusion::ALL.map(Fusion::name).join(", "))]
pub struct UnknownFusion {
    /// What was asked for.
    pub name: String,
}

fusebox_ir::debug_is_message!(struct UnknownFusion { name });

impl FromStr for Fusion {
    type Err = UnknownFusion;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|fusion| fusion.name() == name).ok_or_else(|| UnknownFusion { name: name.into() })
    }
}

/// What runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// All cores, compiled by Cranelift. Nested programs are made flat; sequences it does not run.
    #[default]
    Cpu,
    /// The first GPU that NVIDIA's driver knows, by PTX. Programs as on the CPU.
    Cuda,
    /// A simulated GPU, on one core: executes the same PTX and checks every access. For tests.
    Sim,
    /// The interpreter: every program, slowly; what programs mean.
    Interp,
    /// The GPU where there is one, else the CPU ([`Backend::chosen`]).
    Auto,
}

impl Backend {
    /// Every backend there is.
    pub const ALL: [Self; 5] = [Self::Cpu, Self::Cuda, Self::Sim, Self::Interp, Self::Auto];

    /// The spelling on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Sim => "sim",
            Self::Interp => "interp",
            Self::Auto => "auto",
        }
    }

    /// One line that says what it is.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Cpu => "all cores, compiled by Cranelift",
            Self::Cuda => "the first NVIDIA GPU, by PTX",
            Self::Sim => "a simulated GPU on one core: executes PTX and checks every access, for tests",
            Self::Interp => "the interpreter: every program, one thread, slow",
            Self::Auto => "the GPU where there is one, else the CPU",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name of no backend.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no backend `{name}`; there are {}", Backend::ALL.map(Backend::name).join(", "))]
pub struct UnknownBackend {
    /// What was asked for.
    pub name: String,
}

fusebox_ir::debug_is_message!(struct UnknownBackend { name });

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|backend| backend.name() == name).ok_or_else(|| UnknownBackend { name: name.into() })
    }
}
