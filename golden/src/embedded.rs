//! Golden programs in the embedded language: each the same `Program` as its text, but for nested ones and those that are written another way.

mod digests;
mod finance;
mod fluid;
mod grids;
mod linear;
mod nested;
mod nested_numbers;
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

/// Nested golden programs in the embedded language: they give what their texts give, but are not the same programs.
pub fn nested() -> Vec<Embedded> {
    [nested::ALL, nested_numbers::ALL].concat()
}

/// Flat golden programs that are written another way in the embedded language: they give what their texts give.
pub fn another_way() -> Vec<Embedded> {
    rearrangement::ANOTHER_WAY.to_vec()
}

/// Every golden program that there is in the embedded language, the same as its text.
pub fn all() -> Vec<Embedded> {
    [digests::ALL, finance::ALL, fluid::ALL, grids::ALL, linear::ALL, ray::ALL, rearrangement::ALL, reductions::ALL]
        .concat()
}
