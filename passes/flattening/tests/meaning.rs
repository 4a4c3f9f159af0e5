//! Flat programs mean what the nested ones do: generated programs, on the interpreter.

mod common;

use common::{check, flat_inputs, same};
use fusebox_flattening::{Config, Flattening, flatten};
use fusebox_interp::run;
use fusebox_ir::{
    Program,
    generate::{self, Kind, inputs, minimize, program},
};

/// Programs with many nests, and without what is not lifted.
fn config(may_fail: bool) -> generate::Config {
    let mut config = generate::Config { nested: true, may_fail, ..generate::Config::default() };
    for (kind, weight) in &mut config.operations {
        match kind {
            Kind::Nest => *weight = 16,
            Kind::Consume => *weight = 0,
            _ => {}
        }
    }
    config
}

fn has_streams(program: &Program) -> bool {
    program.body.params.iter().any(|param| param.ty.stream)
}

/// Checks programs of these seeds; how many were lifted and ran.
fn check_all(seeds: std::ops::Range<u64>, way: Flattening) -> (usize, usize) {
    let config = config(false);
    let (mut lifted, mut ran) = (0, 0);
    for seed in seeds {
        let source = program(seed, &config);
        if has_streams(&source) {
            continue;
        }
        let given = inputs(&source, seed, &config);
        match check(&source, &given, &Config::of(way)) {
            Ok(common::Checked { lifted: was, ran: did }) => {
                lifted += usize::from(was);
                ran += usize::from(did);
            }
            Err(message) => {
                let kind = |message: &str| message.chars().take(14).collect::<String>();
                let mut fails = |program: &Program| {
                    let given = inputs(program, seed, &config);
                    let found = check(program, &given, &Config::of(way));
                    !has_streams(program) && found.is_err_and(|found| kind(&found) == kind(&message))
                };
                let small = minimize(&source, &mut fails);
                let given = inputs(&small, seed, &config);
                let again = check(&small, &given, &Config::of(way)).err().unwrap_or_default();
                panic!("seed {seed}: {message}\nsmaller: {again}\n{small}\ninputs {given:?}");
            }
        }
    }
    (lifted, ran)
}

#[test]
fn flat_programs_mean_what_nested_ones_do() {
    let (lifted, ran) = check_all(0..1_500, Flattening::Regular);
    assert!(lifted > 700 && ran > 700, "{lifted} were lifted, {ran} ran");
}

#[test]
fn so_they_do_if_nothing_is_held_as_regular() {
    let (lifted, _) = check_all(1_500..2_000, Flattening::Irregular);
    assert!(lifted > 200, "{lifted} were lifted");
}

#[test]
#[ignore = "takes minutes"]
fn many_flat_programs_mean_what_nested_ones_do() {
    check_all(2_000..18_000, Flattening::Regular);
    check_all(18_000..20_000, Flattening::Irregular);
}

/// What may fail fails in both or in none.
#[test]
fn what_fails_in_a_lane_fails_when_flat_and_nothing_else_does() {
    let config = config(true);
    let (mut failed, mut lost) = (0, 0);
    for seed in 0..800 {
        let source = program(seed, &config);
        if has_streams(&source) {
            continue;
        }
        let given = inputs(&source, seed, &config);
        let Ok((flat, report)) = flatten(&source, &Config::default()) else { continue };
        if report.lifted == 0 {
            continue;
        }
        match (run(&source, &given), run(&flat, &flat_inputs(&given))) {
            (Ok(nested), Ok(flat)) => assert!(same(&nested, &flat), "seed {seed}: other results\n{source}\n{flat:?}"),
            (Ok(_), Err(error)) => panic!("seed {seed}: an error that was none, {error}\n{source}\n{flat}"),
            (Err(_), Err(_)) => failed += 1,
            // An error of an element that nobody reads may be lost.
            (Err(_), Ok(_)) => lost += 1,
        }
    }
    assert!(failed > 20 && lost * 4 < failed, "{failed} failed, {lost} errors were lost");
}
