//! What fused pairs make equal is stated to the solver: it has less to try.

use crate::graphs::graph;
use fusebox_clustering::{Config, SolverChoice, Status, cluster_graph};

/// Graphs with scans both ways and folds of several dimensions, by seed and size. What a solver has to try is the same on every machine.
///
/// The relaxation of each alone proves the best clusters, with the inequalities of orders, inner extents and segments; without them the
/// solver needs 16, 30, 14 and 19 nodes.
#[test]
fn orders_that_differ_are_told_apart_by_the_relaxation() {
    for (seed, most) in [(50_043, 34), (50_089, 42), (50_024, 42), (50_128, 34)] {
        let config = Config { solver: SolverChoice::Microlp, ..Config::default() };
        let report = cluster_graph(&graph(seed, most), &config).unwrap().report;
        assert!(
            matches!(report.status, Status::Optimal | Status::OptimalButLevels),
            "seed {seed}: {:?}",
            report.status
        );
        assert!(report.variables > 50, "seed {seed}: a model is solved");
        assert_eq!(report.nodes, Some(0), "seed {seed}");
    }
}
