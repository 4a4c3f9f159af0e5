//! Memory that held elements of another type: whoever gets the value sees the type that the plan says, by whatever name.

use crate::common::{Random, check};
use fusebox_ir::{Array, ElementType};

/// Runs a function of a vector of floats, for lengths on both sides of a gang and of what the pool keeps.
fn of_floats(source: &str) {
    let inputs: Vec<Vec<Array>> =
        [0, 1, 3, 70, 5000].iter().map(|&n| vec![Random(n as u64).array(ElementType::F32, &[n])]).collect();
    check(source, &inputs);
}

#[test]
fn a_value_under_two_names_has_its_own_element_type() {
    for (element, body) in [
        ("i32", "let b: [n]f32 = sort(a) let c: [n]i32 = map(|x| i32(x), b)"),
        ("i32", "let b: [n]f32 = map(|x| x * 2.0, a) let c: [n]i32 = map(|x| i32(x), b)"),
        ("u32", "let b: [n]f32 = sort(a) let c: [n]u32 = map(|x| u32(abs(x)), b)"),
    ] {
        of_floats(&format!("fn f(a: [n]f32) -> [n]{element}, [n]{element} {{ {body} return c, d: c }}"));
    }
}

#[test]
fn bytes_that_become_truth_values() {
    let source = "fn f(a: [n]u8) -> [n]bool, [n]bool {
        let b: [n]u8 = sort(a) let c: [n]bool = map(|x| x > 100, b) return c, d: c }";
    let inputs: Vec<Vec<Array>> =
        [0, 1, 70, 5000].iter().map(|&n| vec![Random(n as u64).array(ElementType::U8, &[n])]).collect();
    check(source, &inputs);
}

#[test]
fn a_value_that_a_branch_renames() {
    let source = "fn f(a: [n]f32, w: bool) -> [n]i32 {
        let b: [n]f32 = sort(a) let c: [n]i32 = map(|x| i32(x * 3.0), b)
        let r: [n]i32 = cond(w, || { return c }, || { let d: [n]i32 = map(|x| x + 1, c) return d }) return r }";
    let both: Vec<Vec<Array>> = [true, false]
        .iter()
        .flat_map(|&way| {
            [0, 3, 5000]
                .map(|n| vec![Random(n as u64).array(ElementType::F32, &[n]), Array::from_bools(&[], &[way]).unwrap()])
        })
        .collect();
    check(source, &both);
}

#[test]
fn the_state_of_a_loop_that_is_not_entered() {
    let source = "fn f(a: [n]f32, count: i64) -> [n]i32, [n]i32 {
        let b: [n]f32 = sort(a) let c: [n]i32 = map(|x| i32(x * 3.0), b)
        let r: [n]i32, k: i64 = while(|s: [n]i32, k: i64| { let go = k < count return go },
            |s: [n]i32, k: i64| { let t: [n]i32 = map(|x| x + 1, s) let l = k + 1 return t, l }, c, 0) return r, c }";
    let inputs: Vec<Vec<Array>> = [0i64, 1, 3]
        .iter()
        .flat_map(|&count| {
            [0, 3, 5000].map(|n| vec![Random(n as u64).array(ElementType::F32, &[n]), Array::scalar(count)])
        })
        .collect();
    check(source, &inputs);
}

#[test]
fn a_value_in_other_extents_and_a_part_of_one() {
    of_floats(
        "fn f(a: [n]f32) -> [n]i32, [n, 1]i32 {
        let b: [n]f32 = sort(a) let c: [n]i32 = map(|x| i32(x * 3.0), b) let d: [n, 1]i32 = reshape([n, 1], c) return c, d }",
    );
    of_floats(
        "fn f(a: [n]f32) -> [?]f32, [?]f32, i64 {
        let k: i64, b: [k]f32 = filter(|x| x > 3.5, a) return b, d: b, k }",
    );
    of_floats(
        "fn f(a: [n]f32) -> [?]i32, [?]i32, [?]f32 {
        let k: i64, b: [k]f32 = filter(|x| x > 0.0, a) let c: [k]i32 = map(|x| i32(x * 3.0), b) return c, d: c, b }",
    );
}

#[test]
fn results_that_are_inputs() {
    of_floats("fn f(a: [n]f32) -> [n]f32, [n]f32 { return a, d: a }");
    of_floats("fn f(a: [n]f32) -> [n]f32, [n]i32 { let c: [n]i32 = map(|x| i32(x), a) return a, c }");
}
