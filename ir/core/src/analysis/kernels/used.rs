//! What of a kernel's locals is used.

use std::collections::HashSet;

use crate::{Kernel, LocalId, Statement, analysis::need::local};

/// Every local that something in the kernel uses: statements, functions inside of them, bounds of levels.
pub fn used(kernel: &Kernel) -> HashSet<LocalId> {
    let bounds = kernel.levels.iter().flat_map(|level| [level.from, level.to]);
    let by_levels = bounds.filter_map(|bound| local(&bound));
    kernel.statements.iter().flat_map(Statement::used_locals).chain(by_levels).collect()
}
