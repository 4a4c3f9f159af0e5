//! Why a program could not be compiled or run.

use fusebox_ir::{RunError, ValidationErrors};

use crate::{InputError, UnknownBackend, UnknownFusion, UnknownPass};

/// Why a program could not be compiled or run.
#[derive(Debug, thiserror::Error)]
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
    #[error("pass `{pass}`: {source}")]
    Pass {
        /// The pass.
        pass: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The program nests, and the backend runs flat programs alone.
    #[error(
        "backend `{backend}` runs flat programs, and this one is not:\n{errors}\nBackend `interp` runs every program"
    )]
    NotFlat {
        /// The backend.
        backend: &'static str,
        /// Where the program is not flat.
        errors: ValidationErrors,
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
    #[error("backend `{backend}`: {source}")]
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
    Results(#[from] fusebox_lang::ArrayError),
}

impl Error {
    /// Whether the program itself failed while it ran; everything else is known before.
    pub fn is_run_error(&self) -> bool {
        matches!(self, Self::Run(_))
    }
}
