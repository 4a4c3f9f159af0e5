//! microlp: a solver in Rust, for builds without HiGHS. Good up to some 200 variables.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Solution, SolveOptions, SolveOutcome, Variable};

use super::{Answer, Relaxation, Relaxed, Solver};
use crate::{Error, Model, Row};

/// The branch and bound of the crate `microlp`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Microlp;

impl Solver for Microlp {
    fn name(&self) -> &'static str {
        "microlp"
    }

    fn capacity(&self) -> usize {
        120
    }

    fn minimise(&self, model: &Model, start: Option<&[f64]>, max_nodes: u64) -> Result<Answer, Error> {
        let (problem, columns) = loaded(model, true);
        let mut options = SolveOptions::default();
        options.node_limit = Some(max_nodes);
        options.warm_start = start.map(|start| columns.iter().copied().zip(start.iter().copied()).collect());
        let outcome = problem.solve_with(options).map_err(failed)?;
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

    fn relax(&self, model: &Model) -> Result<Option<Box<dyn Relaxation>>, Error> {
        let (problem, columns) = loaded(model, false);
        Ok(Some(Box::new(Growing { state: State::New(problem), columns, offset: model.offset })))
    }
}

/// A model as microlp holds it, with or without whole numbers.
fn loaded(model: &Model, whole: bool) -> (Problem, Vec<Variable>) {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let columns: Vec<Variable> = (model.variables.iter())
        .map(|variable| {
            if whole && variable.integer {
                // Bounds of integers are whole and small: the model's check says so.
                problem.add_integer_var(variable.cost, (variable.lower.ceil() as i32, variable.upper.floor() as i32))
            } else {
                problem.add_var(variable.cost, (variable.lower, variable.upper))
            }
        })
        .collect();
    for row in &model.rows {
        let terms = terms(row, &columns);
        for (operator, bound) in bounds(row) {
            problem.add_constraint(&terms[..], operator, bound);
        }
    }
    (problem, columns)
}

fn terms(row: &Row, columns: &[Variable]) -> Vec<(Variable, f64)> {
    row.terms.iter().map(|&(variable, factor)| (columns[variable], factor)).collect()
}

/// What a row demands of the sum of its terms.
fn bounds(row: &Row) -> Vec<(ComparisonOp, f64)> {
    if row.lower == row.upper {
        return vec![(ComparisonOp::Eq, row.lower)];
    }
    let both = [(ComparisonOp::Ge, row.lower), (ComparisonOp::Le, row.upper)];
    both.into_iter().filter(|(_, bound)| bound.is_finite()).collect()
}

fn failed(error: microlp::Error) -> Error {
    match error {
        microlp::Error::Infeasible => Error::Infeasible,
        error => Error::Solver { solver: "microlp", what: error.to_string() },
    }
}

/// A linear program, solved from its last basis on.
struct Growing {
    state: State,
    columns: Vec<Variable>,
    offset: f64,
}

enum State {
    New(Problem),
    Solved(Solution),
    /// An error came between.
    Gone,
}

impl Growing {
    fn solved(&mut self, outcome: Result<SolveOutcome, microlp::Error>) -> Result<&Solution, Error> {
        let interrupted = |_| Error::Solver { solver: "microlp", what: "a relaxation was interrupted".to_owned() };
        self.state = State::Solved(outcome.map_err(failed)?.into_solution().map_err(interrupted)?);
        match &self.state {
            State::Solved(solution) => Ok(solution),
            State::New(_) | State::Gone => Err(gone()),
        }
    }
}

fn gone() -> Error {
    Error::Solver { solver: "microlp", what: "a relaxation failed before".to_owned() }
}

impl Relaxation for Growing {
    fn add(&mut self, row: &Row) -> Result<(), Error> {
        let terms = terms(row, &self.columns);
        for (operator, bound) in bounds(row) {
            match std::mem::replace(&mut self.state, State::Gone) {
                State::New(mut problem) => {
                    problem.add_constraint(&terms[..], operator, bound);
                    self.state = State::New(problem);
                }
                State::Solved(solution) => {
                    let outcome = solution.add_constraint(&terms[..], operator, bound);
                    self.solved(outcome)?;
                }
                State::Gone => return Err(gone()),
            }
        }
        Ok(())
    }

    fn solve(&mut self) -> Result<Relaxed, Error> {
        if let State::New(problem) = &self.state {
            let outcome = problem.solve();
            self.solved(outcome)?;
        }
        let State::Solved(solution) = &self.state else { return Err(gone()) };
        Ok(Relaxed {
            cost: solution.objective() + self.offset,
            values: self.columns.iter().map(|&column| solution.var_value(column)).collect(),
            // It does not tell; that costs do not fall is always right.
            reduced_costs: vec![0.0; self.columns.len()],
        })
    }
}
