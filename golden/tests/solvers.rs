//! Clusters of the golden programs are the same whichever solver proves them the best.

use fusebox::Options;
use fusebox_clustering::{Config, Report, SolverChoice, Status, cluster};
use fusebox_ir::Made;

#[test]
fn golden_programs_have_the_same_clusters_by_both_solvers() {
    let before = fusebox::pipeline(&Options::default());
    let before = &before[..before.iter().position(|pass| pass.name() == "clustering").unwrap()];
    let mut compared = 0;
    for name in fusebox_golden::names() {
        let program = fusebox_golden::load(&name).program;
        let Ok(mut stages) = fusebox::run_passes(&program, before, false) else { continue };
        let Some(Made::Program(fused)) = stages.pop().map(|stage| stage.made) else { continue };
        let with = |solver| cluster(&fused, &Config { solver, always_solve: true, ..Config::default() });
        let (Ok(one), Ok(other)) = (with(SolverChoice::Highs), with(SolverChoice::Microlp)) else { continue };
        let proved = |report: &Report| report.regions.iter().all(|region| region.status == Status::Optimal);
        if proved(&one.1) && proved(&other.1) {
            assert_eq!(one.0.to_string(), other.0.to_string(), "{name}");
            compared += 1;
        }
    }
    println!("{compared} programs have the same clusters by both solvers");
    assert!(compared > 70, "only {compared} programs were compared");
}
