//! Building programs and functions without counting ids.

mod build;
mod inline;
mod lambda;
mod memo;
mod program;
#[cfg(test)]
mod tests;
mod value;

pub use self::{inline::*, lambda::*, program::*, value::*};
