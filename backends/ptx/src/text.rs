//! PTX text: registers by class, labels, memory of an entry, lines.

use std::{
    collections::BTreeMap,
    fmt::{self, Display, Write},
};

use fusebox_ir::ElementType;

/// What a register holds. Registers have no type but a width: instructions say how they read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A predicate.
    Predicate,
    /// 16 bits: `f16` alone.
    Half,
    /// 32 bits; integers of fewer bits are sign- or zero-extended.
    Word,
    /// 64 bits.
    Double,
}

impl Class {
    /// The class that holds values of an element type.
    pub(crate) fn of(ty: ElementType) -> Self {
        match ty {
            ElementType::Bool => Self::Predicate,
            ElementType::F16 => Self::Half,
            ElementType::I64 | ElementType::U64 | ElementType::F64 => Self::Double,
            _ => Self::Word,
        }
    }

    const ALL: [Self; 4] = [Self::Predicate, Self::Half, Self::Word, Self::Double];

    fn letter(self) -> char {
        match self {
            Self::Predicate => 'p',
            Self::Half => 'h',
            Self::Word => 'r',
            Self::Double => 'd',
        }
    }

    /// The type without meaning, as moves and selections take it.
    pub(crate) fn untyped(self) -> &'static str {
        match self {
            Self::Predicate => "pred",
            Self::Half => "b16",
            Self::Word => "b32",
            Self::Double => "b64",
        }
    }
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reg {
    pub(crate) class: Class,
    number: u32,
}

impl Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}{}", self.class.letter(), self.number)
    }
}

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(u32);

impl Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}

/// Memory that an entry declares, a run of bytes aligned to eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Of a block.
    Shared,
    /// Of a thread.
    Local,
}

impl Space {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Local => "local",
        }
    }
}

/// The body of an entry while it is written.
#[derive(Debug)]
pub(crate) struct Code {
    /// Compute capability of the machine.
    compute: (u32, u32),
    body: String,
    registers: [u32; 4],
    labels: u32,
    memory: Vec<(Space, u64)>,
    /// Memory that several copies of the same code use in turn.
    again: BTreeMap<Slot, usize>,
}

/// Which memory of a statement: the statement, which of its uses, which part.
pub(crate) type Slot = (usize, Use, usize);

/// What memory of a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// Accumulators of one thread.
    Accumulators,
    /// Lanes of a gang.
    Lanes,
    /// The total of a tile.
    Total,
    /// What blocks of 4,096 elements give.
    Blocks,
}

impl Code {
    pub(crate) fn new(compute: (u32, u32)) -> Self {
        Self { compute, body: String::new(), registers: [0; 4], labels: 0, memory: Vec::new(), again: BTreeMap::new() }
    }

    /// Whether `min` and `max` of `f32` have a form in which NaN wins.
    pub(crate) fn has_nan_extremes(&self) -> bool {
        self.compute >= (8, 0)
    }

    /// A new register.
    pub(crate) fn reg(&mut self, class: Class) -> Reg {
        let number = &mut self.registers[class as usize];
        *number += 1;
        Reg { class, number: *number - 1 }
    }

    /// One instruction, without its semicolon.
    pub(crate) fn op(&mut self, text: impl Display) {
        _ = writeln!(self.body, "\t{text};");
    }

    /// A new label, not placed yet.
    pub(crate) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    pub(crate) fn place(&mut self, label: Label) {
        _ = writeln!(self.body, "{label}:");
    }

    /// A new register that holds the address of new memory, in the address space of that memory.
    pub(crate) fn memory(&mut self, space: Space, bytes: u64) -> Reg {
        self.memory.push((space, bytes.max(8)));
        self.address_of(self.memory.len() - 1)
    }

    /// As [`Self::memory`], of the thread: the same memory wherever it is asked for by the same name.
    pub(crate) fn memory_of(&mut self, slot: Slot, bytes: u64) -> Reg {
        let position = *self.again.entry(slot).or_insert_with(|| {
            self.memory.push((Space::Local, bytes.max(8)));
            self.memory.len() - 1
        });
        self.address_of(position)
    }

    fn address_of(&mut self, position: usize) -> Reg {
        let name = format!("{}{position}", self.memory[position].0.name());
        let address = self.reg(Class::Double);
        self.op(format_args!("mov.u64 {address}, {name}"));
        address
    }

    /// Bytes of memory of a space declared so far.
    pub(crate) fn bytes(&self, of: Space) -> u64 {
        let own = self.memory.iter().filter(|(space, _)| *space == of);
        own.map(|(_, bytes)| bytes.next_multiple_of(8)).sum()
    }

    /// The whole entry of a name, with as many 64-bit parameters, for blocks of so many threads.
    pub(crate) fn finish(self, name: &str, parameters: usize, threads: u32) -> String {
        let mut text = format!(".visible .entry {name}(");
        for position in 0..parameters {
            let separator = if position == 0 { "" } else { "," };
            _ = write!(text, "{separator}\n\t.param .u64 {}", parameter(position));
        }
        // Without a number of blocks the assembler has one of its own in mind, and spills to stay within it.
        _ = writeln!(text, "\n)\n.maxntid {threads}, 1, 1\n.minnctapersm 1\n{{");
        for class in Class::ALL {
            let count = self.registers[class as usize];
            if count > 0 {
                _ = writeln!(text, "\t.reg .{} %{}<{count}>;", class.untyped(), class.letter());
            }
        }
        for (position, (space, bytes)) in self.memory.iter().enumerate() {
            let name = space.name();
            _ = writeln!(text, "\t.{name} .align 8 .b8 {name}{position}[{bytes}];");
        }
        text + &self.body + "}\n"
    }
}

/// The name of a parameter of an entry.
pub(crate) fn parameter(position: usize) -> String {
    format!("argument{position}")
}
