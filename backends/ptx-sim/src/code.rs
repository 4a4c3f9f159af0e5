//! What PTX is decoded to: steps that a warp carries out, over slots.
//!
//! A slot is a row of 32 values. Registers, constants and special registers all are slots, so that a step reads each of its sources in one
//! way. One instruction is one step or several with the same line.

use crate::lanes::Row;
use crate::lanes::convert::Conversion;
use crate::text::tree::Space;
use crate::types::Type;

/// The number of a row of values.
pub(crate) type Slot = u32;
/// No slot.
pub(crate) const NONE: Slot = Slot::MAX;

/// A step with its guard.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// A predicate, or [`NONE`].
    pub guard: Slot,
    /// The lanes where the predicate does not hold take the step.
    pub negated: bool,
    /// Whether an instruction begins here.
    pub first: bool,
    pub line: u32,
    pub op: Op,
}

/// Who sees a strong access or a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Block,
    Device,
}

/// How an access is ordered with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// Absent for plain accesses, which may not race.
    pub strong: Option<Scope>,
    pub acquire: bool,
    pub release: bool,
    /// A read of what nobody may write while the kernel runs (`ld.global.nc`).
    pub constant: bool,
}

impl Order {
    /// A plain access.
    pub const WEAK: Self = Self { strong: None, acquire: false, release: false, constant: false };
}

/// Where an access goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub space: Space,
    /// Added to the offset, if not [`NONE`].
    pub base: Slot,
    /// The bits of the base that count.
    pub mask: u64,
    pub offset: i64,
}

/// What an atomic instruction does with the value in memory and its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    Exchange,
    CompareAndSwap,
}

/// From which lane `shfl` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What `vote` says of a predicate over lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// What a barrier says of a predicate over all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tally {
    Count,
    And,
    Or,
}

/// What a barrier does beside ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    Wait,
    Arrive,
    Reduce { tally: Tally, dst: Slot, predicate: Slot },
}

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    One {
        f: fn(&Row) -> Row,
        dst: Slot,
        a: Slot,
    },
    Two {
        f: fn(&Row, &Row) -> Row,
        dst: Slot,
        a: Slot,
        b: Slot,
    },
    Three {
        f: fn(&Row, &Row, &Row) -> Row,
        dst: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
    },
    Four {
        f: fn(&Row, &Row, &Row, &Row) -> Row,
        dst: Slot,
        sources: [Slot; 4],
    },
    /// `dst = condition ? a : b`; what is not chosen need not be known.
    Select {
        dst: Slot,
        a: Slot,
        b: Slot,
        condition: Slot,
    },
    Move {
        dst: Slot,
        a: Slot,
    },
    Convert {
        conversion: Conversion,
        dst: Slot,
        a: Slot,
    },
    Branch {
        target: u32,
    },
    Exit,
    Trap,
    /// Elements one after the other; each is cut to `mask`, the width of its register.
    Load {
        address: Address,
        ty: Type,
        order: Order,
        dst: Box<[Slot]>,
        mask: u64,
    },
    Store {
        address: Address,
        ty: Type,
        order: Order,
        values: Box<[Slot]>,
    },
    /// The old value goes to `dst`, if that is a slot.
    Atomic {
        address: Address,
        ty: Type,
        order: Order,
        update: Update,
        dst: Slot,
        value: Slot,
        new: Slot,
    },
    Fence {
        scope: Scope,
    },
    /// Threads 0: all of the block.
    Barrier {
        meeting: Meeting,
        aligned: bool,
        id: Slot,
        threads: Slot,
    },
    WarpBarrier {
        members: Slot,
    },
    Shuffle {
        mode: Shuffle,
        dst: Slot,
        valid: Slot,
        a: Slot,
        lane: Slot,
        clamp: Slot,
        members: Slot,
    },
    Vote {
        vote: Vote,
        dst: Slot,
        predicate: Slot,
        members: Slot,
    },
    /// The lanes with an equal value; with `all`, none unless all have it, which `valid` says.
    Match {
        all: bool,
        dst: Slot,
        valid: Slot,
        a: Slot,
        members: Slot,
    },
    Reduce {
        update: Update,
        ty: Type,
        dst: Slot,
        a: Slot,
        members: Slot,
    },
    ActiveMask {
        dst: Slot,
    },
    Clock {
        dst: Slot,
        wide: bool,
    },
    /// Others may run (`nanosleep`).
    Pause,
    Nothing,
}

/// A register that the hardware fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Thread(u8),
    Threads(u8),
    Block(u8),
    Blocks(u8),
    Lane,
    Warp,
    Warps,
    WarpSize,
    LanesEqual,
    LanesLess,
    LanesLessEqual,
    LanesGreater,
    LanesGreaterEqual,
    /// The bytes of shared memory of a block, dynamic or all.
    DynamicShared,
    TotalShared,
    /// Numbers that say nothing here: the multiprocessor, the grid.
    Zero,
    One,
}
