//! Running other programs: always wait, and turn a failure into an error that names the command.

use anyhow::{Context, Result, bail};
use std::process::Command;

/// Runs `command`, its output going where ours goes.
///
/// # Errors
/// If it cannot be started or does not exit with 0.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", name(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", name(command));
    }
    Ok(())
}

/// Runs `command` after saying so on standard error.
///
/// # Errors
/// As [`run`].
pub fn run_aloud(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", name(command));
    run(command)
}

/// Runs `command` and returns its standard output; standard error is part of the error message if it fails.
///
/// # Errors
/// If it cannot be started, does not exit with 0, or prints what is not UTF-8.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", name(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed ({})\n{}", name(command), output.status, said.trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} printed what is not UTF-8", name(command)))
}

/// Whether `command` can be started and exits with 0; what it prints is dropped.
pub fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// The command as one would type it, the program without its folder.
fn name(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    std::iter::once(program).chain(command.get_args()).map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
