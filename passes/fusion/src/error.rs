//! Why a program was not fused.

use fusebox_ir::ValidationErrors;

/// Why a program was not fused. That a law does not apply is no error: the report says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Every fault of the program.
    #[error("the input program is not valid")]
    Invalid(#[from] ValidationErrors),
    /// A cost that no number holds, so that nothing can be compared with it.
    #[error("the cost of a block is too large to be compared")]
    Cost,
}
