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
        let mut lists = vec![&plan.steps];
        while let Some(steps) = lists.pop() {
            for step in steps {
                match step {
                    Step::Launch { .. } => report.launches += 1,
                    Step::Allocate { .. } => report.allocations += 1,
                    Step::If { then, otherwise, .. } => lists.extend([then, otherwise]),
                    Step::While { condition_steps, body, .. } => lists.extend([condition_steps, body]),
                    _ => {}
                }
            }
        }
        let checks = |action: &Action| match action {
            Action::Check { .. } => true,
            Action::Load { map, .. } | Action::Store { map, .. } | Action::Scatter { map, .. } => map.checked,
            Action::Scalar(_) | Action::Reduce { .. } | Action::Scan { .. } | Action::Append { .. } => false,
        };
        report.checks = plan.kernels.iter().flat_map(|kernel| &kernel.statements).filter(|s| checks(&s.action)).count();
        report
    }
}
