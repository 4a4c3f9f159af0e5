//! Whether scatters may store elements in runs as a nest says.

use fusebox_ir::{Kernel, analysis::kernels::in_runs};

use super::named;
use crate::schedule::Nest;

/// What is wrong with runs.
pub(super) fn faults(kernel: &Kernel, nest: &Nest) -> Vec<String> {
    let gang = nest.gang(kernel.levels.len());
    named::faults(nest.in_runs(), "one whose elements are stored in runs", |position| {
        if let Err(why) = in_runs(kernel, position) {
            return Some(format!("statement {position} puts no elements in runs: {why}"));
        }
        let apart = gang.is_none_or(|gang| kernel.statements[position].depth as usize != gang.level + 1);
        apart.then(|| format!("statement {position} puts elements in runs along a level that is not across lanes"))
    })
}
