//! Extents: values in types.

use crate::support::{fails, run};

/// A name first met in the type of an input is bound there, and is an `i64` like any other.
#[test]
fn extents_are_values() {
    assert_eq!(run("fn f(x: [n, m]f32) -> i64, i64 { return n, m }", &["[[1, 2, 3], [4, 5, 6]]"]), "2; 3");
    assert_eq!(run("fn f(x: [n]f32) -> i64 { let k = 2 * n return k }", &["[]"]), "0");
}

/// A name met again is the same extent: inputs that disagree are bad input, found before anything runs.
#[test]
fn a_name_met_again_is_the_same() {
    let program = "fn f(x: [n]i32, y: [n]i32) -> [n]i32 { let z: [n]i32 = map(|a, b| a + b, x, y) return z }";
    assert_eq!(run(program, &["[1, 2]", "[3, 4]"]), "[4, 6]");
    assert_eq!(
        fails(program, &["[1, 2]", "[3]"]),
        "inputs do not fit: extent 1 of `y` and extent 2 of `n` should be equal"
    );
}

/// An extent that is a number is checked too.
#[test]
fn constant_extents_are_checked() {
    let program = "fn f(x: [2]i32) -> [2]i32 { return x }";
    assert_eq!(run(program, &["[1, 2]"]), "[1, 2]");
    assert!(fails(program, &["[1, 2, 3]"]).starts_with("inputs do not fit: extent 3 of `x`"));
}

/// Arrays of unequal extents are combined over what they share, if the program says so.
#[test]
fn the_lesser_of_two_extents() {
    let program = "fn f(x: [n]i32, y: [m]i32) -> [?]i32 {
        let k = min(n, m) let z: [k]i32 = map(|a, b| a * b, x, y) return z }";
    assert_eq!(run(program, &["[1, 2, 3]", "[4, 5]"]), "[4, 10]");
    assert_eq!(run(program, &["[]", "[4, 5]"]), "[]");
}

/// A map runs over the extents of its binding: less than its arrays have, never more.
#[test]
fn a_map_over_more_than_there_is() {
    let program = "fn f(x: [n]i32, k: i64) -> [?]i32 { let y: [k]i32 = map(|a| a + 1, x) return y }";
    assert_eq!(run(program, &["[1, 2, 3]", "2"]), "[2, 3]");
    assert!(fails(program, &["[1, 2, 3]", "4"]).ends_with("extent 4 of `y` is more than the 3 of `x`"));
}

/// Other operations combine arrays of equal extents.
#[test]
fn arrays_of_unequal_extents_do_not_combine() {
    let program = "fn f(x: [n]i32, y: [m]i32) -> i32 {
        let s: i32, t: i32 = fold(|a, b, c, d| { return a + d, b + c }, 0, 0, x, y) return s }";
    assert_eq!(run(program, &["[1, 2]", "[10, 20]"]), "30");
    assert!(fails(program, &["[1, 2]", "[10]"]).ends_with("extent 2 of `x` and extent 1 of `y` should be equal"));
}

/// Components that a result does not need are not compared with those that it needs.
#[test]
fn siblings_are_not_compared() {
    let program = "fn f(x: [n]i32, y: [m]i32) -> i32, i32 {
        let s: i32, t: i32 = fold(|a, b, c, d| { return a + c, b + d }, 0, 0, x, y) return s, t }";
    assert_eq!(run(program, &["[1, 2]", "[10]"]), "3; 10");
}

/// A declared extent that is neither proved nor refuted is checked when the binding is needed.
#[test]
fn declared_extents_are_checked() {
    let program = "fn f(x: [n]i32, k: i64) -> [?]i32 { let m: i64, y: [k]i32 = filter(|a| a > 0, x) return y }";
    let fitting =
        run("fn f(x: [n]i32) -> [?]i32 { let m: i64, y: [m]i32 = filter(|a| a > 0, x) return y }", &["[1, -1]"]);
    assert_eq!(fitting, "[1]");
    assert_eq!(run(program, &["[1, -1, 2]", "2"]), "[1, 2]");
    assert!(fails(program, &["[1, -1, 2]", "3"]).ends_with("extent 2 of `y` and extent 3 of `k` should be equal"));
}

/// The results of a program have the extents that it declares.
#[test]
fn extents_of_results_are_checked() {
    let program = "fn f(x: [n]i32, k: i64) -> [n]i32 { let y: [k]i32 = generate([k], |i| i32(i)) return y }";
    assert_eq!(run(program, &["[7, 7]", "2"]), "[0, 1]");
    assert!(fails(program, &["[7, 7]", "3"]).ends_with("extent 3 of `y` and extent 2 of `n` should be equal"));
}

/// A negative extent is an error of whoever makes the array.
#[test]
fn negative_extents() {
    let program = "fn f(k: i64) -> [?]i32 { let y: [k]i32 = generate([k], |i| 1i32) return y }";
    assert_eq!(run(program, &["0"]), "[]");
    assert!(fails(program, &["-1"]).ends_with("generate `y`: extent -1 of `y` is negative"));
    let both = "fn f(k: i64) -> [?, ?]i32 { let y: [k, k]i32 = generate([k, k], |i, j| 1i32) return y }";
    assert!(fails(both, &["-2"]).ends_with("extent -2 of `y` is negative"));
}

/// Extents whose product overflows, or that no memory holds, are an error that says which array.
#[test]
fn arrays_that_no_memory_holds() {
    let program = "fn f(k: i64) -> i64 { let y: [k, k]i64 = generate([k, k], |i, j| i) let z = y[0, 0] return z }";
    assert_eq!(run(program, &["2"]), "0");
    let message = fails(program, &["4294967296"]);
    assert!(
        message.ends_with("generate `y`: `y` of extents [4294967296, 4294967296] does not fit in memory"),
        "{message}"
    );
}

/// An array with an extent of 0 has no elements, however large the others are; an extent is at most 2^50.
#[test]
fn empty_arrays_of_large_extents() {
    let program = "fn f(k: i64, m: i64) -> i64 { let y: [k, m]i64 = generate([k, m], |i, j| i) let s: [k]i64 = fold(|a, b| a + b, 0, y)
        let t: i64 = fold(|a, b| a + b, 7, s) return t }";
    assert_eq!(run(program, &["0", "1125899906842624"]), "7");
    assert!(fails(program, &["0", "1125899906842625"]).contains("does not fit in memory"));
}

/// Rows of no elements are not gone through, however many they are.
#[test]
fn rows_of_no_elements() {
    for program in [
        "fn f(k: i64) -> [?, ?]i64 { let y: [k, 0]i64 = generate([k, 0], |i, j| i) let s: [k, 0]i64 = scanl1(|a, b| a + b, y) return s }",
        "fn f(k: i64) -> [?, ?]i64 { let y: [k, 0]i64 = generate([k, 0], |i, j| i) let s: [k, 0]i64 = map(|a| a + 1, y) return s }",
        "fn f(k: i64) -> [?, ?]i64 { let y: [k, 0]i64 = generate([k, 0], |i, j| i) let s: [k, 0]i64 = sort(y) return s }",
    ] {
        assert_eq!(run(program, &["2"]), "empty [2, 0]");
        assert_eq!(run(program, &["562949953421312"]), "empty [562949953421312, 0]");
    }
}

/// What such rows fold to takes memory, and so do the totals of their scans.
#[test]
fn results_of_rows_of_no_elements() {
    for program in [
        "fn f(k: i64) -> [?]i64 { let y: [k, 0]i64 = generate([k, 0], |i, j| i) let s: [k]i64 = fold(|a, b| a + b, 0, y) return s }",
        "fn f(k: i64) -> [?]i64 { let y: [k, 0]i64 = generate([k, 0], |i, j| i) let x: [k, 0]i64, s: [k]i64 = scanl'(|a, b| a + b, 0, y) return s }",
    ] {
        assert_eq!(run(program, &["2"]), "[0, 0]");
        assert!(
            fails(program, &["562949953421312"]).ends_with("`s` of extents [562949953421312] does not fit in memory")
        );
    }
}

/// A scalar is an array of rank 0; operations on arrays of rank 0 are those of any rank.
#[test]
fn rank_zero() {
    assert_eq!(run("fn f(x: f32) -> f32 { let y: f32 = map(|a| a + 1.0, x) return y }", &["1.5"]), "2.5");
    assert_eq!(run("fn f() -> i32 { let y: i32 = constant(3) return y }", &[]), "3");
    assert_eq!(run("fn f() -> i32 { let y: i32 = generate([], || 4i32) return y }", &[]), "4");
    assert_eq!(run("fn f(x: [1, 1]i32) -> i32 { let y: i32 = reshape([], x) return y }", &["[[5]]"]), "5");
    assert_eq!(run("fn f(x: i32) -> [1]i32 { let y: [1]i32 = reshape([1], x) return y }", &["6"]), "[6]");
    assert_eq!(
        run("fn f(x: [n]i32) -> i32 { let last = n - 1 let y: i32 = slice([last], x) return y }", &["[6, 7]"]),
        "7"
    );
}

/// Rank and element type of an input are those that the program declares.
#[test]
fn inputs_of_another_rank() {
    let array = fusebox_ir::Array::new(&[2], &[1i32, 2]).expect("an array");
    let program = crate::support::parse("fn f(x: [n, 3]f32) -> i64 { return n }");
    let error = fusebox_interp::run(&program, &[array.into()]).expect_err("another type");
    assert_eq!(error.to_string(), "input `x` should be [_, 3]f32, not an array of extents [2] of i32");
    let error = fusebox_interp::run(&program, &[]).expect_err("no inputs");
    assert_eq!(error.to_string(), "0 inputs given where the program has 1");
}
