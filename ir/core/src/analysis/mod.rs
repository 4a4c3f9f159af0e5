//! What passes share: facts about a program, in tables keyed by id.

pub mod sizes;

pub use self::sizes::{Answer, Size, Sizes};
