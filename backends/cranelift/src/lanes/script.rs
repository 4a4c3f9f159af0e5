//! The steps of a lane, or of a whole plan, with everything known that does not depend on the lane: where values are, which code a launch calls, and with what.
//!
//! A lane may be a few elements and a thousand launches, so a launch has to cost no more than the call of its code: scripts become machine code
//! themselves ([`super::lower`]). Steps that are seldom met in lanes have no script, and lanes with such run as plans do.

use std::collections::HashMap;

use fusebox_ir::{ElementType, ValueId};

use super::frame::Layout;
use crate::code_memory::{Code, LaneFunction};

/// Where a value is: scalars and arrays are numbered apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Scalar(usize, ElementType),
    Array(usize),
}

/// A number that is known when it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Constant(i64),
    Scalar(usize),
}

/// What a scalar is set to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Bits(u64),
    Slot(Slot),
}

/// An array that steps make or name: its element's bytes, and its extents.
#[derive(Clone, Debug)]
pub(super) struct ArrayType {
    pub width: usize,
    pub extents: Vec<Number>,
    /// Where the extents that it has are, in a table of those of all arrays.
    pub first: usize,
}

/// A step.
#[derive(Debug)]
pub(super) enum Do {
    Allocate {
        array: usize,
        in_place_of: Option<usize>,
    },
    /// Which bytes of the script.
    Data {
        array: usize,
        bytes: usize,
    },
    SetScalar {
        to: usize,
        from: Source,
    },
    NameArray {
        to: usize,
        from: usize,
    },
    Truncate {
        to: usize,
        from: usize,
    },
    CopyArray {
        to: usize,
        from: usize,
        take: bool,
    },
    Launch(usize),
    Equal(Number, Number),
    AtMost(Number, Number),
    If {
        condition: Source,
        then: Vec<Do>,
        otherwise: Vec<Do>,
    },
    While {
        test: Vec<Do>,
        condition: Source,
        body: Vec<Do>,
        moves: Vec<Move>,
    },
    Free(usize),
    /// The extent that an array has to have.
    Extent {
        array: usize,
        dim: usize,
        declared: Number,
    },
}

/// What becomes state of a loop at the end of a turn.
#[derive(Debug)]
pub(super) enum Move {
    Scalar {
        to: usize,
        from: Source,
    },
    /// Whether the turn made what moves, and keeps no name of it.
    Array {
        to: usize,
        from: usize,
        made: bool,
    },
}

/// An array of a launch.
#[derive(Debug)]
pub(super) struct Given {
    pub slot: Slot,
    /// Whether it is written.
    pub written: bool,
    /// Which array of the launch it may be written over.
    pub over: Option<usize>,
    /// The extents that the kernel counts on.
    pub extents: Vec<Wanted>,
}

/// An extent of a kernel's array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    Constant(i64),
    /// A size of the kernel, by position.
    Size(usize),
}

/// How many steps the outermost level of a kernel has.
#[derive(Debug)]
pub(super) enum Steps {
    None,
    Between(Wanted, Wanted),
    Code(Code),
}

/// Working memory of a launch, of so many bytes for each so many steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Working {
    pub word: usize,
    pub steps: i64,
    /// A word of the argument tables in which all of it is where there are no more steps than these.
    pub own: Option<usize>,
}

/// An estimate of what a launch takes, by the steps of levels.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Of each level inside of the outermost one its bounds, where they are known before.
    pub inner: Vec<Option<(Wanted, Wanted)>>,
    /// For so many levels around, what a point of their statements takes, in parts of a nanosecond.
    pub of_depth: Vec<u64>,
}

/// A launch of a kernel by one thread, in one range.
#[derive(Debug)]
pub(super) struct Call {
    pub kernel: usize,
    pub sizes: Vec<Number>,
    pub arrays: Vec<Given>,
    /// The argument table, without what is known only then, and where it begins in that of all launches.
    pub words: Vec<u64>,
    pub first_word: usize,
    pub steps: Steps,
    pub code: Code,
    /// Whether `code` does everything, or the steps of the outermost level alone.
    pub whole: bool,
    pub finish: Option<Code>,
    pub steps_word: Option<usize>,
    pub working: Vec<Working>,
    /// What it is estimated to take.
    pub work: Work,
    /// The array that takes the number of appended elements.
    pub count: Option<usize>,
    /// Arrays that are targets of one scatter, and have to be of the same extents.
    pub alike: Vec<(usize, usize)>,
}

/// What a lane does, or a plan.
#[derive(Debug)]
pub(crate) struct Script {
    /// The scalar that has the number of the lane; none of a plan.
    pub(super) lane: Option<usize>,
    pub(super) steps: Vec<Do>,
    pub(super) calls: Vec<Call>,
    /// What it gives, and the bytes of an element.
    pub(super) given: Vec<(Source, usize)>,
    /// Bytes of the elements of all its scalars.
    pub(super) scalar_bytes: usize,
    pub(super) arrays: Vec<ArrayType>,
    pub(super) slots: HashMap<ValueId, Slot>,
    /// Arrays of known elements.
    pub(super) data: Vec<Vec<u8>>,
    /// Where everything is while it runs.
    pub(super) layout: Layout,
    /// Bytes of scratch memory that some code asks for.
    pub(super) scratch: usize,
}

/// A script, and its code.
#[derive(Debug)]
pub(crate) struct LaneCode {
    pub(super) script: Script,
    pub(super) function: LaneFunction,
}
