//! Why there is no plan.

use fusebox_ir::Place;

/// Why no plan was made. A promise broken by us is a bug, and is none of these.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is not valid.
    #[error("not a valid program:\n{0}")]
    Invalid(fusebox_ir::ValidationErrors),
    /// The program is not flat.
    #[error("{}cannot make a kernel of {op} `{result}`: flattening must run before", at(.place))]
    Unsupported {
        /// The operation.
        op: &'static str,
        /// Its first result.
        result: String,
        /// Where it stands in the source.
        place: Place,
    },
    /// An operation counts its elements, and its result has another extent.
    #[error("{}`{result}` has another extent than `{count}`, which counts its elements: the pass `simplify` must run before", at(.place))]
    Counted {
        /// The result.
        result: String,
        /// The count, which is a result too.
        count: String,
        /// Where it stands in the source.
        place: Place,
    },
    /// The program is not strict.
    #[error("{}`{result}` is evaluated by need: {why}; the pass `strictness` must run before", at(.place))]
    ByNeed {
        /// The first result of a binding.
        result: String,
        /// Why.
        why: fusebox_ir::analysis::demand::ByNeedWhy,
        /// Where it stands in the source.
        place: Place,
    },
    /// A cluster whose operations do not share a nest of loops.
    #[error("{}`{first}` and `{second}` are in one cluster and cannot share a nest of loops: {why}", at(.place))]
    Conflict {
        /// The first result of one operation.
        first: String,
        /// The first result of another.
        second: String,
        /// Why.
        why: fusebox_ir::analysis::spine::Why,
        /// Where the second stands in the source.
        place: Place,
    },
    /// An input or a parameter is a stream or an array of arrays.
    #[error("`{name}` is of type `{kind}`: flattening must run before")]
    UnsupportedType {
        /// Its name.
        name: String,
        /// `stream`, or `array of arrays`.
        kind: &'static str,
    },
}

fn at(place: &Place) -> String {
    if place.is_unknown() { String::new() } else { format!("{place}: ") }
}
