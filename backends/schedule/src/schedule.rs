//! What a schedule is.
//!
//! Loops run over *axes*. The levels of the kernel are axes, and so are the two parts that a split makes of an axis: pieces, and the steps of a
//! piece. A *nest* is a tree of loops over axes; where its branches end, statements stand. Only statements with an effect are placed: reduces,
//! scans, stores, scatters, appends, checks, and loads that may fail. What only computes a value is computed where a placed statement needs
//! it, in the outermost loop in which its operands are known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use fusebox_ir::KernelArrayId;

use crate::form::Form;

/// How one kernel runs on one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The target's name ([`crate::Target::name`]).
    pub target: String,
    /// The first whose guard holds runs; the last has none.
    pub versions: Vec<Version>,
}

/// One way to run a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// Conditions on sizes that all have to hold. The sizes are numbers in this version ([`crate::guarded`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Guard>,
    /// On a GPU: whether positions in arrays have 32 bits in launches in which no array has more elements than that, and 64 in others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub narrow: bool,
    /// What runs.
    #[serde(flatten)]
    pub nest: Nest,
    /// What runs first to find the totals of tiles, where tiles are shared among threads and carries are not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<Nest>,
}

/// A condition on what the launch knows: a level that begins at a number and ends at a size has just so many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// Which level.
    pub level: u32,
    /// So many.
    pub steps: i64,
}

/// Splits of axes, and a tree of loops over them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nest {
    /// Split number s makes axes `levels + 2 s` (pieces) and `levels + 2 s + 1` (steps of a piece).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<Split>,
    /// In order.
    pub nodes: Vec<Node>,
    /// How single statements are carried out, where that is not in the usual way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<Form>,
}

/// An axis: a level of the kernel, or what a split made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Axis(pub u32);

/// An axis in pieces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// What is split.
    pub axis: Axis,
    /// How many levels inside of it are numbered together with it, a level then, in the order of its points, before they are split.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
    /// How.
    pub by: SplitBy,
}

/// How long pieces are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SplitBy {
    /// So many steps, the last one fewer.
    Steps(u32),
    /// A multiple of so many steps, which the launch chooses by the work and the threads there are: results never depend on it.
    Shares(u32),
    /// Of the outermost level, as many steps as have about as many steps of the level inside, which the launch adds up
    /// ([`fusebox_ir::analysis::kernels::row_lengths`]): results never depend on it.
    Elements,
    /// The chunks of a scatter in chunks ([`fusebox_ir::association::chunks`]).
    Chunks,
}

/// A part of a nest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// A loop over an axis.
    Loop(Loop),
    /// Statements, in the kernel's order.
    Do(Effects),
    /// One of two nests, of which both cover the same points.
    Choose {
        /// A level whose loops are inside, and whose steps are counted.
        level: u32,
        /// The first nest runs where the level has fewer steps.
        fewer_than: u32,
        /// The first nest.
        then: Vec<Self>,
        /// The second nest.
        otherwise: Vec<Self>,
    },
}

/// Which statements with an effect stand somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effects {
    /// All that stand nowhere else on the way.
    Rest,
    /// These (positions in the kernel).
    Named(Vec<u32>),
}

/// A loop over an axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    /// Over what.
    pub axis: Axis,
    /// How it is carried out.
    #[serde(default, skip_serializing_if = "By::is_serial")]
    pub by: By,
    /// How many times its body stands in an iteration: of lanes, so many gangs; of an innermost level without lanes, all of its steps, of which
    /// there are no more ([`crate::few`]). 1: no unrolling.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub unroll: u32,
    /// Of steps at once: only where the level inside has no more steps than so many, so that what a tile loads stays in the innermost cache. None: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<u32>,
    /// Of a row inside of lanes, each of which is a point with a row of its own: of how many points gangs stand in an iteration
    /// ([`crate::rows::may_be_together`]). 1: one row after the other.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub points: u32,
    /// Of a row with as many steps as an iteration, or more: the first iteration is outside of the loop, and what it combines is what its gangs begin with,
    /// so that nothing is combined with accumulators that hold nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_whole: bool,
    /// What is done with steps that do not fill a gang.
    #[serde(default, skip_serializing_if = "Remainder::is_scalar")]
    pub remainder: Remainder,
    /// Whether steps at which a boundary applies are scalar code before and behind the gangs, which then apply none; or, of steps at once, run one by one
    /// before and behind the tiles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub border: bool,
    /// What is done in launches over more memory than the caches hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_cache: Option<OutOfCache>,
    /// Inside of lanes, or around those of a window: what these statements load in the level inside is copied to memory of the thread before the
    /// loop ([`crate::panels`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pack: Vec<u32>,
    /// In order.
    pub body: Vec<Node>,
}

/// How a loop is carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// One step after the other.
    #[default]
    Serial,
    /// One step after the other, for so many points of the loop around at once.
    Abreast(u32),
    /// Steps are taken by threads.
    Threads,
    /// So many steps at a time, a lane each, in as many registers as they take.
    Lanes(u32),
    /// Steps are taken by the blocks of a grid. Loops like this right inside of each other take the points of their levels, numbered together.
    Blocks,
    /// Steps are taken by the threads of a block, so many of them. Loops right inside of each other are one, as above.
    BlockThreads(u32),
    /// Steps are taken by the threads of all blocks of a grid, so many in a block. Loops right inside of each other are one, as above.
    GridThreads(u32),
    /// Steps are taken by the warps of all blocks of a grid, so many in a block. Loops right inside of each other are one, as above.
    Warps(u32),
    /// Steps are taken by the 32 threads of a warp. Loops right inside of each other are one, as above.
    WarpThreads,
}

/// What is done with steps that do not fill a gang.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remainder {
    /// Scalar code.
    #[default]
    Scalar,
    /// A gang of which some lanes do nothing.
    Masked,
    /// A gang that begins earlier, so that some steps are executed twice.
    Overlapped,
}

/// What is done in launches over more memory than the caches hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutOfCache {
    /// Lines of these arrays are asked for some time before they are loaded ([`crate::streams::Streams::loads`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefetch: Vec<KernelArrayId>,
    /// How many bytes behind what is loaded those lines are: a multiple of [`Self::LINE`], [`Self::MOST_AHEAD`] at most.
    #[serde(default = "ahead", skip_serializing_if = "is_ahead")]
    pub ahead: u32,
    /// These arrays are stored past the caches (non-temporal stores, [`crate::streams::Streams::stores`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_caches: Vec<KernelArrayId>,
}

impl OutOfCache {
    /// Bytes of a line of the caches.
    pub const LINE: u32 = 64;
    /// How many bytes ahead lines are asked for, if nothing else is said.
    pub const AHEAD: u32 = 4096;
    /// How many bytes ahead they may be asked for.
    pub const MOST_AHEAD: u32 = 1 << 20;
}

impl Default for OutOfCache {
    fn default() -> Self {
        Self { prefetch: Vec::new(), ahead: Self::AHEAD, past_caches: Vec::new() }
    }
}

impl By {
    fn is_serial(&self) -> bool {
        *self == Self::Serial
    }
}

impl Remainder {
    fn is_scalar(&self) -> bool {
        *self == Self::Scalar
    }
}

fn one() -> u32 {
    1
}

fn ahead() -> u32 {
    OutOfCache::AHEAD
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_ahead(bytes: &u32) -> bool {
    *bytes == OutOfCache::AHEAD
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Loop {
    /// A loop without any of the refinements.
    pub fn new(axis: Axis, by: By, body: Vec<Node>) -> Self {
        Self {
            axis,
            by,
            unroll: 1,
            up_to: None,
            points: 1,
            first_whole: false,
            remainder: Remainder::Scalar,
            border: false,
            out_of_cache: None,
            pack: Vec::new(),
            body,
        }
    }
}
