//! `schema`: the forms of JSON files.

use std::io::Write;

use clap::ValueEnum;
use fusebox_ir::json;

use crate::Failure;

/// Print the JSON Schema of programs, plans, schedules, or graphs for clustering
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Of which files
    #[arg(value_enum)]
    of: Of,
}

/// Kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    /// What `dump --format json` prints of a program
    Program,
    /// What `dump --stage kernels --format json` prints
    Plan,
    /// What `dump --stage schedule --format json` prints, and `run --schedule` takes
    Schedules,
    /// What the crate `fusebox-clustering` takes of programs in any representation
    Graph,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let schema = match options.of {
        Of::Program => json::schema(),
        Of::Plan => json::plan_schema(),
        Of::Schedules => fusebox_schedule::Book::schema(),
        Of::Graph => fusebox_clustering::schema(),
    };
    write!(out, "{schema}")?;
    Ok(())
}
