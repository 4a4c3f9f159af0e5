//! `bless`: makes what the tests say now what they are expected to say.

mod inline;

use crate::workspace::Workspace;
use crate::{process, setup};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Run tests and rewrite their snapshots (insta) and expected messages (trybuild), to be reviewed
#[derive(clap::Args)]
pub struct Options {
    /// Bless one package
    #[arg(short, long)]
    package: Option<String>,
    /// A part of the names of the tests; without it all
    filter: Option<String>,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    setup::ensure(workspace)?;
    let sources: Vec<PathBuf> =
        workspace.files()?.into_iter().filter(|file| file.extension() == Some("rs".as_ref())).collect();
    for source in &sources {
        remove(&pending(&workspace.root().join(source)))?; // of an earlier run of the tests
    }

    let mut cargo = test(workspace, options);
    // Passing whatever comes, a test goes on to its next snapshot. What fails for other reasons shows in the second run.
    cargo.envs([("INSTA_UPDATE", "always"), ("INSTA_FORCE_PASS", "1"), ("TRYBUILD", "overwrite")]);
    let first = process::run_aloud(&mut cargo);

    let mut rewritten = BTreeSet::new();
    for source in &sources {
        let path = workspace.root().join(source);
        if rewrite(&path).with_context(|| format!("cannot bless {}", source.display()))? {
            rewritten.insert(source.to_string_lossy().into_owned());
        }
    }
    let second = process::run_aloud(test(workspace, options).env("INSTA_UPDATE", "no"));

    let mut git = Command::new("git");
    git.current_dir(workspace.root()).args(["status", "--short", "--untracked-files=all"]);
    for line in process::output(&mut git)?.lines() {
        let path = line.get(3..).unwrap_or_default();
        if path.ends_with(".snap") || path.ends_with(".stderr") || rewritten.contains(path) {
            println!("{line}");
        }
    }
    println!("review these with `git diff`: what is wrong in them is a bug that the tests now ask for");
    if second.is_err() {
        first?;
    }
    second
}

fn test(workspace: &Workspace, options: &Options) -> Command {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--quiet", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    match &options.package {
        Some(package) => cargo.args(["--package", package]),
        None => cargo.arg("--workspace"),
    };
    if let Some(filter) = &options.filter {
        cargo.arg("--").arg(filter);
    }
    cargo
}

/// Where insta notes what the inline snapshots of a source file should be. (It never rewrites sources itself.)
fn pending(source: &Path) -> PathBuf {
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    source.with_file_name(format!(".{name}.pending-snap"))
}

fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Puts what insta noted into the source file; whether anything was noted.
fn rewrite(source: &Path) -> Result<bool> {
    let notes = pending(source);
    let Ok(text) = fs::read_to_string(&notes) else { return Ok(false) };
    let wanted = noted(&text)?;
    if !wanted.is_empty() {
        fs::write(source, inline::rewrite(&fs::read_to_string(source)?, &wanted)?)?;
    }
    remove(&notes)?;
    Ok(!wanted.is_empty())
}

/// The line of each assertion that did not hold, and what it should say.
///
/// # Errors
/// If one assertion was reached several times and each time said something else: no literal can please them all.
fn noted(notes: &str) -> Result<BTreeMap<usize, String>> {
    let mut wanted: BTreeMap<usize, String> = BTreeMap::new();
    for note in notes.lines() {
        let note: Value = serde_json::from_str(note).context("insta's note is not JSON")?;
        let (Some(line), Some(text)) = (note["line"].as_u64(), note["new"]["snapshot"].as_str()) else { continue };
        let line = usize::try_from(line)?;
        if wanted.insert(line, text.into()).is_some_and(|other| other != text) {
            bail!("the snapshot in line {line} is of several values");
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read() {
        let notes = concat!(
            r#"{"run_id":"1","line":4,"new":{"snapshot":"a\nb"},"old":{"snapshot":"c"}}"#,
            "\n",
            r#"{"run_id":"1","line":9,"new":null,"old":null}"#,
        );
        assert_eq!(noted(notes).unwrap(), BTreeMap::from([(4, "a\nb".to_owned())]));
        let other = notes.replace("line\":9,\"new\":null", r#"line":4,"new":{"snapshot":"z"}"#);
        assert!(noted(&other).is_err());
        assert!(noted("{").is_err());
    }
}
