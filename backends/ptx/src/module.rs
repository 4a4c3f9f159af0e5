//! What a kernel becomes: text with entries, and how each is launched, as plain data.

use fusebox_ir::KernelArrayId;

use crate::failure::Site;

/// A kernel as PTX.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The whole text: header and entries.
    pub text: String,
    /// An entry of one thread that counts the steps of the outer levels, where sizes do not say them: launched first. It writes an `i64` for each
    /// of the first [`Self::counted`] levels to [`Argument::Steps`].
    pub count: Option<Entry>,
    /// How many levels the entry counts.
    pub counted: usize,
    /// In the order of launches.
    pub entries: Vec<Entry>,
    /// Memory that the entries share for a launch of the kernel.
    pub scratch: Vec<Scratch>,
    /// Where checks may fail.
    pub sites: Vec<Site>,
    /// Read arrays that several threads read while another may be writing over them: where one is in place, the launch reads a copy.
    pub copied: Vec<KernelArrayId>,
    /// Whether positions in arrays have 32 bits: for launches in which no array has [`crate::WIDE_FROM`] elements.
    pub narrow: bool,
    /// How the kernel is carried out, for people.
    pub form: String,
}

/// A function of a module that is launched.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its parameters, 64 bits each.
    pub arguments: Vec<Argument>,
    /// Blocks of the grid. Any number from 1 on gives the same results, where [`Self::any_blocks`] holds.
    pub blocks: Quantity,
    /// Whether fewer blocks do all the work too: each goes on to the next piece.
    pub any_blocks: bool,
    /// Whether there is one block more than [`Self::blocks`] says.
    pub one_more: bool,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of shared memory that the entry declares itself.
    pub shared_bytes: u64,
}

/// A parameter of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A size of the kernel, by position.
    Size(usize),
    /// The address of an array.
    Array(KernelArrayId),
    /// The address of the error slot ([`crate::failure::slot_bytes`]), zeros before the first launch.
    Error,
    /// The address of scratch memory, by position.
    Scratch(usize),
    /// The address of the numbers of steps.
    Steps,
}

/// Memory for one launch of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Scratch {
    /// How many bytes.
    pub bytes: Quantity,
    /// Whether it has to be zeros at first.
    pub zeros: bool,
}

/// A number that the launch works out.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// A number.
    Number(i64),
    /// How many steps a level has.
    Steps(usize),
    /// How many elements an array has.
    Elements(KernelArrayId),
    /// How many chunks a scatter into an array has ([`fusebox_ir::association::chunks`]), less one.
    Copies(KernelArrayId),
    /// A product.
    Times(Box<Self>, Box<Self>),
    /// How many pieces of so many there are.
    Pieces(Box<Self>, i64),
    /// A sum.
    Plus(Box<Self>, Box<Self>),
    /// The lesser of two.
    Least(Box<Self>, Box<Self>),
    /// The greater of two.
    Greatest(Box<Self>, Box<Self>),
}

impl Quantity {
    /// A product with a number.
    #[must_use]
    pub fn times(self, by: i64) -> Self {
        Self::Times(Box::new(self), Box::new(Self::Number(by)))
    }

    /// How many pieces of `size` this makes.
    #[must_use]
    pub fn pieces(self, size: i64) -> Self {
        Self::Pieces(Box::new(self), size)
    }

    /// A sum with another one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::Plus(Box::new(self), Box::new(other))
    }

    /// The number, or this one if that is less.
    #[must_use]
    pub fn at_most(self, most: i64) -> Self {
        Self::Least(Box::new(self), Box::new(Self::Number(most)))
    }

    /// The greater of both numbers.
    #[must_use]
    pub fn or_more(self, other: Self) -> Self {
        Self::Greatest(Box::new(self), Box::new(other))
    }

    /// The number, for steps of levels and elements of arrays; what does not fit is the greatest number.
    pub fn value(&self, steps: &[i64], elements: &dyn Fn(KernelArrayId) -> i64) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Steps(level) => steps.get(*level).copied().unwrap_or(0),
            Self::Elements(array) => elements(*array),
            Self::Copies(array) => {
                let steps = steps.first().copied().unwrap_or(1);
                fusebox_ir::association::chunks(steps, elements(*array)).0 - 1
            }
            Self::Times(a, b) => a.value(steps, elements).saturating_mul(b.value(steps, elements)),
            Self::Plus(a, b) => a.value(steps, elements).saturating_add(b.value(steps, elements)),
            Self::Least(a, b) => a.value(steps, elements).min(b.value(steps, elements)),
            Self::Greatest(a, b) => a.value(steps, elements).max(b.value(steps, elements)),
            Self::Pieces(of, size) => {
                let of = of.value(steps, elements);
                of / size + i64::from(of % size != 0)
            }
        }
    }
}
