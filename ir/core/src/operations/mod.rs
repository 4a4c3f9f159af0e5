//! The table of operations: what is true of each operation whatever its functions compute. One row an operation, in `table.rs`.
//!
//! [`Signature::of`] gives the row of a binding: of which kind the operation is, which arrays it reads and how, which extents have to agree,
//! which extents its results have, and whether it may fail by itself. Validation, the checks of sizes at run time, the spine, the model of
//! clustering, and the question whether something may fail all read this table, so that a new operation is one row of it. What an operation
//! *holds* (operands, functions, blocks) is said by [`ArrayOp::parts`]; what it *means* by the interpreter.

mod demands;
mod table;

use crate::{ArrayId, ArrayOp, Binding, Extent, Lambda, Operand, Var};

pub use self::demands::{Demand, Relation};

/// What sort of work an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Each element of the result is made by itself, of at most one element of each source (a *producer*).
    Elementwise,
    /// Each element is made of some elements around its place.
    Stencil,
    /// Combines the elements of rows: folds and scans.
    Rows,
    /// Makes a number of elements that only running tells: `expand`, `filter`.
    Counted,
    /// Combines elements in at computed places: `permute`, `permuted_expand`.
    Scattered,
    /// Works on whole arrays, by a routine of the library or by other extents: `constant`, `reshape`, `concat`, `sort`.
    Whole,
    /// Scalar code.
    Scalars,
    /// Holds blocks, or takes an array out of an array of arrays.
    Control,
}

/// What an array is for an operation that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Elements, or rows, that it computes with.
    Source,
    /// Where segments begin.
    Offsets,
    /// What a permute starts from.
    Default,
    /// New elements of a permute.
    Value,
    /// Where a permute puts an element, in one dimension.
    Target,
    /// Whether an element takes part.
    Keep,
    /// What is sorted by.
    Key,
    /// What is sorted along.
    Carried,
}

/// How an operation reads an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// At the index that it runs over: element by element.
    Same,
    /// At the index that it runs over, rows in their order: what a row gives depends on all of it.
    Row,
    /// At the first of the indices that it runs over.
    Prefix,
    /// At an index that it computes from the one it runs over.
    Mapped,
    /// At constant distances from the index that it runs over.
    Around,
    /// Anywhere: all of it must be there before.
    Anywhere,
}

/// An array that an operation reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The array.
    pub array: ArrayId,
    /// What it is for.
    pub role: Role,
    /// In which way.
    pub how: How,
}

/// What an operation runs over: one step for each index of this shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsOver {
    /// Its (first) result.
    Result,
    /// An array that it reads.
    Array(ArrayId),
    /// Nothing of one shape.
    Nothing,
}

/// In which order an operation has to take the elements of a row, or of all that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// In any.
    Any,
    /// From the first to the last.
    Ascending,
    /// From the last to the first.
    Descending,
}

/// A number of elements: a constant, and extents of arrays and scalars that are added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// What is added.
    pub terms: Vec<Term>,
    /// And this.
    pub constant: i64,
}

/// A term of a [`Sum`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// An extent of an array that the operation reads or gives.
    Extent {
        /// The array.
        array: ArrayId,
        /// Its dimension, the outermost is 0.
        dim: usize,
    },
    /// A scalar.
    Value(Operand),
}

impl From<Term> for Sum {
    fn from(term: Term) -> Self {
        Self { terms: vec![term], constant: 0 }
    }
}

/// The extents of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One number for each dimension; none for scalars.
    Exactly(Vec<Sum>),
    /// What the binding declares, in each dimension at most that of each of these arrays.
    Within(Vec<ArrayId>),
    /// What the binding declares; all results the same.
    Declared,
    /// One dimension, of as many elements as the first result says.
    Counted,
    /// Not a matter of this table: what blocks give, or the ranks of what is read are not known.
    Unknown,
}

impl Binding {
    /// Results of an operation that counts its elements whose declared extent is not that count, but another that should be equal.
    pub fn declared_apart_from_count(&self) -> impl Iterator<Item = &Var> {
        let counts = self.op.kind() == Kind::Counted;
        let count = self.results.first().filter(|_| counts).map(|count| count.id);
        let apart = move |var: &&Var| count.is_some_and(|id| var.ty.extents.first() != Some(&Extent::Value(id)));
        self.results.iter().skip(1).filter(apart)
    }
}

/// Arrays whose ranks and extents are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// Two or more.
    pub arrays: Vec<ArrayId>,
    /// A dimension in which they may differ.
    pub but: Option<usize>,
}

/// When a result is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// Element by element, as the operation goes.
    Elements,
    /// An element after each row; of a vector, the only row, that is a scalar.
    AfterRow,
    /// After the last step.
    AtEnd,
}

/// A result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its extents.
    pub shape: Shape,
    /// When it is known.
    pub known: Known,
}

/// Of what of an operation a result is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Made<'a> {
    /// Result `i` is result `i` of this function, and needs the sources whose parameters that one uses.
    ByFunction(&'a Lambda),
    /// Result `i` is of source `i`.
    BySource,
    /// Result `i` is component `i` modulo the number of components of this combining function, and needs the components that one uses.
    ByCombining(&'a Lambda),
    /// Result `i` is result `i` of the blocks that it holds.
    ByBlock,
    /// Results are not made apart.
    Together,
}

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Signature<'a> {
    /// The sort of work.
    pub kind: Kind,
    /// Arrays that it reads other than in functions and blocks, in printing order; tapped arrays once for each tap.
    pub reads: Vec<Read>,
    /// What it runs over.
    pub runs_over: RunsOver,
    /// Groups of arrays whose extents are equal.
    pub alike: Vec<Alike>,
    /// Operands that are extents, and so not negative.
    pub extents: Vec<Operand>,
    /// The results, in order; none where blocks say it.
    pub results: Vec<Given>,
    /// Of what results are made.
    pub made: Made<'a>,
    /// Whether it may fail although extents agree and its functions do not: an index or target outside, an empty row, wrong offsets, a
    /// number of elements that is no size; what blocks do.
    pub fails: bool,
}

impl Kind {
    /// Whether an operation of this kind makes or reads elements one by one, so that it may be part of a nest of loops.
    pub fn makes_elements(self) -> bool {
        match self {
            Self::Elementwise | Self::Stencil | Self::Rows | Self::Counted | Self::Scattered => true,
            Self::Whole | Self::Scalars | Self::Control => false,
        }
    }
}

/// Whether an operation makes or reads elements, so that it may be in a cluster.
pub fn makes_elements(op: &ArrayOp) -> bool {
    op.kind().makes_elements()
}
