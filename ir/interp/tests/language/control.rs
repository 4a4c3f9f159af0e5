//! Operations that hold blocks and run them: `cond`, `while`, `cluster`.

use crate::support::{fails, run};

/// `cond` gives the results of the branch taken.
#[test]
fn cond() {
    let program = "fn f(x: [n]i32, c: bool) -> [n]i32, i32 {
        let y: [n]i32, k: i32 = cond(c, || { let a: [n]i32 = map(|v| v + 1, x) let k = 1i32 return a, k }, || { let k = 2i32 return x, k }) return y, k }";
    assert_eq!(run(program, &["[1, 2]", "true"]), "[2, 3]; 1");
    assert_eq!(run(program, &["[1, 2]", "false"]), "[1, 2]; 2");
}

/// Where branches differ in extents, sizes are results before their arrays.
#[test]
fn branches_of_different_extents() {
    let program = "fn f(x: [n]i32, c: bool) -> i64, [?]i32 {
        let m: i64, y: [m]i32 = cond(c, || { let h = n / 2 let a: [h]i32 = backpermute([h], |i| 2 * i, x) return h, a }, || { return n, x })
        return m, y }";
    assert_eq!(run(program, &["[1, 2, 3, 4, 5]", "true"]), "2; [1, 3]");
    assert_eq!(run(program, &["[1, 2, 3]", "false"]), "3; [1, 2, 3]");
}

/// A branch that does not have the extent that is declared fails when it is taken.
#[test]
fn extents_of_branches_are_checked() {
    let program = "fn f(x: [n]i32, y: [m]i32, c: bool) -> [n]i32 { let z: [n]i32 = cond(c, || { return x }, || { return y }) return z }";
    assert_eq!(run(program, &["[1]", "[2, 3]", "true"]), "[1]");
    assert_eq!(run(program, &["[1]", "[2]", "false"]), "[2]");
    assert!(
        fails(program, &["[1]", "[2, 3]", "false"]).ends_with("extent 2 of `z` and extent 1 of `n` should be equal")
    );
}

/// `while` runs its step on the state as long as the condition holds of it: the results are the last state.
#[test]
fn while_loop() {
    let program = "fn f(x: [n]i32, k: i64) -> [n]i32, i64 {
        let y: [n]i32, left: i64 = while(|y: [n]i32, k: i64| { let go = k > 0 return go }, |y: [n]i32, k: i64| {
            let z: [n]i32 = map(|v| 2 * v, y) let l = k - 1 return z, l }, x, k) return y, left }";
    assert_eq!(run(program, &["[1, 3]", "4"]), "[16, 48]; 0");
    assert_eq!(run(program, &["[1, 3]", "-1"]), "[1, 3]; -1");
}

/// The state may change its extents, if they are part of it.
#[test]
fn a_state_that_shrinks() {
    let program = "fn f(x: [n]i64) -> [?]i64 {
        let k: i64, y: [k]i64 = while(|k: i64, y: [k]i64| { let go = k > 2 return go }, |k: i64, y: [k]i64| {
            let h = k - 2 let z: [h]i64 = generate([h], |i| y[i] + y[i + 2]) return h, z }, n, x) return y }";
    assert_eq!(run(program, &["[1, 2, 3, 4, 5]"]), "[12]");
    assert_eq!(run(program, &["[1, 2, 3, 4]"]), "[4, 6]");
    assert_eq!(run(program, &["[]"]), "[]");
}

/// The extents of a state are checked at each turn.
#[test]
fn extents_of_a_state_are_checked() {
    let program = "fn f(x: [n]i32, m: i64) -> [n]i32 {
        let y: [n]i32, k: i64 = while(|y: [n]i32, k: i64| { let go = k > 0 return go }, |y: [n]i32, k: i64| {
            let z: [m]i32 = generate([m], |i| i32(i)) let l = k - 1 return z, l }, x, 1i64) return y }";
    assert_eq!(run(program, &["[7, 7]", "2"]), "[0, 1]");
    assert!(fails(program, &["[7, 7]", "3"]).contains("extent 3 of `y` and extent 2 of `n` should be equal"));
}

/// Nothing of one turn is left in the next.
#[test]
fn turns_begin_anew() {
    let program = "fn f(k: i64) -> i64 {
        let s: i64, i: i64 = while(|s: i64, i: i64| { let go = i < k return go }, |s: i64, i: i64| {
            let odd = i % 2 == 1
            let d: i64 = cond(odd, || { let a = 10 * i return a }, || { let a = i return a })
            let t = s + d let j = i + 1 return t, j }, 0i64, 0i64) return s }";
    assert_eq!(run(program, &["4"]), "42");
}

/// Conditions may be any operations.
#[test]
fn a_condition_that_folds() {
    let program = "fn f(x: [n]i64) -> [n]i64 {
        let y: [n]i64 = while(|y: [n]i64| { let s: i64 = fold(|a, b| a + b, 0, y) let go = s > 10 return go }, |y: [n]i64| {
            let z: [n]i64 = map(|v| v / 2, y) return z }, x) return y }";
    assert_eq!(run(program, &["[8, 9, 10]"]), "[2, 2, 2]");
}

/// A `cluster` means what its bindings mean one after the other; marks and orders change nothing.
#[test]
fn cluster() {
    let program = "fn f(xs: [n]i32) -> i32, i32 {
        let s: i32, t: i32 = cluster(|| {
            horizontal s: i32 = fold(|a, b| a + b, 0, xs)
            vertical c: [n]i32 = scanl1(|a, b| a + b, xs)
            last t: i32 = fold(|a, b| a + b, 0, c)
            return s, t }) return s, t }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "6; 10");
    let down = "fn f(xs: [n]i32) -> [n]i32 {
        let d: [n]i32 = cluster(|| { last b: [n]i32 = scanr1(|a, b| a + b, xs) return b }, order: descending) return d }";
    assert_eq!(run(down, &["[1, 2, 3]"]), "[6, 5, 3]");
    let both = "fn f(xs: [n]i32) -> [n]i32, [n]i32 {
        let a: [n]i32, b: [n]i32 = cluster(|| {
            diagonal a: [n]i32 = map(|x| 2 * x, xs, order: b)
            last b: [n]i32 = backpermute([n], |i| n - 1 - i, a)
            return a, b }, order: b) return a, b }";
    assert_eq!(run(both, &["[1, 2, 3]"]), "[2, 4, 6]; [6, 4, 2]");
}

/// A result of a cluster needs nothing of its siblings.
#[test]
fn results_of_clusters_by_need() {
    let program = "fn f(xs: [n]i32) -> i32 {
        let s: i32, t: [n]i32 = cluster(|| {
            horizontal s: i32 = fold(|a, b| a + b, 0, xs)
            last t: [n]i32 = map(|x| x / 0, xs)
            return s, t }) return s }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "6");
}
