//! Building programs and functions without counting ids.

mod inline;
mod lambda;
mod memo;
mod program;

pub use self::{inline::*, lambda::*, program::*};
