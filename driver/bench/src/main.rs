//! `fusebox-bench suite …` measures; `fusebox-bench PROGRAM SIZE DATA_DIR OUT.npy` takes part in an outside runner's contest.

use std::process::ExitCode;

use clap::Parser;
use fusebox_bench::{contestant, suite};

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    let outcome = if arguments.get(1).is_some_and(|first| first == "suite") {
        arguments.remove(1);
        suite::run(&suite::Options::parse_from(arguments)).map(|()| ExitCode::SUCCESS)
    } else {
        contestant::run(&contestant::Options::parse_from(arguments))
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
