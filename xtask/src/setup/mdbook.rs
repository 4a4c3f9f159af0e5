//! mdBook, which makes pages of the book. It is a program of its own in the cache, so that no command waits for its crates.

use super::cache::{self, Cache};
use crate::process;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// The version that the pages were looked at with.
const VERSION: &str = "0.5.2";

/// The program, built from the package registry if it is not there: that takes some two minutes, once.
///
/// # Errors
/// If it cannot be had or does not build.
pub fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let cache = Cache::open()?;
    let place = cache.path(&format!("mdbook-{VERSION}"));
    let program = place.join("bin/mdbook");
    if program.is_file() {
        return Ok(program);
    }
    let _lock = cache.lock()?;
    if program.is_file() {
        return Ok(program); // by another set-up, while we waited
    }
    eprintln!("building mdBook {VERSION} (two minutes, once)");
    let unfinished = cache.unfinished("mdbook")?;
    let mut cargo = workspace.cargo();
    cargo.args(["install", "mdbook", "--locked", "--quiet", "--no-track", "--version", VERSION]);
    // Without the server that shows a book while it is written.
    cargo.args(["--no-default-features", "--features", "search", "--root"]).arg(&unfinished);
    cargo.arg("--target-dir").arg(unfinished.join("target"));
    process::run_aloud(&mut cargo)?;
    fs::remove_dir_all(unfinished.join("target")).context("cannot remove what mdBook was built in")?;
    cache::finish(&unfinished, &place)?;
    Ok(program)
}
