//! A program that is compiled and loaded: what programs of one form and one set of options share.

use crate::{CompileReport, Signature, backend::Executable};

/// What compiling gave.
pub(crate) struct Loaded {
    pub(crate) signature: Signature,
    pub(crate) executable: Box<dyn Executable>,
    pub(crate) report: CompileReport,
}
