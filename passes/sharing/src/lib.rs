#![doc = include_str!("../README.md")]

mod dominators;
mod names;
mod placement;
mod program;
mod scalar_code;
mod scopes;

pub use crate::dominators::{BindingPoints, GraphError, binding_points};
use fusebox_ir::{
    Place, Program,
    term::{TermId, Terms},
};

/// What to share, and how much code to make at most.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whether scalar terms that are used several times are computed once. Without, code grows as the unfolded term does.
    pub share_scalars: bool,
    /// The most instructions of one function.
    pub max_instructions: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { share_scalars: true, max_instructions: 1 << 24 }
    }
}

/// Why terms are no program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Array operations that depend on a parameter of a function that holds none.
    #[error(
        "{inner} at {inner_place} depends on a parameter of the function of {outer} at {outer_place}, which may hold no array operations: only map, zip_with and generate nest"
    )]
    NestedParallelism {
        /// The operation inside.
        inner: &'static str,
        /// Where it is applied.
        inner_place: Place,
        /// The operation whose function it is in.
        outer: &'static str,
        /// Where that is applied.
        outer_place: Place,
    },
    /// A parameter used outside of its function or block.
    #[error("the term at {place} uses a parameter outside of its function")]
    Escapes {
        /// Where the term was built.
        place: Place,
    },
    /// A type whose extent is no number of elements.
    #[error("the term at {place} is or has an extent that is no i64")]
    Extent {
        /// Where the term was built.
        place: Place,
    },
    /// A fallback of a foreign operation that uses terms from outside.
    #[error(
        "the term at {place} is used inside and outside of a fallback, which sees nothing outside but its arguments"
    )]
    OutsideOfFallback {
        /// Where the term was built.
        place: Place,
    },
    /// Code that grows too large, as it does without sharing.
    #[error("a function has more than {limit} instructions")]
    TooLarge {
        /// The most there may be.
        limit: usize,
    },
    /// Branches and loops nested too deeply.
    #[error("conditionals and loops nest more than {limit} deep")]
    TooDeep {
        /// The most there may be.
        limit: usize,
    },
}

impl Error {
    /// Of a term that nothing binds where it is used.
    pub(crate) fn escapes(terms: &Terms, id: TermId) -> Self {
        Self::Escapes { place: terms.nodes[id.index()].place.clone() }
    }
}

/// Turns a graph of terms into a program in which every shared term is computed once.
///
/// Array terms, and scalars that operations use, are bound in the lowest block that sees all uses, but outside of bodies that repeat and
/// whose parameters they do not use. Scalar terms are shared within a function, at their immediate dominators.
///
/// # Errors
/// [`Error`]: terms that are no program, with their places.
pub fn program(terms: &Terms, config: &Config) -> Result<Program, Error> {
    let dependences = scopes::Dependences::new(terms);
    let placement = placement::place(terms, &dependences)?;
    program::program(terms, &placement, config)
}
