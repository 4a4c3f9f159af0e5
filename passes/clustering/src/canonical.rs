//! One of the best solutions of a model, the same whoever found them: of several that cost the same, solvers give any.

use crate::{Error, Model, solver::Solver, solver::solve};

/// Weights are below it. A sum of them that a double holds to well within one, with values that are whole to six digits.
const WEIGHTS: u64 = 1 << 16;

/// Of the solutions that cost as much as `values`, the one whose `binaries` weigh the least.
///
/// Each binary weighs as much as a fixed sequence of random numbers says. Two solutions weigh the least together with a probability below
/// the number of binaries divided by the largest weight. Source: Mulmuley, Vazirani, Vazirani, "Matching is as easy as matrix inversion",
/// STOC 1987 (the isolating lemma).
///
/// `values` must be a best solution. None if a limit was reached.
///
/// # Errors
/// Those of the solver.
pub(crate) fn lightest(
    solver: &dyn Solver,
    model: &Model,
    binaries: &[usize],
    values: &[f64],
    max_nodes: u64,
) -> Result<Option<Vec<f64>>, Error> {
    let mut model = model.clone();
    let costs: Vec<(usize, f64)> = (model.variables.iter().enumerate())
        .filter(|(_, variable)| variable.cost != 0.0)
        .map(|(position, variable)| (position, variable.cost))
        .collect();
    let best: f64 = costs.iter().map(|&(position, cost)| cost * values[position].round()).sum();
    model.row("best", &costs, f64::NEG_INFINITY, best + model.step() / 2.0);
    model.offset = 0.0;
    model.variables.iter_mut().for_each(|variable| variable.cost = 0.0);
    for (&binary, weight) in binaries.iter().zip(weights()) {
        model.variables[binary].cost = weight as f64;
    }
    let answer = solve(solver, &model, Some(values), max_nodes)?;
    Ok(answer.values.filter(|_| answer.optimal))
}

/// The SplitMix64 sequence, a part of each number. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
fn weights() -> impl Iterator<Item = u64> {
    (1u64..).map(|position| {
        let mut bits = position.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        1 + (bits ^ (bits >> 31)) % (WEIGHTS - 1)
    })
}
