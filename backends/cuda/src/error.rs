//! What can be wrong with a GPU, its driver, or what is asked of it.

use fusebox_ptx::DeviceError;

/// Why there is no GPU, or what its driver says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No library of the driver can be loaded.
    #[error("there is no driver of NVIDIA here: looked for {looked_for} where the system looks for libraries")]
    NoDriver {
        /// The names of files.
        looked_for: String,
    },
    /// The driver is there, and has no device.
    #[error("the driver of NVIDIA is here, and no GPU")]
    NoGpu,
    /// A device by a number that none has.
    #[error("there is no GPU {ordinal}: there are {count}")]
    NoSuchGpu {
        /// The number asked for, from 0.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The driver refuses.
    #[error("{doing}: the driver says {said}")]
    Driver {
        /// What was asked of it.
        doing: String,
        /// The name of its error, or what it lacks.
        said: String,
    },
    /// Memory that was not allocated, or is freed.
    #[error("{bytes} bytes at {address:#x} are not in an allocation")]
    NotAllocated {
        /// The first byte.
        address: u64,
        /// How many.
        bytes: u64,
    },
    /// Text that the driver does not take.
    #[error("the driver does not take the PTX: {log}")]
    Refused {
        /// What its assembler says.
        log: String,
    },
}

impl From<Error> for DeviceError {
    fn from(error: Error) -> Self {
        Self { message: error.to_string() }
    }
}
