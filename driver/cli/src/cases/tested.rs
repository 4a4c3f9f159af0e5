//! One test of a program, carried out.

use std::path::Path;

use fusebox::{Backend, Counted, Signature};
use fusebox_ir::{Made, Program, Tolerance, compare};

use super::{Case, Wrong};
use crate::source;

/// A program that is tested.
pub(crate) struct Tested<'t> {
    file: &'t Path,
    backends: &'t [Backend],
    options: &'t fusebox::Options,
    /// The program, or why it is none.
    program: Result<Program, String>,
}

/// Why a test did not pass.
pub(crate) enum Bad {
    /// The program does something else: each thing that it does so.
    Failed(Vec<String>),
    /// The test is none.
    Wrong(Wrong),
}

impl From<Wrong> for Bad {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

impl<'t> Tested<'t> {
    pub(crate) fn new(file: &'t Path, text: &str, backends: &'t [Backend], options: &'t fusebox::Options) -> Self {
        let program = match source::made(file, text) {
            Ok(Made::Program(program)) => Ok(program),
            Ok(Made::Plan(_)) => Err(format!("{}: this is a plan, and tests are of programs", file.display())),
            Err(error) => Err(error.to_string()),
        };
        Self { file, backends, options, program }
    }

    /// Runs the program on the inputs of a test, on each backend, and compares all that the test tells.
    pub(crate) fn outcome(&self, case: &Case) -> Result<(), Bad> {
        let failed = |message: String| Err(Bad::Failed(vec![message]));
        let program = match (&self.program, &case.error) {
            (Ok(program), _) => program,
            (Err(message), Some(expected)) => return failed_as(expected, message).or_else(failed),
            (Err(message), None) => return failed(message.clone()),
        };
        let mut failures = self.counts(program, case);
        let signature = Signature::of(program);
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let inputs = case.inputs(&signature, folder)?;
        let mut expected = case.expected(&signature, folder)?;
        // A result that is not told is that of the first backend, on the others.
        let mut from = vec![None; expected.len()];
        for &backend in self.backends {
            let results = fusebox::compile_program(program, &fusebox::Options { backend, ..self.options.clone() })
                .and_then(|compiled| compiled.run(&inputs));
            let results = match (results, &case.error) {
                (Ok(results), None) => results,
                (Ok(_), Some(text)) => {
                    failures.push(format!("on {backend} it runs, and should fail with: {text}"));
                    continue;
                }
                (Err(error), Some(text)) => {
                    failures.extend(failed_as(text, &error.to_string()).err().map(|why| format!("on {backend} {why}")));
                    continue;
                }
                (Err(error), None) => {
                    failures.push(format!("on {backend}: {error}"));
                    continue;
                }
            };
            let slots = signature.results.iter().zip(&mut expected).zip(&mut from).zip(results);
            for (((slot, expected), from), result) in slots {
                let Some(wanted) = expected else {
                    (*expected, *from) = (Some(result), Some(backend));
                    continue;
                };
                let tolerance = case.within.map_or(Tolerance::usual(slot.ty.element), Tolerance::within);
                if let Err(mismatch) = compare(&slot.name, wanted, &result, tolerance) {
                    let beside = from.map_or(String::new(), |first| format!(", as on {first}"));
                    failures.push(format!("on {backend} {mismatch}{beside}"));
                }
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(Bad::Failed(failures)) }
    }

    /// What the compiled program takes that is not as told.
    fn counts(&self, program: &Program, case: &Case) -> Vec<String> {
        if case.counts.is_empty() {
            return Vec::new();
        }
        let counted: Counted = match fusebox::explain(program, self.options) {
            Ok(explanation) => match explanation.after {
                Some(counted) => counted,
                None => return vec!["the program was not compiled, so nothing is counted".into()],
            },
            Err(error) => return vec![error.to_string()],
        };
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        (case.counts.iter())
            .map(|(count, told)| (count, told, count.of(&counted)))
            .filter(|(_, told, found)| bare(found) != bare(told))
            .map(|(count, told, found)| format!("{} {found}, not {told}", count.name()))
            .collect()
    }
}

/// Whether a failure is the one that is expected; what it is, if not.
fn failed_as(expected: &str, message: &str) -> Result<(), String> {
    if message.contains(expected) {
        return Ok(());
    }
    Err(format!("it should fail with: {expected}\nbut fails with: {message}"))
}
