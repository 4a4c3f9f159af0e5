//! `gpu-suite`: one program for machines with a GPU.

use crate::process;
use crate::workspace::Workspace;
use anyhow::{Result, bail};
use std::process::Command;

/// Build the program that runs golden and benchmark programs on a GPU, and run it; it needs neither network nor toolkit
#[derive(clap::Args)]
pub struct Options {
    /// Only build it, for another machine
    #[arg(long)]
    build: bool,
    /// Passed on to it, such as --backend sim or --programs dotp; `-- -h` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    // A target folder of its own: without HiGHS the crates below have other features than elsewhere.
    let target = workspace.target()?.join("gpu-suite");
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--release", "--package", "fusebox-gpu-suite", "--target-dir"]).arg(&target);
    process::run_aloud(&mut cargo)?;
    let program = target.join("release").join(format!("fusebox-gpu-suite{}", std::env::consts::EXE_SUFFIX));
    println!("built {}", program.display());
    if options.build {
        return Ok(());
    }
    let status = Command::new(&program).args(&options.rest).status()?;
    match status.code() {
        Some(0) => Ok(()),
        Some(2) => std::process::exit(2),
        _ => bail!("the suite failed ({status})"),
    }
}
