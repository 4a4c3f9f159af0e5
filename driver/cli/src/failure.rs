//! What went wrong, and which exit code says so.

use std::{fmt, io};

/// The program failed while it ran, or its results could not be written.
pub(crate) const FAILED: u8 = 1;
/// Something before that is wrong: arguments, files, programs, inputs.
pub(crate) const BAD_INPUT: u8 = 2;

/// An error and its exit code.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub error: anyhow::Error,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// Results that a program has given and that cannot be written.
    pub(crate) fn of_results(error: io::Error) -> Self {
        Self { error: error.into(), code: FAILED }
    }

    /// The same of a file: what does not go into such a file is a mistake in the arguments, what the system refuses is none.
    pub(crate) fn of_result_files(error: fusebox::files::FileError) -> Self {
        let code = if matches!(*error.fault, fusebox::files::FileFault::Io(_)) { FAILED } else { BAD_INPUT };
        Self { code, ..Self::from(error) }
    }

    /// Whether standard output was closed by its reader.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self { error, code: BAD_INPUT }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { error: error.into(), code: BAD_INPUT }
    }
}

impl From<fusebox::Error> for Failure {
    fn from(error: fusebox::Error) -> Self {
        let code = if error.is_run_error() { FAILED } else { BAD_INPUT };
        // Its message holds those of its sources.
        Self { error: anyhow::Error::msg(error.to_string()), code }
    }
}

impl From<fusebox::files::FileError> for Failure {
    fn from(error: fusebox::files::FileError) -> Self {
        Self { error: anyhow::Error::msg(error.to_string()), code: BAD_INPUT }
    }
}
