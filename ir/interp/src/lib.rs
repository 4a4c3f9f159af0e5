#![doc = include_str!("../README.md")]

mod evaluate;
mod functions;
mod interface;
mod operation;
mod plan;
mod scalar;
mod val;

pub use crate::plan::{Counts, run_plan, run_plan_with_unwritten};
use fusebox_ir::{Program, RunError, Value};

/// Why a program gave no results.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not as many inputs as the program has.
    #[error("{given} inputs given where the program has {expected}")]
    Count {
        /// How many the program has.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// An input that does not fit its type.
    #[error("input `{name}` should be {expected}, not {given}")]
    Input {
        /// Its name.
        name: String,
        /// Its type, extents that may be any as `_`.
        expected: String,
        /// What was given.
        given: String,
    },
    /// A result whose inner arrays hold arrays again, which no value of the host is.
    #[error("result `{name}` is an array of arrays of arrays, which programs do not give")]
    Deep {
        /// Its name.
        name: String,
    },
    /// Inputs whose extents should agree, and do not.
    #[error("inputs do not fit: {0}")]
    Extents(fusebox_ir::Fault),
    /// A plan that is valid, and yet breaks a rule that only running it shows: a mistake of whoever made it.
    #[error("the plan breaks its own rules: {message}")]
    BadPlan {
        /// Which rule, and where.
        message: String,
    },
    /// A run-time error.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs a valid program: its results, in order.
///
/// # Errors
/// [`Error`]: inputs that do not fit, and run-time errors.
pub fn run(program: &Program, inputs: &[Value]) -> Result<Vec<Value>, Error> {
    run_as(program, inputs, false)
}

/// Runs a valid program as if it were strict: each block that is run computes all of its bindings, in order.
///
/// Of programs that have [`fusebox_ir::Property::Strict`] the results are those of [`run`]; it fails where a function might need an array,
/// or what an operation gives, and this fails. Inside of functions evaluation is by need.
///
/// # Errors
/// As of [`run`].
pub fn run_in_order(program: &Program, inputs: &[Value]) -> Result<Vec<Value>, Error> {
    run_as(program, inputs, true)
}

fn run_as(program: &Program, inputs: &[Value], in_order: bool) -> Result<Vec<Value>, Error> {
    if let Some(output) = program.outputs.iter().find(|output| output.ty.inner.len() > 1) {
        return Err(Error::Deep { name: output.name.clone() });
    }
    let inputs = interface::inputs(program, inputs)?;
    let evaluator = evaluate::Evaluator::new(program, in_order);
    let bound = evaluator.bind(&program.body, &inputs);
    bound.map_err(|stop| match stop {
        scalar::Stop::Fault(fault, _) => Error::Extents(fault),
        other => Error::Run(evaluate::finished(other, &program.name)),
    })?;
    evaluator.all(&program.body).map_err(|stop| evaluate::finished(stop, &program.name))?;
    let mut results = Vec::new();
    for (&id, output) in program.body.results.iter().zip(&program.outputs) {
        let result = evaluator.value(id).and_then(|value| {
            evaluator.check_output(id, output, &value)?;
            let inner_rank = evaluator.ty(id).inner.first().map_or(0, Vec::len);
            Ok(val::to_value(&value, output.ty.stream, inner_rank)?)
        });
        results.push(result.map_err(|stop| evaluate::finished(stop, &program.name))?);
    }
    Ok(results)
}
