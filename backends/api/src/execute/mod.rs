//! Runs the steps of a plan on a machine.

mod launch;
mod memory;
mod sizes;
mod sort;
mod state;
mod steps;

pub use self::state::{Extents, Handed, Statistics, Stored};

use std::sync::Arc;

use fusebox_ir::Plan;

use self::state::Executor;
use crate::{BackendError, machine::Machine};

/// Runs a plan on inputs and sizes; gives its results, and what it took.
///
/// # Errors
/// [`BackendError::Run`] for what fails inside; [`BackendError::BadPlan`] if the plan breaks its own rules.
pub fn execute<M: Machine>(
    machine: &M,
    plan: &Plan,
    handed: Vec<Handed<M::Buffer>>,
) -> Result<(Vec<Stored<M::Buffer>>, Statistics), BackendError> {
    let values = plan.values.iter().map(|_| None).collect();
    let mut executor = Executor { machine, plan, values, live_bytes: 0, statistics: Statistics::default() };
    for (id, stored) in handed {
        executor.set(id, stored);
    }
    executor.steps(&plan.steps)?;
    let mut results: Vec<Option<Stored<M::Buffer>>> = Vec::new();
    for &id in &plan.results {
        results.push(Some(executor.value(id)?.clone()));
    }
    for (stored, output) in results.iter().flatten().zip(&plan.outputs) {
        executor.check_result(stored, output)?;
    }
    let mut kept: Vec<*const M::Buffer> = results.iter().flatten().map(|stored| Arc::as_ptr(&stored.buffer)).collect();
    kept.sort_unstable();
    for value in executor.values.iter_mut() {
        let Some(stored) = value.take() else { continue };
        if kept.binary_search(&Arc::as_ptr(&stored.buffer)).is_err()
            && let Ok(buffer) = Arc::try_unwrap(stored.buffer)
        {
            machine.release(buffer);
        }
    }
    Ok((results.into_iter().flatten().collect(), executor.statistics))
}
