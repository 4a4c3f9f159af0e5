//! `test`: programs on the inputs in their comments.

use std::{
    fs,
    io::Write,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use fusebox::Backend;

use super::choices::Choices;
use crate::{
    Failure,
    cases::{self, Bad, Case, Tested, Wrong},
    failure::{BAD_INPUT, FAILED},
    source,
};

/// Run programs on the inputs in their comments, and compare the results with those expected
///
/// A test begins with the comment `# ==`, with what it is about behind, and ends with the first line that is no comment. Its lines:
/// `# input NAME = VALUE`, `# output NAME = VALUE`, `# within BOUND` (how far floats may be off, and as a part of what is expected),
/// `# error TEXT` (the program has to fail, with this in the message), `# kernels N`, `# loops N`, `# reads SUM`, `# writes SUM` (as
/// `explain` counts them). A VALUE is `1.5`, `[[1, 2], [3, 4]]`, `file NAME` (beside the program), `iota [1000]`, `full [3, 4] 1.5`,
/// `random [1000] from -1 to 1 seed 7`. Each test runs on each backend; a result that no `output` tells has to be the same on all.
/// Exit codes: 0; 1 if a test failed; 2 if a file has none, or anything before is wrong.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Programs as text, or folders of them (`*.fbx`)
    #[arg(required = true, value_name = "FILE")]
    programs: Vec<PathBuf>,
    /// What runs them, as `devices` lists them; may be given several times [default: interp and cpu]
    #[arg(long = "backend", value_name = "BACKEND")]
    backends: Vec<String>,
    #[command(flatten)]
    choices: Choices,
    /// How many threads; results do not depend on it [default: as many as there are cores]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Run only tests whose line `# ==`, or whose file's name, holds this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Check the programs after each pass
    #[arg(long)]
    verify: bool,
}

/// What all tests came to.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    /// Tests, or files, that are no good themselves.
    wrong: usize,
    /// Tests that `--only` leaves out.
    left_out: usize,
}

impl Tally {
    /// Counts a test, and says what came of it.
    fn tell(&mut self, file: &Path, case: &Case, outcome: Result<(), Bad>, out: &mut dyn Write) -> Result<(), Failure> {
        let place = format!("{}:{}", file.display(), case.line);
        let called = if case.name.is_empty() { String::new() } else { format!(": {}", case.name) };
        match outcome {
            Ok(()) => {
                self.passed += 1;
                writeln!(out, "{place}{called} … ok")?;
            }
            Err(Bad::Failed(messages)) => {
                self.failed += 1;
                writeln!(out, "{place}{called} … FAILED\n    {}", messages.join("\n").replace('\n', "\n    "))?;
            }
            Err(Bad::Wrong(Wrong { line, message })) => {
                self.wrong += 1;
                writeln!(out, "{place}{called} … is no test\n    line {line}: {}", message.replace('\n', "\n    "))?;
            }
        }
        Ok(())
    }
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let named =
        if options.backends.is_empty() { vec!["interp".into(), "cpu".into()] } else { options.backends.clone() };
    let backends: Vec<Backend> =
        named.iter().map(|name| name.parse()).collect::<Result<_, _>>().map_err(fusebox::Error::UnknownBackend)?;
    let compile = fusebox::Options {
        threads: options.threads,
        verify: options.verify,
        cache: false,
        ..options.choices.options()?
    };
    let mut tally = Tally::default();
    for path in &options.programs {
        let (files, in_folder) = if path.is_dir() { (programs_in(path)?, true) } else { (vec![path.clone()], false) };
        for file in files {
            let text = source::source(&file)?;
            let tests = match cases::read(&text) {
                Ok(tests) => tests,
                Err(Wrong { line, message }) => {
                    writeln!(out, "{}:{line}: {message}", file.display())?;
                    tally.wrong += 1;
                    continue;
                }
            };
            if tests.is_empty() && !in_folder {
                writeln!(
                    out,
                    "{}: no tests: one begins with the comment `# ==` (see `fusebox help test`)",
                    file.display()
                )?;
                tally.wrong += 1;
            }
            let tested = Tested::new(&file, &text, &backends, &compile);
            for case in &tests {
                let wanted = options.only.as_ref().is_none_or(|only| {
                    case.name.contains(only)
                        || file.file_name().is_some_and(|name| name.to_string_lossy().contains(only))
                });
                if wanted {
                    tally.tell(&file, case, tested.outcome(case), out)?;
                } else {
                    tally.left_out += 1;
                }
            }
        }
    }
    let Tally { passed, failed, wrong, left_out } = tally;
    let more = |count: usize, what: &str| if count == 0 { String::new() } else { format!(", {count} {what}") };
    writeln!(out, "{passed} passed{}{}{}", more(failed, "failed"), more(wrong, "wrong"), more(left_out, "left out"))?;
    match (passed, failed, wrong) {
        (_, 0, 0) if passed > 0 => Ok(()),
        (.., 1..) => Err(ended(BAD_INPUT, "not everything that was named has tests that can be run")),
        (_, 0, 0) => Err(ended(BAD_INPUT, "no test was run")),
        _ => Err(ended(FAILED, "there are tests that failed")),
    }
}

fn ended(code: u8, message: &'static str) -> Failure {
    Failure { error: anyhow::Error::msg(message), code }
}

/// The programs of a folder and of those in it, in order of their names.
fn programs_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
            // Links to folders are not followed: they may lead back.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|end| end == "fbx") {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
