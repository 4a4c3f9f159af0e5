//! Who solves models: a trait, HiGHS behind it where it is part of the build, and a solver in Rust.

#[cfg(feature = "highs")]
mod highs;
mod microlp;

use serde::Serialize;

#[cfg(feature = "highs")]
pub use self::highs::Highs;
pub use self::microlp::Microlp;
use crate::{Error, Model, Row};

/// Solves integer linear programs.
pub trait Solver {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// The most operations of a model that it is asked to solve.
    fn capacity(&self) -> usize {
        usize::MAX
    }

    /// Minimises a model that [`Model::check`] accepts and that has a variable; use [`solve`], which sees to that.
    ///
    /// `start` is a solution to begin with, a value for each variable.
    ///
    /// # Errors
    /// [`Error::Infeasible`], [`Error::Solver`]. A limit that is reached is no error.
    fn minimise(&self, model: &Model, start: Option<&[f64]>, max_nodes: u64) -> Result<Answer, Error>;

    /// Up to how many pairs a model is solved in less time than it is tightened in.
    fn few_pairs(&self) -> usize {
        0
    }

    /// The model without the demand for whole numbers, if the solver can add rows to it and say what values cost: for a model that
    /// [`Model::check`] accepts and that has a variable.
    ///
    /// # Errors
    /// [`Error::Solver`].
    fn relax(&self, model: &Model) -> Result<Option<Box<dyn Relaxation>>, Error> {
        let _ = model;
        Ok(None)
    }
}

/// A linear program that grows.
pub trait Relaxation {
    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::Solver`].
    fn add(&mut self, row: &Row) -> Result<(), Error>;

    /// Its best solution.
    ///
    /// # Errors
    /// [`Error::Infeasible`], [`Error::Solver`].
    fn solve(&mut self) -> Result<Relaxed, Error>;
}

/// The best solution of a linear program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relaxed {
    /// What it costs: no solution is below it.
    pub cost: f64,
    /// A value for each variable.
    pub values: Vec<f64>,
    /// For each variable by how much the cost grows at least where it is one more (or, if negative, one less).
    pub reduced_costs: Vec<f64>,
}

/// What a solver found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Whether it is proved to be the best.
    pub optimal: bool,
    /// A value for each variable; none if a limit was reached before anything was found.
    pub values: Option<Vec<f64>>,
    /// No solution is below it.
    pub bound: f64,
    /// Branch-and-bound nodes, where the solver tells.
    pub nodes: Option<u64>,
}

/// Minimises a model, and refuses what solvers would choke on: variables of other models, NaN, rows without bounds.
///
/// # Errors
/// Those of [`Model::check`] and of the solver; [`Error::Solver`] if its values break a row.
pub fn solve(solver: &dyn Solver, model: &Model, start: Option<&[f64]>, max_nodes: u64) -> Result<Answer, Error> {
    model.check()?;
    if model.variables.is_empty() {
        // Rows without variables were checked by the model.
        return Ok(Answer { optimal: true, values: Some(Vec::new()), bound: model.offset, nodes: Some(0) });
    }
    let start = start.filter(|start| model.is_satisfied(start));
    let mut answer = solver.minimise(model, start, max_nodes)?;
    if let Some(values) = &answer.values
        && (values.len() != model.variables.len() || values.iter().any(|value| !value.is_finite()))
    {
        return Err(Error::Solver { solver: solver.name(), what: "its values are no numbers".to_owned() });
    }
    if let (true, Some(values)) = (answer.optimal, &answer.values) {
        // What a solver proved is less than a step away.
        answer.bound = answer.bound.max(model.cost(values).round());
    }
    Ok(answer)
}
