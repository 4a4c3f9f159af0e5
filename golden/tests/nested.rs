//! Nested programs on all cores: what they give is what is expected, however arrays in lanes are held, on any number of threads.

use std::num::NonZeroUsize;

use fusebox::{Flattening, Fusion, Options, compile_program};
use fusebox_golden::{Golden, load, names};
use fusebox_ir::{Array, Nested, Property, Value, validate};

/// The golden programs that are made flat.
fn nested() -> Vec<Golden> {
    let all = names().into_iter().map(|name| load(&name));
    all.filter(|golden| validate(&golden.program, &[Property::Flat]).is_err()).collect()
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
    assert!(all.len() >= 22, "{} programs", all.len());
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

#[test]
fn errors_name_the_numbers_and_the_lane() {
    let source = "fn f(rows: [n][?]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let m: i64, row: [m]i64 = element(rows, i)
        let k = at[i]
        let x = row[k]
        return x })
      return r }";
    let program = fusebox_ir::text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let vector = |list: &[i64]| Array::new(&[list.len()], list).unwrap_or_else(|error| panic!("{error}"));
    let rows = Nested { extents: vector(&[2, 3, 1]), values: vector(&[1, 2, 3, 4, 5, 6]) };
    let inputs = [Value::Nested(rows), vector(&[0, 3, 0]).into()];
    for threads in [1, 2] {
        let options = Options { threads: NonZeroUsize::new(threads), ..Options::default() };
        let compiled = compile_program(&program, &options).unwrap_or_else(|error| panic!("{error}"));
        let error = compiled.run(&inputs).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.ends_with("index 3 is outside of `row`, whose extent is 3, in lane 1"), "{error}");
    }
}
