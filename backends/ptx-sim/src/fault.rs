//! What a run finds.

use std::fmt;

/// What kind of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The device has no room for an allocation.
    OutOfMemory,
    /// The launch does not fit the entry: its name, parameters, extents, shared memory.
    BadLaunch,
    /// An access outside of every allocation, or over the end of one.
    OutOfBounds,
    /// An access of an allocation that was freed.
    Freed,
    /// An address that is no multiple of what the access needs.
    Misaligned,
    /// A store to memory that is only read.
    ReadOnly,
    /// A read of memory or of a register that nobody has written.
    Unwritten,
    /// Two accesses, one of them a write, without an order between them.
    Race,
    /// A race of accesses of different sizes: a value may be read half new and half old.
    Torn,
    /// A barrier, or an instruction of a warp, that not all of its threads come to.
    Divergence,
    /// `shfl` from a lane that takes no part.
    InactiveLane,
    /// Nobody can make progress.
    Deadlock,
    /// Blocks that run wait for one that has not begun, and on a device that runs few at a time would never begin.
    Starved,
    /// The limit of steps.
    StepLimit,
    /// The instruction `trap`.
    Trap,
    /// Something that PTX leaves undefined.
    Undefined,
}

/// A fault, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind it is.
    pub kind: FaultKind,
    /// The entry that ran.
    pub entry: String,
    /// The block, if a thread is at fault.
    pub block: Option<[u32; 3]>,
    /// The thread in its block.
    pub thread: Option<[u32; 3]>,
    /// The line of the text, from 1; 0 if there is none.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl Fault {
    pub(crate) fn of_host(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, entry: String::new(), block: None, thread: None, line: 0, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.entry.is_empty() {
            write!(f, "entry `{}`", self.entry)?;
            if let Some(block) = self.block {
                write!(f, ", block {}", Triple(block))?;
            }
            if let Some(thread) = self.thread {
                write!(f, ", thread {}", Triple(thread))?;
            }
            if self.line > 0 {
                write!(f, ", line {}", self.line)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// An index, without the dimensions that are zero.
pub(crate) struct Triple(pub [u32; 3]);

impl fmt::Display for Triple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [x, 0, 0] => write!(f, "{x}"),
            [x, y, 0] => write!(f, "[{x}, {y}]"),
            [x, y, z] => write!(f, "[{x}, {y}, {z}]"),
        }
    }
}
