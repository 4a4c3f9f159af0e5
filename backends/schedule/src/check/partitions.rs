//! Whether the elements of a scatter may be put aside as a nest says.

use fusebox_ir::{Kernel, analysis::kernels::in_partitions};

use crate::form::Form;
use crate::schedule::Nest;

/// What is wrong with the parts of scatters.
pub(super) fn faults(kernel: &Kernel, nest: &Nest) -> Vec<String> {
    let mut faults = Vec::new();
    let mut count = 0;
    for form in &nest.forms {
        let Form::Partitioned { statement, targets, .. } = *form else { continue };
        count += 1;
        if let Err(why) = in_partitions(kernel, statement as usize) {
            faults.push(format!("elements of statement {statement} may not be put aside: {why}"));
        }
        if !targets.is_power_of_two() {
            faults.push(format!("{targets} targets of a part are no power of two"));
        }
    }
    if count > 1 {
        faults.push("the elements of a scatter are put aside twice".to_owned());
    }
    if count > 0 && !nest.is_shared() {
        faults.push("elements are put aside for threads, and none share the outermost level".to_owned());
    }
    faults
}
