//! Random nests over rows of different lengths, whose elements are computed with what was computed of their row: as the interpreter gives it,
//! and to the bit what the plan says, on any number of threads.

use std::{fmt::Write, num::NonZeroUsize};

use crate::common::plan_of;
use fusebox::{Options, compile_program};
use fusebox_interp::{run, run_plan};
use fusebox_ir::{Array, Constant, Nested, Plan, Program, Scalar, SplitMix64, Value, text};

fn below(random: &mut SplitMix64, limit: usize) -> usize {
    random.below(limit as u64) as usize
}

/// A nest over the rows of `xss`: folds, numbers made of these, and elements made of both.
fn program(random: &mut SplitMix64, element: &str) -> Program {
    let zero = if element == "f32" { "0.0" } else { "0" };
    let (mut rows, mut numbers) = (vec!["row".to_owned()], Vec::<String>::new());
    let mut lines = String::new();
    for at in 0..3 + below(random, 6) {
        let row = rows[rows.len() - 1 - below(random, rows.len().min(2))].clone();
        let number = numbers.get(below(random, numbers.len().max(1))).cloned();
        let name = format!("a{at}");
        match (below(random, 6), number) {
            (0 | 1, Some(number)) => {
                let f = ["v - NUMBER", "v * NUMBER", "max(v, NUMBER)", "NUMBER - v * v"][below(random, 4)];
                let f = f.replace("NUMBER", &number);
                writeln!(lines, "let {name}: [k]{element} = map(|v| {f}, {row})").unwrap();
                rows.push(name);
            }
            (2, Some(number)) => {
                let other = &numbers[below(random, numbers.len())];
                writeln!(lines, "let {name} = {number} * {element}(k) - {other}").unwrap();
                numbers.push(name);
            }
            (3, _) => {
                let other = &rows[below(random, rows.len())];
                writeln!(lines, "let {name}: [k]{element} = map(|v, w| v - w, {row}, {other})").unwrap();
                rows.push(name);
            }
            _ => {
                let f = ["a + b", "max(a, b)"][below(random, 2)];
                writeln!(lines, "let {name}: {element} = fold(|a, b| {f}, {zero}, {row})").unwrap();
                numbers.push(name);
            }
        }
    }
    let number = numbers.last().cloned().unwrap_or_else(|| format!("{element}(k)"));
    let row = rows.last().expect("a row comes in");
    let source = format!(
        "fn f(xss: [n][?]{element}) -> [n][?]{element}, [n]{element} {{
          let y: [n][?]{element}, t: [n]{element} = nest([n], |i| {{
            let k: i64, row: [k]{element} = element(xss, i)
            {lines}
            let z: [k]{element} = map(|v| v + {number}, {row})
            let last = {number}
            return z, last }})
          return y, t }}"
    );
    text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// Rows of no, one, few and many elements.
fn lengths(random: &mut SplitMix64) -> Vec<i64> {
    let length = |random: &mut SplitMix64| match below(random, 12) {
        0..=2 => 0,
        3 => 1,
        4..=9 => below(random, 40) as i64,
        10 => 64 + below(random, 3) as i64,
        _ => 4000 + below(random, 200) as i64,
    };
    (0..below(random, 12)).map(|_| length(random)).collect()
}

fn vector<T: Scalar>(list: &[T]) -> Array {
    Array::new(&[list.len()], list).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether a plan looks up the row of elements.
fn looks_up(plan: &Plan) -> bool {
    plan.kernels.iter().any(|kernel| kernel.arrays.iter().any(|array| array.name.starts_with("lane")))
}

fn compiled(program: &Program, input: &Value) -> Vec<Vec<Value>> {
    let run = |threads: usize| {
        let options = Options { threads: NonZeroUsize::new(threads), verify: true, ..Options::default() };
        let compiled = compile_program(program, &options).unwrap_or_else(|error| panic!("{error}\n{program}"));
        compiled.run(std::slice::from_ref(input)).unwrap_or_else(|error| panic!("{error}\n{program}"))
    };
    [1, 2, 7].map(run).into()
}

#[test]
fn whole_numbers_are_those_of_the_interpreter() {
    let mut random = SplitMix64::new(12);
    let mut by_offsets = 0;
    for _ in 0..60 {
        let program = program(&mut random, "i64");
        by_offsets += usize::from(!looks_up(&plan_of(&program)));
        let extents = lengths(&mut random);
        let values: Vec<i64> =
            (0..extents.iter().sum()).map(|_: i64| random.bits() as i64 >> (random.bits() % 64)).collect();
        let input = Value::Nested(Nested { extents: vector(&extents), values: vector(&values) });
        let expected = run(&program, std::slice::from_ref(&input)).unwrap_or_else(|error| panic!("{error}\n{program}"));
        for found in compiled(&program, &input) {
            assert!(found == expected, "{extents:?}\n{program}");
        }
    }
    // What is computed with a number that needs no fold of the row still looks up the row.
    assert!(by_offsets >= 40, "{by_offsets} programs go by offsets");
}

/// Whether arrays are equal to the bit, but for which NaN they have.
fn same_bits(a: &Value, b: &Value) -> bool {
    let (Value::Array(a), Value::Array(b)) = (a, b) else { return false };
    let nan = |constant: Constant| constant.as_f64().is_some_and(f64::is_nan);
    let same = |(a, b): (Constant, Constant)| a == b || nan(a) && nan(b);
    a.extents() == b.extents() && a.constants().zip(b.constants()).all(same)
}

#[test]
fn floats_are_to_the_bit_those_of_the_plan() {
    let mut random = SplitMix64::new(34);
    for _ in 0..40 {
        let program = program(&mut random, "f32");
        let extents = lengths(&mut random);
        let special = [f32::NAN, f32::INFINITY, -0.0, f32::MAX, f32::MIN_POSITIVE / 8.0];
        let values: Vec<f32> = (0..extents.iter().sum())
            .map(|_: i64| match below(&mut random, 50) {
                0 => special[below(&mut random, special.len())],
                _ => random.unit() as f32 * 8.0 - 4.0,
            })
            .collect();
        let (extents, values) = (vector(&extents), vector(&values));
        let flat = [Value::Array(extents.clone()), Value::Array(values.clone())];
        let (expected, _) = run_plan(&plan_of(&program), &flat).unwrap_or_else(|error| panic!("{error}\n{program}"));
        for found in compiled(&program, &Value::Nested(Nested { extents, values })) {
            let [Value::Nested(rows), last] = &found[..] else { panic!("rows, and a number of each") };
            let found = [Value::Array(rows.extents.clone()), Value::Array(rows.values.clone()), last.clone()];
            assert!(found.iter().zip(&expected).all(|(a, b)| same_bits(a, b)), "{program}");
        }
    }
}
