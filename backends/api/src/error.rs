//! Why a plan was not compiled, loaded or run.

use fusebox_ir::RunError;

/// Why a plan was not compiled, loaded or run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// The program failed, as the interpreter would have.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Inputs that do not fit the program.
    #[error("input `{input}` should be {expected}, but is {given}")]
    BadInput {
        /// The input's name.
        input: String,
        /// What the program says.
        expected: String,
        /// What was given.
        given: String,
    },
    /// Not as many inputs as the program has.
    #[error("the program has {expected} inputs, but {given} were given")]
    InputCount {
        /// How many there should be.
        expected: usize,
        /// How many there were.
        given: usize,
    },
    /// Something that this backend cannot do.
    #[error("the {backend} backend does not support {what}")]
    Unsupported {
        /// The backend's name.
        backend: &'static str,
        /// What.
        what: String,
    },
    /// A kernel that cannot be compiled.
    #[error("kernel `{kernel}` cannot be compiled: {message}")]
    Compile {
        /// The kernel's name.
        kernel: String,
        /// Why.
        message: String,
    },
    /// Memory of a device that is in use, so that what an operation needs at one time does not fit.
    #[error("{operation}: {message}")]
    NoRoom {
        /// The operation.
        operation: String,
        /// What it needs, and which arrays are there, by name and size.
        message: String,
    },
    /// A plan that breaks its own rules.
    #[error("the plan is not valid: {message}")]
    BadPlan {
        /// Which rule, and where.
        message: String,
    },
}
