//! HiGHS, by the crate `highs`.

use highs::{HighsModelStatus, HighsSolutionStatus, RowProblem, Sense};

use super::{Answer, Solver};
use crate::{Error, Model};

/// HiGHS on one thread, so that the same model has the same solution.
#[derive(Clone, Copy, Debug, Default)]
pub struct Highs;

impl Solver for Highs {
    fn name(&self) -> &'static str {
        "highs"
    }

    fn minimise(&self, model: &Model, start: Option<&[f64]>, max_nodes: u64) -> Result<Answer, Error> {
        let failed = |what: String| Error::Solver { solver: "highs", what };
        let mut problem = RowProblem::new();
        let columns: Vec<_> = model
            .variables
            .iter()
            .map(|variable| {
                let bounds = variable.lower..=variable.upper;
                problem.add_column_with_integrality(variable.cost, bounds, variable.integer)
            })
            .collect();
        for row in &model.rows {
            problem.add_row(
                row.lower..=row.upper,
                row.terms.iter().map(|&(variable, factor)| (columns[variable], factor)),
            );
        }
        let mut solve = problem.try_optimise(Sense::Minimise).map_err(|status| failed(format!("{status:?}")))?;
        let nodes = i32::try_from(max_nodes).unwrap_or(i32::MAX);
        for (option, value) in [("threads", 1), ("random_seed", 0), ("mip_max_nodes", nodes)] {
            solve.try_set_option(option, value).map_err(|_| failed(format!("option {option}")))?;
        }
        solve.try_set_option("mip_rel_gap", 0.0).map_err(|_| failed("option mip_rel_gap".to_owned()))?;
        // Costs are whole numbers, so what is less than one from the best is the best.
        solve.try_set_option("mip_abs_gap", 0.5).map_err(|_| failed("option mip_abs_gap".to_owned()))?;
        if let Some(start) = start {
            solve.try_set_solution(Some(start), None, None, None).map_err(|status| failed(format!("{status:?}")))?;
        }
        let solved = solve.try_solve().map_err(|status| failed(format!("{status:?}")))?;
        let optimal = match solved.status() {
            HighsModelStatus::Optimal => true,
            HighsModelStatus::Infeasible | HighsModelStatus::UnboundedOrInfeasible => return Err(Error::Infeasible),
            HighsModelStatus::ReachedSolutionLimit
            | HighsModelStatus::ReachedIterationLimit
            | HighsModelStatus::ReachedTimeLimit => false,
            status => return Err(failed(format!("{status:?}"))),
        };
        let found = solved.primal_solution_status() == HighsSolutionStatus::Feasible;
        let values = found.then(|| solved.get_solution().columns().to_vec());
        let has_integers = model.variables.iter().any(|variable| variable.integer);
        let bound = if has_integers { solved.double_info_value(c"mip_dual_bound").ok() } else { None };
        let bound = bound.or_else(|| optimal.then(|| solved.objective_value())).filter(|bound| bound.is_finite());
        Ok(Answer {
            optimal: optimal && found,
            values,
            bound: bound.map_or(f64::NEG_INFINITY, |bound| bound + model.offset),
            nodes: 0,
        })
    }
}
