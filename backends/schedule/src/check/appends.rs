//! Whether appends may store whole vectors as a nest says.

use fusebox_ir::Kernel;

use super::named;
use crate::{appends::may_be_whole, schedule::Nest};

/// What is wrong with them.
pub(super) fn faults(kernel: &Kernel, nest: &Nest) -> Vec<String> {
    named::faults(nest.whole(), "one that stores whole vectors", |position| may_be_whole(kernel, position).err())
}
