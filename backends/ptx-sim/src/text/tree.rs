//! What PTX text says, before anything is resolved.

use super::Place;
use crate::types::Type;

/// The memory that a variable or an access is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Const,
    Param,
}

impl Space {
    /// The space of this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "global" => Self::Global,
            "shared" | "shared::cta" => Self::Shared,
            "local" => Self::Local,
            "const" => Self::Const,
            "param" | "param::entry" => Self::Param,
            _ => return None,
        })
    }

    /// The name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Const => "constant",
            Self::Param => "parameter",
        }
    }
}

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub target: String,
    pub variables: Vec<Variable>,
    pub entries: Vec<Entry>,
}

/// A variable in memory, or a parameter.
#[derive(Debug)]
pub(crate) struct Variable {
    pub at: Place,
    pub name: String,
    pub space: Space,
    pub ty: Type,
    pub align: u32,
    /// How many elements; none where the launch says it (`.extern .shared a[]`).
    pub length: Option<u64>,
    /// Bits of the first elements; the others are zero. Absent if there is no initial value.
    pub initial: Option<Vec<u64>>,
}

impl Variable {
    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        self.length.unwrap_or(0).saturating_mul(u64::from(self.ty.bytes()))
    }
}

/// A kernel.
#[derive(Debug)]
pub(crate) struct Entry {
    pub name: String,
    pub params: Vec<Variable>,
    /// Threads of a block that `.reqntid` asks for.
    pub required: Option<[u32; 3]>,
    /// Threads of a block that `.maxntid` allows, in all.
    pub most: Option<u64>,
    pub body: Vec<Statement>,
}

/// One line of a body.
#[derive(Debug)]
pub(crate) enum Statement {
    /// Registers `name`, or `name0`, `name1`, … if there is a count.
    Registers {
        at: Place,
        name: String,
        count: Option<u32>,
        ty: Type,
    },
    Variable(Variable),
    Label(Place, String),
    Instruction(Instruction),
    Block(Vec<Statement>),
}

/// An opcode with all that belongs to it.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub at: Place,
    /// The predicate, and whether it is negated.
    pub guard: Option<(String, bool)>,
    pub opcode: String,
    pub suffixes: Vec<String>,
    pub operands: Vec<(Place, Operand)>,
}

/// An operand as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A register, a special register, a variable, a label.
    Name(String),
    /// A variable and an offset in bytes.
    Offset(String, i64),
    /// A negative number is its two's complement.
    Integer(u64),
    Single(u32),
    Double(u64),
    /// `[base + offset]`; without a base, an absolute address.
    Address {
        base: Option<String>,
        offset: i64,
    },
    Vector(Vec<Operand>),
    /// `!p`.
    Not(String),
    /// `p|q`.
    Pair(String, String),
    /// `_`: a result that nobody wants.
    Sink,
}
