#![doc = include_str!("../README.md")]

pub mod associations;
pub mod failures;
pub mod generated;
pub mod kernels;
mod random;
pub mod random_kernels;
pub mod scalars;
pub mod sorts;
mod tally;

pub use random::{Random, edited};

use fusebox_backend::{BackendError, Program};
use fusebox_ir::{Array, Plan, Program as SourceProgram, Value, text};

/// Sizes around gangs, lanes, blocks and tiles.
pub const SIZES: [usize; 8] = [0, 1, 3, 31, 200, 4096, 4099, 66_001];

/// A loaded plan, and what it is loaded by, in words.
pub type Way = (String, Result<Box<dyn Program>, BackendError>);

/// The ways in which a backend runs plans: threads, vectors, architectures.
pub trait Ways {
    /// The package whose tests these are, for commands in messages.
    fn package(&self) -> &'static str;

    /// How many of a hundred generated programs are tried: fewer of what is slow.
    fn part(&self) -> u64 {
        100
    }

    /// A plan, which lowering made or which stays inside of its arrays, in every way; or of a seed, by turns, in some.
    fn of(&self, plan: &Plan, seed: Option<u64>) -> Vec<Way>;
}

/// Makes a test of each of these cases of a room.
#[macro_export]
#[doc(hidden)]
macro_rules! each {
    ($ways:expr, $room:ident: $($case:ident),* $(,)?) => {
        $(#[test]
        fn $case() {
            $crate::$room::$case(&$ways);
        })*
    };
}

/// Equal but for sign and payload of NaN, which are no part of a result.
pub fn same_bits(left: &Array, right: &Array) -> bool {
    left.element() == right.element()
        && left.extents() == right.extents()
        && left.constants().zip(right.constants()).all(|(left, right)| {
            left == right || matches!((left.as_f64(), right.as_f64()), (Some(a), Some(b)) if a.is_nan() && b.is_nan())
        })
}

/// The plan of a program in text.
///
/// # Panics
/// If it is none, or has no plan.
pub fn plan(source: &str) -> Plan {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    lowered(&program).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// The plan of a program, which is made strict first; why there is none, if there is none.
///
/// # Errors
/// Those of lowering.
///
/// # Panics
/// If it cannot be made strict.
pub fn lowered(program: &SourceProgram) -> Result<Plan, fusebox_kernels::Error> {
    let strict = match fusebox_strictness::make_strict(program, &fusebox_strictness::Config::default()) {
        Ok((strict, _)) => strict,
        // What is not flat has no plan either.
        Err(fusebox_strictness::Error::Invalid(_)) => program.clone(),
        Err(error) => panic!("{error}\n{program}"),
    };
    Ok(fusebox_kernels::lower(&strict, &fusebox_kernels::Config::default())?.0)
}

/// What the interpreter of kernels gives: results, or the error as text.
///
/// # Errors
/// The error as text.
///
/// # Panics
/// If a result is no array.
pub fn interpreted(plan: &Plan, inputs: &[Array]) -> Result<Vec<Array>, String> {
    let inputs: Vec<Value> = inputs.iter().cloned().map(Value::Array).collect();
    let (results, _) = fusebox_interp::run_plan(plan, &inputs).map_err(|error| error.to_string())?;
    Ok(results
        .into_iter()
        .map(|result| match result {
            Value::Array(array) => array,
            other => panic!("{other:?}"),
        })
        .collect())
}

/// Runs a program on each of the inputs in every way; panics where results, or whether there are any, differ from the interpreter's.
///
/// # Panics
/// So.
pub fn check(ways: &dyn Ways, source: &str, all_inputs: &[Vec<Array>]) {
    check_plan(ways, &plan(source), source, all_inputs);
}

/// The same of a plan.
///
/// # Panics
/// So.
pub fn check_plan(ways: &dyn Ways, plan: &Plan, source: &str, all_inputs: &[Vec<Array>]) {
    let expected: Vec<_> = all_inputs.iter().map(|inputs| interpreted(plan, inputs)).collect();
    for (what, loaded) in ways.of(plan, None) {
        let loaded = loaded.unwrap_or_else(|error| panic!("{what}: {error}\n{source}"));
        for (inputs, expected) in all_inputs.iter().zip(&expected) {
            if let Some(difference) = difference(plan, loaded.run(inputs), expected) {
                let extents: Vec<&[usize]> = inputs.iter().map(Array::extents).collect();
                panic!("{what}, inputs of {extents:?}: {difference}\n{source}");
            }
        }
    }
}

/// How a run differs from what is expected. Of several failures any may be the one; the tests that care have one.
pub(crate) fn difference(
    plan: &Plan,
    run: Result<Vec<Array>, BackendError>,
    expected: &Result<Vec<Array>, String>,
) -> Option<String> {
    match (run, expected) {
        (Ok(results), Ok(expected)) => {
            for ((output, result), expected) in plan.outputs.iter().zip(&results).zip(expected) {
                if !same_bits(result, expected) {
                    let at = result.constants().zip(expected.constants()).position(|(a, b)| a != b);
                    let pair = at.map(|at| (result.get(at), expected.get(at)));
                    let extents = (result.extents(), expected.extents());
                    return Some(format!("differs: `{}` at {at:?}: {pair:?}, extents {extents:?}", output.name));
                }
            }
            None
        }
        (Err(BackendError::Run(_)), Err(_)) => None,
        (Err(BackendError::Unsupported { what, .. }), _) => Some(format!("not supported: {what}")),
        (Err(error), Ok(_)) => Some(format!("fails: {error}")),
        (Err(error), Err(expected)) => Some(format!("fails otherwise: {error}, should be {expected}")),
        (Ok(_), Err(expected)) => Some(format!("does not fail: should be {expected}")),
    }
}
