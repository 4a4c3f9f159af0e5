//! `opt`: passes on a dumped program.

use std::{io::Write, path::PathBuf};

use crate::{
    Failure,
    commands::{
        after_all::AfterAll,
        dump::{Format, print, print_program},
    },
    sink::to_file,
    source,
};

/// Run passes over a program and print the result
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program, as text (.fbx) or JSON
    program: PathBuf,
    /// Passes in order, by the names that `passes` lists
    #[arg(long, value_delimiter = ',', required = true)]
    passes: Vec<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write it to a file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print what each pass counted on standard error
    #[arg(long)]
    report: bool,
    /// Check the program after each pass, which is always done here
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    after_all: AfterAll,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    to_file(options.output.as_deref(), out, |out| printed(options, out))
}

fn printed(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let passes = options.passes.iter().map(|name| fusebox::pass(name.trim()).map_err(fusebox::Error::from));
    let passes = passes.collect::<Result<Vec<_>, _>>()?;
    let program = source::program(&options.program, "passes run on programs")?;
    let stages = options.after_all.run(&program, &passes, true)?;
    if options.report {
        for stage in &stages {
            let counts: Vec<_> = stage.report.iter().map(|(name, count)| format!("{name} {count}")).collect();
            eprintln!("{}: {} ({:.3} ms)", stage.pass, counts.join(", "), stage.time.as_secs_f64() * 1e3);
        }
    }
    match stages.last() {
        None => print_program(&program, options.format, out),
        Some(stage) => print(&stage.made, options.format, out),
    }
}
