//! What kernels and plans take, as polynomials in named sizes: loops, elements read and written, bytes.
//!
//! `interp::run_plan` counts the same while it runs; the two agree wherever [`Traffic::exact`] holds. Counted are loads and stores of
//! kernels, scatters and appends, and reads in scalar code; scalars too where a kernel has levels (a loop that uses the sum of another
//! one reads it), but not where scalar code alone runs. A copy of an array and a sort, which are steps
//! of a plan, are a loop each that reads and writes every element once.

mod depths;
mod kernel;
mod moved;
mod names;
mod plan;
mod polynomial;
mod scalar;

use serde::Serialize;

pub use self::{
    kernel::{kernel_traffic, launch_traffic},
    plan::{LaunchTraffic, PlanTraffic, Region, RegionKind, plan_names, plan_traffic},
    polynomial::{Factor, Polynomial, Symbol},
};

/// Loops, and what they move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Kernels with at least one level, copies of arrays, sorts.
    pub loops: u64,
    /// Elements read.
    pub reads: Polynomial,
    /// Elements written.
    pub writes: Polynomial,
    /// Bytes of the elements read.
    pub bytes_read: Polynomial,
    /// Bytes of the elements written.
    pub bytes_written: Polynomial,
    /// Operations on floats: an addition, subtraction, multiplication, division, remainder, square root, minimum or maximum is one, a fused
    /// multiply-add two. Of branches in scalar code the one with more, of loops in it one turn. No run counts them.
    pub flops: Polynomial,
    /// Whether a run takes just this, given what the symbols stand for. Otherwise something is counted once that may happen several
    /// times or not at all (a turn of a loop), or of two branches the larger. Where boundaries of stencils make elements, it holds of
    /// arrays that are no shorter than taps reach.
    pub exact: bool,
}

impl Default for Traffic {
    fn default() -> Self {
        let zero = Polynomial::default;
        Self {
            loops: 0,
            reads: zero(),
            writes: zero(),
            bytes_read: zero(),
            bytes_written: zero(),
            flops: zero(),
            exact: true,
        }
    }
}

impl Traffic {
    /// Both, one after the other.
    pub fn add(&mut self, other: &Self) {
        self.loops += other.loops;
        self.reads.add_assign(&other.reads);
        self.writes.add_assign(&other.writes);
        self.bytes_read.add_assign(&other.bytes_read);
        self.bytes_written.add_assign(&other.bytes_written);
        self.flops.add_assign(&other.flops);
        self.exact &= other.exact;
    }

    /// One or the other: of each count the larger.
    pub fn or(&self, other: &Self) -> Self {
        let exact = self.exact && other.exact && self == other;
        Self {
            loops: self.loops.max(other.loops),
            reads: self.reads.larger(&other.reads),
            writes: self.writes.larger(&other.writes),
            bytes_read: self.bytes_read.larger(&other.bytes_read),
            bytes_written: self.bytes_written.larger(&other.bytes_written),
            flops: self.flops.larger(&other.flops),
            exact,
        }
    }
}
