//! What compiling and running took.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

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
    /// Where all schedules of [`Options::schedules`](crate::Options::schedules) are for other machines: their targets. The program runs as if
    /// there were none.
    pub passed_over: Vec<String>,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// The most bytes of elements at one time in arrays that the run made, results included and inputs not; `None` where the backend does
    /// not count them (the interpreter).
    pub peak_bytes: Option<usize>,
}

/// What the kernels of a run took, and the sizes that it had.
///
/// `run --stats` of the command prints it as JSON, and [`Explanation::with_times`](crate::Explanation::with_times) shows it beside what the
/// compiler says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelTimes {
    /// Sizes, and scalar inputs that are integers, by the names that counts have for them.
    pub sizes: BTreeMap<String, i64>,
    /// Kernels that were launched, in order of the plan.
    pub kernels: Vec<KernelTime>,
}

/// What a kernel took in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelTime {
    /// Its position in the plan.
    pub kernel: usize,
    /// Its name.
    pub name: String,
    /// How often it was launched.
    pub launches: u64,
    /// Milliseconds of all launches.
    pub milliseconds: f64,
    /// Bytes of the elements that all launches read; none where only the kernel knows.
    pub bytes_read: Option<u64>,
    /// Bytes of the elements that all launches wrote.
    pub bytes_written: Option<u64>,
    /// Operations on floats of all launches.
    pub flops: Option<u64>,
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
