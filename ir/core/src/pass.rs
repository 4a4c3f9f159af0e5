//! What the driver knows of a pass: a name, a line about it, and how it is run.

use std::error::Error;

use crate::{Plan, Program, Property};

/// A pass as the driver lists and runs it. Crates of passes offer free functions; this is the same for all.
pub trait Pass: Sync {
    /// The name: also its spelling on command lines.
    fn name(&self) -> &'static str;

    /// One line that says what it does.
    fn summary(&self) -> &'static str;

    /// What a program must have for this pass.
    fn needs(&self) -> &'static [Property] {
        &[]
    }

    /// What its result has, beside what the program had before and the pass keeps ([`Self::keeps`]).
    fn gives(&self) -> &'static [Property] {
        &[]
    }

    /// Properties that a program still has after the pass if it had them before.
    fn keeps(&self) -> &'static [Property] {
        &[Property::Flat, Property::Clustered]
    }

    /// Runs the pass on a valid program that has what it [`needs`](Self::needs).
    ///
    /// # Errors
    /// Whatever the pass says.
    fn run(&self, program: &Program) -> Result<Passed, Box<dyn Error + Send + Sync>>;
}

/// What a pass made, and what it says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// What was made.
    pub made: Made,
    /// Names and numbers: how many of what the pass found, did, or left.
    pub report: Vec<(String, u64)>,
}

/// What a pass makes.
#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    /// A program again.
    Program(Program),
    /// What backends run.
    Plan(Box<Plan>),
}
