//! Nested programs on all cores: what they give is what is expected, however arrays in lanes are held, on any number of threads.

use std::num::NonZeroUsize;

use fusebox::{Flattening, Fusion, Options, compile_program};
use fusebox_golden::{Golden, load, names};
use fusebox_ir::{Property, Value, validate};

/// The golden programs that are made flat.
fn nested() -> Vec<Golden> {
    let flattening = fusebox::pass("flattening").unwrap_or_else(|error| panic!("{error}"));
    let all = names().into_iter().map(|name| load(&name));
    all.filter(|golden| {
        validate(&golden.program, &[Property::Flat]).is_err() && flattening.run(&golden.program).is_ok()
    })
    .collect()
}

fn run(golden: &Golden, options: &Options) -> Vec<Value> {
    let compiled = compile_program(&golden.program, options).unwrap_or_else(|error| panic!("{}: {error}", golden.name));
    let results = compiled.run(&golden.inputs).unwrap_or_else(|error| panic!("{}: {error}", golden.name));
    golden.check(&results).unwrap_or_else(|mismatch| panic!("{}: {mismatch}", golden.name));
    results
}

#[test]
fn they_run_on_all_cores() {
    let all = nested();
    assert!(all.len() >= 7, "{} programs", all.len());
    for golden in &all {
        let of = |threads: usize| Options { threads: NonZeroUsize::new(threads), verify: true, ..Options::default() };
        let results = [1, 2, 7].map(|threads| run(golden, &of(threads)));
        assert!(results[0] == results[1] && results[0] == results[2], "{}", golden.name);
    }
}

#[test]
fn they_run_without_fusion_and_with_nothing_regular() {
    for golden in &nested() {
        run(golden, &Options { fusion: Fusion::None, ..Options::default() });
        run(golden, &Options { flattening: Flattening::Irregular, ..Options::default() });
    }
}
