//! Why a program was not flattened.

use fusebox_ir::{Place, ValidationErrors};

/// Why a program was not flattened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is not valid.
    #[error("the input program is not valid")]
    Invalid(#[from] ValidationErrors),
    /// An array of arrays, or a stream, goes in or out as two arrays, and one of their names is taken.
    #[error("`{name}` becomes `{name}.extents` and `{name}.values`, and there is another `{taken}`")]
    Taken {
        /// The input or result.
        name: String,
        /// The other's name.
        taken: String,
    },
    /// An input or a result whose inner arrays hold arrays again.
    #[error(
        "`{name}` is an array of arrays of arrays, which programs neither take nor give: take or give the arrays one after the other, and how many there are of each"
    )]
    Deep {
        /// The input or result.
        name: String,
    },
    /// A size that only elements of a stream have.
    #[error(
        "size `{size}` is known only when elements of the stream `{stream}` are there: take it as an input, or write `?`"
    )]
    SizeOfStream {
        /// The size.
        size: String,
        /// The stream.
        stream: String,
    },
    /// An operation in a lane, or on arrays of arrays, that this pass does not lift.
    #[error("{}{operation} `{name}` is not flattened: {why}", at(.place))]
    Unsupported {
        /// The operation.
        operation: &'static str,
        /// Its first result.
        name: String,
        /// What is not lifted, and what to write instead.
        why: String,
        /// Where it stands in the source.
        place: Place,
    },
}

fn at(place: &Place) -> String {
    if place.is_unknown() { String::new() } else { format!("{place}: ") }
}
