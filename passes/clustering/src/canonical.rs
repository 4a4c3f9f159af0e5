//! One of the best solutions of a model, the same whoever found them: of several that cost the same, solvers give any.

use crate::{Error, Model, solver::Solver, solver::solve};

/// Pairs that one more model decides together: the weight of the first is two to the power of this, which doubles hold beside one.
const TOGETHER: usize = 12;

/// Of the solutions that cost as much as `values`, the one whose `binaries`, read in order, are 0 the longest.
///
/// `values` must be a best solution. Models are asked only of what is 1 in it. None if a limit was reached.
///
/// # Errors
/// Those of the solver.
pub(crate) fn first(
    solver: &dyn Solver,
    model: &Model,
    binaries: &[usize],
    mut values: Vec<f64>,
    max_nodes: u64,
) -> Result<Option<Vec<f64>>, Error> {
    let mut model = model.clone();
    let cost: Vec<(usize, f64)> = (model.variables.iter().enumerate())
        .filter(|(_, variable)| variable.cost != 0.0)
        .map(|(position, variable)| (position, variable.cost))
        .collect();
    let best: f64 = cost.iter().map(|&(position, cost)| cost * values[position].round()).sum();
    model.row("best", &cost, f64::NEG_INFINITY, best + model.step() / 2.0);
    model.variables.iter_mut().for_each(|variable| variable.cost = 0.0);
    model.offset = 0.0;
    let mut open = binaries;
    while let Some(next) = open.iter().position(|&binary| values[binary] > 0.5) {
        // What is 0 cannot be less.
        fix(&mut model, &open[..next], &values);
        let (block, rest) = open[next..].split_at(TOGETHER.min(open.len() - next));
        for (position, &binary) in block.iter().rev().enumerate() {
            model.variables[binary].cost = f64::from(1u32 << position);
        }
        let decided = block.iter().all(|&binary| model.variables[binary].lower > 0.5 || values[binary] < 0.5);
        if !decided {
            let answer = solve(solver, &model, Some(&values), max_nodes)?;
            match answer.values {
                Some(found) if answer.optimal => values = found,
                _ => return Ok(None),
            }
        }
        fix(&mut model, block, &values);
        block.iter().for_each(|&binary| model.variables[binary].cost = 0.0);
        open = rest;
    }
    Ok(Some(values))
}

/// Lets variables be what they are.
fn fix(model: &mut Model, binaries: &[usize], values: &[f64]) {
    for &binary in binaries {
        let value = values[binary].round();
        let variable = &mut model.variables[binary];
        (variable.lower, variable.upper) = (value, value);
    }
}
