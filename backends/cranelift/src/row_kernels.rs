//! Rows of kernels as kernels of their own: a row that is much longer than others is run by all threads, and not by one.

use fusebox_ir::{Kernel, Plan, analysis::kernels::one_row, association::BLOCK};
use fusebox_schedule::rows::may_be_by_elements;

/// Elements of a row that all threads share, at least.
pub(crate) const LONG_ROW: i64 = 4 * BLOCK;

/// The rows of kernels of a plan.
#[derive(Debug, Default)]
pub(crate) struct RowKernels {
    /// With the kernel's position in the plan.
    pub(crate) rows: Vec<(usize, Kernel)>,
}

impl RowKernels {
    /// Of those kernels that may have rows which all of so many threads share; a single thread shares none.
    pub(crate) fn of(plan: &Plan, threads: usize) -> Self {
        if threads == 1 {
            return Self::default();
        }
        let by_elements = plan.kernels.iter().enumerate().filter(|(_, kernel)| may_be_by_elements(kernel));
        Self {
            rows: by_elements.filter_map(|(position, kernel)| Some((position, one_row(kernel, LONG_ROW)?))).collect(),
        }
    }

    /// The kernels of the plan, and behind them the rows.
    pub(crate) fn behind<'p>(&'p self, plan: &'p Plan) -> impl Iterator<Item = &'p Kernel> {
        plan.kernels.iter().chain(self.rows.iter().map(|(_, row)| row))
    }
}
