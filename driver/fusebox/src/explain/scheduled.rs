//! How kernels and steps run on a machine, and why.

use fusebox_ir::Plan;
use fusebox_schedule::Choice;
use serde::Serialize;

use crate::schedules::{schedules, steps};

/// The machine that schedules are explained for where none is named, whatever machine explains them: most processors of desktops have its vectors.
pub(super) const TARGET: &str = "avx2";

/// How one kernel runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelSchedule {
    /// Position in the plan's kernels.
    pub kernel: usize,
    /// Its name, which says the operations that are in it.
    pub name: String,
    /// Its schedule as text, which `run --schedule` takes.
    pub text: String,
    /// What was decided, each with the reason.
    pub reasons: Vec<String>,
}

/// How a plan runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Scheduling {
    /// The machine.
    pub target: String,
    /// The kernels that have loops.
    pub kernels: Vec<KernelSchedule>,
    /// What was decided of the turns of loops around kernels, and of launches at once.
    pub steps: Vec<String>,
}

impl Scheduling {
    pub(super) fn of(plan: &Plan, target: &str) -> Self {
        let of_kernels = schedules(plan, target).unwrap_or_default();
        let kernels = plan.kernels.iter().zip(of_kernels).enumerate();
        let kernels = kernels.filter(|(_, (kernel, _))| !kernel.levels.is_empty()).map(|(at, (kernel, scheduled))| {
            let reasons = scheduled.choices.iter().map(sentence).collect();
            KernelSchedule {
                kernel: at,
                name: kernel.name.0.clone(),
                text: scheduled.schedule.to_text(kernel),
                reasons,
            }
        });
        let steps = steps(plan, target).unwrap_or_default();
        Self { target: target.to_owned(), kernels: kernels.collect(), steps: steps.iter().map(sentence).collect() }
    }
}

fn sentence(choice: &Choice) -> String {
    let Choice { about, chosen, because, instead_of } = choice;
    let not: String = instead_of.iter().map(|other| format!("; not {other}")).collect();
    format!("{about}: {chosen}, as {because}{not}")
}
