//! Why a program could not be compiled or run.

use std::{io, path::PathBuf};

use fusebox_ir::{RunError, ValidationErrors};

use crate::{InputError, UnknownBackend, UnknownFusion, UnknownPass};

/// Why a program could not be compiled or run.
///
/// Its `Debug` is its message, since that is what a `main` prints which returns an error; `{:#?}` shows the fields. All that the steps of a
/// small program return becomes one: arrays of the host, files, text and JSON.
///
/// ```
/// use fusebox::prelude::*;
///
/// fn mean(xs: &[f32]) -> Result<f32, fusebox::Error> {
///     let sum = fusebox::compile1(|xs: Acc<Vector<f32>>| sum(xs))?;
///     let total = sum.run(&Vector::from_slice(xs)?)?;
///     Ok(total.value().unwrap_or_default() / xs.len() as f32)
/// }
/// assert_eq!(mean(&[1.0, 2.0, 6.0])?, 3.0);
///
/// let error = fusebox::compile2(|x: Exp<i64>, y: Exp<i64>| unit(x / y))?.run(&1, &0).unwrap_err();
/// assert_eq!(format!("{error:?}"), error.to_string());
/// # Ok::<(), fusebox::Error>(())
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The function that builds an embedded program made mistakes.
    #[error(transparent)]
    Build(#[from] fusebox_lang::BuildError),
    /// An embedded program's terms are no program.
    #[error(transparent)]
    Sharing(#[from] fusebox_sharing::Error),
    /// The program is not valid.
    #[error("the program is not valid:\n{0}")]
    Invalid(#[source] ValidationErrors),
    /// The plan is not valid.
    #[error("the plan is not valid:\n{0}")]
    InvalidPlan(#[source] ValidationErrors),
    /// A pass gave an invalid program: a bug of the pass.
    #[error(
        "pass `{pass}` gave an invalid program, which is a bug in the pass:\n{errors}\nThe program it gave:\n{program}"
    )]
    InvalidAfter {
        /// The pass.
        pass: &'static str,
        /// What is wrong.
        errors: ValidationErrors,
        /// The program it gave, as text.
        program: String,
    },
    /// A pass needs a property that the program lacks.
    #[error("pass `{pass}` needs a {property} program:\n{errors}")]
    Needs {
        /// The pass.
        pass: &'static str,
        /// The property.
        property: &'static str,
        /// Where the program lacks it.
        errors: ValidationErrors,
    },
    /// A pass could not do its work.
    #[error("pass `{pass}`: {}", with_sources(.source.as_ref()))]
    Pass {
        /// The pass.
        pass: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Schedules that cannot be read, or are of no kernel of the plan.
    #[error("schedules: {message}")]
    Schedules {
        /// What is wrong, and where.
        message: String,
    },
    /// A name of no target of schedules.
    #[error("there is no target `{name}`; there are {}", fusebox_schedule::Target::NAMES.join(", "))]
    UnknownTarget {
        /// What was asked for.
        name: String,
    },
    /// A name of no pass.
    #[error(transparent)]
    UnknownPass(#[from] UnknownPass),
    /// A name of no way to fuse.
    #[error(transparent)]
    UnknownFusion(#[from] UnknownFusion),
    /// A name of no backend.
    #[error(transparent)]
    UnknownBackend(#[from] UnknownBackend),
    /// The backend could not compile or load the program.
    #[error("backend `{backend}`: {}", with_sources(.source.as_ref()))]
    Backend {
        /// The backend.
        backend: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Inputs that do not fit the program.
    #[error(transparent)]
    Input(#[from] InputError),
    /// What failed inside of the program.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Results that are not what an embedded program's type says: a bug.
    #[error("the results are not those of the program's type: {0}")]
    Results(#[source] fusebox_lang::ArrayError),
    /// An array of the host that could not be made.
    #[error(transparent)]
    Array(#[from] fusebox_lang::ArrayError),
    /// A value of the IR that could not be made.
    #[error(transparent)]
    Value(#[from] fusebox_ir::ArrayError),
    /// A text that is no program.
    #[error(transparent)]
    Text(#[from] fusebox_ir::text::Error),
    /// JSON that is no program, plan or kernel.
    #[error(transparent)]
    Json(#[from] fusebox_ir::json::JsonError),
    /// Files of inputs and results.
    #[cfg(feature = "files")]
    #[error(transparent)]
    File(#[from] crate::files::FileError),
    /// Times of kernels that are not those of the program beside which they were to be shown.
    #[error(
        "the times are of another program or another way to compile it: `{program}` has no kernel {position} that is `{kernel}`"
    )]
    OtherTimes {
        /// The program.
        program: String,
        /// The position of a kernel in the times.
        position: usize,
        /// Its name there.
        kernel: String,
    },
    /// A file that could not be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fusebox_ir::debug_is_message!(enum Error {
    Build(error),
    Sharing(error),
    Invalid(errors),
    InvalidPlan(errors),
    InvalidAfter { pass, errors, program },
    Needs { pass, property, errors },
    Pass { pass, source },
    UnknownPass(error),
    UnknownFusion(error),
    UnknownBackend(error),
    Backend { backend, source },
    Input(error),
    Run(error),
    Results(error),
    Array(error),
    Value(error),
    Text(error),
    Json(error),
    #[cfg(feature = "files")] File(error),
    OtherTimes { program, position, kernel },
    Write { path, source },
    Schedules { message },
    UnknownTarget { name },
});

/// The message of an error and of what caused it, as far as it does not say that itself.
fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    message
}

impl Error {
    /// Whether the program itself failed while it ran; everything else is known before.
    pub fn is_run_error(&self) -> bool {
        matches!(self, Self::Run(_))
    }
}
