//! `tidy`: rules about the whole tree that neither the compiler nor clippy knows.

mod arrows;
mod crates;
mod features;
mod length;
mod snapshots;
mod source;
mod test_files;
mod unsafe_code;
mod words;

pub use source::Source;

use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fmt;

/// A text file of the project.
pub struct File {
    /// Relative to the root, with `/` between folders.
    path: String,
    text: String,
}

/// Something that breaks a rule.
#[derive(Debug, PartialEq)]
pub struct Finding {
    /// A warning does not fail the command.
    warning: bool,
    /// A file or a crate.
    place: String,
    /// Counted from 1; 0 if it is about the whole place.
    line: usize,
    message: String,
}

impl Finding {
    fn error(place: &str, line: usize, message: impl Into<String>) -> Self {
        Self { warning: false, place: place.into(), line, message: message.into() }
    }

    fn warning(place: &str, line: usize, message: impl Into<String>) -> Self {
        Self { warning: true, ..Self::error(place, line, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", if self.warning { "warning" } else { "error" }, self.place)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Runs the command.
pub fn run(workspace: &Workspace) -> Result<()> {
    let files = read(workspace)?;
    let packages = arrows::packages(&workspace.metadata()?)?;
    let mut findings = Vec::new();
    findings.extend(arrows::check(&packages));
    findings.extend(crates::check(&packages, &files));
    findings.extend(features::check(workspace)?);
    findings.extend(length::check(&files));
    findings.extend(words::check(&files));
    findings.extend(unsafe_code::check(&files));
    findings.extend(snapshots::check(&files));
    findings.extend(test_files::check(&packages, &files));
    findings.sort_by_key(|finding| finding.warning);
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| !finding.warning).count();
    println!("tidy: {} files, {errors} errors, {} warnings", files.len(), findings.len() - errors);
    if errors > 0 {
        bail!("the tree is not tidy");
    }
    Ok(())
}

/// All files of the project that are text.
fn read(workspace: &Workspace) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for path in workspace.files()? {
        let bytes = std::fs::read(workspace.root().join(&path)).with_context(|| path.display().to_string())?;
        let names: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        if let Ok(text) = String::from_utf8(bytes)
            && !text.contains('\0')
        {
            files.push(File { path: names.join("/"), text });
        }
    }
    Ok(files)
}

#[cfg(test)]
fn file(path: &str, text: &str) -> File {
    File { path: path.into(), text: text.into() }
}
