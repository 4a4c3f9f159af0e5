//! Whether appends may store whole vectors as a nest says.

use fusebox_ir::Kernel;

use crate::{appends::may_be_whole, schedule::Nest};

/// What is wrong with them.
pub(super) fn faults(kernel: &Kernel, nest: &Nest) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    for position in nest.whole() {
        faults.extend(may_be_whole(kernel, position).err());
        if seen.contains(&position) {
            faults.push(format!("statement {position} is named twice as one that stores whole vectors"));
        }
        seen.push(position);
    }
    faults
}
