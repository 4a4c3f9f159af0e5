//! Building programs and functions without counting ids.

mod lambda;
mod program;

pub use self::{lambda::*, program::*};
