//! The threads of a block that combine together, as the schedule and the kernel's associations say.

use fusebox_ir::Kernel;
use fusebox_schedule::grid::{self, WARP, lanes_of_reduces};

use crate::state::Lanes;

/// The threads of a block that combine together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Team {
    /// How many: at least a warp.
    pub(crate) threads: u32,
    /// The first so many are lanes; what every order is right for, all of them take.
    pub(crate) lanes: Lanes,
    /// Whether they are a warp of a block that has others: each thread has as many lanes as it takes, 32 apart.
    pub(crate) is_warp: bool,
}

impl Team {
    /// So many threads, which have these lanes, or are all lanes where every order is right.
    pub(crate) fn new(threads: u32, lanes: Option<grid::Lanes>) -> Self {
        let lanes = match lanes {
            None => Lanes::Interleaved(threads),
            Some(grid::Lanes::Interleaved(lanes)) => Lanes::Interleaved(lanes),
            Some(grid::Lanes::Runs(lanes)) => Lanes::Runs(lanes),
        };
        Self { threads, lanes, is_warp: false }
    }

    /// A warp, with the lanes of the reduces to a depth.
    pub(crate) fn warp(kernel: &Kernel, to: usize) -> Self {
        Self { is_warp: true, ..Self::of_reduces(kernel, to, WARP) }
    }

    /// Lanes of a thread.
    pub(crate) fn lanes_of_thread(self) -> u32 {
        match self.lanes {
            Lanes::Interleaved(lanes) if self.is_warp => lanes.div_ceil(self.threads),
            _ => 1,
        }
    }

    /// Whether threads of a warp pass their elements on to lanes, of which there are fewer than threads.
    pub(crate) fn passes_on(self) -> bool {
        self.is_warp && matches!(self.lanes, Lanes::Interleaved(lanes) if lanes < self.threads)
    }

    /// A warp that has so many lanes for long rows.
    pub(crate) fn long_rows(lanes: u32) -> Self {
        Self { is_warp: true, ..Self::new(WARP, Some(grid::Lanes::Interleaved(lanes))) }
    }

    /// So many threads, with the lanes of the reduces to a depth.
    pub(crate) fn of_reduces(kernel: &Kernel, to: usize, threads: u32) -> Self {
        Self::new(threads, lanes_of_reduces(kernel, to).unwrap_or_default())
    }
}
