//! The threads of a block that combine together, as the schedule and the kernel's associations say.

use fusebox_ir::Kernel;
use fusebox_schedule::grid::{self, lanes_of_reduces};

use crate::statement::table::Lanes;

/// The threads of a block that combine together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Team {
    /// How many: at least a warp.
    pub(crate) threads: u32,
    /// The first so many are lanes; what every order is right for, all of them take.
    pub(crate) lanes: Lanes,
}

impl Team {
    /// So many threads, which have these lanes, or are all lanes where every order is right.
    pub(crate) fn new(threads: u32, lanes: Option<grid::Lanes>) -> Self {
        let lanes = match lanes {
            None => Lanes::Interleaved(threads),
            Some(grid::Lanes::Interleaved(lanes)) => Lanes::Interleaved(lanes),
            Some(grid::Lanes::Runs(lanes)) => Lanes::Runs(lanes),
        };
        Self { threads, lanes }
    }

    /// So many threads, with the lanes of the reduces to a depth.
    pub(crate) fn of_reduces(kernel: &Kernel, to: usize, threads: u32) -> Self {
        Self::new(threads, lanes_of_reduces(kernel, to).unwrap_or_default())
    }
}
