//! Whether scatters may store elements in runs as a nest says.

use fusebox_ir::{Kernel, analysis::kernels::in_runs};

use crate::schedule::Nest;

/// What is wrong with runs.
pub(super) fn faults(kernel: &Kernel, nest: &Nest) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    let gang = nest.gang(kernel.levels.len());
    for position in nest.in_runs() {
        if let Err(why) = in_runs(kernel, position) {
            faults.push(format!("statement {position} puts no elements in runs: {why}"));
        } else if gang.is_none_or(|gang| kernel.statements[position].depth as usize != gang.level + 1) {
            faults.push(format!("statement {position} puts elements in runs along a level that is not across lanes"));
        }
        if seen.contains(&position) {
            faults.push(format!("the runs of statement {position} are named twice"));
        }
        seen.push(position);
    }
    faults
}
