//! Random programs on the CPU: to the bit what the interpreter of kernels gives, at any number of threads, in gangs or one by one.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_QUICK=1` a tenth of them.

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

/// What is wrong with running a program on the CPU.
fn fault(program: &Program, seed: u64, config: &Config) -> Option<String> {
    let checked = catch_unwind(AssertUnwindSafe(|| {
        // What is not lowered is the matter of another test.
        let (plan, _) = fusebox_kernels::lower(program, &fusebox_kernels::Config::default()).ok()?;
        let values = inputs(program, seed, config);
        let arrays: Option<Vec<Array>> = values
            .iter()
            .map(|value| if let Value::Array(array) = value { Some(array.clone()) } else { None })
            .collect();
        let arrays = arrays?;
        let expected = run_plan(&plan, &values);
        for (what, backend) in common::backends() {
            let run = backend
                .compile_plan(&plan)
                .and_then(|compiled| compiled.load_plan())
                .and_then(|loaded| loaded.run_plan(&arrays));
            match (run, &expected) {
                (Ok(results), Ok((expected, _))) => {
                    for ((output, result), expected) in program.outputs.iter().zip(&results).zip(expected) {
                        if let Value::Array(expected) = expected
                            && !common::same_bits(result, expected)
                        {
                            return Some(format!(
                                "{what}: `{}` is\n  {result:?}, should be\n  {expected:?}",
                                output.name
                            ));
                        }
                    }
                }
                (Err(BackendError::Run(_)), Err(_)) => {}
                (Err(error), Ok(_)) => return Some(format!("fails ({what}): {error}")),
                (Err(error), Err(expected)) => {
                    return Some(format!("fails otherwise ({what}): {error}, should be {expected}"));
                }
                (Ok(_), Err(expected)) => return Some(format!("does not fail ({what}): should be {expected}")),
            }
        }
        None
    }));
    checked.unwrap_or_else(|panic| {
        let message =
            panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Some(format!("panic {}", message.unwrap_or_default()))
    })
}

/// All seeds, a tenth of them, or the one that is asked for.
fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("FUSEBOX_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None if std::env::var_os("FUSEBOX_QUICK").is_some() => 0..count / 10,
        None => 0..count,
    }
}

/// Runs programs; says of each kind of fault the smallest program that was found.
fn check(test: &str, count: u64, config: &Config) {
    let kind = |fault: &str| fault.chars().take_while(|&c| c != ':').take(60).collect::<String>();
    let mut faults: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for seed in seeds(count) {
        if let Some(fault) = fault(&program(seed, config), seed, config) {
            faults.entry(kind(&fault)).or_insert((0, seed)).0 += 1;
        }
    }
    let mut report = String::new();
    for (which, (times, seed)) in faults {
        let small = minimize(&program(seed, config), &mut |smaller| {
            fault(smaller, seed, config).is_some_and(|fault| kind(&fault) == which)
        });
        let of_small = fault(&small, seed, config).unwrap_or_default();
        let given: Vec<String> = inputs(&small, seed, config).iter().map(|value| format!("{value:?}")).collect();
        report += &format!(
            "\n{times} times, first seed {seed} (FUSEBOX_SEED={seed} cargo test -p fusebox-cranelift --test generated {test}):\n\
             {of_small}\n{small}\n{}\n",
            given.join("\n")
        );
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
#[ignore = "compiles hundreds of programs, for minutes"]
fn programs() {
    check("programs", 150, &Config { rounding: Rounding::Free, ..Config::default() });
}

#[test]
#[ignore = "compiles hundreds of programs, for minutes"]
fn large_programs() {
    check(
        "large_programs",
        60,
        &Config { rounding: Rounding::Free, large: true, max_bindings: 6, ..Config::default() },
    );
}

#[test]
#[ignore = "compiles hundreds of programs, for minutes"]
fn programs_that_fail() {
    check("programs_that_fail", 80, &Config { rounding: Rounding::Free, may_fail: true, ..Config::default() });
}
