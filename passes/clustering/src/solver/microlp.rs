//! microlp: a solver in Rust, for builds without HiGHS. Good up to some 200 variables.

use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOptions, SolveOutcome, Variable};

use super::{Answer, Solver};
use crate::{Error, Model};

/// The branch and bound of the crate `microlp`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Microlp;

impl Solver for Microlp {
    fn name(&self) -> &'static str {
        "microlp"
    }

    fn minimise(&self, model: &Model, start: Option<&[f64]>, max_nodes: u64) -> Result<Answer, Error> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let columns: Vec<Variable> = model
            .variables
            .iter()
            .map(|variable| {
                if variable.integer {
                    // Bounds of integers are whole and small: the model's check says so.
                    problem
                        .add_integer_var(variable.cost, (variable.lower.ceil() as i32, variable.upper.floor() as i32))
                } else {
                    problem.add_var(variable.cost, (variable.lower, variable.upper))
                }
            })
            .collect();
        for row in &model.rows {
            let terms: Vec<(Variable, f64)> =
                row.terms.iter().map(|&(variable, factor)| (columns[variable], factor)).collect();
            if row.lower == row.upper {
                problem.add_constraint(&terms[..], ComparisonOp::Eq, row.lower);
                continue;
            }
            if row.lower.is_finite() {
                problem.add_constraint(&terms[..], ComparisonOp::Ge, row.lower);
            }
            if row.upper.is_finite() {
                problem.add_constraint(&terms[..], ComparisonOp::Le, row.upper);
            }
        }
        let mut options = SolveOptions::default();
        options.node_limit = Some(max_nodes);
        options.warm_start = start.map(|start| columns.iter().copied().zip(start.iter().copied()).collect());
        let outcome = problem.solve_with(options).map_err(|error| match error {
            microlp::Error::Infeasible => Error::Infeasible,
            error => Error::Solver { solver: "microlp", what: error.to_string() },
        })?;
        let stats = outcome.stats();
        let optimal = outcome.is_optimal();
        let values = match &outcome {
            SolveOutcome::Solution(solution) => {
                Some(columns.iter().map(|&column| solution.var_value(column)).collect())
            }
            SolveOutcome::Interrupted(_) => None,
        };
        Ok(Answer {
            optimal,
            values,
            bound: stats.best_bound.map_or(f64::NEG_INFINITY, |bound| bound + model.offset),
            nodes: Some(stats.nodes_solved),
        })
    }
}
