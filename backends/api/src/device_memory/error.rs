//! Why there is no memory.

use std::fmt;

/// An array on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveArray {
    /// Its name.
    pub name: String,
    /// Bytes of its block.
    pub bytes: u64,
    /// Whether somebody uses it now, or it is not managed here.
    pub stays: bool,
}

/// Why an array cannot be brought to a device.
#[derive(Debug)]
#[non_exhaustive]
pub enum MemoryError<E> {
    /// There is no room, and nothing that could leave.
    Exhausted {
        /// For what.
        name: String,
        /// Bytes that it needs.
        bytes: u64,
        /// What is there.
        live: Vec<LiveArray>,
    },
    /// So many elements have no size in bytes.
    TooLarge {
        /// Of which array.
        name: String,
    },
    /// What the driver says.
    Device(E),
}

impl<E: fmt::Display> fmt::Display for MemoryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted { name, bytes, live } => {
                write!(f, "no room on the device for `{name}`, {bytes} bytes; there are")?;
                for (number, array) in live.iter().enumerate() {
                    let comma = if number == 0 { "" } else { "," };
                    let why = if array.stays { " (in use)" } else { "" };
                    write!(f, "{comma} `{}` of {} bytes{why}", array.name, array.bytes)?;
                }
                if live.is_empty() { f.write_str(" no arrays") } else { Ok(()) }
            }
            Self::TooLarge { name } => write!(f, "`{name}` is too large for any memory"),
            Self::Device(error) => write!(f, "the device says: {error}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for MemoryError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Device(error) => Some(error),
            _ => None,
        }
    }
}
