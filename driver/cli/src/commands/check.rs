//! `check`: whether a program, or a plan, is one.

use std::{io::Write, path::PathBuf};

use fusebox::Signature;
use fusebox_ir::Made;

use crate::{Failure, source};

/// Read a program or a plan, say whether it is valid, print what it takes and gives
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program, as text (.fbx) or JSON; or a plan, as JSON
    program: PathBuf,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    match source::read(&options.program)? {
        Made::Program(program) => writeln!(out, "{}", Signature::of(&program))?,
        Made::Plan(plan) => writeln!(out, "{} as a plan", Signature::of_plan(&plan))?,
    }
    Ok(())
}
