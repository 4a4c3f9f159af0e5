//! Whether reduces may have one accumulator each.

use fusebox_ir::Kernel;

use super::named;
use crate::{chains::may_be_chain, schedule::Nest};

/// What is wrong with chains.
pub(super) fn faults(kernel: &Kernel, nest: &Nest) -> Vec<String> {
    named::faults(nest.chains(), "a chain", |position| may_be_chain(kernel, position).err())
}
