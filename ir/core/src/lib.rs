#![doc = include_str!("../README.md")]

pub mod analysis;
mod array_op;
pub mod association;
mod bug;
mod builder;
mod cluster_mark;
mod compare;
mod element;
mod error;
#[cfg(feature = "generate")]
pub mod generate;
mod ids;
mod interface;
pub mod json;
mod kernel;
mod memory;
mod message;
pub mod operations;
mod pass;
mod plan;
pub mod primitive;
mod program;
mod proved_plan;
mod renumber;
mod rewrite;
mod scalar;
mod scopes;
mod sink;
mod splitmix;
mod taps;
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
    cluster_mark::*,
    compare::{Mismatch, Tolerance, compare},
    element::*,
    error::*,
    ids::*,
    interface::{FlatInterface, FlatKind},
    kernel::*,
    memory::*,
    pass::*,
    plan::*,
    program::*,
    proved_plan::ProvedPlan,
    rewrite::*,
    scalar::*,
    scopes::Scopes,
    sink::*,
    splitmix::SplitMix64,
    taps::*,
    traverse::*,
    validate::*,
    value::*,
};
