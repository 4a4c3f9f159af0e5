//! HiGHS, by the crate `highs`.

use highs::{Col, HighsModelStatus, HighsSolutionStatus, RowProblem, Sense};

use super::{Answer, Relaxation, Relaxed, Solver};
use crate::{Error, Model, Row};

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
        let (mut solve, _) = loaded(model, true)?;
        let nodes = i32::try_from(max_nodes).unwrap_or(i32::MAX);
        solve.try_set_option("mip_max_nodes", nodes).map_err(|_| failed("option mip_max_nodes"))?;
        solve.try_set_option("mip_rel_gap", 0.0).map_err(|_| failed("option mip_rel_gap"))?;
        // What is nearer to the best than solutions are to each other is the best.
        solve.try_set_option("mip_abs_gap", model.step() - 0.5).map_err(|_| failed("option mip_abs_gap"))?;
        // There is a solution to start from, and searching for others costs more time than it saves: each of these solves models of its own.
        let small = model.variables.len() < SMALL;
        for (option, on) in [
            ("mip_heuristic_run_feasibility_jump", false),
            ("mip_heuristic_run_rins", false),
            ("mip_heuristic_run_rens", false),
            ("mip_heuristic_run_root_reduced_cost", !small),
            ("mip_root_presolve_only", small),
        ] {
            solve.try_set_option(option, on).map_err(|_| failed(&format!("option {option}")))?;
        }
        if let Some(start) = start {
            solve.try_set_solution(Some(start), None, None, None).map_err(|status| failed(&format!("{status:?}")))?;
        }
        let solved = solve.try_solve().map_err(|status| failed(&format!("{status:?}")))?;
        let optimal = match solved.status() {
            HighsModelStatus::Optimal => true,
            HighsModelStatus::Infeasible | HighsModelStatus::UnboundedOrInfeasible => return Err(Error::Infeasible),
            HighsModelStatus::ReachedSolutionLimit
            | HighsModelStatus::ReachedIterationLimit
            | HighsModelStatus::ReachedTimeLimit => false,
            status => return Err(failed(&format!("{status:?}"))),
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
            nodes: None,
        })
    }

    fn few_pairs(&self) -> usize {
        40
    }

    fn relax(&self, model: &Model) -> Result<Option<Box<dyn Relaxation>>, Error> {
        let (solve, columns) = loaded(model, false)?;
        Ok(Some(Box::new(Growing { model: Some(solve), columns, offset: model.offset })))
    }
}

/// A model as HiGHS holds it, with or without whole numbers; on one thread, so that the same model has the same solution.
fn loaded(model: &Model, whole: bool) -> Result<(highs::Model, Vec<Col>), Error> {
    let mut problem = RowProblem::new();
    let columns: Vec<Col> = (model.variables.iter())
        .map(|variable| {
            let bounds = variable.lower..=variable.upper;
            problem.add_column_with_integrality(variable.cost, bounds, whole && variable.integer)
        })
        .collect();
    for row in &model.rows {
        let terms = row.terms.iter().map(|&(variable, factor)| (columns[variable], factor));
        problem.add_row(row.lower..=row.upper, terms);
    }
    let mut solve = problem.try_optimise(Sense::Minimise).map_err(|status| failed(&format!("{status:?}")))?;
    for (option, value) in [("threads", 1), ("random_seed", 0)] {
        solve.try_set_option(option, value).map_err(|_| failed(&format!("option {option}")))?;
    }
    Ok((solve, columns))
}

fn failed(what: &str) -> Error {
    Error::Solver { solver: "highs", what: what.to_owned() }
}

/// A linear program, solved from its last basis on.
struct Growing {
    /// None while it is being solved.
    model: Option<highs::Model>,
    columns: Vec<Col>,
    offset: f64,
}

impl Relaxation for Growing {
    fn add(&mut self, row: &Row) -> Result<(), Error> {
        let model = self.model.as_mut().ok_or_else(|| failed("no model"))?;
        let terms = row.terms.iter().map(|&(variable, factor)| (self.columns[variable], factor));
        model.try_add_row(row.lower..=row.upper, terms).map_err(|status| failed(&format!("{status:?}")))?;
        Ok(())
    }

    fn solve(&mut self) -> Result<Relaxed, Error> {
        let model = self.model.take().ok_or_else(|| failed("no model"))?;
        let solved = model.try_solve().map_err(|status| failed(&format!("{status:?}")))?;
        match solved.status() {
            HighsModelStatus::Optimal => {}
            HighsModelStatus::Infeasible | HighsModelStatus::UnboundedOrInfeasible => return Err(Error::Infeasible),
            status => return Err(failed(&format!("{status:?}"))),
        }
        let solution = solved.get_solution();
        let relaxed = Relaxed {
            cost: solved.objective_value() + self.offset,
            values: solution.columns().to_vec(),
            reduced_costs: solution.dual_columns().to_vec(),
        };
        self.model = Some(solved.into());
        Ok(relaxed)
    }
}
