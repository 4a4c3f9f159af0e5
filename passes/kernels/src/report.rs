//! What a plan consists of, counted.

use fusebox_ir::{Action, Plan, Step};

/// Counts of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many kernels there are.
    pub kernels: usize,
    /// How many launches stand in the plan; those in loops and branches count once.
    pub launches: usize,
    /// How many values that are allocated.
    pub allocations: usize,
    /// How many checks are in kernels, checked index maps included.
    pub checks: usize,
}

impl Report {
    /// Counts a plan.
    pub fn of(plan: &Plan) -> Self {
        let mut report = Self { kernels: plan.kernels.len(), ..Self::default() };
        for step in plan.steps.iter().flat_map(Step::within) {
            report.launches += usize::from(matches!(step, Step::Launch { .. }));
            report.allocations += usize::from(matches!(step, Step::Allocate { .. }));
        }
        let checks = |action: &Action| {
            matches!(action, Action::Check { .. }) || action.map().is_some_and(|(_, map)| map.checked)
        };
        report.checks = plan.kernels.iter().flat_map(|kernel| &kernel.statements).filter(|s| checks(&s.action)).count();
        report
    }
}
