//! What a plan takes, kernel by kernel. How it came to be, it does not say.

use std::fmt;

use fusebox_ir::{
    Plan, Step,
    analysis::counts::{PlanTraffic, Region, Traffic, kernel_traffic, plan_traffic},
    validate_plan,
};
use serde::Serialize;

use super::{
    json,
    sentences::{self, INEXACT},
};
use crate::Error;

/// What is known of a plan. Its `Display` is what the command `explain` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlanExplanation {
    /// The plan's name.
    pub plan: String,
    /// All of it, in the sizes of the plan.
    pub total: TrafficCounts,
    /// What loops and branches take by themselves.
    pub regions: Vec<Region>,
    /// Each kernel, in order.
    pub kernels: Vec<KernelCounts>,
    /// The plan itself.
    pub text: String,
}

/// What a kernel takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelCounts {
    /// Its number in the plan.
    pub kernel: usize,
    /// Its name.
    pub name: String,
    /// Launches that the plan writes down; those in a loop happen in each turn.
    pub launches: usize,
    /// Each launch, in the kernel's own sizes.
    pub each: TrafficCounts,
}

/// What a plan or a kernel takes; counts are expressions in names of sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficCounts {
    /// Nests of loops over memory.
    pub loops: u64,
    /// Elements read.
    pub reads: String,
    /// Elements written.
    pub writes: String,
    /// Bytes of the elements read.
    pub bytes_read: String,
    /// Bytes of the elements written.
    pub bytes_written: String,
    /// Whether a run takes just that; else of loops one turn is counted, of branches the larger.
    pub exact: bool,
}

impl TrafficCounts {
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

/// Says what a plan takes, kernel by kernel. How it came to be, it does not say.
///
/// # Errors
/// [`Error::InvalidPlan`] if the plan is not valid.
pub fn explain_plan(plan: &Plan) -> Result<PlanExplanation, Error> {
    validate_plan(plan).map_err(Error::InvalidPlan)?;
    Ok(PlanExplanation::of(plan))
}

impl PlanExplanation {
    /// As JSON, for tools: what `explain --format json` prints.
    pub fn to_json(&self) -> String {
        json(self)
    }

    /// Of a valid plan.
    fn of(plan: &Plan) -> Self {
        let PlanTraffic { total, regions, .. } = plan_traffic(plan);
        let launches = launches(plan);
        let kernels = (plan.kernels.iter().zip(launches).enumerate())
            .map(|(number, (kernel, launches))| KernelCounts {
                kernel: number,
                name: kernel.name.0.clone(),
                launches,
                each: TrafficCounts::of(&kernel_traffic(kernel)),
            })
            .collect();
        Self { plan: plan.name.clone(), total: TrafficCounts::of(&total), regions, kernels, text: plan.to_string() }
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

impl fmt::Display for PlanExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = &self.total;
        let mut out = format!(
            "plan {}\n\nkernels        {}\nloops          {}\nreads          {}\nwrites         {}\nbytes read     {}\nbytes written  {}\n",
            self.plan,
            self.kernels.len(),
            total.loops,
            total.reads,
            total.writes,
            total.bytes_read,
            total.bytes_written
        );
        if !total.exact {
            out += &format!("{INEXACT}\n");
        }
        for region in self.regions.iter().filter(|region| region.each.loops > 0) {
            let (indent, each) = ("  ".repeat(region.depth), &region.each);
            let what = sentences::region(region);
            out += &format!("{indent}{what}: loops {}, reads {}, writes {}\n", each.loops, each.reads, each.writes);
        }
        out += "\n== Kernels, each launch in its own sizes\n";
        for KernelCounts { kernel, name, launches, each } in &self.kernels {
            let times = if *launches == 1 { String::new() } else { format!(" ({launches} launches)") };
            let TrafficCounts { loops, reads, writes, .. } = each;
            out += &format!("  {kernel}: {name}{times}: loops {loops}, reads {reads}, writes {writes}\n");
        }
        write!(f, "{out}\n== Plan\n{}\n", self.text)
    }
}
