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
mod positions; // choices that carry positions, made to commute
mod report;
mod strict; // scalar code by need, made strict
mod unneeded; // launches whose results nothing needs

use fusebox_ir::{Plan, Program, ProvedPlan, validate};

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

/// As [`lower`], with the promise that backends ask of a plan that they are not to guard.
///
/// # Errors
/// [`Error::Invalid`] of a program that is not valid, of which nothing is proved; else as [`lower`].
pub fn lower_proved(program: &Program, config: &Config) -> Result<(ProvedPlan, Report), Error> {
    validate(program, &[]).map_err(Error::Invalid)?;
    let (plan, report) = lower(program, config)?;
    // SAFETY: of a valid program lowering makes a valid plan. It checks each index, each row of offsets, and room for what is appended, but
    // where `bounds` has a proof that the check would hold.
    #[allow(unsafe_code)]
    let plan = unsafe { ProvedPlan::new(plan) };
    Ok((plan, report))
}
