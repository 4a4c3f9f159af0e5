//! Why there is no strict program.

use fusebox_ir::{Place, ValidationErrors};

/// Why a program was not made strict.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is not valid, or not flat.
    #[error("the input program is not valid and flat")]
    Invalid(#[from] ValidationErrors),
    /// Too many branches need copies of what may fail.
    #[error("{}`{result}` and others may fail and are needed by so many branches that {bindings} bindings would be made of {before}", at(.place))]
    Growth {
        /// The first result of the binding at which the limit was reached.
        result: String,
        /// Bindings made so far.
        bindings: usize,
        /// Bindings of the program.
        before: usize,
        /// Where it stands in the source.
        place: Place,
    },
    /// What may fail is needed in branches of branches.
    #[error("{}`{result}` may fail and would be moved into {depth} blocks, one inside the other", at(.place))]
    Depth {
        /// The first result of a binding that would be moved.
        result: String,
        /// How many blocks that would be.
        depth: usize,
        /// Where it stands in the source.
        place: Place,
    },
}

fn at(place: &Place) -> String {
    if place.is_unknown() { String::new() } else { format!("{place}: ") }
}
