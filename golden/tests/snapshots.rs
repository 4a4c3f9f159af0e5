//! What each stage makes of each golden program: `cargo xtask bless` rewrites, `git diff` shows what changed.

use fusebox_golden::{Golden, load, names};
use fusebox_interp::run_plan;
use fusebox_ir::{Plan, Program, Property, validate};

fn simplified(golden: &Golden) -> Program {
    fusebox_simplify::simplify(&golden.program, &fusebox_simplify::Config::default()).0
}

fn plan(golden: &Golden) -> Option<Plan> {
    let program = simplified(golden);
    validate(&program, &[Property::Flat]).ok()?;
    let (plan, _) = fusebox_kernels::lower(&program, &fusebox_kernels::Config::default())
        .unwrap_or_else(|error| panic!("{}: {error}", golden.name));
    Some(plan)
}

/// Snapshots of one stage stand in a folder of their own.
fn each(stage: &str, text: impl Fn(&Golden) -> Option<String>) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(fusebox_golden::folder().join("snapshots").join(stage));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for name in names() {
            if let Some(text) = text(&load(&name)) {
                insta::assert_snapshot!(name, text);
            }
        }
    });
}

#[test]
fn read() {
    each("read", |golden| Some(golden.program.to_string()));
}

#[test]
fn simplify() {
    each("simplify", |golden| Some(simplified(golden).to_string()));
}

#[test]
fn kernels() {
    each("kernels", |golden| plan(golden).map(|plan| plan.to_string()));
}

/// Kernels in the plan; then launches, loop nests, elements read and written by a run on the golden inputs.
#[test]
fn counts() {
    let mut table = String::from("program kernels launches loops reads writes\n");
    for name in names() {
        let golden = load(&name);
        let Some(plan) = plan(&golden) else { continue };
        let (_, counts) = run_plan(&plan, &golden.inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let kernels = plan.kernels.len();
        table += &format!("{name} {kernels} {} {} {} {}\n", counts.launches, counts.loops, counts.reads, counts.writes);
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(fusebox_golden::folder().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("counts", table));
}
