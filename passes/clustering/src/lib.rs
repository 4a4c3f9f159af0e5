#![doc = include_str!("../README.md")]

mod again;
mod bits; // sets of nodes
mod bound;
mod build; // a block as a graph: the table of operations
mod canonical; // of equally good solutions one
mod classes; // extents, segments and orders of reading that are equal
mod conflict; // pairs of which one stays unfused
mod cuts; // what made a cluster impossible
mod error;
mod extract; // clusters in order
mod feasible_orders; // orders in which nodes may run, and what stands between them
mod fit; // whether nodes fit into one cluster: the rules, said directly
mod graph; // what is clustered, for any representation
mod greedy; // merging wherever the rules allow
mod in_order; // arrays that are read in order, though not traversed
pub mod legacy; // the models that this one grew out of
mod linear; // integer linear programs as data
mod mark; // clusters as bindings of a program
mod model; // a graph as an integer linear program
mod objective; // what is minimised
mod optimal; // the best clusters, piece by piece
mod orders; // in which nodes may run, numbered
mod pairing; // finds pairs
mod pairs; // two nodes that might be fused
mod partition; // who is with whom
mod paths; // shortest ways over pairs
mod pieces; // parts that are clustered by themselves
mod problem; // a graph, and what follows from it
mod refuse; // pairs that are never fused
mod region; // block after block
mod report; // what was done and why not more
mod restrict; // a problem cut down to a piece
mod schema; // graphs as JSON
mod search; // the best clusters of a piece
pub mod solver; // who solves models
mod ties; // what fused pairs make equal, and inequalities where it may not be
mod tighten; // inequalities that fractional solutions break

use fusebox_ir::{Program, Property, validate};

pub use crate::{
    error::Error,
    extract::{Cluster, Clustering, Runs},
    graph::{Complete, Edge, Graph, Kind, MAX_PARTS, Node, Output, Source},
    linear::{Model, Row, Variable},
    objective::{Measures, Objective},
    report::{Apart, Category, ClusterReport, Fused, MAX_APART, Region, Report, Status},
    schema::schema,
};

/// How clusters are found. Limits count steps, never seconds, so that a slow machine compiles the same program.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How.
    pub method: Method,
    /// What is minimised.
    pub objective: Objective,
    /// Who solves the models.
    pub solver: SolverChoice,
    /// The most branch-and-bound nodes of one model; at 0 clusters are greedy.
    pub max_nodes: u64,
    /// The most variables of one model; larger parts are clustered greedily.
    pub max_variables: usize,
    /// The most operations of one model; larger parts are cut into pieces, and the clusters of these joined greedily. A solver may have a
    /// lower limit of its own.
    pub max_operations: usize,
    /// How much one cluster may [accumulate](Kind::accumulates), folds counting once, scans, permutes and filters twice: code for more takes long
    /// to make, and what it carries fits into no registers. Larger clusters are parted, so that what they share is read again.
    pub max_accumulating: usize,
    /// How often a part is solved again because a cluster found does not fit into a nest of loops.
    pub max_rounds: usize,
    /// Whether a model is solved even where greedy clusters are proved to be the best without: to study it.
    pub always_solve: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            method: Method::Optimal,
            objective: Objective::Traffic,
            solver: SolverChoice::default(),
            max_nodes: 1_000,
            max_variables: 20_000,
            max_operations: 300,
            max_accumulating: 16,
            max_rounds: 20,
            always_solve: false,
        }
    }
}

/// Who solves the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverChoice {
    /// HiGHS, in C++; only in builds with the feature `highs`.
    Highs,
    /// microlp, in Rust.
    Microlp,
}

impl Default for SolverChoice {
    /// HiGHS where it is part of the build.
    fn default() -> Self {
        if cfg!(feature = "highs") { Self::Highs } else { Self::Microlp }
    }
}

/// How clusters are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// By integer linear programming; greedily where a limit is reached.
    #[default]
    Optimal,
    /// By merging, pair after pair.
    Greedy,
    /// Each operation by itself.
    Apart,
}

/// Clusters the operations of `program` into as few passes over memory as possible.
///
/// Needs [`Property::Flat`]; the result is [`Property::Clustered`], and [`Property::Strict`] if the program was: kernels are made of such. Results are unchanged, bit for bit, but for the association of what
/// rounds; what nothing needs is left out.
///
/// # Errors
/// [`Error::Invalid`] if the program is not valid and flat. Limits are no errors: the report says where one was reached.
pub fn cluster(program: &Program, config: &Config) -> Result<(Program, Report), Error> {
    validate(program, &[Property::Flat])?;
    region::program(program, config)
}

/// Clusters a bare graph.
///
/// # Errors
/// [`Error::Graph`], [`Error::Cycle`], [`Error::TooLarge`]; those of solvers.
pub fn cluster_graph(graph: &Graph, config: &Config) -> Result<Clustering, Error> {
    region::graph(graph, config, &mut |_| Ok(()))
}

/// The graph of each block of a program that holds operations, the program's body first: what [`cluster`] gives to [`cluster_graph`], which
/// does not know of nests of loops.
///
/// # Errors
/// [`Error::Invalid`].
pub fn graphs(program: &Program) -> Result<Vec<Graph>, Error> {
    validate(program, &[Property::Flat])?;
    Ok(region::graphs(program))
}

/// The integer linear programs of a bare graph: one for each part in which something can be decided. [`Model::lp`] prints them.
///
/// # Errors
/// [`Error::Graph`], [`Error::Cycle`], [`Error::TooLarge`].
pub fn models(graph: &Graph, objective: Objective) -> Result<Vec<Model>, Error> {
    region::models(graph, objective)
}
