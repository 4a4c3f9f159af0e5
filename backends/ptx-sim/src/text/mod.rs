//! PTX text to a tree.

mod operand;
mod parse;
mod token;
pub(crate) mod tree;

pub(crate) use parse::{bits_of, parse};
pub(crate) use token::Place;

/// Text that is no PTX, or PTX that the simulator does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// What is wrong, or what was expected.
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(at: Place, message: impl Into<String>) -> Self {
        Self { line: at.line, column: at.column, message: message.into() }
    }
}
