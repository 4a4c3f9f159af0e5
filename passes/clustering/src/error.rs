//! Why nothing was clustered.

use fusebox_ir::ValidationErrors;

/// Why there is no result. That a limit was reached is no error: the [`Report`](crate::Report) says it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program is not valid, or not flat.
    #[error("the input program is not valid")]
    Invalid(#[from] ValidationErrors),
    /// The graph names what there is not.
    #[error("the graph is not valid: {what}")]
    Graph {
        /// What is wrong.
        what: String,
    },
    /// Operations that need each other.
    #[error("the graph has a cycle: {}", .names.join(" -> "))]
    Cycle {
        /// Names of nodes along it.
        names: Vec<String>,
    },
    /// A graph beyond every limit.
    #[error("the graph has {parts} parts; at most {most} are accepted")]
    TooLarge {
        /// Nodes or edges.
        parts: usize,
        /// The limit.
        most: usize,
    },
    /// A cost or a coefficient that is no number, or not finite.
    #[error("{what} of the model is {value}, not a finite number")]
    NotFinite {
        /// Which.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A variable of another model, or a row without any.
    #[error("the model is not one: {what}")]
    Model {
        /// What is wrong.
        what: String,
    },
    /// A model without a solution.
    #[error("the model has no solution")]
    Infeasible,
    /// A solver failed by itself.
    #[error("{solver} failed: {what}")]
    Solver {
        /// Its name.
        solver: &'static str,
        /// What it says.
        what: String,
    },
    /// The solver is not part of this build.
    #[error("the solver {0} is not part of this build (feature `{0}`)")]
    Absent(&'static str),
}
