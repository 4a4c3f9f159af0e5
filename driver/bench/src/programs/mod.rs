//! The programs, in the order of the tables.

mod compute;
mod elementwise;
mod fluid;
mod grids;
mod md5;
mod moving;
mod nested;
mod ragged;
mod ray;
mod reductions;
mod rows;
mod scans;
mod scatter;
mod searches;
mod sorts;
mod sparse;
mod spectra;
mod turns;

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
    all.extend(moving::programs());
    all.extend(grids::programs());
    all.extend(fluid::programs());
    all.extend(compute::programs());
    all.extend(ray::programs());
    all.extend(rows::programs());
    all.extend(spectra::programs());
    all.extend(nested::programs());
    all.extend(ragged::programs());
    all.extend(searches::programs());
    all
}

/// The program of a name.
pub fn find(name: &str) -> Option<Program> {
    all().into_iter().find(|program| program.name == name)
}
