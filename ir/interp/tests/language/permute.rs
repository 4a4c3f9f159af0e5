//! `permute`: each element goes to its target and is combined with what is there.

use crate::support::{fails, run};

/// `result[at] = combine(new, old)`, starting from the defaults.
#[test]
fn histogram() {
    let program = "fn f(d: [m]i32, v: [n]i32, at: [n]i64) -> [m]i32 {
        let h: [m]i32 = permute(|new, old| new + old, d, v, at: at) return h }";
    assert_eq!(run(program, &["[100, 200, 300]", "[1, 2, 3]", "[2, 0, 2]"]), "[102, 200, 304]");
    assert_eq!(run(program, &["[100, 200]", "[]", "[]"]), "[100, 200]");
    assert_eq!(run(program, &["[]", "[]", "[]"]), "[]");
}

/// The new element is the left operand, and elements come in source order.
#[test]
fn new_before_old() {
    // The new digit in front of the old ones: a value and how many powers of ten it has.
    let program = "fn f(d: [m]i64, p: [m]i64, v: [n]i64, w: [n]i64, at: [n]i64) -> [m]i64 {
        let h: [m]i64, q: [m]i64 = permute(|v, w, x, y| { return v * y + x, w * y }, (d, p), (v, w), at: at) return h }";
    assert_eq!(run(program, &["[9, 8]", "[10, 10]", "[1, 2, 3]", "[10, 10, 10]", "[0, 1, 0]"]), "[319, 28]");
}

/// An overwriting permute keeps the last in source order.
#[test]
fn overwriting_keeps_the_last() {
    let program = "fn f(d: [m]i32, v: [n]i32, at: [n]i64) -> [m]i32 { let h: [m]i32 = permute(|new, old| new, d, v, at: at) return h }";
    assert_eq!(run(program, &["[0, 0]", "[1, 2, 3]", "[1, 0, 1]"]), "[2, 3]");
}

/// `ordered` asks for one element after the other: floats add in source order.
#[test]
fn ordered() {
    let program = "fn f(d: [m]f32, v: [n]f32, at: [n]i64) -> [m]f32 {
        let h: [m]f32 = permute(|new, old| new + old, d, v, at: at, ordered: true) return h }";
    assert_eq!(run(program, &["[0.0]", "[16777216.0, 1.0, 1.0]", "[0, 0, 0]"]), "[16777216.0]");
    assert_eq!(run(program, &["[0.0]", "[1.0, 1.0, 16777216.0]", "[0, 0, 0]"]), "[16777218.0]");
}

/// Where `keep` is false the element is dropped: its target may be anything.
#[test]
fn keep() {
    let program = "fn f(d: [m]i32, v: [n]i32, at: [n]i64, c: [n]bool) -> [m]i32 {
        let h: [m]i32 = permute(|new, old| new + old, d, v, at: at, keep: c) return h }";
    assert_eq!(run(program, &["[0, 0]", "[1, 2, 3]", "[1, 99, 0]", "[true, false, true]"]), "[3, 1]");
}

/// A target outside is an error that names the array that is made, the index and the extents.
#[test]
fn targets_outside() {
    let program = "fn f(d: [m]i32, v: [n]i32, at: [n]i64) -> [m]i32 { let h: [m]i32 = permute(|new, old| new, d, v, at: at) return h }";
    assert!(
        fails(program, &["[0, 0]", "[1]", "[2]"])
            .ends_with("permute `h`: index [2] is outside of `h`, whose extents are [2]")
    );
    assert!(
        fails(program, &["[0, 0]", "[1]", "[-1]"]).ends_with("index [-1] is outside of `h`, whose extents are [2]")
    );
}

/// There is an array of target indices for each dimension of the defaults, of the extents of the new elements.
#[test]
fn ranks() {
    let program = "fn f(d: [2, 2]i32, v: [n]i32, i: [n]i64, j: [n]i64) -> [2, 2]i32 {
        let h: [2, 2]i32 = permute(|new, old| new + old, d, v, at: (i, j)) return h }";
    assert_eq!(run(program, &["[[0, 0], [0, 0]]", "[1, 2, 3]", "[0, 1, 1]", "[1, 0, 0]"]), "[[0, 1], [5, 0]]");
    let flat = "fn f(d: [m]i32, v: [2, 2]i32, i: [2, 2]i64) -> [m]i32 { let h: [m]i32 = permute(|new, old| new + old, d, v, at: i) return h }";
    assert_eq!(run(flat, &["[0, 0]", "[[1, 2], [3, 4]]", "[[0, 1], [0, 1]]"]), "[4, 6]");
}

/// Into a scalar there are no indices: every element is combined in.
#[test]
fn rank_zero() {
    let program =
        "fn f(d: i32, v: [n]i32) -> i32 { let h: i32 = permute(|new, old| new + old, d, v, at: ()) return h }";
    assert_eq!(run(program, &["10", "[1, 2, 3]"]), "16");
}

/// Several components are one element: combined in one step.
#[test]
fn components() {
    let program = "fn f(d: [m]f32, e: [m]i64, v: [n]f32, at: [n]i64) -> [m]f32, [m]i64 {
        let i: [n]i64 = generate([n], |i| i)
        let h: [m]f32, k: [m]i64 = permute(|v, i, x, j| if v > x { return v, i } else { return x, j }, (d, e), (v, i), at: at) return h, k }";
    assert_eq!(run(program, &["[0.0, 0.0]", "[-1, -1]", "[1.0, 5.0, 3.0]", "[0, 0, 0]"]), "[5.0, 0.0]; [1, -1]");
}

/// The arrays of values, targets and `keep` have equal extents.
#[test]
fn sources_of_unequal_extents() {
    let program = "fn f(d: [m]i32, v: [n]i32, at: [k]i64) -> [m]i32 { let h: [m]i32 = permute(|new, old| new, d, v, at: at) return h }";
    assert_eq!(run(program, &["[0, 0]", "[1]", "[1]"]), "[0, 1]");
    assert!(
        fails(program, &["[0, 0]", "[1]", "[1, 0]"]).ends_with("extent 2 of `at` and extent 1 of `v` should be equal")
    );
}

/// `unique` promises that targets are distinct; the interpreter checks it, of what is kept.
#[test]
fn unique() {
    let program = "fn f(d: [m]i32, v: [n]i32, at: [n]i64, c: [n]bool) -> [m]i32 {
        let h: [m]i32 = permute(|new, old| new, d, v, at: at, keep: c, unique: true) return h }";
    assert_eq!(run(program, &["[0, 0]", "[1, 2]", "[1, 0]", "[true, true]"]), "[2, 1]");
    assert_eq!(run(program, &["[0, 0]", "[1, 2]", "[1, 1]", "[true, false]"]), "[0, 1]");
    let message = fails(program, &["[0, 0]", "[1, 2]", "[1, 1]", "[true, true]"]);
    assert!(message.ends_with("permute `h`: target [1] is met twice, although `unique` is promised"), "{message}");
}
