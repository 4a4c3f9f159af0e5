//! One kernel as machine code, with what launches ask of it.

use std::sync::Arc;

use fusebox_backend::Few;
use fusebox_ir::{Kernel, KernelArrayId, analysis::kernels::RowLengths};
use fusebox_schedule::{Guard, shares::ShareUnit};

use crate::{
    code_memory::Code,
    emit::{HiddenArgument, Part},
    launch::{measured::Measured, trials::Trials, turns::KnownTurns},
};

/// One kernel as machine code.
#[derive(Clone, Debug)]
pub(crate) struct LoadedKernel {
    pub(crate) parts: Vec<(Part, Code)>,
    pub(crate) hidden: Vec<HiddenArgument>,
    /// The depth and the estimated time of each statement ([`crate::estimate::statements`]).
    pub(crate) work: Vec<(u32, u64)>,
    /// What launches took, where estimates cannot know it.
    pub(crate) measured: Option<Arc<Measured>>,
    /// What launches took on one thread, and shared by threads.
    pub(crate) trials: Arc<Trials>,
    /// What is known of loops whose turns begin with it.
    pub(crate) turns: Arc<KnownTurns>,
    /// Whether it is code for vectors of 64 or 32 bytes.
    pub(crate) wide: bool,
    /// What shares of the outermost level are multiples of.
    pub(crate) shares: ShareUnit,
    /// Where the lengths of its rows are, where threads take as many elements each.
    pub(crate) lengths: Option<RowLengths>,
    /// Arrays of which steps of the outermost level read elements of their own, where those are read again for each piece of the level inside.
    pub(crate) read_again: Few<KernelArrayId>,
    /// Whether windows of the level inside go over lines of all steps of the outermost level in a range.
    pub(crate) lines_again: bool,
    /// If a level inside of it goes across lanes, the fewest steps at which it does.
    pub(crate) inner_gang: Option<u32>,
    /// The scatter whose elements may be put aside.
    pub(crate) partitioned: Option<Partitioned>,
    /// Scatters of which threads have copies ([`fusebox_schedule::Form::Copied`]), with the targets of all copies for each element, at most.
    pub(crate) copied: Few<(usize, u32)>,
    /// One of its rows, for such that all threads share.
    pub(crate) row: Option<Arc<OneRow>>,
    /// What runs in its place in launches of certain lengths: the first whose guards hold.
    pub(crate) versions: Vec<Arc<LoadedVersion>>,
}

/// A scatter whose elements may be put aside ([`fusebox_schedule::Form::Partitioned`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partitioned {
    /// The statement.
    pub(crate) statement: usize,
    /// Bytes of a record.
    pub(crate) record: usize,
    /// Targets of a part, at least: a power of two.
    pub(crate) targets: u32,
    /// In launches in which the targets have so many bytes, or more.
    pub(crate) from: u64,
}

/// A kernel for certain lengths of its levels ([`fusebox_schedule::guarded`]).
#[derive(Debug)]
pub(crate) struct LoadedVersion {
    pub(crate) when: Arc<[Guard]>,
    pub(crate) kernel: Kernel,
    pub(crate) loaded: LoadedKernel,
}

/// One row of a kernel as a kernel of its own ([`fusebox_ir::analysis::kernels::one_row`]).
#[derive(Debug)]
pub(crate) struct OneRow {
    pub(crate) kernel: Kernel,
    pub(crate) loaded: LoadedKernel,
}

impl LoadedKernel {
    pub(crate) fn part(&self, part: Part) -> Option<&Code> {
        self.parts.iter().find(|(own, _)| *own == part).map(|(_, code)| code)
    }
}
