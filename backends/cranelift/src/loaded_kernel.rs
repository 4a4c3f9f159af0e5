//! One kernel as machine code, with what launches ask of it.

use std::sync::Arc;

use fusebox_backend::Few;
use fusebox_ir::{Action, Kernel, ScalarPart, analysis::kernels::RowLengths};
use fusebox_schedule::Guard;

use crate::{
    code_memory::Code,
    emit::{HiddenArgument, Part},
    launch::measured::Measured,
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
    /// Whether it is code for vectors of 64 or 32 bytes.
    pub(crate) wide: bool,
    /// Steps of the outermost level that a gang does.
    pub(crate) gang: i64,
    /// Whether all that it loads and stores is of its outermost steps ([`of_own_steps`]).
    pub(crate) of_own_steps: bool,
    /// Where the lengths of its rows are, where threads take as many elements each.
    pub(crate) lengths: Option<RowLengths>,
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

/// Whether all that a kernel loads and stores is of rows (or elements) that go by with its outermost steps: threads that share launches find in their caches what
/// they had the time before, and nothing that others made.
pub(crate) fn of_own_steps(kernel: &Kernel) -> bool {
    let Some(outermost) = kernel.levels.first() else { return false };
    kernel.statements.iter().filter(|statement| statement.depth > 0).all(|statement| match &statement.action {
        Action::Load { map, .. } | Action::Store { map, .. } => {
            map.dims.first().is_some_and(|dim| dim.terms.contains(&(1, outermost.index.id)))
        }
        Action::Scalar(instruction) => instruction.op.parts().iter().all(|part| match part {
            ScalarPart::Array(_) => false,
            ScalarPart::Body(body) => body.arrays_read().is_empty(),
            ScalarPart::Operand(_) => true,
        }),
        Action::Reduce { .. } | Action::Check { .. } => true,
        Action::Scan { .. } | Action::Append { .. } | Action::Scatter { .. } => false,
    })
}

impl LoadedKernel {
    /// From how many nanoseconds of estimated work on threads share a launch, where `usual` are worth it for most.
    pub(crate) fn shared_from_ns(&self, usual: u64) -> u64 {
        if self.of_own_steps { usual / 2 } else { usual }
    }

    pub(crate) fn part(&self, part: Part) -> Option<&Code> {
        self.parts.iter().find(|(own, _)| *own == part).map(|(_, code)| code)
    }
}

#[cfg(test)]
mod tests {
    use super::of_own_steps;

    #[test]
    fn what_moves_with_the_outermost_steps() {
        for (own, source) in [
            (true, "fn f(a: [n]f32, b: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x, y| x * y, a, b) return c }"),
            (true, "fn f(a: [n, m]f32) -> [n]f32 { let c: [n]f32 = fold(|x, y| x + y, 0.0, a) return c }"),
            // Of other steps, of none, wherever an index is, and what waits for steps before.
            (
                false,
                "fn f(a: [n, m]f32) -> [m, n]f32 { let c: [m, n]f32 = backpermute([m, n], |i, j| { return j, i }, a) return c }",
            ),
            (
                false,
                "fn f(a: [n, m]f32, v: [m]f32) -> [n, m]f32 { let c: [n, m]f32 = generate([n, m], |i, j| a[i, j] * v[j]) return c }",
            ),
            (false, "fn f(a: [n]f32, at: [n]i64) -> [n]f32 { let c: [n]f32 = generate([n], |i| a[at[i]]) return c }"),
            (false, "fn f(a: [n]f32) -> [n]f32 { let c: [n]f32 = scanl1(|x, y| x + y, a) return c }"),
        ] {
            let kernel = fusebox_conformance::plan(source).kernels.pop().expect("a kernel");
            assert_eq!(of_own_steps(&kernel), own, "{source}\n{kernel}");
        }
    }
}
