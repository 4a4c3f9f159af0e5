//! What a plan takes, kernel by kernel. How it came to be, it does not say.

use fusebox_ir::{
    Plan, Step,
    analysis::counts::{PlanTraffic, Region, Traffic, kernel_traffic, plan_traffic},
};
use serde::Serialize;

use super::{INEXACT, region};

/// What is known of a plan.
#[derive(Serialize)]
pub(crate) struct PlanExplanation {
    plan: String,
    /// All of it, in the sizes of the plan.
    total: Counts,
    /// What loops and branches take by themselves.
    regions: Vec<Region>,
    kernels: Vec<KernelCounts>,
    text: String,
}

/// A kernel.
#[derive(Serialize)]
struct KernelCounts {
    kernel: usize,
    name: String,
    /// Launches that the plan writes down; those in a loop happen in each turn.
    launches: usize,
    /// Each launch, in the kernel's own sizes.
    each: Counts,
}

/// What something takes; counts are expressions in names of sizes.
#[derive(Serialize)]
struct Counts {
    loops: u64,
    reads: String,
    writes: String,
    bytes_read: String,
    bytes_written: String,
    exact: bool,
}

impl Counts {
    fn of(traffic: &Traffic) -> Self {
        Self {
            loops: traffic.loops,
            reads: traffic.reads.to_string(),
            writes: traffic.writes.to_string(),
            bytes_read: traffic.bytes_read.to_string(),
            bytes_written: traffic.bytes_written.to_string(),
            exact: traffic.exact,
        }
    }
}

impl PlanExplanation {
    /// Of a valid plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let PlanTraffic { total, regions, .. } = plan_traffic(plan);
        let launches = launches(plan);
        let kernels = (plan.kernels.iter().zip(launches).enumerate())
            .map(|(number, (kernel, launches))| KernelCounts {
                kernel: number,
                name: kernel.name.0.clone(),
                launches,
                each: Counts::of(&kernel_traffic(kernel)),
            })
            .collect();
        Self { plan: plan.name.clone(), total: Counts::of(&total), regions, kernels, text: plan.to_string() }
    }
}

/// How often each kernel stands in the steps.
fn launches(plan: &Plan) -> Vec<usize> {
    let mut counts = vec![0; plan.kernels.len()];
    let mut lists: Vec<&[Step]> = vec![&plan.steps];
    while let Some(steps) = lists.pop() {
        for step in steps {
            if let Step::Launch { kernel, .. } = step
                && let Some(count) = counts.get_mut(*kernel)
            {
                *count += 1;
            }
            lists.extend(step.inner());
        }
    }
    counts
}

/// The explanation of a plan as text.
pub(crate) fn explain_plan(plan: &Plan) -> String {
    let explained = PlanExplanation::of(plan);
    let total = &explained.total;
    let mut out = format!(
        "plan {}\n\nkernels        {}\nloops          {}\nreads          {}\nwrites         {}\nbytes read     {}\nbytes written  {}\n",
        explained.plan,
        explained.kernels.len(),
        total.loops,
        total.reads,
        total.writes,
        total.bytes_read,
        total.bytes_written
    );
    if !total.exact {
        out += &format!("{INEXACT}\n");
    }
    for region in explained.regions.iter().filter(|region| region.each.loops > 0) {
        let (indent, each) = ("  ".repeat(region.depth), &region.each);
        let what = self::region(region);
        out += &format!("{indent}{what}: loops {}, reads {}, writes {}\n", each.loops, each.reads, each.writes);
    }
    out += "\n== Kernels, each launch in its own sizes\n";
    for KernelCounts { kernel, name, launches, each } in &explained.kernels {
        let times = if *launches == 1 { String::new() } else { format!(" ({launches} launches)") };
        let Counts { loops, reads, writes, .. } = each;
        out += &format!("  {kernel}: {name}{times}: loops {loops}, reads {reads}, writes {writes}\n");
    }
    out + &format!("\n== Plan\n{}\n", explained.text)
}
