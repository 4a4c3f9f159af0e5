//! `docs`: the documentation of all crates.

use crate::workspace::Workspace;
use crate::{process, setup};
use anyhow::Result;
use std::process::Command;

/// Build the documentation of all crates, and say where it is
#[derive(clap::Args)]
pub struct Options {
    /// Open it in a browser
    #[arg(long)]
    open: bool,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    setup::ensure(workspace)?;
    process::run_aloud(&mut build(workspace))?;
    let page = workspace.target()?.join("doc/fusebox/index.html");
    println!("{}", page.display());
    if options.open {
        process::run(Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" }).arg(page))?;
    }
    Ok(())
}

/// The command that builds it; warnings (broken links, say) are errors.
pub fn build(workspace: &Workspace) -> Command {
    let mut cargo = workspace.cargo();
    cargo.args(["doc", "--no-deps", "--workspace", "--keep-going"]).env("RUSTDOCFLAGS", "-Dwarnings");
    cargo
}
