//! Where the workspace is, and which files belong to it.

use crate::process;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout that the commands work on.
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace that cargo started this program from.
    ///
    /// # Errors
    /// If it was not started by `cargo run` or `cargo xtask`.
    pub fn find() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("start this as `cargo xtask`")?;
        let root = Path::new(&manifest).parent().context("the folder of xtask has no parent")?;
        Ok(Self { root: root.to_owned() })
    }

    /// The folder that holds the workspace's `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The cargo that started this program, in the workspace's folder.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        command.current_dir(&self.root);
        // `cargo run` describes this crate to the program it starts; a nested cargo must not inherit that.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }

    /// What `cargo metadata` says about the members, without their dependencies' own metadata.
    pub fn metadata(&self) -> Result<serde_json::Value> {
        let text = process::output(self.cargo().args(["metadata", "--format-version", "1", "--no-deps"]))?;
        serde_json::from_str(&text).context("cargo metadata did not print JSON")
    }

    /// The folder cargo builds into.
    pub fn target(&self) -> Result<PathBuf> {
        let metadata = self.metadata()?;
        let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
        Ok(target.into())
    }

    /// Files of the project, relative to its root, in order: tracked by git or new, but not ignored.
    ///
    /// # Errors
    /// If git is missing or this is no git checkout.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        let mut git = Command::new("git");
        git.current_dir(&self.root).args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
        let mut files: Vec<PathBuf> =
            process::output(&mut git)?.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
        files.sort();
        files.dedup();
        files.retain(|file| self.root.join(file).is_file()); // deleted, but not yet committed
        Ok(files)
    }
}
