//! What several tests do with golden programs.

use fusebox::{Options, pipeline_of, run_passes};
use fusebox_ir::{Made, Plan, Program};

/// The plan that the passes make of a program.
pub fn plan_of(program: &Program) -> Plan {
    let pipeline = pipeline_of(program, &Options::default());
    let stages = run_passes(program, &pipeline, false).unwrap_or_else(|error| panic!("{error}\n{program}"));
    match stages.into_iter().next_back().map(|stage| stage.made) {
        Some(Made::Plan(plan)) => *plan,
        _ => panic!("no plan of {program}"),
    }
}
