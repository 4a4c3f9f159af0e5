//! Golden programs in the embedded language: each the same `Program` as its text.

mod finance;
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
    [finance::ALL, reductions::ALL].concat()
}
