//! Kernels: one nest of loops each, what backends consume.
//!
//! A kernel fixes results to the bit: what is computed per element, which statements carry state between iterations, how each
//! reduce and scan associates. The schedule is the backend's. Kernels are strict: every instruction at a point whose `when` holds
//! is executed, in order; what may fail only where needed has been moved into branches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Association, ElementType, Instruction, KernelArrayId, Lambda, Local, LocalId, Name, Place, ScalarOperand,
    ScatterOrder,
};

/// A nest of levels, one inside the other, and statements at their depths.
///
/// Locals are dense in the kernel: sizes, then indices of levels, then in order of statements. Scalars from outside are arrays of rank 0
/// that are loaded at depth 0. What scalar code reads is named as [`KernelArrayId::in_code`] says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The operation and the name of its first result, such as ``map `b` ``: what errors of its instructions, loads and scatters say.
    pub name: Name,
    /// Sizes (`i64`, at least 0) that the launch gives.
    pub sizes: Vec<Local>,
    /// Arrays that the launch gives; written ones are allocated before.
    pub arrays: Vec<KernelArray>,
    /// From the outermost.
    pub levels: Vec<Level>,
    /// In order. Statements deeper than d between two of depth d are contiguous: levels do not branch.
    pub statements: Vec<Statement>,
}

/// An array that a kernel reads or writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelArray {
    /// The name in the source, which messages say.
    pub name: String,
    /// The element type.
    pub element: ElementType,
    /// Constants, or locals of [`Kernel::sizes`]; none for scalars.
    pub extents: Vec<KernelExtent>,
    /// What the kernel does with it.
    pub access: Access,
    /// A read array of the kernel in whose memory this one may be ([`crate::analysis::InPlace`] allows it): each point loads what it
    /// needs of an element before that point itself, and no other, stores the element. Whether it is, a launch says.
    #[serde(rename = "over", default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<KernelArrayId>,
}

/// An extent in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KernelExtent {
    /// A number.
    Constant(i64),
    /// One of [`Kernel::sizes`].
    Size(LocalId),
}

/// What a kernel does with an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes every element (of an append: the first ones), and reads none.
    Write,
    /// Combines elements into it that were there before (scatter), or stores some of its elements and leaves the others (concat).
    Update,
}

/// One level of loops: `index` runs over `from..to`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// The index, an `i64`.
    pub index: Local,
    /// The first, usually 0: a constant, a size, or an `i64` of a depth around it. Constant bounds are those of extents, or near ([`crate::MAX_EXTENT`]).
    pub from: ScalarOperand,
    /// One after the last; at or below `from` there are no steps, nor where their number is no `i64`.
    pub to: ScalarOperand,
    /// The order.
    pub order: LevelOrder,
}

/// Whether the steps of a level depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LevelOrder {
    /// No step uses what another made.
    Parallel,
    /// Reduces and scans run from the first step.
    Up,
    /// Reduces and scans run from the last step.
    Down,
}

/// Something that happens at every point of a depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    /// How many levels are around it: 0 runs once.
    pub depth: u32,
    /// A `bool`: where it does not hold nothing happens (the element takes no part). For store, append, scatter, reduce, scan, check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<ScalarOperand>,
    /// The operation that it comes from, where that is not [`Kernel::name`] (in kernels made of several operations): what errors say.
    #[serde(default, skip_serializing_if = "Name::is_empty")]
    pub operation: Name,
    /// What happens.
    #[serde(flatten)]
    pub action: Action,
}

impl Kernel {
    /// What errors of a statement's instructions, loads, scatters and combining functions call its operation.
    pub fn operation<'k>(&'k self, statement: &'k Statement) -> &'k str {
        if statement.operation.is_empty() { &self.name.0 } else { &statement.operation.0 }
    }
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// `result = array[map]`.
    Load {
        /// The element.
        result: Local,
        /// Position in [`Kernel::arrays`].
        array: KernelArrayId,
        /// Where.
        map: IndexMap,
        /// The element where any dimension of `map` is outside: a function without parameters that may use locals (a boundary that is
        /// a constant or a function). The map then has no other boundary and no check.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outside: Option<Lambda>,
        /// Of the read in the source.
        #[serde(default, skip_serializing_if = "Place::is_unknown")]
        place: Place,
    },
    /// A scalar instruction. Reads inside bodies of `if` and `while` are checked reads of [`Kernel::arrays`]; a read of its own is a
    /// load, but for one by row-major position of an array whose rank is not 1. Functions such as `exp` and arithmetic of `f16` are expanded.
    Scalar(Instruction),
    /// Fails where `condition` does not hold.
    Check {
        /// A `bool`.
        condition: ScalarOperand,
        /// What the error says.
        failure: Failure,
    },
    /// Combines values over all levels deeper than `to`; the results are available at depth `to`, after those levels.
    Reduce {
        /// k results at depth `to`.
        results: Vec<Local>,
        /// Less than the statement's depth.
        to: u32,
        /// How it associates.
        association: Association,
        /// 2k parameters, left operands first. Strict, and fails nowhere but by its own instructions; uses locals of depth `to` or less.
        combine: Lambda,
        /// k, of depth `to` or less, combined in on the left (order `Down`: on the right); or none, then at least one element takes
        /// part (a check is before it).
        seeds: Vec<ScalarOperand>,
        /// k values, one of each for every point.
        values: Vec<ScalarOperand>,
    },
    /// The running combination along the level around it, in the level's order (not `Parallel`), from the seeds at each start of it.
    Scan {
        /// k results at the statement's depth: before this element (`exclusive`) or with it.
        results: Vec<Local>,
        /// Whether an element sees those before it only.
        exclusive: bool,
        /// k locals at the depth around the level: seeds and all elements; or none.
        totals: Vec<Local>,
        /// How it associates.
        association: Association,
        /// 2k parameters, left operands first; uses locals of a depth around the level.
        combine: Lambda,
        /// k, of a depth around the level; or none, for inclusive ones.
        seeds: Vec<ScalarOperand>,
        /// k values.
        values: Vec<ScalarOperand>,
    },
    /// `array[map] = value`.
    Store {
        /// Position in [`Kernel::arrays`].
        array: KernelArrayId,
        /// Where; inside by construction, and never twice the same.
        map: IndexMap,
        /// What.
        value: ScalarOperand,
    },
    /// Puts values behind those put before, in the order of all levels around it; one statement at most.
    Append {
        /// Positions in [`Kernel::arrays`]: vectors of one extent that is known to suffice.
        arrays: Vec<KernelArrayId>,
        /// Position of a scalar `i64` array that gets the number of elements put.
        count: KernelArrayId,
        /// One for each array.
        values: Vec<ScalarOperand>,
    },
    /// `arrays[map] = combine(values, arrays[map])`, one indivisible step for all components.
    Scatter {
        /// k positions in [`Kernel::arrays`], of equal extents, with [`Access::Update`].
        arrays: Vec<KernelArrayId>,
        /// Where; checked if it says so.
        map: IndexMap,
        /// 2k parameters, new elements first; uses locals of depth 0.
        combine: Lambda,
        /// k values.
        values: Vec<ScalarOperand>,
        /// In which order elements of one target are combined.
        order: ScatterOrder,
        /// Of the permute in the source.
        #[serde(default, skip_serializing_if = "Place::is_unknown")]
        place: Place,
    },
}

/// Where in an array: one index a dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndexMap {
    /// From the outermost dimension.
    pub dims: Vec<DimIndex>,
    /// Whether an index outside is possible and fails (after boundaries, which make it possible for empty arrays alone).
    pub checked: bool,
}

/// The index along one dimension: `offset + Σ factor · local`.
///
/// Affine in the indices of levels where all terms are indices of levels or `i64` of depths around them; a computed index is one term
/// that is neither.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DimIndex {
    /// The constant part.
    pub offset: i64,
    /// Factors and locals (`i64`), each local once, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<(i64, LocalId)>,
    /// What is read where the index is outside.
    #[serde(default, skip_serializing_if = "DimBoundary::is_none")]
    pub boundary: DimBoundary,
}

/// What stands for an index outside of a dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DimBoundary {
    /// Nothing: it is inside, or checked.
    #[default]
    None,
    /// The nearest inside.
    Clamp,
    /// Reflected without repeating the edge, as often as needed.
    Mirror,
    /// Modulo the extent.
    Wrap,
}

impl DimBoundary {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// What a failed check says: a fault of [`crate::Fault`] whose numbers are operands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The operation, and the name of its first result.
    pub operation: String,
    /// Where it stands in the source.
    #[serde(default, skip_serializing_if = "Place::is_unknown")]
    pub place: Place,
    /// Which fault.
    pub fault: FailureKind,
}

/// Faults of checks; operands are `i64`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// [`crate::Fault::Index`].
    Index {
        /// The array's name.
        array: String,
        /// The index.
        index: Vec<ScalarOperand>,
        /// The extents.
        extents: Vec<ScalarOperand>,
    },
    /// [`crate::Fault::NegativeExtent`].
    NegativeExtent {
        /// The array's name.
        array: String,
        /// The extent.
        extent: ScalarOperand,
    },
    /// [`crate::Fault::DivisionByZero`].
    DivisionByZero,
    /// [`crate::Fault::EmptyFold`].
    EmptyFold {
        /// The array's name.
        array: String,
        /// The row.
        row: ScalarOperand,
    },
    /// [`crate::Fault::Offsets`].
    Offsets {
        /// The offsets' name.
        offsets: String,
        /// Which.
        position: ScalarOperand,
        /// Its value.
        value: ScalarOperand,
        /// The extent cut into segments.
        extent: ScalarOperand,
    },
    /// [`crate::Fault::NoOffsets`].
    NoOffsets {
        /// The offsets' name.
        offsets: String,
    },
    /// [`crate::Fault::Assertion`].
    Assertion {
        /// Its message.
        message: String,
        /// The numbers in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shown: Vec<ScalarOperand>,
    },
    /// [`crate::Fault::TooLarge`]: the elements of an expand cannot be counted.
    TooLarge {
        /// The array's name.
        array: String,
        /// Its extents, as far as they were counted.
        extents: Vec<ScalarOperand>,
    },
}
