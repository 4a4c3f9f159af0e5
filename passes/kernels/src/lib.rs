#![doc = include_str!("../README.md")]

mod association; // how reduces, scans and scatters associate
mod bounds; // which indices are inside: forms, facts, proofs
mod error;
mod expand; // functions in the code of kernels
mod locals; // fresh ids, and types
mod lower; // blocks to steps, clusters to kernels
pub mod math; // functions such as `exp`, as scalar instructions
mod memory; // frees, and kernels that write over what they read
mod nest; // a kernel under construction
mod report;
mod strict; // scalar code by need, made strict

use fusebox_ir::{Plan, Program};

pub use crate::{error::Error, report::Report};

/// What may be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {}

/// Makes a plan of a program: kernels, and the steps that run them.
///
/// Needs `Property::Flat` and `Property::Strict`, of a valid program. A cluster becomes one kernel, as does each operation outside of clusters (an
/// `expand` that is stored has another before, which counts). What a run of the plan gives is what the program means; a kernel fixes it to the bit.
///
/// # Errors
/// [`Error::Unsupported`] and [`Error::UnsupportedType`] where the program is not flat, [`Error::ByNeed`] where it is not strict,
/// [`Error::Conflict`] where a cluster is not one nest.
///
/// # Panics
/// Where a program that is not valid uses what is not made: the message shows the program.
pub fn lower(program: &Program, config: &Config) -> Result<(Plan, Report), Error> {
    let _ = config;
    let plan = lower::lower(program)?;
    let report = Report::of(&plan);
    Ok((plan, report))
}
