//! Random programs on the simulator: to the bit what the interpreter of kernels gives, whatever the order of blocks and warps.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_PROGRAMS=N` that many instead of those each test names, `FUSEBOX_QUICK=1` a tenth.

mod common;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use fusebox_backend::BackendError;
use fusebox_interp::run_plan;
use fusebox_ir::{
    Array, Program, Value,
    generate::{Config, Rounding, inputs, minimize, program},
};

/// How many programs gave results, failed as they should, or have no plan.
#[derive(Debug, Default)]
struct Tally {
    same: usize,
    failed: usize,
    skipped: usize,
}

/// What is wrong with running a program on the simulator.
fn fault(program: &Program, seed: u64, config: &Config, tally: &mut Tally) -> Option<String> {
    let checked = catch_unwind(AssertUnwindSafe(|| {
        tally.skipped += 1;
        // What is not lowered is the matter of another test.
        let plan = common::lowered(program).ok()?;
        let values = inputs(program, seed, config);
        let arrays: Option<Vec<Array>> = values
            .iter()
            .map(|value| if let Value::Array(array) = value { Some(array.clone()) } else { None })
            .collect();
        let arrays = arrays?;
        let expected = run_plan(&plan, &values);
        tally.skipped -= 1;
        let target = ["sm_70", "sm_80", "sm_90"][seed as usize % 3];
        let backend = common::simulator(target, seed);
        let run = backend
            .compile_proved_plan(&common::proved(&plan))
            .and_then(|compiled| compiled.load_plan())
            .and_then(|loaded| loaded.run_plan(&arrays));
        match (run, &expected) {
            (Ok(results), Ok((expected, _))) => {
                for ((output, result), expected) in program.outputs.iter().zip(&results).zip(expected) {
                    if let Value::Array(expected) = expected
                        && !common::same_bits(result, expected)
                    {
                        return Some(format!("`{}` is\n  {result:?}, should be\n  {expected:?}", output.name));
                    }
                }
            }
            (Err(BackendError::Run(_)), Err(_)) => {}
            (Err(error), Ok(_)) => return Some(format!("fails: {error}")),
            (Err(error), Err(expected)) => return Some(format!("fails otherwise: {error}, should be {expected}")),
            (Ok(_), Err(expected)) => return Some(format!("does not fail: should be {expected}")),
        }
        *(if expected.is_ok() { &mut tally.same } else { &mut tally.failed }) += 1;
        None
    }));
    checked.unwrap_or_else(|panic| {
        let message =
            panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Some(format!("panic {}", message.unwrap_or_default()))
    })
}

/// All seeds, a tenth of them, as many as are asked for, or the one that is.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("FUSEBOX_PROGRAMS").unwrap_or(count);
    match number("FUSEBOX_SEED") {
        Some(seed) => seed..seed + 1,
        None if std::env::var_os("FUSEBOX_QUICK").is_some() => 0..count / 10,
        None => 0..count,
    }
}

/// Runs programs; says of each kind of fault the smallest program that was found. `least` of a hundred are to run to their end.
fn check(test: &str, count: u64, least: usize, config: &Config) {
    let kind = |fault: &str| fault.chars().take_while(|&c| c != ':').take(60).collect::<String>();
    let seeds = seeds(count);
    let mut tally = Tally::default();
    let mut faults: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for seed in seeds.clone() {
        if let Some(fault) = fault(&program(seed, config), seed, config, &mut tally) {
            println!("{test}, seed {seed}: {fault}");
            faults.entry(kind(&fault)).or_insert((0, seed)).0 += 1;
        }
    }
    let mut report = String::new();
    for (which, (times, seed)) in faults {
        let mut unused = Tally::default();
        let small = minimize(&program(seed, config), &mut |smaller| {
            fault(smaller, seed, config, &mut unused).is_some_and(|fault| kind(&fault) == which)
        });
        let of_small = fault(&small, seed, config, &mut unused).unwrap_or_default();
        let given: Vec<String> = inputs(&small, seed, config).iter().map(|value| format!("{value:?}")).collect();
        report += &format!(
            "\n{times} times, first seed {seed} (FUSEBOX_SEED={seed} cargo test -p fusebox-ptx --test generated {test}):\n\
             {of_small}\n{small}\n{}\n",
            given.join("\n")
        );
    }
    println!("{test}: {tally:?}");
    assert!(report.is_empty(), "{report}");
    // Programs that are all skipped, or all fail, would show nothing.
    let count = seeds.count();
    assert!(count < 10 || tally.same * 100 >= count * least, "{tally:?} of {count}");
}

#[test]
fn programs() {
    check("programs", 200, 50, &Config { rounding: Rounding::Free, ..Config::default() });
}

/// With clusters written out.
#[test]
fn clusters() {
    check("clusters", 150, 50, &Config { rounding: Rounding::Free, clusters: true, ..Config::default() });
}

#[test]
fn large_programs() {
    let config = Config { rounding: Rounding::Free, large: true, clusters: true, max_bindings: 6, ..Config::default() };
    check("large_programs", 50, 50, &config);
}

#[test]
fn programs_that_fail() {
    check("programs_that_fail", 150, 10, &Config { rounding: Rounding::Free, may_fail: true, ..Config::default() });
}
