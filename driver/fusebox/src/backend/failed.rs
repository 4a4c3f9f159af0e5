//! Errors of backends.

use fusebox_backend::BackendError;

use crate::{Backend, Error, InputError};

/// An error of a backend as one of the whole.
pub(crate) fn failed(backend: Backend, error: BackendError) -> Error {
    match error {
        BackendError::Run(error) => Error::Run(error),
        BackendError::BadInput { input, expected, given } => InputError::Type { input, expected, found: given }.into(),
        BackendError::InputCount { expected, given } => {
            InputError::Count { expected, given, inputs: String::new() }.into()
        }
        other => Error::Backend { backend: backend.name(), source: Box::new(other) },
    }
}
