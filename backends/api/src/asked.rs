//! What a machine is asked to do (launches, sorts, lanes), and the memory that it is given for that and gives back.

use fusebox_ir::{Constant, ElementType, Operand, Plan, PlanOperand, Step, ValueId};
use smallvec::SmallVec;

/// What a launch has one of for each array or size: in place, as most kernels have few.
pub type Few<T> = SmallVec<[T; 8]>;

/// One run of a kernel.
#[derive(Debug)]
pub struct Launch<'a, B> {
    /// Position in the plan's kernels.
    pub kernel: usize,
    /// The kernel's sizes.
    pub sizes: &'a [i64],
    /// The kernel's arrays.
    pub arrays: Few<LaunchArray<'a, B>>,
}

/// An array of a launch.
#[derive(Debug)]
pub enum LaunchArray<'a, B> {
    /// The kernel only reads it.
    Read(&'a B),
    /// The kernel writes or updates it.
    Write(&'a mut B),
    /// The kernel only reads it, and writes the array at this position over it: both are in the same memory
    /// ([`fusebox_ir::KernelArray::in_place_of`]).
    InPlace(usize),
}

/// One sort: rows are the innermost dimension.
#[derive(Debug)]
pub struct Sort<'a, B> {
    /// The name of the first result, for errors.
    pub name: &'a str,
    /// Element types and arrays of keys. The first key decides; where it is equal the next does.
    pub keys: Vec<(ElementType, &'a B)>,
    /// Element types and arrays whose elements move with the keys.
    pub carry: Vec<(ElementType, &'a B)>,
    /// The arrays that the results are written to: the keys, then what moves with them.
    pub results: Vec<&'a mut B>,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub length: usize,
}

/// What lanes compute, each by itself.
#[derive(Clone, Copy, Debug)]
pub struct LaneStep<'p> {
    /// The number of the lane, in its body.
    pub(crate) lane: ValueId,
    pub(crate) body: &'p [Step],
    pub(crate) given: &'p [PlanOperand],
}

impl LaneStep<'_> {
    /// What the number of the lane is called, which names the step.
    pub fn lane(&self) -> ValueId {
        self.lane
    }

    /// How many arrays a lane gives.
    pub fn given(&self) -> usize {
        self.given.len()
    }

    /// The type of the elements of each.
    pub fn elements(&self, plan: &Plan) -> impl Iterator<Item = ElementType> {
        self.given.iter().map(|given| match given {
            Operand::Value(id) => plan.values[id.index()].ty.element,
            Operand::Constant(constant) => constant.ty(),
        })
    }
}

/// Lanes for a machine that runs several at once.
#[derive(Debug)]
pub struct Lanes<'a, B> {
    /// What they compute.
    pub step: LaneStep<'a>,
    /// How many there are.
    pub count: usize,
    /// Which values their bodies read from outside.
    pub outside: Vec<(ValueId, Stored<&'a B>)>,
}

/// What all lanes give together.
#[derive(Debug)]
pub struct Joined<B> {
    /// The elements of all lanes, in order.
    pub buffer: B,
    /// How many.
    pub elements: usize,
}

/// What lanes gave that ran at once, and the bytes that they had.
pub type AtOnce<B> = Option<(Vec<Joined<B>>, usize)>;

/// The extents of a value. Of few dimensions they need no memory of their own: a call on small arrays takes a microsecond.
pub type Extents = SmallVec<[i64; 4]>;

/// An input that is handed in: memory, and what it stands for.
#[derive(Debug)]
pub struct Stored<B> {
    /// The memory.
    pub buffer: B,
    /// The element type.
    pub element: ElementType,
    /// The extents; the buffer may hold more.
    pub extents: Extents,
    /// The element of a scalar, where the host knows it.
    pub scalar: Option<Constant>,
}

/// The memory of a result that is handed over.
#[derive(Debug)]
pub enum Given<'b, B> {
    /// Nothing else is in it.
    Own(B),
    /// Another result is in it too.
    Shared(&'b B),
}
