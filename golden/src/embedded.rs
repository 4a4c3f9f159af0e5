//! Golden programs in the embedded language: each the same `Program` as its text.

mod digests;
mod finance;
mod fluid;
mod grids;
mod linear;
mod ray;
mod rearrangement;
mod reductions;

use fusebox_ir::term::Terms;
use fusebox_lang::BuildError;

/// A program in the embedded language.
#[derive(Clone, Copy)]
pub struct Embedded {
    /// Of the golden program that is the same as text.
    pub name: &'static str,
    /// Builds its terms.
    pub build: fn() -> Result<Terms, BuildError>,
}

/// Every golden program that there is in the embedded language.
pub fn all() -> Vec<Embedded> {
    [digests::ALL, finance::ALL, fluid::ALL, grids::ALL, linear::ALL, ray::ALL, rearrangement::ALL, reductions::ALL]
        .concat()
}
