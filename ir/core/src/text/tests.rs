//! The text form is a contract: every rule of it is a test here.

mod elsewhere;
mod errors;
mod golden;
mod hostile;
mod kernel;
mod random;
mod recovery;
mod reference;
mod scalar;
mod values;
mod worked;
mod written;

use super::parse;
use crate::Program;

/// Parses, prints, parses again: the same program, and the same text.
#[track_caller]
fn same(text: &str) -> Program {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}\n\n{text}"));
    let printed = program.to_string();
    let again = parse(&printed).unwrap_or_else(|error| panic!("{error}\n\nprinted as\n{printed}"));
    assert_eq!(again, program, "printed as\n{printed}");
    assert_eq!(again.to_string(), printed);
    program
}
