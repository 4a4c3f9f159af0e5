//! Operations whose extent only running reveals: `expand`, `permuted_expand`, `filter`.

use crate::support::{fails, run};

/// `expand` replaces each element by several; the number of all comes before the arrays.
#[test]
fn expand() {
    let program =
        "fn f(x: [n]i64) -> i64, [?]i64 { let w: i64, v: [w]i64 = expand(|a| a, |a, j| 10 * a + j, x) return w, v }";
    assert_eq!(run(program, &["[2, 0, 3]"]), "5; [20, 21, 30, 31, 32]");
    assert_eq!(run(program, &["[0, 0]"]), "0; []");
    assert_eq!(run(program, &["[]"]), "0; []");
}

/// A negative size counts as zero.
#[test]
fn negative_sizes() {
    let program = "fn f(x: [n]i64) -> i64, [?]i64 { let w: i64, v: [w]i64 = expand(|a| a, |a, j| j, x) return w, v }";
    assert_eq!(run(program, &["[-5, 2, -1]"]), "2; [0, 1]");
}

/// Several sources and several results; sizes and elements are functions of the same elements.
#[test]
fn several_sources_and_results() {
    let program = "fn f(start: [n]i64, end: [n]i64) -> [?]i64, [?]bool {
        let w: i64, v: [w]i64, first: [w]bool = expand(|a, b| b - a, |a, b, j| { return a + j, j == 0 }, start, end) return v, first }";
    assert_eq!(run(program, &["[5, 0, 9]", "[7, 0, 10]"]), "[5, 6, 9]; [true, false, true]");
}

/// The total by itself needs no element.
#[test]
fn the_total_alone() {
    let program = "fn f(x: [n]i64) -> i64 { let w: i64, v: [w]i64 = expand(|a| a, |a, j| j / 0, x) return w }";
    assert_eq!(run(program, &["[2, 3]"]), "5");
}

/// A total that cannot be counted is an error that says which array.
#[test]
fn a_total_beyond_counting() {
    let program = "fn f(x: [n]i64) -> i64 { let w: i64, v: [w]i64 = expand(|a| a, |a, j| j, x) return w }";
    let message = fails(program, &["[9223372036854775807, 1]"]);
    assert!(message.ends_with("expand `w`: `v` of extents [9223372036854775807] does not fit in memory"), "{message}");
}

/// `permuted_expand` sends what an expand would make to its targets at once: targets, then values.
#[test]
fn permuted_expand() {
    let program = "fn f(d: [m]i32, z: [n]i64) -> [m]i32 {
        let y: [m]i32 = permuted_expand(|z| z, |z, j| { return z + j, 1i32 }, |new, old| new + old, d, z) return y }";
    assert_eq!(run(program, &["[100, 100, 100, 100]", "[1, 2, -7, 2]"]), "[100, 101, 102, 102]");
    assert_eq!(run(program, &["[1, 2]", "[]"]), "[1, 2]");
    let message = fails(program, &["[0, 0]", "[1, 2]"]);
    assert!(message.ends_with("permuted_expand `y`: index [2] is outside of `y`, whose extents are [2]"), "{message}");
}

/// Its function may say of each element whether it is kept; several components are one element, in source order.
#[test]
fn permuted_expand_keeps_and_combines() {
    let program = "fn f(d: [m]i64, e: [m]i64, z: [n]i64) -> [m]i64, [m]i64 {
        let a: [m]i64, b: [m]i64 = permuted_expand(|z| z, |z, j| { return j, z, 10 * z + j, z != 2 }, |v, w, x, y| { return v, w },
            (d, e), z, ordered: true) return a, b }";
    assert_eq!(run(program, &["[0, 0, 0]", "[0, 0, 0]", "[3, 2, 1]"]), "[1, 3, 3]; [10, 31, 32]");
}

/// Into arrays of higher rank there is a target for each dimension; `unique` is checked here too.
#[test]
fn permuted_expand_of_rank_two() {
    let program = "fn f(d: [2, 2]i64, z: [n]i64) -> [2, 2]i64 {
        let y: [2, 2]i64 = permuted_expand(|z| z, |z, j| { return z - 1, j, 5 }, |new, old| new, d, z, unique: true) return y }";
    assert_eq!(run(program, &["[[0, 0], [0, 0]]", "[2, 1]"]), "[[5, 0], [5, 5]]");
    assert!(
        fails(program, &["[[0, 0], [0, 0]]", "[1, 1]"])
            .ends_with("target [0, 0] is met twice, although `unique` is promised")
    );
}

/// `filter` keeps the elements for which its function holds, in order; their number comes first.
#[test]
fn filter() {
    let program = "fn f(x: [n]f32) -> i64, [?]f32 { let k: i64, y: [k]f32 = filter(|a| a > 0.0, x) return k, y }";
    assert_eq!(run(program, &["[1.0, -1.0, nan, 0.0, 2.0]"]), "2; [1.0, 2.0]");
    assert_eq!(run(program, &["[-1.0]"]), "0; []");
    assert_eq!(run(program, &["[]"]), "0; []");
}

/// Of a matrix the elements are kept in row-major order.
#[test]
fn filter_of_a_matrix() {
    let program = "fn f(x: [n, m]i64, y: [n, m]bool) -> i64, [?]i64, [?]bool {
        let k: i64, a: [k]i64, b: [k]bool = filter(|u, v| v, x, y) return k, a, b }";
    let keep = "[[true, false, true], [false, true, true]]";
    assert_eq!(run(program, &["[[1, 2, 3], [4, 5, 6]]", keep]), "4; [1, 3, 5, 6]; [true, true, true, true]");
    assert_eq!(run(program, &["[[], []]", "[[], []]"]), "0; []; []");
}

/// Several arrays are filtered by one function of their elements.
#[test]
fn filter_several() {
    let program = "fn f(x: [n]i32, y: [n]i32) -> [?]i32, [?]i32 {
        let k: i64, a: [k]i32, b: [k]i32 = filter(|u, v| u < v, x, y) return a, b }";
    assert_eq!(run(program, &["[1, 5, 2]", "[2, 4, 3]"]), "[1, 2]; [2, 3]");
}
