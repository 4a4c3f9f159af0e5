//! `test`: all tests, documentation's examples included; then the assembler on the PTX that they made.

use crate::workspace::Workspace;
use crate::{ptxas, setup};
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, IsTerminal};
use std::process::Stdio;

/// Run all tests (after `setup`)
#[derive(clap::Args)]
pub struct Options {
    /// Leave out the examples in the documentation, and ask generated tests for few cases (FUSEBOX_QUICK=1)
    #[arg(long)]
    quick: bool,
    /// Test one package
    #[arg(short, long)]
    package: Option<String>,
    /// Passed to every test program: a part of the names of tests, or options such as --nocapture
    #[arg(last = true)]
    filter: Vec<String>,
}

/// Sums of the runner's lines `test result: …`.
#[derive(Debug, Default, PartialEq)]
struct Totals {
    programs: u64,
    passed: u64,
    failed: u64,
    ignored: u64,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    setup::ensure(workspace)?;
    let texts = ptxas::fresh(workspace)?;
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--no-fail-fast"]).env(ptxas::VARIABLE, &texts);
    match &options.package {
        Some(package) => cargo.args(["--package", package]),
        None => cargo.arg("--workspace"),
    };
    if options.quick {
        cargo.args(["--lib", "--bins", "--tests", "--examples"]).env("FUSEBOX_QUICK", "1");
    }
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        cargo.env("RUST_TEST_THREADS", threads().to_string());
    }
    cargo.arg("--").args(&options.filter);
    if std::io::stdout().is_terminal() && !options.filter.iter().any(|option| option.starts_with("--color")) {
        cargo.arg("--color=always");
    }

    let mut child = cargo.stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let mut totals = Totals::default();
    let output = child.stdout.take().context("cargo test has no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        totals.add(&line);
        println!("{line}");
    }
    let status = child.wait()?;
    println!("{totals}");
    if !status.success() {
        bail!("cargo test failed ({status})");
    }
    if totals.passed + totals.failed == 0 {
        bail!("no test was run: none has such a name"); // else a typing error would look like success
    }
    // Only what all tests have written is all of it.
    if options.package.is_none() && options.filter.is_empty() { ptxas::after_tests(workspace) } else { Ok(()) }
}

/// Tests at once in one program: a core each, but no more than 8, for many of them start threads of their own.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(8)
}

impl Totals {
    /// Counts a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`, and no other.
    fn add(&mut self, line: &str) {
        // Not at the beginning of the line: what a test prints without a line's end stands before it.
        let Some((_, counts)) = line.split_once("test result: ") else { return };
        let count = |what: &str| -> Option<u64> {
            counts.split(['.', ';']).find_map(|part| part.trim().strip_suffix(what)?.trim().parse().ok())
        };
        let (Some(passed), Some(failed), Some(ignored)) = (count("passed"), count("failed"), count("ignored")) else {
            return;
        };
        self.programs += 1;
        self.passed += passed;
        self.failed += failed;
        self.ignored += ignored;
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { programs, passed, failed, ignored } = self;
        write!(f, "total: {passed} passed; {failed} failed; {ignored} ignored; in {programs} test programs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed_and_other_lines_are_not() {
        let mut totals = Totals::default();
        totals.add("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s");
        totals.add("test result: \u{1b}[31mFAILED\u{1b}[m. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        totals.add("test tidy::tests::a ... ok");
        totals.add("test result: unknown");
        assert_eq!(totals, Totals { programs: 2, passed: 4, failed: 2, ignored: 1 });
    }
}
