//! HiGHS, by the crate `highs`.

use highs::{HighsModelStatus, HighsSolutionStatus, RowProblem, Sense};

use super::{Answer, Solver};
use crate::{Error, Model};

/// Models of fewer variables are solved faster without solving others.
const SMALL: usize = 300;

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
        // What is nearer to the best than solutions are to each other is the best.
        solve.try_set_option("mip_abs_gap", model.step() - 0.5).map_err(|_| failed("option mip_abs_gap".to_owned()))?;
        // There is a solution to start from, and searching for others costs more time than it saves: each of these solves models of its own.
        let small = model.variables.len() < SMALL;
        for (option, on) in [
            ("mip_heuristic_run_feasibility_jump", false),
            ("mip_heuristic_run_rins", false),
            ("mip_heuristic_run_rens", false),
            ("mip_heuristic_run_root_reduced_cost", !small),
            ("mip_root_presolve_only", small),
        ] {
            solve.try_set_option(option, on).map_err(|_| failed(format!("option {option}")))?;
        }
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
