//! Random programs, to the bit what the interpreter of kernels gives.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_PROGRAMS=N` that many instead of those each test names, `FUSEBOX_QUICK=1` a tenth.

use std::collections::BTreeMap;

use fusebox_ir::{
    Array, Program, Value,
    generate::{Config, Rounding, inputs, minimize, program},
};

use crate::{
    Ways, difference, interpreted, lowered,
    tally::{Tally, caught, kind, seeds},
};

/// What is wrong with running a program.
fn fault(ways: &dyn Ways, program: &Program, seed: u64, config: &Config, tally: &mut Tally) -> Option<String> {
    caught(|| {
        tally.skipped += 1;
        // What is not lowered is the matter of another test.
        let plan = lowered(program).ok()?;
        let array = |value: Value| if let Value::Array(array) = value { Some(array) } else { None };
        let arrays: Vec<Array> = inputs(program, seed, config).into_iter().map(array).collect::<Option<_>>()?;
        let expected = interpreted(&plan, &arrays);
        tally.skipped -= 1;
        for (what, loaded) in ways.of(&plan, Some(seed)) {
            let run = loaded.and_then(|loaded| loaded.run(&arrays));
            if let Some(difference) = difference(&plan, run, &expected) {
                return Some(format!("{difference} ({what})"));
            }
        }
        *(if expected.is_ok() { &mut tally.same } else { &mut tally.failed }) += 1;
        None
    })
}

/// Runs programs; says of each kind of fault the smallest program that was found. `least` of a hundred are to run to their end.
fn check(ways: &dyn Ways, test: &str, count: u64, least: usize, config: &Config) {
    let seeds = seeds(ways, "FUSEBOX_PROGRAMS", count);
    let mut tally = Tally::default();
    let mut faults: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for seed in seeds.clone() {
        if let Some(fault) = fault(ways, &program(seed, config), seed, config, &mut tally) {
            println!("{test}, seed {seed}: {fault}");
            faults.entry(kind(&fault)).or_insert((0, seed)).0 += 1;
        }
    }
    let mut report = String::new();
    for (which, (times, seed)) in faults {
        let mut unused = Tally::default();
        let small = minimize(&program(seed, config), &mut |smaller| {
            fault(ways, smaller, seed, config, &mut unused).is_some_and(|fault| kind(&fault) == which)
        });
        let of_small = fault(ways, &small, seed, config, &mut unused).unwrap_or_default();
        let given: Vec<String> = inputs(&small, seed, config).iter().map(|value| format!("{value:?}")).collect();
        report += &format!(
            "\n{times} times, first seed {seed} (FUSEBOX_SEED={seed} cargo test -p {} --test all {test}):\n\
             {of_small}\n{small}\n{}\n",
            ways.package(),
            given.join("\n")
        );
    }
    println!("{test}: {tally:?}");
    assert!(report.is_empty(), "{report}");
    tally.check(seeds.count(), least);
}

/// Small programs of everything.
pub fn programs(ways: &dyn Ways) {
    check(ways, "programs", 800, 50, &Config { rounding: Rounding::Free, ..Config::default() });
}

/// With clusters written out.
pub fn clusters(ways: &dyn Ways) {
    check(ways, "clusters", 500, 50, &Config { rounding: Rounding::Free, clusters: true, ..Config::default() });
}

/// Of large arrays.
pub fn large_programs(ways: &dyn Ways) {
    let config = Config { rounding: Rounding::Free, large: true, clusters: true, max_bindings: 6, ..Config::default() };
    check(ways, "large_programs", 200, 50, &config);
}

/// Of which many fail.
pub fn programs_that_fail(ways: &dyn Ways) {
    let config = Config { rounding: Rounding::Free, may_fail: true, ..Config::default() };
    check(ways, "programs_that_fail", 500, 10, &config);
}

/// Makes a test of each case.
#[macro_export]
macro_rules! generated {
    ($ways:expr) => {
        $crate::each!($ways, generated: programs, clusters, large_programs, programs_that_fail);
    };
}
