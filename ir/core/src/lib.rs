//! The intermediate representation of fusebox: purely functional data-parallel array programs.
//!
//! A [`Program`] is inputs, a list of bindings, results (design D1). Bindings apply collective operations ([`ArrayOp`]) whose scalar
//! functions are [`Lambda`]s. What backends consume are [`Kernel`]s, run by a [`Plan`].

pub mod analysis;
mod array_op;
mod builder;
mod element;
mod error;
#[cfg(feature = "generate")]
pub mod generate;
pub mod json;
mod kernel;
mod memory;
mod message;
mod pass;
mod plan;
pub mod primitive;
mod program;
mod renumber;
mod rewrite;
mod scalar;
pub mod term;
pub mod text;
mod traverse;
mod typing;
mod validate;
mod value;

pub use crate::{
    array_op::*, builder::*, element::*, error::*, kernel::*, memory::*, pass::*, plan::*, program::*, rewrite::*,
    scalar::*, traverse::*, validate::*, value::*,
};
