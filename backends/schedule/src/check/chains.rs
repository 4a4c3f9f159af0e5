//! Whether reduces may have one accumulator each.

use fusebox_ir::Kernel;

use crate::{chains::may_be_chain, schedule::Nest};

/// What is wrong with chains.
pub(super) fn faults(kernel: &Kernel, nest: &Nest) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    for position in nest.chains() {
        if let Err(why) = may_be_chain(kernel, position) {
            faults.push(why);
        }
        if seen.contains(&position) {
            faults.push(format!("the chain of statement {position} is named twice"));
        }
        seen.push(position);
    }
    faults
}
