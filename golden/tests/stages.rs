//! Every golden program at every stage: results are those expected.

use fusebox_golden::{Golden, load, names};
use fusebox_interp::{run, run_in_order, run_plan};
use fusebox_ir::{Program, Property, validate};

/// Runs a check on every golden program, and says which fail, and why.
fn each(check: impl Fn(&Golden) -> Result<(), String>) {
    let failures: Vec<String> =
        names().iter().filter_map(|name| check(&load(name)).err().map(|why| format!("{name}: {why}"))).collect();
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), names().len(), failures.join("\n"));
}

fn gives_expected(golden: &Golden, program: &Program) -> Result<(), String> {
    let results = run(program, &golden.inputs).map_err(|error| format!("{error}\n{program}"))?;
    golden.check(&results).map_err(|mismatch| format!("{mismatch}\n{program}"))
}

#[test]
fn as_written() {
    each(|golden| {
        validate(&golden.program, &[]).map_err(|errors| errors.to_string())?;
        gives_expected(golden, &golden.program)
    });
}

#[test]
fn simplified() {
    each(|golden| {
        let (program, _) = fusebox_simplify::simplify(&golden.program, &fusebox_simplify::Config::default());
        validate(&program, &[]).map_err(|errors| format!("{errors}\n{program}"))?;
        gives_expected(golden, &program)
    });
}

/// Blocks compute all of their bindings, in order.
#[test]
fn strict() {
    each(|golden| {
        if validate(&golden.program, &[Property::Flat]).is_err() {
            return Ok(());
        }
        let (strict, _) = fusebox_strictness::make_strict(&golden.program, &fusebox_strictness::Config::default())
            .map_err(|error| error.to_string())?;
        let results = run_in_order(&strict, &golden.inputs).map_err(|error| format!("{error}\n{strict}"))?;
        golden.check(&results).map_err(|mismatch| format!("{mismatch}\n{strict}"))
    });
}

#[test]
fn as_plans() {
    each(|golden| {
        if validate(&golden.program, &[Property::Flat]).is_err() {
            return Ok(());
        }
        let (simplified, _) = fusebox_simplify::simplify(&golden.program, &fusebox_simplify::Config::default());
        for program in [&golden.program, &simplified] {
            let (strict, _) = fusebox_strictness::make_strict(program, &fusebox_strictness::Config::default())
                .map_err(|error| error.to_string())?;
            validate(&strict, &[Property::Flat, Property::Strict]).map_err(|errors| format!("{errors}\n{strict}"))?;
            let (plan, _) = fusebox_kernels::lower(&strict, &fusebox_kernels::Config::default())
                .map_err(|error| error.to_string())?;
            let (results, _) = run_plan(&plan, &golden.inputs).map_err(|error| format!("{error}\n{program}"))?;
            golden.check(&results).map_err(|mismatch| format!("{mismatch}\n{program}"))?;
        }
        Ok(())
    });
}
