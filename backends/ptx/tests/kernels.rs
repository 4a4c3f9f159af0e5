//! Random kernels on the simulator: to the bit what the interpreter of kernels gives, whatever the order of blocks and warps.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_KERNELS=N` that many instead of those each test names, `FUSEBOX_QUICK=1` a tenth.

mod common;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use common::kernels::{Generated, Shape, generate};
use fusebox_backend::BackendError;
use fusebox_ir::validate_plan;

/// How many kernels gave results, or failed as they should.
#[derive(Debug, Default)]
struct Tally {
    same: usize,
    failed: usize,
}

/// What is wrong with running a kernel on the simulator.
fn fault(seed: u64, shape: Shape, tally: &mut Tally) -> Option<String> {
    let Generated { plan, inputs } = generate(seed, shape);
    if let Err(errors) = validate_plan(&plan) {
        return Some(format!("not valid: {errors}"));
    }
    let checked = catch_unwind(AssertUnwindSafe(|| {
        let expected = common::interpreted(&plan, &inputs);
        let target = ["sm_70", "sm_80", "sm_90"][seed as usize % 3];
        match (common::run(&plan, &inputs, target, seed), &expected) {
            (Ok(results), Ok(expected)) => {
                for ((output, result), expected) in plan.outputs.iter().zip(&results).zip(expected) {
                    if !common::same_bits(result, expected) {
                        let at = result.constants().zip(expected.constants()).position(|(a, b)| a != b);
                        let pair = at.map(|at| (result.get(at), expected.get(at)));
                        return Some(format!("differs: `{}` at {at:?}: {pair:?}", output.name));
                    }
                }
            }
            (Err(BackendError::Run(_)), Err(_)) => {}
            (Err(BackendError::Unsupported { what, .. }), _) => return Some(format!("not generated: {what}")),
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
        let message: String = message.unwrap_or_default().chars().take(300).collect();
        Some(format!("panics: {message}"))
    })
}

fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("FUSEBOX_KERNELS").unwrap_or(count);
    match number("FUSEBOX_SEED") {
        Some(seed) => seed..seed + 1,
        None if std::env::var_os("FUSEBOX_QUICK").is_some() => 0..count / 10,
        None => 0..count,
    }
}

/// Runs kernels; of each kind of fault the one with the fewest statements is shown. `least` of a hundred are to run to their end.
fn check(test: &str, count: u64, least: usize, shape: Shape) {
    let seeds = seeds(count);
    let mut tally = Tally::default();
    let mut faults: BTreeMap<String, (usize, usize, u64, String)> = BTreeMap::new();
    for seed in seeds.clone() {
        let Some(fault) = fault(seed, shape, &mut tally) else { continue };
        let kind: String = fault.chars().take_while(|&c| c != ':').collect();
        let statements = generate(seed, shape).plan.kernels[0].statements.len();
        let entry = faults.entry(kind).or_insert((0, usize::MAX, seed, String::new()));
        entry.0 += 1;
        if statements < entry.1 {
            (entry.1, entry.2, entry.3) = (statements, seed, fault);
        }
    }
    let mut report = String::new();
    for (times, _, seed, fault) in faults.into_values() {
        let plan = generate(seed, shape).plan;
        report += &format!(
            "\n{times} times (FUSEBOX_SEED={seed} cargo test -p fusebox-ptx --test kernels {test}): {fault}\n{plan}\n"
        );
    }
    println!("{test}: {tally:?}");
    assert!(report.is_empty(), "{report}");
    // Kernels that all fail would show nothing.
    let count = seeds.count();
    assert!(count < 10 || tally.same * 100 >= count * least, "{tally:?} of {count}");
}

#[test]
fn small_kernels() {
    check("small_kernels", 400, 95, Shape { points: 200, long: false, may_fail: false });
}

#[test]
fn kernels_of_some_blocks() {
    check("kernels_of_some_blocks", 30, 95, Shape { points: 10_000, long: false, may_fail: false });
}

#[test]
fn kernels_of_some_tiles() {
    check("kernels_of_some_tiles", 10, 95, Shape { points: 100_000, long: true, may_fail: false });
}

#[test]
fn kernels_that_fail() {
    check("kernels_that_fail", 250, 20, Shape { points: 200, long: false, may_fail: true });
}
