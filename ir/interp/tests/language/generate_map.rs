//! `generate`, `map`, `unit`, `compute`, `constant`: each element by itself.

use crate::support::{fails, run};

/// `generate` makes each element from its index.
#[test]
fn generate() {
    assert_eq!(
        run("fn f(n: i64) -> [n]i64 { let y: [n]i64 = generate([n], |i| i * i) return y }", &["4"]),
        "[0, 1, 4, 9]"
    );
    assert_eq!(run("fn f(n: i64) -> [n]i64 { let y: [n]i64 = generate([n], |i| i * i) return y }", &["0"]), "[]");
    let table = "fn f() -> [2, 3]i64 { let y: [2, 3]i64 = generate([2, 3], |i, j| 10 * i + j) return y }";
    assert_eq!(run(table, &[]), "[[0, 1, 2], [10, 11, 12]]");
}

/// Several results are several arrays of the same extents.
#[test]
fn several_results() {
    let program = "fn f() -> [3]i64, [3]bool {
        let y: [3]i64, z: [3]bool = generate([3], |i| { return 2 * i, i == 1 }) return y, z }";
    assert_eq!(run(program, &[]), "[0, 2, 4]; [false, true, false]");
}

/// `map` applies its function to the elements of each index, of any number of arrays of any types.
#[test]
fn map() {
    let program = "fn f(x: [n]i32, y: [n]f32, c: [n]bool) -> [n]f32 {
        let z: [n]f32 = map(|a, b, p| if p { f32(a) } else { b }, x, y, c) return z }";
    assert_eq!(run(program, &["[1, 2]", "[0.5, 1.5]", "[true, false]"]), "[1.0, 1.5]");
    let table = "fn f(x: [n, m]i32) -> [n, m]i32 { let y: [n, m]i32 = map(|a| -a, x) return y }";
    assert_eq!(run(table, &["[[1, 2], [3, 4]]"]), "[[-1, -2], [-3, -4]]");
    assert_eq!(run(table, &["empty [0, 5]"]), "empty [0, 5]");
}

/// A map that runs over less takes the first elements of each dimension.
#[test]
fn map_over_a_corner() {
    let program = "fn f(x: [n, m]i32) -> [2, 1]i32 { let y: [2, 1]i32 = map(|a| a, x) return y }";
    assert_eq!(run(program, &["[[1, 2], [3, 4], [5, 6]]"]), "[[1], [3]]");
}

/// A function may use every value outside of it, and read arrays by index.
#[test]
fn functions_see_what_is_outside() {
    let program = "fn f(x: [n]i32, k: i32, at: [m]i64) -> [m]i32 { let y: [m]i32 = map(|i| k * x[i], at) return y }";
    assert_eq!(run(program, &["[1, 2, 3]", "10", "[2, 0]"]), "[30, 10]");
    assert!(
        fails(program, &["[1, 2, 3]", "10", "[3]"])
            .ends_with("map `y`: index [3] is outside of `x`, whose extents are [3]")
    );
    assert!(
        fails(program, &["[1, 2, 3]", "10", "[-1]"]).ends_with("index [-1] is outside of `x`, whose extents are [3]")
    );
}

/// `a.flat[p]` reads by row-major position.
#[test]
fn reads_by_position() {
    let program = "fn f(x: [n, m]i32, p: i64) -> i32 { let y = x.flat[p] return y }";
    assert_eq!(run(program, &["[[1, 2, 3], [4, 5, 6]]", "4"]), "5");
    assert!(
        fails(program, &["[[1, 2, 3], [4, 5, 6]]", "6"])
            .ends_with("index [6] is outside of `x`, whose extents are [2, 3]")
    );
}

/// A function is a list of instructions, among them `if` and `while` with several results.
#[test]
fn functions_hold_branches_and_loops() {
    let gcd = "fn f(x: [n]i64, y: [n]i64) -> [n]i64 {
        let z: [n]i64 = map(|a, b| {
            let high, low = if a > b { return a, b } else { return b, a }
            let g, zero = while(|u: i64, v: i64| v > 0, |u: i64, v: i64| { return v, u % v }, high, low)
            return g }, x, y) return z }";
    assert_eq!(run(gcd, &["[12, 18, 7]", "[18, 12, 0]"]), "[6, 6, 7]");
    let steps = "fn f(x: [n]i64) -> [n]i64 {
        let z: [n]i64 = map(|a| {
            let v, k = while(|v: i64, k: i64| v != 1, |v: i64, k: i64| {
                let w = if v % 2 == 0 { v / 2 } else if v == 3 { 10 } else { 3 * v + 1 } return w, k + 1 }, a, 0)
            return k }, x) return z }";
    assert_eq!(run(steps, &["[1, 2, 3, 6]"]), "[0, 1, 7, 8]");
}

/// Scalar code between operations is a `unit`, written as an expression or with several results.
#[test]
fn unit() {
    assert_eq!(run("fn f(x: i32, y: i32) -> i32 { let z = x * y + 1 return z }", &["3", "4"]), "13");
    let pair = "fn f(x: i32) -> i32, bool { let y: i32, z: bool = unit(|| { return x + 1, x > 0 }) return y, z }";
    assert_eq!(run(pair, &["3"]), "4; true");
    assert_eq!(run("fn f(x: [n]i32) -> i32 { let z = x[n - 1] return z }", &["[1, 9]"]), "9");
}

/// `compute` is the identity: it stores arrays.
#[test]
fn compute() {
    let program =
        "fn f(x: [n]i32, y: [n]bool) -> [n]i32, [n]bool { let a: [n]i32, b: [n]bool = compute(x, y) return a, b }";
    assert_eq!(run(program, &["[1, 2]", "[true, false]"]), "[1, 2]; [true, false]");
}

/// `constant` is an array written out, in row-major order.
#[test]
fn constant() {
    assert_eq!(
        run("fn f() -> [2, 2]i8 { let y: [2, 2]i8 = constant([[1, 2], [3, -4]]) return y }", &[]),
        "[[1, 2], [3, -4]]"
    );
    assert_eq!(run("fn f() -> [0]f32 { let y: [0]f32 = constant([]) return y }", &[]), "[]");
    assert_eq!(
        run("fn f() -> [3]f16 { let y: [3]f16 = constant([-0.0, inf_f16, 0.1]) return y }", &[]),
        "[-0.0, inf, 0.1]"
    );
}

/// Results are keyed by name; a binding may be given as several.
#[test]
fn a_binding_returned_twice() {
    assert_eq!(run("fn f(x: [n]i32) -> [n]i32, [n]i32 { return x, again: x }", &["[1, 2]"]), "[1, 2]; [1, 2]");
}
