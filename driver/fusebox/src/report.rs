//! What compiling and running took.

use std::time::Duration;

use crate::Stage;

/// What compiling took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompileReport {
    /// Each pass: its name, its time, what it counted.
    pub passes: Vec<PassReport>,
    /// Making code, and loading it.
    pub code: Duration,
    /// Validation, if asked for, is not in the time of passes.
    pub total: Duration,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// The most bytes of elements at one time in arrays that the run made, results included and inputs not; `None` where the backend does
    /// not count them (the interpreter).
    pub peak_bytes: Option<usize>,
}

/// What a pass took, and what it counted.
#[derive(Clone, Debug, PartialEq)]
pub struct PassReport {
    /// The pass.
    pub pass: &'static str,
    /// How long it took.
    pub time: Duration,
    /// Names and numbers.
    pub counts: Vec<(String, u64)>,
}

impl PassReport {
    pub(crate) fn of(stage: &Stage) -> Self {
        Self { pass: stage.pass, time: stage.time, counts: stage.report.clone() }
    }
}
