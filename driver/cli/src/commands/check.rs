//! `check`: whether a program is one.

use std::{io::Write, path::PathBuf};

use fusebox::Signature;

use crate::{Failure, source};

/// Read a program, say whether it is valid, print what it takes and gives
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program, as text (.fbx) or JSON
    program: PathBuf,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let program = source::read(&options.program)?;
    writeln!(out, "{}", Signature::of(&program))?;
    Ok(())
}
