//! `bench`: the suite, compiled for the processor of this machine.

use crate::workspace::Workspace;
use crate::{process, setup};
use anyhow::Result;

/// Measure programs against hand-written Rust (after `setup`), compiled for this machine's processor
#[derive(clap::Args)]
pub struct Options {
    /// Passed on to `fusebox-bench suite`, such as --programs dot,filter --size large; -h lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    setup::ensure(workspace)?;
    // What is compiled for this processor alone has a target folder of its own: nothing else should be built again for it.
    let target = workspace.target()?.join("bench");
    let mut cargo = workspace.cargo();
    cargo.args(["run", "--release", "--package", "fusebox-bench", "--target-dir"]).arg(target);
    cargo.args(["--", "suite"]).args(&options.rest);
    cargo.env("RUSTFLAGS", flags(std::env::var("RUSTFLAGS").unwrap_or_default().as_str()));
    process::run_aloud(&mut cargo)
}

/// The compiler's flags: those given, and all instructions that the processor has, for the hand-written side.
fn flags(given: &str) -> String {
    format!("{given} -C target-cpu=native").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_flags_are_kept() {
        assert_eq!(flags(""), "-C target-cpu=native");
        assert_eq!(flags("-C debuginfo=2"), "-C debuginfo=2 -C target-cpu=native");
    }
}
