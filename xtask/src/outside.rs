//! `outside`: a crate of somebody else, that depends on the facade and on nothing more, builds by plain cargo and runs; and so does one that
//! `fusebox new` makes.
//!
//! It is copied out of the workspace first, so that neither cargo's configuration here nor what `setup` has found is of any help.

use crate::process;
use crate::setup;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// The crate, as users would write it.
const CRATE: &str = "driver/outside";
/// How it names the facade, and what others would write there.
const FACADE: &str = r#"path = "../fusebox""#;

/// Build and run crates that depend on the facade alone, without anything that `setup` brings
#[derive(clap::Args)]
pub struct Options {
    /// Build for debugging only
    #[arg(long)]
    debug: bool,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("fusebox-outside-{}", std::process::id()));
    let outcome = both(workspace, &folder, options);
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    outcome
}

/// The crate that stands here, and one that is made.
fn both(workspace: &Workspace, folder: &Path, options: &Options) -> Result<()> {
    let (written, made) = (folder.join("outside"), folder.join("made"));
    copy(workspace, &written)?;
    for profile in if options.debug { &["dev"][..] } else { &["dev", "release"] } {
        cargo(workspace, &written, &["run", "--profile", profile])?;
    }
    make(workspace, &made)?;
    cargo(workspace, &made, &["run"])?;
    cargo(workspace, &made, &["test"])
}

/// A crate as `fusebox new` makes it, of the sources here.
fn make(workspace: &Workspace, folder: &Path) -> Result<()> {
    let mut command = workspace.cargo();
    command
        .args(["run", "--quiet", "--package", "fusebox-cli", "--", "new"])
        .arg(folder)
        .arg("--path")
        .arg(workspace.root());
    process::run_aloud(&mut command)?;
    fs::copy(workspace.root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    Ok(())
}

/// Copies the crate, and the versions of dependencies that the workspace is tested with.
fn copy(workspace: &Workspace, folder: &Path) -> Result<()> {
    let from = workspace.root().join(CRATE);
    fs::create_dir_all(folder.join("src")).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::copy(from.join("src/main.rs"), folder.join("src/main.rs"))?;
    fs::copy(workspace.root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let manifest = fs::read_to_string(from.join("Cargo.toml"))?;
    if !manifest.contains(FACADE) {
        bail!("{CRATE}/Cargo.toml does not have the facade by {FACADE}");
    }
    let facade = serde_json::Value::from(workspace.root().join("driver/fusebox").to_string_lossy());
    fs::write(folder.join("Cargo.toml"), manifest.replace(FACADE, &format!("path = {facade}")))?;
    Ok(())
}

/// Runs cargo in a crate outside, which has nothing that `setup` brings.
fn cargo(workspace: &Workspace, folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut cargo = workspace.cargo();
    cargo.current_dir(folder).args(arguments).env("CARGO_TARGET_DIR", workspace.target()?.join("outside"));
    for variable in setup::VARIABLES {
        cargo.env_remove(variable);
    }
    process::run_aloud(&mut cargo)
}
