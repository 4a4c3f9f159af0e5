//! Why a program was not flattened.

use std::fmt;

use fusebox_ir::{Place, ValidationErrors};

/// Why a program was not flattened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is not valid.
    #[error("the input program is not valid")]
    Invalid(#[from] ValidationErrors),
    /// An array of arrays, or a stream, goes in or out as two arrays, and one of their names is taken.
    #[error("{}`{name}` becomes `{name}.extents` and `{name}.values`, and there is another `{taken}`: rename one of them", at(.place))]
    Taken {
        /// The input or result.
        name: String,
        /// The other's name.
        taken: String,
        /// Where the result is made; unknown of an input.
        place: Place,
    },
    /// An input or a result whose inner arrays hold arrays again.
    #[error(
        "{}`{name}` is an array of arrays of arrays, which programs neither take nor give: take or give the arrays one after the other, and how many there are of each", at(.place)
    )]
    Deep {
        /// The input or result.
        name: String,
        /// Where the result is made; unknown of an input.
        place: Place,
    },
    /// A size that only elements of a stream have.
    #[error(
        "{}size `{size}` is known only when elements of the stream `{stream}` are there: take it as an input, or write `?`", at(.place)
    )]
    SizeOfStream {
        /// The size.
        size: String,
        /// The stream.
        stream: String,
        /// What uses the size first; unknown where it is a result.
        place: Place,
    },
    /// A traversal of arrays of arrays that gives a name to an extent inside of these: nothing else would say which that is.
    #[error("{0}")]
    NamedInside(Box<NamedInside>),
}

/// A traversal that gives a name to an extent inside of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedInside {
    /// The first result of the traversal.
    pub name: String,
    /// The element.
    pub element: String,
    /// The extent.
    pub size: String,
    /// What is traversed.
    pub of: String,
    /// Where the traversal stands in the source.
    pub place: Place,
    /// Where what is traversed is made; unknown of an input.
    pub made: Place,
}

impl fmt::Display for NamedInside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, element, size, of, place, made } = self;
        write!(f, "{}consume `{name}` is not flattened: the elements `{element}` that it reads of `{of}`", at(place))?;
        if !made.is_unknown() {
            write!(f, " (line {})", made.line)?;
        }
        write!(
            f,
            " are arrays of arrays, and `{size}` is an extent inside of them; write `?` there, and get it by `element`"
        )
    }
}

fn at(place: &Place) -> String {
    if place.is_unknown() { String::new() } else { format!("{place}: ") }
}
