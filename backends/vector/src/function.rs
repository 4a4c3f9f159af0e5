//! The vector IR: a block function of one kernel, before any machine is known.
//!
//! Values are uniform scalars (one lane), gangs of lanes, and masks (`bool` gangs). Instructions have the meaning of the scalar
//! functions of programs, lane by lane, and never trap: where a divisor is zero the quotient is 0 (a [`Op::FailIf`] is before it).
//! Control is structured and values are defined once: counted loops and loops with carried values, and `if`.
//! A lowering decides how many registers a gang takes; nothing here names one.

use fusebox_ir::{Binary, Constant, ElementType, Failure, Unary};
use smallvec::SmallVec;

/// A value of a [`Function`]: a position in [`Function::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// What each lane holds. Addresses are `i64`.
    pub element: ElementType,
    /// 1 for uniform values; else a power of two.
    pub lanes: u32,
}

/// A block function: what a kernel does for one range of its outermost level.
#[derive(Clone, Debug)]
pub struct Function {
    /// The kernel's name and what part of it this is.
    pub name: String,
    /// Of every value.
    pub types: Vec<Type>,
    /// What it does.
    pub body: Region,
    /// Where it may fail; a failing function gives back the position of one of these, plus 1.
    pub sites: Vec<Site>,
    /// Bytes of scratch memory that the caller gives.
    pub scratch: usize,
}

/// A place where a function may fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// What the error says; its operands are numbered from 0, in order of printing, and taken from the error slot.
    pub failure: Failure,
    /// Lanes of the condition and the operands.
    pub lanes: u32,
    /// How many operands there are.
    pub operands: usize,
}

/// Instructions in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Region(pub Vec<Inst>);

/// What an instruction defines or uses: mostly one value, seldom more than four.
pub type Values = SmallVec<[Value; 4]>;

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// What it defines.
    pub results: Values,
    /// What it does.
    pub op: Op,
}

/// How a load may be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// An array that nobody writes, at an index that is inside wherever the innermost loop around runs.
    Input,
    /// An array that nobody writes; only after the checks before.
    Guarded,
    /// Memory that this function writes too.
    Shared,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The first (0) or last-plus-one (1) step of the range, or the address of scratch memory (2).
    Parameter(u32),
    /// A word of the argument table: a size, or the address of an array.
    Argument(u32),
    /// A number, in every lane.
    Constant(Constant),
    /// A uniform value in every lane.
    Splat(Value),
    /// Lane l holds l.
    Iota,
    /// A function, lane by lane.
    Unary(Unary, Value),
    /// A function, lane by lane; amounts of shifts may be of another type.
    Binary(Binary, Value, Value),
    /// `min` or `max` of floats, lane by lane, that need not find NaN: where an operand is one, it is that or the other.
    OfNumbers(Binary, Value, Value),
    /// Whether neither of two floats is NaN, in each lane of gangs of `f32` or `f64`.
    AreNumbers(Value, Value),
    /// `a * b + c`, rounded once.
    Fma(Value, Value, Value),
    /// Conversion to the element type of the result.
    Convert(Value),
    /// The same bits.
    Bits(Value),
    /// The second where the first (a mask, or a uniform `bool`) holds, else the third.
    Select(Value, Value, Value),
    /// `array[index + offset]`: lanes at consecutive positions; of an index gang, each lane at its own.
    Load {
        /// Address of the array.
        base: Value,
        /// Position: uniform (of lane 0), or a gang.
        index: Value,
        /// Added to it, in elements.
        offset: i64,
        /// How it may be moved.
        memory: Memory,
    },
    /// Lane l from `array[index + l · stride]`.
    LoadStrided {
        /// Address of the array.
        base: Value,
        /// Position of lane 0.
        index: Value,
        /// Elements from lane to lane, uniform.
        stride: Value,
        /// How it may be moved.
        memory: Memory,
    },
    /// `array[index]`: lanes at consecutive positions, of which those alone are read for which the mask holds; the others are 0.
    LoadMasked {
        /// Address of the array.
        base: Value,
        /// Position of lane 0, uniform.
        index: Value,
        /// Which lanes are read.
        mask: Value,
        /// A position, uniform, that code without masks may read for the others.
        elsewhere: Value,
        /// How it may be moved.
        memory: Memory,
    },
    /// `array[index] = value`: lanes at consecutive positions, or each at its own; where the mask holds.
    Store {
        /// Address of the array.
        base: Value,
        /// Position: uniform (of lane 0), or a gang.
        index: Value,
        /// What is stored.
        value: Value,
        /// A mask, or a uniform `bool`.
        mask: Option<Value>,
        /// Whether it goes past the caches: no mask; whole vectors of 16 bytes at multiples of 16 bytes, or gangs of a schedule for longer
        /// vectors at multiples of those (or, shorter than one, of themselves).
        streaming: bool,
    },
    /// A hint that the line of memory so many bytes behind `array[index]`, wherever that is, will be loaded.
    Prefetch {
        /// Address of the array.
        base: Value,
        /// Position, uniform.
        index: Value,
        /// Its elements.
        element: ElementType,
        /// Bytes behind that.
        bytes: i64,
    },
    /// Lanes put behind one another; gives the new count.
    Append(Box<Append>),
    /// Whether a mask holds anywhere.
    Any(Value),
    /// One lane.
    Extract(Value, u32),
    /// With one lane replaced.
    Insert(Value, u32, Value),
    /// The lower or the upper half of the lanes, of which there are four at least.
    Half {
        /// What is halved.
        value: Value,
        /// Which half.
        upper: bool,
    },
    /// Lane l is lane `l - by` of the first, and below `by` lane l of the second.
    Shift {
        /// What is moved.
        value: Value,
        /// By how many lanes.
        by: u32,
        /// What comes in below.
        fill: Value,
    },
    /// The lanes in the other order; no mask.
    Reverse(Value),
    /// Of the lanes of the first and then of the second, in runs of `run`: every other run, from the first or the second on. Of gangs of 64 bytes
    /// at least, in lanes of 4 or 8.
    Unzip {
        /// What comes first.
        first: Value,
        /// What comes behind it.
        second: Value,
        /// Lanes of a run: a power of two, and at most half of a gang.
        run: u32,
        /// Whether the second run of two is taken, and not the first.
        odd: bool,
    },
    /// Leaves the function with a failure where the condition (a mask, or a `bool`) holds in any lane.
    FailIf {
        /// A mask, or a uniform `bool`.
        condition: Value,
        /// Position in [`Function::sites`].
        site: usize,
        /// `i64`, of as many lanes as the condition.
        operands: Vec<Value>,
    },
    /// A counted loop with carried values.
    Loop(Box<Loop>),
    /// A loop while a condition holds.
    While(Box<While>),
    /// One of two regions.
    If(Box<If>),
}

/// Puts the lanes of which the mask holds at `bases[..][count]`, in order of lanes; gives the new count. Others may be written to
/// `spare`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Append {
    /// Addresses of the arrays.
    pub bases: Vec<Value>,
    /// Elements put before.
    pub count: Value,
    /// One for each array.
    pub values: Vec<Value>,
    /// Which lanes are put.
    pub mask: Option<Value>,
    /// Address of 8 bytes that anything may be written to.
    pub spare: Value,
    /// Whether all lanes have room from `count` on, and anything may be written there behind what is put.
    pub whole: bool,
}

/// `for index in (from..to).step_by(step)`, with carried values; results are the last ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// The first index.
    pub from: Value,
    /// The index that is not reached.
    pub to: Value,
    /// Above 0.
    pub step: i64,
    /// Defined in the body.
    pub index: Value,
    /// First carried values.
    pub starts: Vec<Value>,
    /// Defined in the body.
    pub carried: Vec<Value>,
    /// What is repeated.
    pub body: Region,
    /// Carried values for the next turn.
    pub next: Vec<Value>,
}

/// While the uniform `condition`, computed by `header`, holds; results are the carried values then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct While {
    /// First carried values.
    pub starts: Vec<Value>,
    /// Defined in header and body.
    pub carried: Vec<Value>,
    /// Computes the condition.
    pub header: Region,
    /// A uniform `bool`.
    pub condition: Value,
    /// What is repeated.
    pub body: Region,
    /// Carried values for the next turn.
    pub next: Vec<Value>,
}

/// One of two regions by a uniform `bool`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct If {
    /// A uniform `bool`.
    pub condition: Value,
    /// Where it holds.
    pub then: Region,
    /// Its results.
    pub then_results: Vec<Value>,
    /// Where it does not.
    pub otherwise: Region,
    /// Its results.
    pub otherwise_results: Vec<Value>,
}

impl Function {
    /// Everything but what it does.
    pub(crate) fn clone_without_body(&self) -> Self {
        let Self { name, types, body: _, sites, scratch } = self;
        Self {
            name: name.clone(),
            types: types.clone(),
            body: Region::default(),
            sites: sites.clone(),
            scratch: *scratch,
        }
    }
}
