//! Evaluation is by need: what no result and no taken branch uses cannot fail.

use crate::support::{eval, fails, run};

/// A binding that no result uses is not evaluated.
#[test]
fn an_unused_binding_cannot_fail() {
    assert_eq!(run("fn f(x: i64) -> i64 { let bad = x / 0 let y = x + 1 return y }", &["1"]), "2");
    assert_eq!(run("fn f(x: [n]i32) -> [n]i32 { let bad: [n]i32 = map(|v| v / 0, x) return x }", &["[1]"]), "[1]");
}

/// An instruction that no result of its function uses is not evaluated.
#[test]
fn an_unused_instruction_cannot_fail() {
    let program = "fn f(x: [n]i32) -> [n]i32 { let y: [n]i32 = map(|v| { let bad = v / 0 return v + 1 }, x) return y }";
    assert_eq!(run(program, &["[1, 2]"]), "[2, 3]");
}

/// Of several results of an operation, each needs only its own part of the function.
#[test]
fn a_result_needs_nothing_of_its_siblings() {
    let program =
        "fn f(x: [n]i32) -> [n]i32 { let y: [n]i32, bad: [n]i32 = map(|v| { return v + 1, v / 0 }, x) return y }";
    assert_eq!(run(program, &["[1, 2]"]), "[2, 3]");
    let sums = "fn f(x: [n]i32) -> i32 {
        let bad: [n]i32 = map(|v| v / 0, x)
        let s: i32, t: i32 = fold(|a, b, c, d| { return a + c, b + d }, 0, 0, x, bad) return s }";
    assert_eq!(run(sums, &["[1, 2]"]), "3");
}

/// In a `unit` too: a result that is handed on needs nothing of the other results.
#[test]
fn a_result_of_a_unit_needs_nothing_of_its_siblings() {
    let handed_on = "fn f(x: i64) -> i64 {
        let bad = x / 0
        let a: i64, b: i64 = unit(|| { return x, bad }) return a }";
    assert_eq!(run(handed_on, &["7"]), "7");
    let computed = "fn f(x: i64) -> i64 {
        let bad = x / 0
        let a: i64, b: i64 = unit(|| { let q = bad + 1 return x, q }) return a }";
    assert_eq!(run(computed, &["7"]), "7");
}

/// A component of a combining function brings in the others that its result uses.
#[test]
fn components_that_a_result_uses_are_needed() {
    let program = "fn f(x: [n]i32) -> i32 {
        let bad: [n]i32 = map(|v| v / 0, x)
        let s: i32, t: i32 = fold(|a, b, c, d| { return a + d, b + d }, 0, 0, x, bad) return s }";
    assert!(fails(program, &["[1]"]).ends_with("map `bad`: division by zero"));
}

/// A result that is needed is computed for all its elements, also those that nothing reads.
#[test]
fn all_elements_of_what_is_needed() {
    let program = "fn f(x: [n]i32) -> i32 { let y: [n]i32 = map(|v| 6 / v, x) let z: i32 = slice([0], y) return z }";
    assert_eq!(run(program, &["[3, 2]"]), "2");
    assert!(fails(program, &["[3, 0]"]).ends_with("map `y`: division by zero"));
}

/// `if` runs the branch that is taken.
#[test]
fn the_other_branch_of_an_if_cannot_fail() {
    assert_eq!(run("fn f(x: i32) -> i32 { let y = if x == 0 { -1 } else { 6 / x } return y }", &["0"]), "-1");
    assert_eq!(run("fn f(x: i32) -> i32 { let y = if x == 0 { -1 } else { 6 / x } return y }", &["4"]), "1");
    let shared = "fn f(x: [n]i32) -> [n]i32 {
        let y: [n]i32 = map(|v| { let q = 6 / v return if v == 0 { 0 } else { q } }, x) return y }";
    assert_eq!(run(shared, &["[0, 2]"]), "[0, 3]");
}

/// `&&` and `||` run their right side only where the left one does not decide.
#[test]
fn the_right_side_of_logic_runs_if_it_decides() {
    let reads = "fn f(x: [n]bool, i: i64) -> bool { let y = i < n && x[i] return y }";
    assert_eq!(run(reads, &["[true]", "0"]), "true");
    assert_eq!(run(reads, &["[true]", "1"]), "false");
    assert_eq!(eval("bool", "true || 1i32 / 0 == 1"), "true");
    assert_eq!(eval("bool", "false || true"), "true");
    assert_eq!(eval("bool", "true && false"), "false");
    assert!(
        fails("fn f(x: i32) -> bool { let y = x > 0 || 1 / x == 1 return y }", &["0"]).ends_with("division by zero")
    );
}

/// Where `cond` takes one branch, arrays that only the other uses are not evaluated, though they are bound above both.
#[test]
fn the_other_branch_of_a_cond_cannot_fail() {
    let program = "fn f(x: [n]i32, c: bool) -> [n]i32 {
        let q: [n]i32 = map(|v| 6 / v, x)
        let y: [n]i32 = cond(c, || { let d: [n]i32 = map(|v| v + 1, q) return d }, || { return x }) return y }";
    assert_eq!(run(program, &["[0, 2]", "false"]), "[0, 2]");
    assert_eq!(run(program, &["[1, 2]", "true"]), "[7, 4]");
    assert!(fails(program, &["[0, 2]", "true"]).ends_with("map `q`: division by zero"));
}

/// A loop runs its step while the condition holds of the state: here never.
#[test]
fn a_loop_that_does_not_run_cannot_fail() {
    let program = "fn f(x: i64) -> i64 { let y = (while(|k: i64| k > 0, |k: i64| k / 0, x)) return y }";
    assert_eq!(run(program, &["0"]), "0");
    assert!(fails(program, &["1"]).ends_with("division by zero"));
}

/// `assert(c, "message", v)` is `v`, and fails only if it is used.
#[test]
fn an_assertion_lives_as_long_as_its_use() {
    let used = "fn f(x: i32) -> i32 { let y = assert(x > 0, \"x should be positive\", x) let z = y + 1 return z }";
    assert_eq!(run(used, &["1"]), "2");
    assert!(fails(used, &["0"]).ends_with("assertion failed: x should be positive"));
    let unused = "fn f(x: i32) -> i32 { let y = assert(x > 0, \"x should be positive\", x) let z = x + 1 return z }";
    assert_eq!(run(unused, &["0"]), "1");
    assert_eq!(
        run("fn f(x: i32) -> i32 { let y = if x > 0 { assert(false, \"no\", x) } else { x } return y }", &["0"]),
        "0"
    );
}

/// The value of an assertion that fails is not needed.
#[test]
fn an_assertion_decides_before_its_value() {
    let program = "fn f(x: i32) -> i32 { let y = assert(x != 0, \"x is zero\", 6 / x) return y }";
    assert!(fails(program, &["0"]).ends_with("assertion failed: x is zero"));
    assert_eq!(run(program, &["3"]), "2");
}

/// A chain of any length is evaluated without recursion over it.
#[test]
fn long_programs() {
    let bindings: String = (0..20_000).map(|i| format!("let x{} = x{i} + 1\n", i + 1)).collect();
    assert_eq!(run(&format!("fn f(x0: i64) -> i64 {{ {bindings} return x20000 }}"), &["1"]), "20001");
}
