//! `sort`: rows by keys, stably.

use crate::support::{fails, run};

/// Keys come out ascending, in the order of their type.
#[test]
fn ascending() {
    let program = "fn f(x: [n]i32) -> [n]i32 { let k: [n]i32 = sort(x) return k }";
    assert_eq!(run(program, &["[3, -1, 2, -1]"]), "[-1, -1, 2, 3]");
    assert_eq!(run(program, &["[7]"]), "[7]");
    assert_eq!(run(program, &["[]"]), "[]");
    assert_eq!(run("fn f(x: [n]u8) -> [n]u8 { let k: [n]u8 = sort(x) return k }", &["[200, 3, 255]"]), "[3, 200, 255]");
    assert_eq!(
        run("fn f(x: [n]bool) -> [n]bool { let k: [n]bool = sort(x) return k }", &["[true, false]"]),
        "[false, true]"
    );
    let large = "fn f(x: [n]u64) -> [n]u64 { let k: [n]u64 = sort(x) return k }";
    assert_eq!(run(large, &["[18446744073709551615, 1]"]), "[1, 18446744073709551615]");
}

/// Floats stand in the order of `min`: -0 before +0, NaN last.
#[test]
fn floats() {
    let program = "fn f(x: [n]f32) -> [n]f32 { let k: [n]f32 = sort(x) return k }";
    assert_eq!(run(program, &["[nan, 0.0, inf, -0.0, -inf, 1.0]"]), "[-inf, -0.0, 0.0, 1.0, inf, nan]");
}

/// What is carried along goes where its key goes; equal keys keep their order.
#[test]
fn stable_and_carrying() {
    let program = "fn f(x: [n]i32, y: [n]i64, z: [n]bool) -> [n]i32, [n]i64, [n]bool {
        let k: [n]i32, a: [n]i64, b: [n]bool = sort(x, carry: (y, z)) return k, a, b }";
    assert_eq!(
        run(program, &["[2, 1, 2, 1]", "[0, 1, 2, 3]", "[true, true, false, false]"]),
        "[1, 1, 2, 2]; [1, 3, 0, 2]; [true, false, true, false]"
    );
}

/// All NaN are equal keys: they keep their order.
#[test]
fn nan_keys_are_equal() {
    let program = "fn f(x: [n]f64, y: [n]i64) -> [n]i64 { let k: [n]f64, a: [n]i64 = sort(x, carry: y) return a }";
    assert_eq!(run(program, &["[nan, 1.0, nan, 0.0]", "[0, 1, 2, 3]"]), "[3, 1, 0, 2]");
    let signs = "fn f(y: [2]i64) -> [2]i64 {
        let x: [2]f64 = constant([nan_f64, -nan_f64]) let k: [2]f64, a: [2]i64 = sort(x, carry: y) return a }";
    assert_eq!(run(signs, &["[0, 1]"]), "[0, 1]");
}

/// Of several keys the first decides first.
#[test]
fn several_keys() {
    let program =
        "fn f(x: [n]i32, w: [n]f32) -> [n]i32, [n]f32 { let k: [n]i32, l: [n]f32 = sort((x, w)) return k, l }";
    assert_eq!(run(program, &["[2, 1, 2, 1]", "[0.5, 9.0, 0.25, nan]"]), "[1, 1, 2, 2]; [9.0, nan, 0.25, 0.5]");
}

/// Rows of the innermost dimension are sorted by themselves.
#[test]
fn rows() {
    let program = "fn f(x: [n, m]i32) -> [n, m]i32 { let k: [n, m]i32 = sort(x) return k }";
    assert_eq!(run(program, &["[[3, 1, 2], [9, 8, 7]]"]), "[[1, 2, 3], [7, 8, 9]]");
    assert_eq!(run(program, &["empty [2, 0]"]), "empty [2, 0]");
}

/// Keys and what is carried along have equal extents.
#[test]
fn unequal_extents() {
    let program = "fn f(x: [n]i32, y: [m]i32) -> [n]i32 { let k: [n]i32, a: [n]i32 = sort(x, carry: y) return a }";
    assert!(fails(program, &["[1, 2]", "[3]"]).ends_with("extent 2 of `x` and extent 1 of `y` should be equal"));
}
