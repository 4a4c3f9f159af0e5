//! The collective operations. All stages share this one enum.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ArrayId, Block, ClusterMark, Constant, Lambda, Operand, Order, ScalarOperand, Sink, Tap, TapBoundary};

/// What a binding computes.
///
/// The type of the binding says the extents it runs over. Several sources are components of one array: lambdas have a
/// parameter for each, left operands first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum ArrayOp {
    /// An array written out, in row-major order. Shape: `extents`.
    Constant {
        /// The extents of what is written out; all elements are of one type.
        extents: Vec<i64>,
        /// Elements, row-major.
        values: Vec<Constant>,
    },
    /// Scalar code between array operations. Shapes: rank 0, one for each result.
    Unit {
        /// A function without parameters.
        f: Lambda,
    },
    /// The sources, stored: ends fusion.
    Compute {
        /// Any arrays of equal extents.
        sources: Vec<ArrayId>,
    },
    /// Element `ix` is `f(ix)`. Shape: `extents`.
    Generate {
        /// The extents.
        extents: Vec<Operand>,
        /// One `i64` a dimension, to one or several elements.
        f: Lambda,
    },
    /// Element `ix` is `f(sources[ix]…)`. Shape: the binding's, at most each source's per dimension.
    Map {
        /// One parameter a source.
        f: Lambda,
        /// Arrays of one rank.
        sources: Vec<ArrayId>,
    },
    /// Element `ix` is `sources[f(ix)]`. Shape: `extents`.
    Backpermute {
        /// The extents of the result.
        extents: Vec<Operand>,
        /// Index in the result to index in the sources.
        f: Lambda,
        /// Arrays of equal extents.
        sources: Vec<ArrayId>,
    },
    /// Element `ix` is `f(sources[index(ix)]…)`. Shape: `extents`.
    Transform {
        /// The extents of the result.
        extents: Vec<Operand>,
        /// Index in the result to index in the sources.
        index: Lambda,
        /// Elements to elements.
        f: Lambda,
        /// Arrays of equal extents.
        sources: Vec<ArrayId>,
    },
    /// Repeats along new dimensions. Shape: one dimension for each of `dims`.
    Replicate {
        /// `None` keeps the next dimension of the source, `Some` is a new one of that extent.
        dims: Vec<Option<Operand>>,
        /// Arrays of equal extents, whose rank is the number of `None`.
        sources: Vec<ArrayId>,
    },
    /// Repeats each element along a segment: element `x` is that of the segment which `x` stands in. Shape: `[extent]`.
    ReplicateSegments {
        /// The number of elements that all segments have together.
        extent: Operand,
        /// Vectors of equal extents, with an element for each segment.
        sources: Vec<ArrayId>,
        /// Offsets of segments: one more than there are segments, from 0 to the extent, never falling.
        offsets: ArrayId,
    },
    /// Fixes dimensions. Shape: the dimensions kept.
    Slice {
        /// One for each dimension of the source: `None` keeps it, `Some` fixes it at that index.
        dims: Vec<Option<Operand>>,
        /// Arrays of equal extents.
        sources: Vec<ArrayId>,
    },
    /// The same elements in row-major order in other extents, whose product is the same. Shape: `extents`.
    Reshape {
        /// The extents of the result.
        extents: Vec<Operand>,
        /// Arrays of equal extents.
        sources: Vec<ArrayId>,
    },
    /// Arrays one after the other along a dimension; other extents are equal.
    Concat {
        /// Two or more.
        sources: Vec<ArrayId>,
        /// From the outermost, 0.
        dim: usize,
    },
    /// Combines the seeds and the innermost dimension, in order. Shape: `[..sh, n]` to `[..sh]`; where `n = 0` the seeds.
    /// With `offsets`, each segment of the innermost dimension: `[..sh, segments]`.
    ///
    /// Without seeds it is `fold1`, and no row (segment) may be empty.
    Fold {
        /// Associative; 2k parameters, left operands first, to k results.
        combine: Lambda,
        /// k, or none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seeds: Vec<Operand>,
        /// k arrays of equal extents.
        sources: Vec<ArrayId>,
        /// Offsets of segments: one more than there are segments, from 0 to the extent, never falling.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offsets: Option<ArrayId>,
        /// Whether `combine` is known to commute, beside where that is recognised.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        commutes: bool,
    },
    /// The running combination along the innermost dimension.
    Scan {
        /// Where it starts.
        direction: Direction,
        /// Which of the three forms.
        form: ScanForm,
        /// Associative; 2k parameters, left operands first, to k results.
        combine: Lambda,
        /// k; none for [`ScanForm::Inclusive`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seeds: Vec<Operand>,
        /// k arrays of equal extents.
        sources: Vec<ArrayId>,
        /// Offsets of segments, each scanned by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offsets: Option<ArrayId>,
        /// Whether `combine` is known to commute, beside where that is recognised.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        commutes: bool,
    },
    /// Starts from `defaults` and combines each source element in at its target: `result[at] = combine(new, old)`.
    /// Shape: that of the defaults.
    Permute {
        /// 2k parameters, the new element first, to k results.
        combine: Lambda,
        /// k arrays of equal extents.
        defaults: Vec<ArrayId>,
        /// k arrays of new elements, of equal extents.
        values: Vec<ArrayId>,
        /// An `i64` array for each dimension of the defaults, with the extents of `values`.
        targets: Vec<ArrayId>,
        /// Where `false`, the element is dropped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keep: Option<ArrayId>,
        /// What is promised of, or asked from, the order.
        #[serde(default, skip_serializing_if = "PermuteOrder::is_source")]
        order: PermuteOrder,
    },
    /// Replaces each element `x` by `get(x, 0)`, …, `get(x, size(x) - 1)`; a negative size counts as zero.
    /// Results: the total (`i64`), then a vector for each result of `get`.
    Expand {
        /// Elements to an `i64`.
        size: Lambda,
        /// Elements and the position within (`i64`), to elements.
        get: Lambda,
        /// Vectors of equal extents.
        sources: Vec<ArrayId>,
    },
    /// An expand whose elements go to a permute at once.
    PermutedExpand {
        /// Elements to an `i64`.
        size: Lambda,
        /// Elements and position, to targets (one `i64` for each dimension of the defaults), k values and, if elements may be
        /// dropped, a `bool`.
        get: Lambda,
        /// As of [`ArrayOp::Permute`].
        combine: Lambda,
        /// k arrays of equal extents.
        defaults: Vec<ArrayId>,
        /// Vectors of equal extents.
        sources: Vec<ArrayId>,
        /// As of [`ArrayOp::Permute`].
        #[serde(default, skip_serializing_if = "PermuteOrder::is_source")]
        order: PermuteOrder,
    },
    /// The elements of which `keep` holds, in row-major order. Results: their number (`i64`), then a vector for each source.
    Filter {
        /// Elements to `bool`.
        keep: Lambda,
        /// Arrays of equal extents, of any rank above 0.
        sources: Vec<ArrayId>,
    },
    /// Sorts rows by keys in the order of `min`, NaN last, stably. Results: keys, then what is carried along.
    Sort {
        /// The first decides first.
        keys: Vec<ArrayId>,
        /// Carried along, of equal extents.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        carry: Vec<ArrayId>,
    },
    /// Element `ix` is `f` of the taps `array[ix + offsets]`. Shape: the binding's.
    Stencil {
        /// One parameter a tap.
        f: Lambda,
        /// What is read.
        taps: Vec<Tap>,
        /// One for each array that is tapped.
        boundaries: Vec<TapBoundary>,
    },
    /// A `generate` with a block for its body: nested parallelism. An array of arrays where the block gives arrays.
    Nest {
        /// The extents.
        extents: Vec<Operand>,
        /// One `i64` parameter a dimension.
        body: Block,
    },
    /// One array of an array of arrays. Results: an `i64` for each `?` of its extents, in order, then the array.
    Element {
        /// An array of arrays.
        source: ArrayId,
        /// One for each outer dimension.
        index: Vec<Operand>,
    },
    /// The results of the branch taken. Results: of the branches.
    Cond {
        /// A `bool`.
        condition: Operand,
        /// Where it holds; no parameters.
        then: Block,
        /// Where it does not; no parameters.
        otherwise: Block,
    },
    /// Runs `step` on the state while `condition` holds of it. Results: the last state.
    While {
        /// State to `bool`.
        condition: Block,
        /// State to state.
        step: Block,
        /// The first state.
        starts: Vec<Operand>,
    },
    /// An implementation by name where the backend has one, else the fallback.
    Foreign {
        /// What is registered with the driver.
        name: String,
        /// Parameters for the arguments; sees nothing outside.
        fallback: Block,
        /// Arrays and scalars.
        arguments: Vec<Operand>,
    },
    /// A sequence computation: one traversal of its streams. Results: of the sinks, in order.
    Consume {
        /// The most steps, where given; the shortest of limit and streams decides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Operand>,
        /// Parameters: the step (`i64`) and an element of each stream, whose extents may bind sizes. Lifted (`chunks`): the first
        /// step and their number, then of each stream extents and values. Its results are what the sinks take, one after the other.
        body: Block,
        /// What becomes of what the body gives.
        sinks: Vec<Sink>,
        /// Arrays (elements along the outermost dimension) or streams.
        streams: Vec<ArrayId>,
        /// Whether the body takes chunks.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        chunks: bool,
    },
    /// Operations run as one pass over memory. Results: of the block.
    Cluster {
        /// Its bindings; no parameters.
        body: Block,
        /// One for each binding of the body.
        marks: Vec<ClusterMark>,
        /// Of the whole cluster.
        #[serde(default, skip_serializing_if = "Order::is_ascending")]
        order: Order,
    },
}

/// Where a scan starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// At the first element: `scanl`.
    Left,
    /// At the last element: `scanr`.
    Right,
}

/// The three forms of a scan, for an innermost extent n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScanForm {
    /// `scanl`: n + 1 elements, the first the seed. Segmented: one more in each segment.
    Exclusive,
    /// `scanl1`: n elements, the first that of the source.
    Inclusive,
    /// `scanl'`: n elements without the total (the first is the seed), and the totals `[..sh]`.
    Body,
}

/// The order in which a permute combines elements of one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermuteOrder {
    /// In source order up to association, the default first; on a GPU any.
    #[default]
    Source,
    /// Targets are distinct, a promise.
    Unique,
    /// One element after the other in source order, everywhere.
    Ordered,
}

impl PermuteOrder {
    pub(crate) fn is_source(&self) -> bool {
        *self == Self::Source
    }
}

impl ArrayOp {
    /// Whether it runs a block for each of some numbers alone, and puts what each gives behind what those before gave: lanes that run one at a
    /// time, or at once. It is a traversal of nothing, which only gathers elements.
    pub fn is_lanes(&self) -> bool {
        matches!(self, Self::Consume { limit: Some(_), sinks, streams, chunks: false, .. }
            if streams.is_empty() && sinks.iter().all(|sink| matches!(sink, Sink::Elements { count: 1 })))
    }

    /// The spelling in text and in messages, such as `fold1_seg` or `scanl'`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Constant { .. } => "constant",
            Self::Unit { .. } => "unit",
            Self::Compute { .. } => "compute",
            Self::Generate { .. } => "generate",
            Self::Map { .. } => "map",
            Self::Backpermute { .. } => "backpermute",
            Self::Transform { .. } => "transform",
            Self::Replicate { .. } => "replicate",
            Self::ReplicateSegments { .. } => "replicate_seg",
            Self::Slice { .. } => "slice",
            Self::Reshape { .. } => "reshape",
            Self::Concat { .. } => "concat",
            Self::Fold { seeds, offsets, .. } => match (seeds.is_empty(), offsets.is_some()) {
                (false, false) => "fold",
                (true, false) => "fold1",
                (false, true) => "fold_seg",
                (true, true) => "fold1_seg",
            },
            Self::Scan { direction, form, offsets, .. } => match (direction, form, offsets.is_some()) {
                (Direction::Left, ScanForm::Exclusive, false) => "scanl",
                (Direction::Left, ScanForm::Inclusive, false) => "scanl1",
                (Direction::Left, ScanForm::Body, false) => "scanl'",
                (Direction::Right, ScanForm::Exclusive, false) => "scanr",
                (Direction::Right, ScanForm::Inclusive, false) => "scanr1",
                (Direction::Right, ScanForm::Body, false) => "scanr'",
                (Direction::Left, ScanForm::Exclusive, true) => "scanl_seg",
                (Direction::Left, ScanForm::Inclusive, true) => "scanl1_seg",
                (Direction::Left, ScanForm::Body, true) => "scanl'_seg",
                (Direction::Right, ScanForm::Exclusive, true) => "scanr_seg",
                (Direction::Right, ScanForm::Inclusive, true) => "scanr1_seg",
                (Direction::Right, ScanForm::Body, true) => "scanr'_seg",
            },
            Self::Permute { .. } => "permute",
            Self::Expand { .. } => "expand",
            Self::PermutedExpand { .. } => "permuted_expand",
            Self::Filter { .. } => "filter",
            Self::Sort { .. } => "sort",
            Self::Stencil { .. } => "stencil",
            Self::Nest { .. } => "nest",
            Self::Element { .. } => "element",
            Self::Cond { .. } => "cond",
            Self::While { .. } => "while",
            Self::Foreign { .. } => "foreign",
            Self::Consume { .. } => "consume",
            Self::Cluster { .. } => "cluster",
        }
    }
}

impl Operand {
    /// As an operand of scalar code.
    pub fn in_scalar(self) -> ScalarOperand {
        match self {
            Self::Value(id) => ScalarOperand::Outer(id),
            Self::Constant(constant) => ScalarOperand::Constant(constant),
        }
    }
}
