//! What may be wrong with a program.

use std::fmt;

use crate::{ElementType, Place, analysis::NotInPlace};

/// How an array of numbers becomes one of another type.
fn converts(found: ElementType, expected: ElementType) -> String {
    let numbers = found.is_number() && expected.is_number();
    if numbers { format!(": `map(|x| {expected}(x), …)` converts") } else { String::new() }
}

/// Every fault of a program, in program order.
#[derive(Clone, PartialEq)]
pub struct ValidationErrors {
    /// At least one.
    pub errors: Vec<ValidationError>,
}

impl fmt::Display for ValidationErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.errors.iter().enumerate() {
            write!(f, "{}{error}", if position == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ValidationErrors {}

crate::debug_is_message!(struct ValidationErrors { errors });

/// A fault and where it is.
#[derive(Clone)]
pub struct ValidationError {
    /// Where in the source, if known: of the innermost binding or instruction that has a place.
    pub place: Place,
    /// The position in JSON, such as `body.bindings[2].f.instructions[0]`.
    pub path: String,
    /// The innermost operation, and the name of its first result: ``map `b` ``; empty outside of bindings.
    pub subject: String,
    /// What is wrong.
    pub fault: ProgramFault,
}

impl PartialEq for ValidationError {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.subject == other.subject && self.fault == other.fault
    }
}

/// Place (where unknown the path), subject, fault.
impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_unknown() {
            write!(f, "{}: ", self.place)?;
        } else if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        if !self.subject.is_empty() {
            write!(f, "{}: ", self.subject)?;
        }
        write!(f, "{}", self.fault)
    }
}

impl std::error::Error for ValidationError {}

crate::debug_is_message!(struct ValidationError { place, path, subject, fault });

/// What is wrong. `what` names a part: `function`, `seed 0`, `source 1`, `result 0`; names of values are those of the source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ProgramFault {
    // Ids and scope.
    /// Ids are not dense in order of definition.
    #[error("value a{found} is defined where a{expected} is next: ids are dense in order of definition")]
    Order { found: u32, expected: u32 },
    /// Local ids are not dense in order of definition.
    #[error("local %{found} is defined where %{expected} is next: ids are dense in order of definition")]
    LocalOrder { found: u32, expected: u32 },
    /// A value that is not defined before, or not in scope.
    #[error("{what} uses {value}, which is not defined before it in this block or a block around it")]
    NotInScope { what: String, value: String },
    /// A fallback that uses what is outside.
    #[error("{what} uses `{value}`, which is outside of the fallback: a fallback sees its parameters only")]
    OutsideFallback { what: String, value: String },
    /// A local that is not defined before, or not in scope.
    #[error("{what} uses %{local}, which is not defined before it in this function or one around it")]
    LocalNotInScope { what: String, local: u32 },
    /// Blocks or bodies inside each other beyond the limit.
    #[error(
        "blocks and bodies (each `else if` too) are nested more than {limit} deep: bind inner ones by a `let` before"
    )]
    TooDeep { limit: usize },

    // Types.
    /// More dimensions than there may be.
    #[error("the type of {what} has rank {rank}, and at most {limit} is possible")]
    Rank { what: String, rank: usize, limit: usize },
    /// A level of inner arrays without dimensions.
    #[error("the type of {what} has inner arrays of rank 0")]
    InnerRank { what: String },
    /// A constant extent below zero.
    #[error("extent {dim} of {what} is {extent}: extents are not negative")]
    NegativeExtent { what: String, dim: usize, extent: i64 },
    /// An extent that is no `i64` of rank 0.
    #[error("extent {dim} of {what} is `{value}`, which is {ty} and not an i64 scalar")]
    ExtentType { what: String, dim: usize, value: String, ty: String },
    /// A declared result whose extent is no size of an input.
    #[error(
        "extent {dim} of {what} is {value}: extents of declared results are constants, inputs, sizes of inputs, or `?`"
    )]
    OutputExtent { what: String, dim: usize, value: String },
    /// `?` where it may not be.
    #[error(
        "extent {dim} of {what} is `?`, which only inner arrays, elements of streams and declared results may be: a name stands for an extent, as in `[n]f32`"
    )]
    UnknownExtent { what: String, dim: usize },
    /// A stream where none may be.
    #[error("{what} is a stream, which only inputs, results and what `consume` gives may be")]
    Stream { what: String },
    /// A stream of arrays of arrays.
    #[error("{what} is a stream of arrays of arrays: elements of streams are arrays")]
    NestedStream { what: String },
    /// A stream that is used in two places.
    #[error("{what} reads the stream `{value}` again: a stream is read once")]
    StreamAgain { what: String, value: String },
    /// A stream read in a body that may run more than once.
    #[error("{what} reads the stream `{value}` in a body that runs any number of times: a stream is read once")]
    StreamRepeated { what: String, value: String },
    /// An array of arrays where an array of scalars is wanted.
    #[error("{what} is `{value}`, an array of arrays: only `element`, `compute` and what hands values on take those")]
    Nested { what: String, value: String },
    /// An array of scalars where an array of arrays is wanted.
    #[error("{what} is `{value}`, which is {ty} and not an array of arrays")]
    NotNested { what: String, value: String, ty: String },
    /// An array of another rank than is wanted.
    #[error("{what} has rank {found}, and {expected} is wanted")]
    WrongRank { what: String, found: usize, expected: usize },
    /// An array of rank 0 where at least a vector is wanted.
    #[error(
        "{what} has rank 0, and at least 1 is wanted: `f32` and `[]f32` are one value, `[n]f32` is an array of rank 1"
    )]
    RankZero { what: String },
    /// An element type other than is wanted.
    #[error("{what} is of {found}, and {expected} is wanted")]
    WrongElement { what: String, found: ElementType, expected: ElementType },
    /// The same of an array that an operation reads.
    #[error("{what} is of {found}, and {expected} is wanted{}", converts(*.found, *.expected))]
    WrongArray { what: String, found: ElementType, expected: ElementType },
    /// A type that is no integer where one is wanted.
    #[error("{what} is of {found}, and an integer type is wanted")]
    NoInteger { what: String, found: ElementType },
    /// A value of rank above 0 where a scalar is wanted.
    #[error("{what} is `{value}`, which is {ty} and not a scalar")]
    NoScalar { what: String, value: String, ty: String },
    /// Another type is declared than there is.
    #[error("{what} is declared as {declared}, and is {given}")]
    Declared { what: String, declared: String, given: String },
    /// Values of different types where one is wanted.
    #[error("{what} is {found}, and {expected} is wanted")]
    WrongType { what: String, found: String, expected: String },

    // Extents.
    /// Extents that are never equal.
    #[error("extent {dim} of {what} is `{found}`, which is never `{expected}`")]
    Extents { what: String, dim: usize, found: String, expected: String },
    /// An extent that is always more than another.
    #[error("extent {dim} of the result is `{found}`, which is always more than the `{available}` of `{source_name}`")]
    TooFew { dim: usize, found: String, source_name: String, available: String },
    /// Sizes of a reshape that are never equal.
    #[error("a reshape of `{found}` elements to `{expected}`, which are never equal")]
    Reshape { found: String, expected: String },
    /// Sizes before parameters where none are bound.
    #[error("this block binds no sizes: its parameters' extents are values from outside or earlier parameters")]
    Sizes,
    /// A size that is no `i64`.
    #[error("size `{size}` is {ty} and not an i64 scalar")]
    SizeType { size: String, ty: String },
    /// Sizes that are not in the order in which types meet them first.
    #[error("the types of parameters meet size `{found}` where `{expected}` is next in the list of sizes")]
    SizeOrder { found: String, expected: String },
    /// A size that no parameter has.
    #[error("size `{size}` is the extent of no parameter")]
    SizeUnbound { size: String },

    // Counts.
    /// Another number of something than is wanted.
    #[error("{what}: {found} given, and {expected} wanted")]
    Count { what: String, found: usize, expected: usize },
    /// Names for another number of results than an operation gives.
    #[error("it gives {given} result{}, and {named} {} named", if *given == 1 { "" } else { "s" }, if *named == 1 { "is" } else { "are" })]
    Named { given: usize, named: usize },
    /// Too few of something.
    #[error("{what}: {found} given, and at least {least} wanted")]
    TooFewGiven { what: String, found: usize, least: usize },
    /// Seeds of an operation that has none.
    #[error("seeds: {found} given, and {form} takes none")]
    Seeds { found: usize, form: &'static str },
    /// Elements written out whose number is not the product of the extents.
    #[error("{found} elements are written out for extents {extents:?}")]
    Elements { found: usize, extents: Vec<i64> },
    /// A dimension that is none of the array.
    #[error("dimension {dim} is none of an array of rank {rank}")]
    Dimension { dim: usize, rank: usize },
    /// A consume that would never end.
    #[error("there is neither a limit nor a stream: it would never end")]
    Endless,

    // Scalar code.
    /// A function of one operand that the type does not have.
    #[error("there is no `{function}` of {a}")]
    NoUnary { function: &'static str, a: ElementType },
    /// A function of two operands that the types do not have.
    #[error("there is no `{function}` of {a} and {b}")]
    NoBinary { function: &'static str, a: ElementType, b: ElementType },
    /// A conversion that there is not.
    #[error("{from} does not convert to {to}: compare to get a bool")]
    NoConversion { from: ElementType, to: ElementType },
    /// Reinterpretation between widths, or of `bool`.
    #[error("the bits of {from} are none of {to}: the widths differ, or one is bool")]
    NoBits { from: ElementType, to: ElementType },

    // Operations.
    /// A boundary that is missing, or or there twice.
    #[error("`{array}` has {found} boundaries: each array that is tapped has one")]
    Boundaries { array: String, found: usize },
    /// A boundary of an array that is not tapped.
    #[error("there is a boundary of `{array}`, which is not tapped")]
    BoundaryOfNone { array: String },
    /// An operation that may not be in a cluster.
    #[error("`{op}` is in a cluster, which holds only what makes or reads elements in one pass")]
    InCluster { op: &'static str },
    /// A mark that does not say how the binding's results are used.
    #[error("`{value}` is marked {found}, and is {expected}")]
    Mark { value: String, found: &'static str, expected: &'static str },
    /// A binding of a cluster that nothing uses.
    #[error("`{value}` is neither used in the cluster nor a result of it")]
    Unused { value: String },
    /// An order that names no backpermute of the cluster.
    #[error("the order is that of {value}, which is not the first result of a backpermute of this cluster")]
    ClusterOrder { value: String },

    /// A cluster that is not one nest of loops.
    #[error("`{first}` and `{second}` are in one cluster and cannot share a nest of loops: {why}")]
    Conflict { first: String, second: String, why: crate::analysis::spine::Why },

    // Names.
    /// No name.
    #[error(
        "`{name}` cannot be the name of {of}: a name is letters, digits and `_`, parts joined by `.`, no keyword, no part `flat`"
    )]
    Name { name: String, of: &'static str },
    /// A name used twice.
    #[error("two {of} are called `{name}`")]
    NameTwice { name: String, of: &'static str },

    // Properties.
    /// An operation that a property rules out.
    #[error("`{op}` is not possible in a {property} program: {why}")]
    Property { property: &'static str, op: &'static str, why: &'static str },
    /// Arrays of arrays in a flat program.
    #[error("{what} is an array of arrays, which a flat program has not")]
    NotFlat { what: String },

    /// A binding that a strict program would not hold where it stands.
    #[error("a strict program computes all bindings of a block: {why}; the pass `strictness` moves it")]
    ByNeed { why: crate::analysis::demand::ByNeedWhy },

    // Kernels and plans.
    /// Depths that are no nest.
    #[error(
        "a statement of depth {depth} after one of depth {before}: levels do not branch, so what is deeper is contiguous"
    )]
    Branches { depth: u32, before: u32 },
    /// A depth that the kernel does not have.
    #[error("depth {depth} of a kernel of {levels} levels")]
    Depth { depth: u32, levels: usize },
    /// A condition on something that has none.
    #[error("a {action} has no `when`")]
    When { action: &'static str },
    /// A position that is none of the kernel's arrays.
    #[error("{what} is position {array} of {arrays} arrays")]
    NoArray { what: String, array: u32, arrays: usize },
    /// An array that is not used as it says.
    #[error("{what} is `{array}`, whose access is {found}, and {expected} is wanted")]
    Access { what: String, array: String, found: &'static str, expected: &'static str },
    /// A map whose terms are not in order.
    #[error("the terms of dimension {dim} are not each local once, by id")]
    Terms { dim: usize },
    /// A load with a function for what is outside that has a boundary or a check too.
    #[error("a load with `outside` has no other boundary and no check")]
    OutsideChecked,
    /// A size, index or bound that is no `i64`.
    #[error("{what} is of {found}, and i64 is wanted")]
    NoIndex { what: String, found: ElementType },
    /// A value from outside by name.
    #[error("{what} is value {value} from outside: in kernels scalars are loaded")]
    OuterInKernel { what: String, value: String },
    /// A read that should be a load.
    #[error("a read of `{array}` that stands alone is a load")]
    ReadAlone { array: String },
    /// A function that kernels do not have.
    #[error("`{function}` is not expanded")]
    NotExpanded { function: &'static str },
    /// Lanes that are no power of two, or more than a block has elements.
    #[error("{lanes} lanes are no power of two of 4096 at most")]
    Lanes { lanes: u32 },
    /// A reduce to its own depth or deeper.
    #[error("a reduce at depth {depth} to depth {to}: results are of a depth around it")]
    ReduceTo { depth: u32, to: u32 },
    /// A scan without a level that has an order.
    #[error("a scan {why}")]
    Scan { why: &'static str },
    /// Two appends.
    #[error("a second append: there is one statement at most")]
    Appends,
    /// An extent that is no size of the kernel.
    #[error("extent {dim} of `{array}` is %{local}, which is no size of the kernel")]
    KernelExtent { array: String, dim: usize, local: u32 },
    /// A value that the plan does not have.
    #[error("{what} is {value}, and the plan has {values} values")]
    NoValue { what: String, value: String, values: usize },
    /// A value used before it is made, or after it is freed.
    #[error("{what} is `{value}`, which is not made here")]
    NotMade { what: String, value: String },
    /// A value made again.
    #[error("`{value}` is made again: each value is made once")]
    MadeTwice { value: String },
    /// A value of around a loop that its steps free: the next turn would not have it.
    #[error("`{value}` is freed in a loop, and made outside of it")]
    FreedInLoop { value: String },
    /// A launch that is given a value twice, of which it writes one.
    #[error("`{value}` is written by a launch that is given it for another array too")]
    GivenTwice { value: String },
    /// A bound of a level that is no index.
    #[error("{what} is {bound}, which is beyond any extent")]
    LevelBound { what: String, bound: i64 },
    /// A value written again.
    #[error("`{value}` is written again: each value is written once")]
    WrittenTwice { value: String },
    /// A value that cannot take over the memory of another.
    #[error("`{value}` cannot take over `{source_name}`, which {why}")]
    InPlace { value: String, source_name: String, why: NotInPlace },
    /// A kernel that the plan does not have.
    #[error("kernel {kernel} of {kernels}")]
    NoKernel { kernel: usize, kernels: usize },
}
