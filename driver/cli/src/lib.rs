#![doc = include_str!("../README.md")]

mod cases;
mod colour;
mod commands;
mod failure;
mod progress;
mod show;
mod sink;
mod source;

use std::{ffi::OsString, io::Write, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{check, devices, dump, explain, new, ops, opt, passes, run, schema, shell, test, tune};
pub use crate::failure::Failure;

/// Compile and run purely functional data-parallel array programs
#[derive(Parser)]
#[command(name = "fusebox", version, max_term_width = 100)]
struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Run(run::Options),
    Test(test::Options),
    Tune(tune::Options),
    Check(check::Options),
    Dump(dump::Options),
    Opt(opt::Options),
    Explain(explain::Options),
    Ops(ops::Options),
    Schema(schema::Options),
    Passes(passes::Options),
    Devices(devices::Options),
    New(new::Options),
    Completions(shell::Completions),
    Man(shell::Manual),
}

/// Runs the command with these arguments, the first of which is its own name.
///
/// Exit codes: 0; 1 where the program failed while it ran; 2 for everything that is wrong before: arguments, files, programs, inputs.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let command = match Command::try_parse_from(arguments) {
        Ok(command) => command,
        Err(error) => {
            // Help and version are no errors and go to standard output.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let mut out = std::io::stdout().lock();
    let done = match &command.action {
        Action::Run(options) => run::run(options, &mut out),
        Action::Test(options) => test::run(options, &mut out),
        Action::Tune(options) => tune::run(options, &mut out),
        Action::Check(options) => check::run(options, &mut out),
        Action::Dump(options) => dump::run(options, &mut out),
        Action::Opt(options) => opt::run(options, &mut out),
        Action::Explain(options) => explain::run(options, &mut out),
        Action::Ops(options) => ops::run(options, &mut out),
        Action::Schema(options) => schema::run(options, &mut out),
        Action::Passes(options) => passes::run(options, &mut out),
        Action::Devices(options) => devices::run(options, &mut out),
        Action::New(options) => new::run(options, &mut out),
        Action::Completions(options) => shell::completions(options, Command::command(), &mut out),
        Action::Man(options) => shell::manual(options, Command::command(), &mut out),
    };
    match done.and_then(|()| out.flush().map_err(Failure::from)) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has read enough.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            colour::print_error(&format!("{:#}", failure.error));
            ExitCode::from(failure.code)
        }
    }
}
