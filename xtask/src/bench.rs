//! `bench`: the suite, compiled for the processor of this machine.

use crate::workspace::Workspace;
use crate::{process, setup};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Measure programs against hand-written Rust (after `setup`), compiled for this machine's processor
#[derive(clap::Args)]
pub struct Options {
    /// Passed on to `fusebox-bench suite`, such as --programs dot,filter --size large; `-- -h` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    setup::ensure(workspace)?;
    let program = build(workspace)?;
    process::run_aloud(Command::new(program).arg("suite").args(&options.rest))
}

/// Builds the suite: the program.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    // What is compiled for this processor alone has a target folder of its own: nothing else should be built again for it.
    let target = workspace.target()?.join("bench");
    let mut cargo = workspace.cargo();
    cargo.args([
        "build",
        "--release",
        "--package",
        "fusebox-bench",
        "--message-format",
        "json-diagnostic-rendered-ansi",
    ]);
    cargo.arg("--target-dir").arg(target);
    cargo.env("RUSTFLAGS", flags(&std::env::var("RUSTFLAGS").unwrap_or_default(), std::env::consts::ARCH));
    let mut child = cargo.stdout(Stdio::piped()).spawn().context("cannot start cargo build")?;
    let output = child.stdout.take().context("cargo build has no output")?;
    let mut program = None;
    for line in BufReader::new(output).lines() {
        let Ok(message) = serde_json::from_str(&line?) else { continue };
        match Message::of(&message) {
            Message::Error(text) => eprint!("{text}"),
            Message::Program(path) => program = Some(path),
            Message::Other => {}
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("cargo build failed ({status})");
    }
    program.context("cargo build made no program")
}

/// The compiler's flags: those given, and all instructions that the processor has, at full width, for the hand-written side.
///
/// That vectors of 512 bits are to be used where there are any is a feature for the compiler's back end alone, of which its front
/// end warns in every crate.
fn flags(given: &str, architecture: &str) -> String {
    let width = if architecture == "x86_64" { " -C target-feature=-prefer-256-bit" } else { "" };
    format!("{given} -C target-cpu=native{width}").trim().to_owned()
}

/// What cargo says on standard output.
#[derive(Debug, PartialEq)]
enum Message {
    Error(String),
    Program(PathBuf),
    Other,
}

impl Message {
    fn of(message: &serde_json::Value) -> Self {
        let text = |value: &serde_json::Value| value.as_str().map(String::from);
        match message["reason"].as_str() {
            Some("compiler-message") if message["message"]["level"] == "error" => {
                text(&message["message"]["rendered"]).map_or(Self::Other, Self::Error)
            }
            Some("compiler-artifact") if message["target"]["name"] == "fusebox-bench" => {
                text(&message["executable"]).map_or(Self::Other, |path| Self::Program(path.into()))
            }
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn given_flags_are_kept() {
        assert_eq!(flags("", "aarch64"), "-C target-cpu=native");
        assert_eq!(flags("-g", "x86_64"), "-g -C target-cpu=native -C target-feature=-prefer-256-bit");
    }

    #[test]
    fn errors_are_shown_and_the_program_is_found() {
        let said =
            |level: &str| json!({ "reason": "compiler-message", "message": { "level": level, "rendered": "no" } });
        assert_eq!(Message::of(&said("error")), Message::Error("no".into()));
        assert_eq!(Message::of(&said("warning")), Message::Other);
        let made = |name: &str, executable: serde_json::Value| {
            Message::of(&json!({ "reason": "compiler-artifact", "target": { "name": name }, "executable": executable }))
        };
        assert_eq!(made("fusebox-bench", json!("a/b")), Message::Program("a/b".into()));
        assert_eq!(made("fusebox-bench", json!(null)), Message::Other);
        assert_eq!(made("other", json!("a/b")), Message::Other);
    }
}
