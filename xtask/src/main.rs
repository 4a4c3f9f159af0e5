#![doc = include_str!("../README.md")]

mod bench;
mod bless;
mod check;
mod demo;
mod docs;
mod gpu_suite;
mod outside;
mod packages;
mod process;
mod ptxas;
mod setup;
mod test;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use workspace::Workspace;

/// Commands for working on fusebox
#[derive(Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Setup(setup::Options),
    Test(test::Options),
    Demo(demo::Options),
    Bench(bench::Options),
    Outside(outside::Options),
    Ptxas(ptxas::Options),
    GpuSuite(gpu_suite::Options),
    Check,
    Tidy,
    Docs(docs::Options),
    Bless(bless::Options),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = Workspace::find().and_then(|workspace| match &cli.command {
        Command::Setup(options) => setup::run(&workspace, options),
        Command::Test(options) => test::run(&workspace, options),
        Command::Demo(options) => demo::run(&workspace, options),
        Command::Bench(options) => bench::run(&workspace, options),
        Command::Outside(options) => outside::run(&workspace, options),
        Command::Ptxas(options) => ptxas::run(&workspace, options),
        Command::GpuSuite(options) => gpu_suite::run(&workspace, options),
        Command::Check => check::run(&workspace),
        Command::Tidy => tidy::run(&workspace),
        Command::Docs(options) => docs::run(&workspace, options),
        Command::Bless(options) => bless::run(&workspace, options),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
