//! Whether threads may have copies of the targets of scatters as a nest says.

use fusebox_ir::{Action, Kernel, ScatterOrder, analysis::algebra::identities};

use crate::schedule::Nest;

/// What is wrong with copies.
pub(super) fn faults(kernel: &Kernel, nest: &Nest) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    for (position, targets) in nest.copied() {
        let action = kernel.statements.get(position).map(|statement| &statement.action);
        let may = match action {
            Some(Action::Scatter { order: ScatterOrder::Any, combine, .. }) => identities(combine).is_some(),
            _ => false,
        };
        if !may {
            faults.push(format!(
                "statement {position} is no scatter in any order, of a function with an identity that copies could start from"
            ));
        }
        if targets == 0 {
            faults.push("copies have one target for each element at least".to_owned());
        }
        if seen.contains(&position) {
            faults.push(format!("the targets of statement {position} are copied twice"));
        }
        seen.push(position);
    }
    if !seen.is_empty() && !nest.is_shared() {
        faults.push("copies are for threads, and none share the outermost level".to_owned());
    }
    faults
}
