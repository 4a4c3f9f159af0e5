//! Python packages, by the ordinary client: each call into a folder of its own.

use super::cache::{self, Cache};
use crate::process;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Installs packages into `target`, complete or not at all. Only under the cache's lock.
///
/// `requirements` are lines as `pip` reads them; where they name hashes, every file is compared with its own.
///
/// # Errors
/// If there is no Python 3 with pip or venv, no package for this platform, or another content than the hash says.
pub fn install(cache: &Cache, requirements: &[&str], target: &Path) -> Result<()> {
    let unfinished = cache.unfinished("python")?;
    let list = unfinished.join("requirements.txt");
    fs::write(&list, requirements.join("\n")).context("cannot write to the cache")?;
    let installed = unfinished.join("installed");
    let mut pip = pip(&unfinished)?;
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]);
    process::output(pip.arg("--target").arg(&installed).arg("--requirement").arg(&list))?;
    cache::finish(&installed, target)?;
    cache::remove(&unfinished)
}

/// The pip of the machine; where there is none, that of a virtual environment in `folder`.
fn pip(folder: &Path) -> Result<Command> {
    let pip = |python: &Path| {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip"]);
        pip
    };
    let python = Path::new("python3");
    if process::works(pip(python).arg("--version")) {
        return Ok(pip(python));
    }
    let venv = folder.join("venv");
    process::output(Command::new(python).args(["-m", "venv"]).arg(&venv))?;
    Ok(pip(&venv.join("bin/python3")))
}
