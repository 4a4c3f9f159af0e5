//! The intermediate representation of fusebox: purely functional data-parallel array programs.
//!
//! A [`Program`] is inputs, a list of bindings, results. Bindings apply collective operations ([`ArrayOp`]) whose scalar functions are
//! [`Lambda`]s. What backends consume are [`Kernel`]s, run by a [`Plan`].
//!
//! # Parts
//!
//! | what | where |
//! |---|---|
//! | programs: types, bindings, operations, scalar code | `ids`, `element`, `program`, `array_op`, `scalar`; `builder` makes them |
//! | what operations hold, and how to walk and change it | `traverse`, `rewrite`, `renumber` |
//! | what is true of each operation: the table | [`operations`] |
//! | what scalar functions give, and their types | [`primitive`], `typing` |
//! | kernels and plans: what runs | `kernel`, `plan` |
//! | which elements are combined with which: the contract of bits | [`association`] |
//! | terms with node identity: what the embedded language makes | [`term`] |
//! | the two exact forms of programs | [`mod@text`], [`json`] |
//! | whether something is valid, and which properties it has | `validate` |
//! | facts that passes share: sizes, uses, work, nests, counts | [`analysis`] |
//! | arrays of the host, and errors of runs | `value`, `memory`, `error` |
//! | random programs, for tests (feature `generate`) | `generate` |

pub mod analysis;
mod array_op;
pub mod association;
mod bug;
mod builder;
mod element;
mod error;
#[cfg(feature = "generate")]
pub mod generate;
mod ids;
pub mod json;
mod kernel;
mod memory;
mod message;
pub mod operations;
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
    array_op::*,
    association::{Association, ScatterOrder},
    builder::*,
    element::*,
    error::*,
    ids::*,
    kernel::*,
    memory::*,
    pass::*,
    plan::*,
    program::*,
    rewrite::*,
    scalar::*,
    traverse::*,
    validate::*,
    value::*,
};
