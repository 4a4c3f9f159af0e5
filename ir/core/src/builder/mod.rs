//! Building programs and functions without counting ids.

mod lambda;

pub use self::lambda::*;
