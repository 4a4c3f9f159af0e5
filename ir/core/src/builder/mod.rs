//! Building programs and functions without counting ids.

mod inline;
mod lambda;
mod memo;
mod program;
#[cfg(test)]
mod tests;

pub use self::{inline::*, lambda::*, program::*};
