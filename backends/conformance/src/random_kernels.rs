//! Random kernels, to the bit what the interpreter of kernels gives.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_KERNELS=N` that many instead of those each test names, `FUSEBOX_QUICK=1` a tenth.

use std::collections::BTreeMap;

use fusebox_ir::validate_plan;

use crate::{
    Ways, difference, interpreted,
    kernels::{Generated, Shape, generate},
    tally::{Tally, caught, kind, seeds},
};

/// What is wrong with running a kernel.
fn fault(ways: &dyn Ways, seed: u64, shape: Shape, tally: &mut Tally) -> Option<String> {
    let Generated { plan, inputs } = generate(seed, shape);
    if let Err(errors) = validate_plan(&plan) {
        return Some(format!("not valid: {errors}"));
    }
    caught(|| {
        let expected = interpreted(&plan, &inputs);
        for (what, loaded) in ways.of(&plan, Some(seed)) {
            let run = loaded.and_then(|loaded| loaded.run(&inputs));
            if let Some(difference) = difference(&plan, run, &expected) {
                return Some(format!("{difference} ({what})"));
            }
        }
        *(if expected.is_ok() { &mut tally.same } else { &mut tally.failed }) += 1;
        None
    })
}

/// Runs kernels; of each kind of fault the one with the fewest statements is shown. `least` of a hundred are to run to their end.
fn check(ways: &dyn Ways, test: &str, count: u64, least: usize, shape: Shape) {
    let seeds = seeds(ways, "FUSEBOX_KERNELS", count);
    let mut tally = Tally::default();
    let mut faults: BTreeMap<String, (usize, usize, u64, String)> = BTreeMap::new();
    for seed in seeds.clone() {
        let Some(fault) = fault(ways, seed, shape, &mut tally) else { continue };
        let statements = generate(seed, shape).plan.kernels[0].statements.len();
        let entry = faults.entry(kind(&fault)).or_insert((0, usize::MAX, seed, String::new()));
        entry.0 += 1;
        if statements < entry.1 {
            (entry.1, entry.2, entry.3) = (statements, seed, fault);
        }
    }
    let mut report = String::new();
    for (times, _, seed, fault) in faults.into_values() {
        let plan = generate(seed, shape).plan;
        let package = ways.package();
        report += &format!(
            "\n{times} times (FUSEBOX_SEED={seed} cargo test -p {package} --test all {test}): {fault}\n{plan}\n"
        );
    }
    println!("{test}: {tally:?}");
    assert!(report.is_empty(), "{report}");
    tally.check(seeds.count(), least);
}

/// Of few points.
pub fn small_kernels(ways: &dyn Ways) {
    check(ways, "small_kernels", 400, 95, Shape { points: 200, long: false, may_fail: false });
}

/// Of more points than a block of a reduce has.
pub fn kernels_of_some_blocks(ways: &dyn Ways) {
    check(ways, "kernels_of_some_blocks", 60, 95, Shape { points: 10_000, long: false, may_fail: false });
}

/// Of more points than a tile of a scan has.
pub fn kernels_of_some_tiles(ways: &dyn Ways) {
    check(ways, "kernels_of_some_tiles", 40, 95, Shape { points: 100_000, long: true, may_fail: false });
}

/// Of which many fail.
pub fn kernels_that_fail(ways: &dyn Ways) {
    check(ways, "kernels_that_fail", 250, 20, Shape { points: 200, long: false, may_fail: true });
}

/// Makes a test of each case.
#[macro_export]
macro_rules! random_kernels {
    ($ways:expr) => {
        $crate::each!(
            $ways, random_kernels: small_kernels, kernels_of_some_blocks, kernels_of_some_tiles, kernels_that_fail
        );
    };
}
