//! Programs that random search found to be lowered wrongly once.

use crate::strict::lower;
use fusebox_interp::{run, run_plan};
use fusebox_ir::{Array, Value, text, validate, validate_plan};
use fusebox_kernels::Config;

/// Plan and program give the same.
fn agrees(source: &str, inputs: &[Value]) {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let (plan, _) = lower(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}\n{program}"));
    validate_plan(&plan).unwrap_or_else(|errors| panic!("{errors}\n{plan}"));
    let expected = run(&program, inputs).unwrap_or_else(|error| panic!("{error}"));
    let (found, _) = run_plan(&plan, inputs).unwrap_or_else(|error| panic!("{error}\n{plan}"));
    assert_eq!(found, expected, "{plan}");
}

fn vector(elements: &[f32]) -> Value {
    Array::new(&[elements.len()], elements).unwrap().into()
}

#[test]
fn an_expand_whose_functions_use_no_source_still_counts_them() {
    let a = vector(&[1.0, 2.0]);
    agrees(
        "fn p(a: [n]f32) -> [?]i16 { let k: i64, b: [k]i16, c: [k]i8, d: [k]i16 = expand(|x| 1, |x, j| { return 1, 2, 3 }, a) return d }",
        std::slice::from_ref(&a),
    );
    agrees(
        "fn p(a: [n]f32) -> [?]f64 { let k: i64, b: [k]f16 = expand(|x| 3, |x, j| 0.0, a) let c: [k]f64 = generate([k], |i| 0.0) return c }",
        std::slice::from_ref(&a),
    );
    agrees("fn p(z: [n]f32) -> i64 { let k: i64, b: [k]i16 = expand(|a| 3, |a, j| 0, z) return k }", &[a]);
}

#[test]
fn a_filter_that_looks_at_nothing_still_counts() {
    agrees(
        "fn p(a: [n]f32) -> [?]i16 { let k: i64, b: [k]f32, c: [k]f32 = filter(|x, y| true, a, a) let d: [k]i16 = generate([k], |i| 9) return d }",
        &[vector(&[1.0, 2.0, 3.0])],
    );
}

#[test]
fn a_scalar_is_read_by_position_too() {
    let inputs = [Array::scalar(7i64).into(), Array::scalar(3i64).into()];
    agrees("fn p(s: i64, n: i64) -> [?]i64 { let a: [n]i64 = generate([n], |i| s.flat[0]) return a }", &inputs);
    agrees("fn p(s: i64, n: i64) -> i64 { let b: i64 = generate([], || s.flat[0]) return b }", &inputs);
}

#[test]
fn components_that_nobody_needs_may_disagree() {
    let inputs = [vector(&[1.0]), vector(&[]), vector(&[5.0, 6.0]), vector(&[])];
    agrees(
        "fn p(a: [z]f32, x: [0]f32, y: [m]f32, b: [0]f32) -> [0]f32 { let p: [0]f32, q: [m]f32, r: [0]f32 = permuted_expand(|e| 0,
         |e, j| { return 0, 0.0, 1.0, 2.0 }, |a, b, c, d, e, f| { return d, e, f }, (x, y, b), a) return r }",
        &inputs,
    );
}

#[test]
fn components_that_do_not_meet_may_disagree() {
    let inputs = [vector(&[1.0]), vector(&[3.0]), vector(&[5.0, 6.0])];
    agrees(
        "fn p(a: [z]f32, x: [n]f32, y: [m]f32) -> [n]f32, [m]f32 { let p: [n]f32, q: [m]f32 = permuted_expand(|e| 1,
         |e, j| { return 0, e, 2.0 }, |a, b, d, e| { return a + d, e }, (x, y), a) return p, q }",
        &inputs,
    );
    agrees(
        "fn p(a: [z]f32, x: [n]f32, y: [m]f32) -> [n]f32, [m]f32 { let t: [z]i64 = map(|e| 0, a)
         let p: [n]f32, q: [m]f32 = permute(|a, b, d, e| { return a + d, e }, (x, y), (a, a), at: (t)) return p, q }",
        &inputs,
    );
    agrees(
        "fn p(a: [z]f32, x: [n]f32, y: [m]f32) -> f32, f32 {
         let p: f32, q: f32 = fold(|a, b, d, e| { return a + d, b * e }, 0.0, 1.0, x, y) return p, q }",
        &inputs,
    );
    agrees(
        "fn p(a: [z]f32, x: [n]f32, y: [m]f32) -> [1]f32, [1]f32, [n]f32, [m]f32 {
         let p: [1]f32, q: [1]f32 = backpermute([1], |i| 0, x, y)
         let r: [n]f32, s: [m]f32 = slice([_], x, y) return p, q, r, s }",
        &inputs,
    );
    agrees(
        "fn p(a: [z]f32, x: [n]f32, y: [m]f32) -> [1]f32, [1]f32, [1]f32 {
         let p: [1]f32, q: [1]f32, r: [1]f32 = transform([1], |i| i, |a, b| { return a, b, a + 1.0 }, x, y) return p, q, r }",
        &inputs,
    );
}

#[test]
fn constant_extents_of_arguments_are_read_as_arrays() {
    let x = [Array::new(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap().into()];
    agrees(
        "fn p(x: [n, 3]f32) -> [n]i64, [n]i64, i64, i64 { let r: [n]i64, k: i64, s: i64 = foreign(\"f\", |y: [a, b]f32| {
           let r: [a]i64 = generate([a], |i| b.flat[0] + b[])
           let s: i64 = map(|b| b + 1, b)
           return r, b, s }, x)
         let t: [n]i64 = generate([n], |i| k.flat[0])
         return r, t, s, k }",
        &x,
    );
    agrees(
        "fn p(x: [n, 3]f32) -> i64 { let r: i64 = foreign(\"f\", |y: [a, b]f32| {
           let r: i64 = while(|s: i64| { let c: bool = map(|s, b| s < 4 * b, s, b) return c }, |s: i64| { let t: i64 = map(|s| s + 5, s) return t }, 0)
           return r }, x)
         return r }",
        &x,
    );
}

#[test]
fn results_of_a_fallback_that_nobody_needs_may_fail() {
    agrees(
        "fn p(n: i64) -> i64 { let a: i64, b: i64, c: i64 = foreign(\"f\", |n: i64| {
           let a = n + 1
           let b = 10 / n
           let c = assert(n > 0, \"positive\", n)
           return a, b, c }, n) return a }",
        &[Array::scalar(0i64).into()],
    );
}

#[test]
fn the_right_side_of_and_runs_if_the_left_one_says_so() {
    agrees(
        "fn p(n: i64) -> bool, bool { let c = n > 0 let d = assert(c, \"positive\", true)
         let e = c && d let g = !c let f = g || d return e, f }"
            .replace(" let ", "\n let ")
            .as_str(),
        &[Array::scalar(0i64).into()],
    );
}
