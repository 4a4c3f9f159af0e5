//! `fusebox-bench suite …` measures; `fusebox-bench PROGRAM SIZE DATA_DIR OUT.npy` takes part in an outside runner's contest;
//! `fusebox-bench data PROGRAM SIZE FOLDER` writes inputs for that; `fusebox-bench growth` measures how compile time grows.

use std::process::ExitCode;

use clap::Parser;
use fusebox_bench::{contestant, growth, suite};

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args_os().collect();
    let mode = arguments.get(1).and_then(|first| first.to_str()).map(String::from);
    let mut rest = || {
        arguments.remove(1);
        arguments.clone()
    };
    let outcome = match mode.as_deref() {
        Some("suite") => suite::run(&suite::Options::parse_from(rest())).map(|()| ExitCode::SUCCESS),
        Some("growth") => growth::run(&growth::Options::parse_from(rest())),
        Some("data") => {
            contestant::write_data(&contestant::DataOptions::parse_from(rest())).map(|()| ExitCode::SUCCESS)
        }
        _ => contestant::run(&contestant::Options::parse_from(arguments)),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
