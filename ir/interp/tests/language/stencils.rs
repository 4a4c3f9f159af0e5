//! Stencils: functions of a neighbourhood, and what stands for elements outside.

use crate::support::{fails, run};

/// A tap reads the element at an offset from the index.
#[test]
fn taps() {
    let program =
        "fn f(u: [n]i32) -> [n]i32 { let l: [n]i32 = stencil(|a, b| b - a, u[-1], u[1], u: constant(0)) return l }";
    assert_eq!(run(program, &["[1, 2, 4, 8]"]), "[2, 3, 6, -4]");
    assert_eq!(run(program, &["[5]"]), "[0]");
    assert_eq!(run(program, &["[]"]), "[]");
}

/// `clamp` reads the nearest element inside.
#[test]
fn clamp() {
    let program =
        "fn f(u: [n]i32) -> [n]i32 { let l: [n]i32 = stencil(|a, b| 10 * a + b, u[-2], u[1], u: clamp) return l }";
    assert_eq!(run(program, &["[1, 2, 3, 4]"]), "[12, 13, 14, 24]");
    assert_eq!(run(program, &["[7]"]), "[77]");
}

/// `mirror` reflects without repeating the edge, as often as needed; a single element is its own reflection.
#[test]
fn mirror() {
    let program =
        "fn f(u: [n]i32) -> [n]i32 { let l: [n]i32 = stencil(|a, b| 10 * a + b, u[-2], u[2], u: mirror) return l }";
    assert_eq!(run(program, &["[1, 2, 3, 4]"]), "[33, 24, 13, 22]");
    assert_eq!(run(program, &["[1, 2]"]), "[11, 22]");
    assert_eq!(run(program, &["[7]"]), "[77]");
}

/// `wrap` counts modulo the extent.
#[test]
fn wrap() {
    let program =
        "fn f(u: [n]i32) -> [n]i32 { let l: [n]i32 = stencil(|a, b| 10 * a + b, u[-1], u[2], u: wrap) return l }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "[33, 11, 22]");
    assert_eq!(run(program, &["[7]"]), "[77]");
}

/// `constant` is a value for everything outside; it may be computed.
#[test]
fn constant() {
    let program = "fn f(u: [n]i32, k: i32) -> [n]i32 {
        let c = k * 2 let l: [n]i32 = stencil(|a| a, u[2], u: constant(c)) return l }";
    assert_eq!(run(program, &["[1, 2, 3]", "50"]), "[3, 100, 100]");
}

/// `function` is given the index outside.
#[test]
fn function() {
    let program = "fn f(u: [n]i64) -> [n]i64 { let l: [n]i64 = stencil(|a, b| a + b, u[-3], u[0], u: function(|i| 100 * i)) return l }";
    assert_eq!(run(program, &["[1, 2, 3, 4]"]), "[-299, -198, -97, 5]");
}

/// Stencils larger than the array are fine: reflections and turns repeat.
#[test]
fn larger_than_the_array() {
    let around = |boundary: &str| {
        format!(
            "fn f(u: [n]i32) -> [n]i32 {{ let l: [n]i32 = stencil(|a, b| 10 * a + b, u[-7], u[8], u: {boundary}) return l }}"
        )
    };
    assert_eq!(run(&around("clamp"), &["[1, 2, 3]"]), "[13, 13, 13]");
    // Of [1, 2, 3] reflected: positions -7, -6, -5 are 2, 3, 2 and positions 8, 9, 10 are 1, 2, 3.
    assert_eq!(run(&around("mirror"), &["[1, 2, 3]"]), "[21, 32, 23]");
    // Modulo 3: -7, -6, -5 are 2, 0, 1 and 8, 9, 10 are 2, 0, 1.
    assert_eq!(run(&around("wrap"), &["[1, 2, 3]"]), "[33, 11, 22]");
}

/// Clamp, mirror and wrap act in each dimension by itself.
#[test]
fn dimensions_by_themselves() {
    let corner = |boundary: &str| {
        format!(
            "fn f(u: [n, m]i32) -> [n, m]i32 {{ let l: [n, m]i32 = stencil(|a| a, u[-1, 1], u: {boundary}) return l }}"
        )
    };
    let u = "[[1, 2, 3], [4, 5, 6]]";
    assert_eq!(run(&corner("clamp"), &[u]), "[[2, 3, 3], [2, 3, 3]]");
    assert_eq!(run(&corner("mirror"), &[u]), "[[5, 6, 5], [2, 3, 2]]");
    assert_eq!(run(&corner("wrap"), &[u]), "[[5, 6, 4], [2, 3, 1]]");
}

/// `constant` and `function` stand where any dimension is outside.
#[test]
fn outside_in_any_dimension() {
    let u = "[[1, 2, 3], [4, 5, 6]]";
    let constant =
        "fn f(u: [n, m]i32) -> [n, m]i32 { let l: [n, m]i32 = stencil(|a| a, u[-1, 1], u: constant(0)) return l }";
    assert_eq!(run(constant, &[u]), "[[0, 0, 0], [2, 3, 0]]");
    let function = "fn f(u: [n, m]i64) -> [n, m]i64 {
        let l: [n, m]i64 = stencil(|a| a, u[-1, 1], u: function(|i, j| 10 * i + j)) return l }";
    assert_eq!(run(function, &[u]), "[[-9, -8, -7], [2, 3, 3]]");
}

/// Several arrays have a boundary each, and each its own extents: the stencil runs over those of its binding.
#[test]
fn several_arrays() {
    let program = "fn f(u: [n]i32, v: [m]i32) -> [4]i32 {
        let l: [4]i32 = stencil(|a, b| 10 * a + b, u[0], v[-1], u: clamp, v: constant(9)) return l }";
    assert_eq!(run(program, &["[1, 2]", "[3, 4, 5, 6, 7]"]), "[19, 23, 24, 25]");
    assert_eq!(run(program, &["[1, 2, 3, 4, 5, 6]", "[]"]), "[19, 29, 39, 49]");
}

/// Under clamp, mirror or wrap an empty array has nothing to read: an error, if there is anything to compute.
#[test]
fn empty_arrays() {
    for boundary in ["clamp", "mirror", "wrap"] {
        let same =
            format!("fn f(u: [n]i32) -> [n]i32 {{ let l: [n]i32 = stencil(|a| a, u[1], u: {boundary}) return l }}");
        assert_eq!(run(&same, &["[]"]), "[]");
        let more =
            format!("fn f(u: [n]i32) -> [1]i32 {{ let l: [1]i32 = stencil(|a| a, u[1], u: {boundary}) return l }}");
        assert_eq!(run(&more, &["[3]"]), "[3]");
        let message = fails(&more, &["[]"]);
        assert!(message.ends_with("stencil `l`: index [1] is outside of `u`, whose extents are [0]"), "{message}");
    }
}
