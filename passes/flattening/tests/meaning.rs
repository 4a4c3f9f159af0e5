//! Flat programs mean what the nested ones do: generated programs, on the interpreter.

use crate::common::{self, check, flat_inputs, same};
use fusebox_flattening::{Config, Flattening, flatten};
use fusebox_interp::run;
use fusebox_ir::{
    Program,
    generate::{self, Kind, inputs, minimize, program},
};

/// Programs with many nests.
fn config(may_fail: bool) -> generate::Config {
    let mut config = generate::Config { nested: true, may_fail, ..generate::Config::default() };
    for (kind, weight) in &mut config.operations {
        *weight = if *kind == Kind::Nest { 16 } else { *weight };
    }
    config
}

/// Checks programs of these seeds; how many were lifted and ran.
fn check_all(seeds: std::ops::Range<u64>, way: &Config) -> (usize, usize) {
    check_of(seeds, way, &config(false))
}

fn check_of(seeds: std::ops::Range<u64>, way: &Config, config: &generate::Config) -> (usize, usize) {
    let (mut lifted, mut ran) = (0, 0);
    for seed in seeds {
        let source = program(seed, config);
        let given = inputs(&source, seed, config);
        match check(&source, &given, way) {
            Ok(common::Checked { lifted: was, ran: did }) => {
                lifted += usize::from(was);
                ran += usize::from(did);
            }
            Err(message) => {
                let kind = |message: &str| message.chars().take(14).collect::<String>();
                let mut fails = |program: &Program| {
                    let given = inputs(program, seed, config);
                    let found = check(program, &given, way);
                    found.is_err_and(|found| kind(&found) == kind(&message))
                };
                let small = minimize(&source, &mut fails);
                let given = inputs(&small, seed, config);
                let again = check(&small, &given, way).err().unwrap_or_default();
                panic!("seed {seed}: {message}\nsmaller: {again}\n{small}\ninputs {given:?}");
            }
        }
    }
    (lifted, ran)
}

#[test]
fn flat_programs_mean_what_nested_ones_do() {
    let (lifted, ran) = check_all(0..1_500, &Config::of(Flattening::Regular));
    assert!(lifted > 600 && ran > 600, "{lifted} were lifted, {ran} ran");
}

#[test]
fn so_they_do_if_nothing_is_held_as_regular() {
    let (lifted, _) = check_all(1_500..2_000, &Config::of(Flattening::Irregular));
    assert!(lifted > 200, "{lifted} were lifted");
}

/// Lanes one at a time, wherever that may be.
fn alone() -> Config {
    let mut config = Config::of(Flattening::Alone);
    config.every_alone = true;
    config
}

#[test]
fn lanes_mean_the_same_one_at_a_time() {
    let (lifted, ran) = check_all(2_000..2_600, &alone());
    assert!(lifted > 240 && ran > 240, "{lifted} were lifted, {ran} ran");
    check_of(2_000..2_100, &alone(), &traversing());
    // As lanes are chosen for processors.
    check_all(2_600..2_800, &Config::of(Flattening::Alone));
}

/// Programs with many traversals, in lanes and outside.
fn traversing() -> generate::Config {
    let mut config = config(false);
    for (kind, weight) in &mut config.operations {
        *weight = if *kind == Kind::Consume { 24 } else { *weight };
    }
    config
}

#[test]
fn traversals_in_memory_mean_what_they_do_one_element_at_a_time() {
    let (lifted, ran) = check_of(0..400, &Config::of(Flattening::Regular), &traversing());
    assert!(lifted > 200 && ran > 200, "{lifted} were lifted, {ran} ran");
    check_of(1_000..1_100, &Config::of(Flattening::Irregular), &traversing());
}

#[test]
fn what_is_computed_in_lanes_may_be_the_same_in_all() {
    // Whether a loop goes on, and a scalar whose code uses one of the lane for nothing.
    check_all(10_774..10_775, &Config::of(Flattening::Regular));
}

/// By `cargo test -p fusebox-flattening --test all meaning -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn many_flat_programs_mean_what_nested_ones_do() {
    check_all(2_000..18_000, &Config::of(Flattening::Regular));
    check_all(18_000..20_000, &Config::of(Flattening::Irregular));
    check_of(2_000..6_000, &Config::of(Flattening::Regular), &traversing());
    check_of(6_000..7_000, &Config::of(Flattening::Irregular), &traversing());
    check_all(20_000..24_000, &alone());
    check_all(24_000..28_000, &Config::of(Flattening::Alone));
}

/// What is wrong where runs may fail: `None` where nothing is; else whether it failed, and whether the error was lost.
fn check_failing(source: &Program, seed: u64, config: &generate::Config, way: &Config) -> Result<(bool, bool), String> {
    let given = inputs(source, seed, config);
    let Ok((flat, report)) = flatten(source, way) else { return Ok((false, false)) };
    if report.lifted == 0 {
        return Ok((false, false));
    }
    match (run(source, &given), run(&flat, &flat_inputs(&given))) {
        (Ok(nested), Ok(results)) if same(&nested, &results) => Ok((false, false)),
        (Ok(_), Ok(_)) => Err(format!("other results\n{flat}")),
        (Ok(_), Err(error)) => Err(format!("an error that was none, {error}\n{flat}")),
        (Err(_), Err(_)) => Ok((true, false)),
        // An error of an element that nobody reads may be lost.
        (Err(_), Ok(_)) => Ok((true, true)),
    }
}

/// Programs of these seeds: how many failed, of how many the error was lost, and of how many an error came too early.
fn check_all_failing(seeds: std::ops::Range<u64>, way: &Config) -> (usize, usize, usize) {
    let config = config(true);
    let (mut failed, mut lost, mut early) = (0, 0, 0);
    for seed in seeds {
        let source = program(seed, &config);
        match check_failing(&source, seed, &config, way) {
            Ok((did, was_lost)) => {
                failed += usize::from(did);
                lost += usize::from(was_lost);
            }
            // An extent that is the same in all lanes is computed although there are none: the one error that is made.
            Err(message) if message.starts_with("an error that was none") => early += 1,
            Err(message) => panic!("seed {seed}: {message}\n{source}"),
        }
    }
    println!("{failed} failed, {lost} errors were lost, {early} came too early");
    (failed, lost, early)
}

#[test]
fn what_fails_in_a_lane_fails_when_flat_and_nothing_else_does() {
    let (failed, lost, early) = check_all_failing(0..1_000, &Config::default());
    assert!(failed > 20 && lost * 4 < failed && early <= 1, "{failed} failed, {lost} lost, {early} too early");
    let (failed, lost, early) = check_all_failing(0..400, &alone());
    assert!(failed > 8 && lost * 4 < failed && early <= 1, "{failed} failed, {lost} lost, {early} too early");
}

/// By `cargo test -p fusebox-flattening --test all meaning -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn of_many_programs_few_errors_are_lost() {
    let (failed, lost, early) = check_all_failing(1_000..16_000, &Config::default());
    assert!(lost * 4 < failed && early * 1_000 < 15_000, "{failed} failed, {lost} lost, {early} too early");
}
