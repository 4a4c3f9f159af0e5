//! `passes`: those there are.

use std::io::Write;

use crate::Failure;

/// List the passes, in the order in which programs are compiled
#[derive(clap::Args)]
pub(crate) struct Options {}

pub(crate) fn run(_: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let (name, summary) = fusebox::FRONT_END;
    writeln!(out, "{name:10} {summary} (embedded programs only)")?;
    for pass in fusebox::passes() {
        writeln!(out, "{:10} {}", pass.name(), pass.summary())?;
    }
    Ok(())
}
