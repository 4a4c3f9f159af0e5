//! Which solver proves clusters the best does not matter: of several that are equally good, all give the same.
#![cfg(feature = "highs")]

use crate::graphs::graph;
use fusebox_clustering::{Config, SolverChoice, Status, cluster, cluster_graph};
use fusebox_ir::generate;

fn with(solver: SolverChoice, always_solve: bool) -> Config {
    Config { solver, always_solve, ..Config::default() }
}

#[test]
fn clusters_of_graphs_do_not_depend_on_the_solver() {
    let (mut compared, mut solved) = (0, 0);
    for seed in 0..300 {
        let graph = graph(10_000 + seed, 6 + seed as usize % 9);
        for always_solve in [false, true] {
            let [one, other] = [SolverChoice::Highs, SolverChoice::Microlp]
                .map(|solver| cluster_graph(&graph, &with(solver, always_solve)).unwrap());
            if [&one, &other].iter().all(|found| found.report.status == Status::Optimal) {
                assert_eq!(one.clusters, other.clusters, "seed {seed}, {always_solve}");
                compared += 1;
                solved += usize::from(!one.report.solver.is_empty());
            }
        }
    }
    println!("{compared} compared, of which {solved} were solved");
    assert!(compared > 550 && solved > 250, "{compared} compared, {solved} solved");
}

#[test]
fn clusters_of_programs_do_not_depend_on_the_solver() {
    for seed in 0..150 {
        let program = generate::program(20_000 + seed, &generate::Config::default());
        let [one, other] =
            [SolverChoice::Highs, SolverChoice::Microlp].map(|solver| cluster(&program, &with(solver, true)).unwrap());
        let proved =
            |report: &fusebox_clustering::Report| report.regions.iter().all(|region| region.status == Status::Optimal);
        if proved(&one.1) && proved(&other.1) {
            assert_eq!(one.0.to_string(), other.0.to_string(), "seed {seed}\n{program}");
        }
    }
}
