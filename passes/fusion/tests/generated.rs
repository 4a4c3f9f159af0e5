//! Generated programs, and golden ones: fused, they mean the same.

use fusebox_fusion::{Config, fuse};
use fusebox_interp::{Error, run};
use fusebox_ir::{Fault, Program, Value, generate, validate};

/// Whether a fault is of extents: it is one of operations, not of elements that perhaps nobody reads.
fn is_of_extents(error: &Error) -> bool {
    let Error::Run(error) = error else { return true };
    matches!(error.fault, Fault::Sizes { .. } | Fault::TooFew { .. } | Fault::NegativeExtent { .. })
}

/// What a fused program may differ in: the error of an element may be lost (if nobody reads it: `chains` has programs that read all), none
/// of extents, and none is made; otherwise results are equal, bit for bit.
fn same(before: &Program, after: &Program, inputs: &[Value]) -> Result<(), String> {
    match (run(before, inputs), run(after, inputs)) {
        (Ok(before), Ok(after)) if before == after => Ok(()),
        (Ok(_), Ok(_)) => Err("results differ".to_owned()),
        (Ok(_), Err(error)) => Err(format!("an error was made: {error}")),
        (Err(error), Ok(_)) if is_of_extents(&error) => Err(format!("an error was lost: {error}")),
        (Err(_), _) => Ok(()),
    }
}

fn check(program: &Program, inputs: &[Value], config: &Config) -> Result<usize, String> {
    let (fused, report) = fuse(program, config).map_err(|error| error.to_string())?;
    validate(&fused, &[]).map_err(|errors| format!("invalid: {errors}\n{fused}"))?;
    same(program, &fused, inputs).map_err(|error| format!("{error}\n{fused}"))?;
    Ok(report.choices.len())
}

fn programs(count: u64, config: &generate::Config) -> usize {
    let mut changed = 0;
    for seed in 0..count {
        let program = generate::program(seed, config);
        let inputs = generate::inputs(&program, seed, config);
        match check(&program, &inputs, &Config::default()) {
            Ok(choices) => changed += usize::from(choices > 0),
            Err(error) => {
                let fails = |program: &Program| {
                    validate(program, &[]).is_ok()
                        && check(program, &generate::inputs(program, seed, config), &Config::default()).is_err()
                };
                let small = generate::minimize(&program, &mut |program: &Program| fails(program));
                let again = check(&small, &generate::inputs(&small, seed, config), &Config::default());
                panic!("seed {seed}: {error}\nmade smaller: {again:?}\n{small}");
            }
        }
    }
    changed
}

#[test]
fn generated_flat_programs_mean_the_same() {
    let config = generate::Config { max_bindings: 24, ..generate::Config::default() };
    let changed = programs(2_000, &config);
    assert!(changed > 500, "{changed} of 2000 programs had something to fuse");
}

#[test]
fn generated_programs_of_producers_mean_the_same() {
    use generate::Kind::*;
    let producers =
        [Generate, Map, Map, Map, Backpermute, Backpermute, Transform, Replicate, Slice, Reshape, Stencil, Fold];
    let config = generate::Config {
        max_bindings: 30,
        operations: producers.into_iter().map(|kind| (kind, 4)).collect(),
        ..generate::Config::default()
    };
    let changed = programs(1_000, &config);
    assert!(changed > 500, "{changed} of 1000 programs had something to fuse");
}

#[test]
fn errors_of_generated_programs_are_kept_or_lost_and_never_made() {
    programs(1_000, &generate::Config { may_fail: true, max_bindings: 20, ..generate::Config::default() });
}

#[test]
fn nested_and_clustered_programs_mean_the_same() {
    programs(300, &generate::Config { nested: true, clusters: true, ..generate::Config::default() });
}

#[test]
fn every_form_of_program_is_fused_to_a_valid_one() {
    let config = generate::Config::forms();
    for seed in 0..1_000 {
        let program = generate::program(seed, &config);
        let (fused, _) = fuse(&program, &Config::default()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        validate(&fused, &[]).unwrap_or_else(|errors| panic!("seed {seed}: {errors}\n{program}\n{fused}"));
    }
}
