//! `check`: what can be said about the code without running it.

use crate::workspace::Workspace;
use crate::{docs, packages, process, setup, tidy};
use anyhow::{Result, bail};

/// Runs the command: all checks, also after one has failed.
pub fn run(workspace: &Workspace) -> Result<()> {
    let mut failed = Vec::new();
    let mut step = |name: &'static str, outcome: Result<()>| {
        if let Err(error) = outcome {
            eprintln!("{name}: {error:#}");
            failed.push(name);
        }
    };
    step("format", process::run_aloud(workspace.cargo().args(["fmt", "--all", "--check"])));
    step(
        "format",
        process::run_aloud(workspace.cargo().args(["fmt", "--check", "--manifest-path", "xtask/highs/Cargo.toml"])),
    );
    step("tidy", tidy::run(workspace));
    step("packages", packages::check(workspace));
    setup::ensure(workspace)?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"];
    step("clippy", process::run_aloud(workspace.cargo().args(clippy)));
    step("documentation", process::run_aloud(&mut docs::build(workspace)));
    if !failed.is_empty() {
        bail!("these checks failed: {}", failed.join(", "));
    }
    println!("all checks passed");
    Ok(())
}
