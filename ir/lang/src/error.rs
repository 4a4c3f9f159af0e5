//! Mistakes found while a program is built, each with its place in the host program.

use std::fmt;

use fusebox_ir::Place;

/// Why a program could not be built: every mistake found, in order.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error("{}", list(.problems))]
pub struct BuildError {
    /// At least one.
    pub problems: Vec<Problem>,
}

/// A mistake and where it was made.
#[derive(Clone, PartialEq)]
pub struct Problem {
    /// What is wrong.
    pub mistake: Mistake,
    /// The line of the host program.
    pub place: Place,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_unknown() {
            write!(f, "{}", self.mistake)
        } else {
            write!(f, "{}: {}", self.place, self.mistake)
        }
    }
}

fusebox_ir::debug_is_message!(struct BuildError { problems });
fusebox_ir::debug_is_message!(struct Problem { mistake, place });

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Extents as they are written: `[3, ?]`, where `?` is known when the program runs.
fn extents(of: &[Option<i64>]) -> String {
    let all: Vec<String> = of.iter().map(|e| e.map_or_else(|| "?".to_owned(), |e| e.to_string())).collect();
    format!("[{}]", all.join(", "))
}

/// What may be wrong with a program that Rust's types let pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// A handle was taken from the closure of one program into that of another.
    #[error("this value belongs to another program; pass what it stands for as an input")]
    HandleOfAnother,
    /// A handle was made while no program was being built.
    #[error("this value was made outside of any program; make it inside the closure that builds one")]
    HandleOfNone,
    /// An extent below zero, known while building.
    #[error("extent {extent} is negative")]
    NegativeExtent {
        /// The extent.
        extent: i64,
    },
    /// More or fewer names than inputs or results.
    #[error("{given} names are given for {wanted} {what}")]
    NameCount {
        /// `inputs` or `results`.
        what: &'static str,
        /// How many names.
        given: usize,
        /// How many there are.
        wanted: usize,
    },
    /// Something that text could not spell.
    #[error("`{name}` is no name: names are letters, digits and `_`, parts are joined by `.`, and keywords are none")]
    Name {
        /// What was given.
        name: String,
    },
    /// Two inputs or two results of one name.
    #[error("two {what} are called `{name}`")]
    Duplicate {
        /// `inputs` or `results`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// An operation that needs at least one of something.
    #[error("{operation} needs at least one {what}")]
    Empty {
        /// The operation.
        operation: &'static str,
        /// What is missing.
        what: &'static str,
    },
    /// Arrays that are combined by element and whose extents are known to differ.
    #[error(
        "extents {} and {} are unequal: operators and functions of two arrays want equal ones, or the number 1, which repeats",
        extents(.left),
        extents(.right)
    )]
    Unequal {
        /// The extents of one; `None` of what is known when the program runs.
        left: Vec<Option<i64>>,
        /// The extents of the other.
        right: Vec<Option<i64>>,
    },
    /// A step of a range that goes nowhere, or backwards.
    #[error("a range in steps of {step}: steps are 1 or more, and `reverse` turns an array around")]
    Step {
        /// The step.
        step: i64,
    },
    /// Other axes than an array has, each once.
    #[error("axes {axes:?} of an array of rank {rank}: each of 0 to {rank} - 1 is named once")]
    Axes {
        /// What is named.
        axes: Vec<usize>,
        /// The rank.
        rank: usize,
    },
    /// More dimensions than are to be made of them.
    #[error("an array of rank {rank} is no array of rank {wanted}: broadcasting adds dimensions, and takes none away")]
    Broadcast {
        /// The rank of the array.
        rank: usize,
        /// The rank asked for.
        wanted: usize,
    },
    /// A dimension that an array does not have.
    #[error("there is no dimension {dimension} in an array of rank {rank}: dimensions count from the outermost, 0")]
    Dimension {
        /// The dimension named.
        dimension: usize,
        /// The rank.
        rank: usize,
    },
    /// A replicate that keeps more dimensions than there are.
    #[error("{kept} dimensions are kept of an array of rank {rank}")]
    Kept {
        /// How many are kept.
        kept: usize,
        /// The rank.
        rank: usize,
    },
    /// A slice that says more or fewer dimensions than there are.
    #[error("{dims} dimensions are named of an array of rank {rank}")]
    Fixed {
        /// How many are named.
        dims: usize,
        /// The rank.
        rank: usize,
    },
    /// A stream in a loop, a condition or a fallback.
    #[error("a stream is no value: only `consume` reads it, once")]
    Stream,
    /// A host array whose parts are more or fewer than its type says.
    #[error("{given} elements are given for extents {extents:?}")]
    Count {
        /// How many elements.
        given: usize,
        /// The extents.
        extents: Vec<i64>,
    },
}
