//! Nested parallelism: `nest` is a `generate` whose function holds operations; arrays of arrays, and `element`.

use crate::support::{fails, run};

/// A nest runs its block for each index.
#[test]
fn nest() {
    let program = "fn f(x: [n, m]i32) -> [n]i32 {
        let s: [n]i32 = nest([n], |i| { let r: [m]i32 = slice([i, _], x) let t: i32 = fold(|a, b| a + b, 0, r) return t }) return s }";
    assert_eq!(run(program, &["[[1, 2], [3, 4]]"]), "[3, 7]");
    assert_eq!(run(program, &["empty [0, 2]"]), "[]");
    let table = "fn f() -> [2, 2]i64 {
        let s: [2, 2]i64 = nest([2, 2], |i, j| { let k = i + j let r: [k]i64 = generate([k], |l| l + 1) let t: i64 = fold(|a, b| a + b, 0, r) return t })
        return s }";
    assert_eq!(run(table, &[]), "[[0, 1], [1, 3]]");
}

/// `nest([], || …)` is one lane.
#[test]
fn one_lane() {
    let program = "fn f(x: [n]i32) -> i32 { let s: i32 = nest([], || { let t: i32 = fold(|a, b| a + b, 0, x) return t }) return s }";
    assert_eq!(run(program, &["[1, 2]"]), "3");
}

/// Where the block gives arrays, the result is an array of arrays; `?` where their extents differ.
#[test]
fn arrays_of_arrays() {
    let triangle = "fn f(n: i64) -> [n][?]i64 { let t: [n][?]i64 = nest([n], |i| { let r: [i]i64 = generate([i], |j| i * j) return r }) return t }";
    assert_eq!(run(triangle, &["4"]), "[[], [0], [0, 2], [0, 3, 6]]");
    assert_eq!(run(triangle, &["0"]), "[]");
    let square = "fn f(n: i64) -> [n][2]i64 { let t: [n][2]i64 = nest([n], |i| { let r: [2]i64 = generate([2], |j| i + j) return r }) return t }";
    assert_eq!(run(square, &["3"]), "[[0, 1], [1, 2], [2, 3]]");
}

/// `element` gives one array of an array of arrays: an extent for each `?`, then the array.
#[test]
fn element() {
    let program = "fn f(t: [n][?]i64, i: i64) -> i64, [?]i64 { let k: i64, e: [k]i64 = element(t, i) return k, e }";
    assert_eq!(run(program, &["[[1, 2, 3], [], [4]]", "0"]), "3; [1, 2, 3]");
    assert_eq!(run(program, &["[[1, 2, 3], [], [4]]", "1"]), "0; []");
    assert!(fails(program, &["[[1], [2]]", "2"]).ends_with("index [2] is outside of `t`, whose extents are [2]"));
    let equal = "fn f(t: [n][m]i64) -> i64, [m]i64 { let e: [m]i64 = element(t, 1) return m, e }";
    assert_eq!(run(equal, &["[[1, 2], [3, 4]]"]), "2; [3, 4]");
}

/// Arrays inside may have any rank.
#[test]
fn inner_rank_two() {
    let program = "fn f(t: [n][?, ?]i64) -> [n]i64, [n]i64 {
        let a: [n]i64, b: [n]i64 = nest([n], |i| { let p: i64, q: i64, e: [p, q]i64 = element(t, i) let s = e[p - 1, q - 1] return p, s })
        return a, b }";
    assert_eq!(run(program, &["[[[1, 2, 3]], [[4], [5]]]"]), "[1, 2]; [3, 5]");
    let made = "fn f() -> [2][?, 2]i64 { let t: [2][?, 2]i64 = nest([2], |i| { let k = i + 1 let r: [k, 2]i64 = generate([k, 2], |a, b| 10 * a + b) return r }) return t }";
    assert_eq!(run(made, &[]), "[[[0, 1]], [[0, 1], [10, 11]]]");
}

/// Where the type says one inner extent, all arrays have it; of no arrays it is 0.
#[test]
fn inner_extents_are_checked() {
    let program = "fn f(t: [n][m]i64) -> i64 { return m }";
    assert_eq!(run(program, &["[[1, 2], [3, 4]]"]), "2");
    assert_eq!(run(program, &["[]"]), "0");
    assert_eq!(
        fails(program, &["[[1, 2], [3]]"]),
        "inputs do not fit: extent 1 of `t` and extent 2 of `m` should be equal"
    );
    let made = "fn f(n: i64) -> [n][2]i64 { let t: [n][2]i64 = nest([n], |i| { let k = i + 1 let r: [k]i64 = generate([k], |j| j) return r }) return t }";
    assert!(fails(made, &["2"]).contains("extent 1 of `t` should be 2"), "{}", fails(made, &["2"]));
}

/// Nests in nests, with folds whose seeds depend on the lane.
#[test]
fn lanes_of_lanes() {
    let program = "fn f(t: [n][?]i64) -> [n][?]i64 {
        let s: [n][?]i64 = nest([n], |i| {
            let k: i64, e: [k]i64 = element(t, i)
            let r: [k]i64 = nest([k], |j| { let c: [j]i64 = generate([j], |l| e[l]) let q: i64 = fold(|a, b| a + b, i, c) return q })
            return r }) return s }";
    assert_eq!(run(program, &["[[1, 2, 3], [], [4, 5]]"]), "[[0, 1, 3], [], [2, 6]]");
}

/// What a lane does not reach cannot fail there.
#[test]
fn lanes_by_need() {
    let program = "fn f(x: [n]i64) -> [n]i64 {
        let s: [n]i64 = nest([n], |i| {
            let v = x[i]
            let zero = v == 0
            let r: [2]i64 = generate([2], |j| 12 / v + j)
            let t: i64 = cond(zero, || { let w = -1i64 return w }, || { let u: i64 = fold(|a, b| a + b, 0, r) return u })
            return t }) return s }";
    assert_eq!(run(program, &["[3, 0, 4]"]), "[9, -1, 7]");
}

/// Each lane runs its own loop, as long as its own state says.
#[test]
fn loops_in_lanes() {
    let program = "fn f(n: i64) -> [n]i64 {
        let e: [1]i64 = constant([7])
        let s: [n]i64 = nest([n], |i| {
            let k: i64, y: [k]i64, t: i64 = while(|k: i64, y: [k]i64, t: i64| { let go = t < i return go }, |k: i64, y: [k]i64, t: i64| {
                let w = k + k let z: [w]i64 = concat(y, y) let u = t + 1 return w, z, u }, 1, e, 0)
            let q: i64 = fold(|a, b| a + b, 0, y)
            return q }) return s }";
    assert_eq!(run(program, &["4"]), "[7, 14, 28, 56]");
}

/// An error in a lane names the operation and its place, as outside of lanes, and the lane.
#[test]
fn errors_in_lanes() {
    let program = "fn f(x: [n]i64) -> [n]i64 {
        let s: [n]i64 = nest([n], |i| {
            let r: [2]i64 = generate([2], |j| x[i + j])
            let t: i64 = fold(|a, b| a + b, 0, r)
            return t }) return s }";
    assert_eq!(
        fails(program, &["[1, 2]"]),
        "3:47: generate `r`: index [2] is outside of `x`, whose extents are [2], in lane 1"
    );
    // What is outside of the lane is not said to be in it, although a lane asks for it first.
    let program = "fn f(x: [n]i64) -> [n]i64 {
        let k = x[n]
        let s: [n]i64 = nest([n], |i| { let t: i64 = i + k return t }) return s }";
    assert_eq!(fails(program, &["[1, 2]"]), "2:17: unit `k`: index [2] is outside of `x`, whose extents are [2]");
    // In nests in nests, the outermost first.
    let program = "fn f(x: [n]i64) -> [n][2]i64 {
        let s: [n][2]i64 = nest([n], |i| { let r: [2]i64 = nest([2], |j| { let q = 6 % (x[i] - j) return q }) return r }) return s }";
    assert!(fails(program, &["[2, 1]"]).ends_with(": division by zero, in lane [1, 1]"));
}
