//! The programs, in the order of the tables.

mod compute;
mod elementwise;
mod grids;
mod md5;
mod reductions;
mod scans;
mod scatter;
mod sorts;
mod sparse;

use crate::program::Program;

/// Every program of the suite.
pub fn all() -> Vec<Program> {
    let mut all = Vec::new();
    all.extend(elementwise::programs());
    all.extend(reductions::programs());
    all.extend(scans::programs());
    all.extend(sparse::programs());
    all.extend(scatter::programs());
    all.extend(sorts::programs());
    all.extend(grids::programs());
    all.extend(compute::programs());
    all
}

/// The program of a name.
pub fn find(name: &str) -> Option<Program> {
    all().into_iter().find(|program| program.name == name)
}
