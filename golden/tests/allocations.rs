//! Runs of golden programs after the first take no memory: values, argument tables, and what kernels work in are those of runs that are over.

mod common;

use std::num::NonZeroUsize;

use allocation_counter::measure;
use common::plan_of;
use fusebox_backend::Program as _;
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::{Action, Plan, Statement, Step};

/// Whether a run of a plan needs lists that have no place in the calls: of more than eight arrays of a kernel, results of its scans, or values in the state of a
/// loop; of the keys of a sort, of the pieces of lanes, of elements that a plan spells out.
fn has_long_lists(plan: &Plan) -> bool {
    let has = |step: &Step| match step {
        Step::Launch { kernel, .. } => {
            let own = &plan.kernels[*kernel];
            // Each result of a scan has four lists, and each of a reduce over all has two.
            let lists = |statement: &Statement| match statement.action {
                Action::Scan { .. } => 4 * statement.results().len(),
                Action::Reduce { to: 0, .. } => 2 * statement.results().len(),
                _ => 0,
            };
            own.arrays.len() > 8 || own.statements.iter().map(lists).sum::<usize>() > 8
        }
        Step::While { state, .. } => state.len() > 8,
        Step::Sort { .. } | Step::Lanes { .. } | Step::Constant { .. } => true,
        _ => false,
    };
    plan.steps.iter().flat_map(Step::within).any(has)
}

/// The same by the crate that users take, with values in and out.
#[test]
fn later_runs_by_the_library_ask_for_no_memory() {
    let options = fusebox::Options { threads: NonZeroUsize::new(1), ..fusebox::Options::on(fusebox::Backend::Cpu) };
    for name in ["saxpy_sum", "prefix_sum", "stats", "filter", "jacobi"] {
        let golden = fusebox_golden::load(name);
        let compiled = fusebox::compile_program(&golden.program, &options).unwrap();
        let inputs = &golden.inputs;
        let mut results = Vec::new();
        for _ in 0..12 {
            compiled.run_into(inputs, &mut results).unwrap();
        }
        let asked = measure(|| _ = compiled.run_into(inputs, &mut results).unwrap()).count_total;
        assert_eq!((name, asked), (name, 0));
        assert_eq!(results, compiled.run(inputs).unwrap(), "{name}");
    }
}

#[test]
fn later_runs_of_golden_programs_ask_for_no_memory() {
    let backend = Cranelift::new(Config { threads: 1, ..Config::default() }).unwrap();
    let mut found = Vec::new();
    for name in fusebox_golden::names() {
        let golden = fusebox_golden::load(&name);
        let plan = plan_of(&golden.program);
        if has_long_lists(&plan) {
            continue;
        }
        let loaded = backend.compile_plan(&plan).unwrap().load_plan().unwrap();
        let inputs = golden.flat_arrays();
        let mut results = Vec::new();
        for _ in 0..3 {
            loaded.run_into(&inputs, &mut results).unwrap();
        }
        let asked = measure(|| _ = loaded.run_into(&inputs, &mut results).unwrap()).count_total;
        found.push((name, asked));
    }
    assert!(found.len() > 60, "{found:?}");
    let asking: Vec<_> = found.iter().filter(|(_, asked)| *asked > 0).collect();
    assert!(asking.is_empty(), "of {} programs: {asking:?}", found.len());
}
