#![doc = include_str!("../README.md")]

mod association;
mod components;
mod error;
mod expand;
mod free;
mod linear;
mod lower;
pub mod math;
mod nest;
mod report;
mod restrict;
mod reuse;
mod strict;
mod values;

use fusebox_ir::{Plan, Program};

pub use crate::{error::Error, report::Report};

/// What may be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {}

/// Makes a plan of a program: kernels, and the steps that run them.
///
/// Needs `Property::Flat`. A cluster becomes one kernel, as does each operation outside of clusters (an `expand` that is stored has another
/// before, which counts). What a run of the plan gives is what the program means (design §3); a kernel fixes it to the bit.
///
/// # Errors
/// [`Error::Unsupported`] and [`Error::UnsupportedType`] where the program is not flat, [`Error::Apart`] where a cluster is not one nest.
pub fn lower(program: &Program, config: &Config) -> Result<(Plan, Report), Error> {
    let _ = config;
    let plan = lower::lower(program)?;
    let report = Report::of(&plan);
    Ok((plan, report))
}
