//! Machines as schedules see them: descriptions, not the machine at hand, so that every schedule is the same wherever it is made.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A machine that schedules are made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// How files and messages call it: `avx512`, `sm_90`.
    pub name: String,
    /// What it is.
    pub machine: Machine,
}

/// What a target is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Machine {
    /// Cores with vector units and caches.
    Cpu(Cpu),
    /// Multiprocessors that run warps.
    Gpu(Gpu),
}

/// Cores with vector units and caches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Bytes of a vector register.
    pub vector_bytes: u32,
    /// Vector registers.
    pub registers: u32,
    /// Bytes of the innermost cache of a core.
    pub innermost_cache: u64,
    /// Bytes of the second cache of a core.
    pub second_cache: u64,
    /// Bytes of a line of the caches.
    pub line: u32,
}

/// Multiprocessors that run warps of 32 threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Compute capability, such as 9 and 0.
    pub compute: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads of a block, at most.
    pub block_threads: u32,
    /// Bytes of shared memory of a block, at most.
    pub shared_bytes: u32,
    /// 32-bit registers of a thread, at most.
    pub registers: u32,
}

impl Target {
    /// The targets that have names.
    pub const NAMES: [&str; 8] = ["avx512", "avx2", "sse", "neon", "sm_70", "sm_80", "sm_90", "sm_100"];

    /// Those that kernels have different schedules for: of GPUs one stands for all.
    pub const DISTINCT: [&str; 5] = ["avx512", "avx2", "sse", "neon", "sm_90"];

    /// A target by its name.
    pub fn named(name: &str) -> Option<Self> {
        let cpu = |vector_bytes, registers| {
            Machine::Cpu(Cpu { vector_bytes, registers, innermost_cache: 32 << 10, second_cache: 1 << 20, line: 64 })
        };
        // Of each compute capability the largest machine, with so many KB of shared memory for a block.
        let gpu = |compute, multiprocessors, shared: u32| {
            Machine::Gpu(Gpu {
                compute,
                multiprocessors,
                block_threads: 1024,
                shared_bytes: shared << 10,
                registers: 255,
            })
        };
        let machine = match name {
            "avx512" => cpu(64, 32),
            "avx2" => cpu(32, 16),
            "sse" => cpu(16, 16),
            "neon" => cpu(16, 32),
            "sm_70" => gpu((7, 0), 80, 96),
            "sm_80" => gpu((8, 0), 108, 163),
            "sm_90" => gpu((9, 0), 132, 227),
            "sm_100" => gpu((10, 0), 148, 227),
            _ => return None,
        };
        Some(Self { name: name.to_owned(), machine })
    }

    /// The processor with vectors of so many bytes that every such processor can stand for: 64, 32 or 16.
    pub fn of_vectors(bytes: usize) -> Option<Self> {
        match bytes {
            64 => Self::named("avx512"),
            32 => Self::named("avx2"),
            16 => Self::named("sse"),
            _ => None,
        }
    }

    /// The newest described GPU whose code one of this architecture (`sm_86`) runs.
    pub fn of_gpu(architecture: &str) -> Option<Self> {
        let number = |name: &str| name.strip_prefix("sm_")?.parse::<u32>().ok();
        let own = number(architecture)?;
        let known = Self::NAMES.iter().filter(|name| number(name).is_some_and(|number| number <= own));
        known.max_by_key(|name| number(name)).and_then(|name| Self::named(name))
    }

    /// The processor, if it is one.
    pub fn cpu(&self) -> Option<&Cpu> {
        match &self.machine {
            Machine::Cpu(cpu) => Some(cpu),
            Machine::Gpu(_) => None,
        }
    }
}

impl Cpu {
    /// How many vector registers may hold accumulators: half of all, as the other half holds what is combined into them.
    pub fn accumulator_registers(&self) -> u32 {
        self.registers / 2
    }

    /// Vector registers that so many elements of so many bytes take.
    pub fn registers_of(&self, elements: u32, bytes: usize) -> u32 {
        (elements * bytes as u32).div_ceil(self.vector_bytes)
    }

    /// From how many bytes on some lanes of a vector are loaded by one instruction, which touches no memory of the others; none where there is no such
    /// instruction.
    pub fn masked_loads_from(&self) -> Option<usize> {
        match self.vector_bytes {
            64 => Some(1),
            32 => Some(4),
            _ => None,
        }
    }

    /// Whether one instruction brings the lanes of a mask together.
    pub fn compresses(&self) -> bool {
        self.vector_bytes >= 64
    }

    /// Whether gangs of `f16` are converted by vectors. Code for vectors of 16 bytes does it lane by lane.
    pub fn converts_halves(&self) -> bool {
        self.vector_bytes > 16
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
