#![doc = include_str!("../README.md")]

mod block; // a block: what is computed where it stands, and what waits
mod cluster; // clusters that a program has already
mod code; // scalar code that may fail, put into functions
mod control; // branches and loops
mod elements; // what only functions need, where they have elements
mod error;
mod facts; // what is known of a program, and of bindings that wait
mod names; // what a value of the program is called in the strict one
mod parts; // which results of a binding are needed now, which later

use fusebox_ir::{
    Program, Property,
    analysis::{branches::with_branches, demand::by_need},
    validate,
};

pub use crate::error::Error;

/// What may be chosen. Limits count steps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// How many times more bindings there may be than before, and a thousand: beyond that nothing is copied that cannot fail.
    pub max_growth: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_growth: 8 }
    }
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Bindings that were moved into a block inside, in part at least.
    pub moved: usize,
    /// How often one was made again, as several blocks need it.
    pub copied: usize,
    /// How often scalar code was put into a function.
    pub inlined: usize,
    /// Bindings that nothing needs.
    pub dropped: usize,
    /// Operations that were cut, as their results take arrays whose extents may not agree.
    pub cut: usize,
    /// Loops that were put under their own condition.
    pub guarded: usize,
    /// Branches that are computed only where there are elements to compute with what they give.
    pub asked: usize,
    /// Whether what cannot fail was left where it stands, as the program would grow or nest too much.
    pub limit_reached: bool,
}

/// Moves what may fail to where it is needed, so that blocks may compute all of their bindings in order.
///
/// Needs [`Property::Flat`] and keeps it; the result has [`Property::Strict`]. Evaluated by need it gives the same results, bit for bit,
/// and the same errors.
///
/// # Errors
/// [`Error::Invalid`] if the program is not valid and flat; [`Error::Growth`] and [`Error::Depth`] where what may fail would have to be
/// copied too often or moved too deep.
///
/// # Panics
/// If the program that was made is not strict: a mistake of this pass. The message shows it.
pub fn make_strict(program: &Program, config: &Config) -> Result<(Program, Report), Error> {
    validate(program, &[Property::Flat])?;
    let (mut strict, mut report) = block::program(&with_branches(program), config)?;
    // What only code needs that nothing needs is gone after a second look.
    for _ in 0..MAX_ROUNDS {
        if by_need(&strict).is_empty() {
            return Ok((strict, report));
        }
        let (again, more) = block::program(&strict, config)?;
        strict = again;
        report.add(&more);
    }
    panic!("after {MAX_ROUNDS} rounds something is still evaluated by need, in\n{strict}\nmade of\n{program}")
}

/// How often a program is looked at again.
const MAX_ROUNDS: usize = 8;

impl Report {
    fn add(&mut self, more: &Self) {
        self.moved += more.moved;
        self.copied += more.copied;
        self.inlined += more.inlined;
        self.dropped += more.dropped;
        self.cut += more.cut;
        self.guarded += more.guarded;
        self.asked += more.asked;
        self.limit_reached |= more.limit_reached;
    }
}
