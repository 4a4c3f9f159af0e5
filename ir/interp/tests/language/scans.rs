//! Scans: every intermediate result of a fold, from the left or from the right, in three forms.

use crate::support::{fails, run};

/// `scanl` has one element more: the first is the seed, the last the total.
#[test]
fn scanl() {
    let program = "fn f(x: [n]i32) -> [?]i32 { let m = n + 1 let s: [m]i32 = scanl(|a, b| a + b, 100, x) return s }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "[100, 101, 103, 106]");
    assert_eq!(run(program, &["[]"]), "[100]");
}

/// `scanr` combines from the right: the last element is the seed, the first the total.
#[test]
fn scanr() {
    let program = "fn f(x: [n]i32) -> [?]i32 { let m = n + 1 let s: [m]i32 = scanr(|a, b| a + b, 100, x) return s }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "[106, 105, 103, 100]");
    assert_eq!(run(program, &["[]"]), "[100]");
}

/// `scanl1` has no seed and as many elements as its array.
#[test]
fn scanl1() {
    let program = "fn f(x: [n]i32) -> [n]i32 { let s: [n]i32 = scanl1(|a, b| a + b, x) return s }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "[1, 3, 6]");
    assert_eq!(run(program, &["[7]"]), "[7]");
    assert_eq!(run(program, &["[]"]), "[]");
}

/// `scanr1` likewise, from the right.
#[test]
fn scanr1() {
    let program = "fn f(x: [n]i32) -> [n]i32 { let s: [n]i32 = scanr1(|a, b| a + b, x) return s }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "[6, 5, 3]");
    assert_eq!(run(program, &["[]"]), "[]");
}

/// `scanl'` gives the elements without the total, and the total by itself.
#[test]
fn scanl_with_total() {
    let program = "fn f(x: [n]i32) -> [n]i32, i32 { let s: [n]i32, t: i32 = scanl'(|a, b| a + b, 100, x) return s, t }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "[100, 101, 103]; 106");
    assert_eq!(run(program, &["[]"]), "[]; 100");
}

/// `scanr'` likewise, from the right: the last element is the seed.
#[test]
fn scanr_with_total() {
    let program = "fn f(x: [n]i32) -> [n]i32, i32 { let s: [n]i32, t: i32 = scanr'(|a, b| a + b, 100, x) return s, t }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "[105, 103, 100]; 106");
    assert_eq!(run(program, &["[]"]), "[]; 100");
}

/// The left operand is always what stands further left in the array, from the right too.
#[test]
fn operands_keep_their_order() {
    // 10 * left + right writes digits one after the other: b counts them.
    let join = "|a, p, b, q| { return a * q + b, p * q }";
    let left =
        format!("fn f(x: [n]i64, p: [n]i64) -> [n]i64 {{ let s: [n]i64, q: [n]i64 = scanl1({join}, x, p) return s }}");
    assert_eq!(run(&left, &["[1, 2, 3]", "[10, 10, 10]"]), "[1, 12, 123]");
    let right =
        format!("fn f(x: [n]i64, p: [n]i64) -> [n]i64 {{ let s: [n]i64, q: [n]i64 = scanr1({join}, x, p) return s }}");
    assert_eq!(run(&right, &["[1, 2, 3]", "[10, 10, 10]"]), "[123, 23, 3]");
}

/// Of an array of any rank each row of the innermost dimension is scanned; totals have the outer extents.
#[test]
fn rows() {
    let program = "fn f(x: [n, m]i32) -> [n, m]i32, [n]i32 {
        let s: [n, m]i32, t: [n]i32 = scanl'(|a, b| a + b, 0, x) return s, t }";
    assert_eq!(run(program, &["[[1, 2], [3, 4]]"]), "[[0, 1], [0, 3]]; [3, 7]");
    assert_eq!(run(program, &["empty [2, 0]"]), "empty [2, 0]; [0, 0]");
    let longer = "fn f(x: [n, 2]i32) -> [n, 3]i32 { let s: [n, 3]i32 = scanl(|a, b| a + b, 0, x) return s }";
    assert_eq!(run(longer, &["[[1, 2], [3, 4]]"]), "[[0, 1, 3], [0, 3, 7]]");
}

/// Several components: bodies before totals.
#[test]
fn components() {
    let program = "fn f(x: [n]i32, y: [n]f32) -> [n]i32, [n]f32, i32, f32 {
        let a: [n]i32, b: [n]f32, s: i32, t: f32 = scanl'(|x, y, v, w| { return x + v, max(y, w) }, 0, 0.0, x, y) return a, b, s, t }";
    assert_eq!(run(program, &["[1, 2, 3]", "[0.5, 4.0, 1.0]"]), "[0, 1, 3]; [0.0, 0.5, 4.0]; 6; 4.0");
}

/// A total needs its own component only.
#[test]
fn totals_by_need() {
    let program = "fn f(x: [n]i32, y: [n]i32) -> i32 {
        let bad: [n]i32 = map(|v| v / 0, y)
        let a: [n]i32, b: [n]i32, s: i32, t: i32 = scanl'(|x, y, v, w| { return x + v, y + w }, 0, 0, x, bad) return s }";
    assert_eq!(run(program, &["[1, 2, 3]", "[1, 1, 1]"]), "6");
}

/// The interpreter scans floats from left to right in the element type.
#[test]
fn floats_from_left_to_right() {
    let program = "fn f(x: [n]f32) -> [n]f32 { let s: [n]f32 = scanl1(|a, b| a + b, x) return s }";
    assert_eq!(run(program, &["[16777216.0, 1.0, 1.0]"]), "[16777216.0, 16777216.0, 16777216.0]");
    assert_eq!(run(program, &["[1.0, nan, 1.0]"]), "[1.0, nan, nan]");
}

const OFFSETS: &str = "[0, 2, 2, 3]";

/// Each segment is scanned by itself: `scanl1_seg` and `scanr1_seg` keep the extent.
#[test]
fn inclusive_segments() {
    let left =
        "fn f(x: [n]i32, o: [k]i32) -> [n]i32 { let s: [n]i32 = scanl1_seg(|a, b| a + b, x, offsets: o) return s }";
    assert_eq!(run(left, &["[1, 2, 3]", OFFSETS]), "[1, 3, 3]");
    let right =
        "fn f(x: [n]i32, o: [k]i32) -> [n]i32 { let s: [n]i32 = scanr1_seg(|a, b| a + b, x, offsets: o) return s }";
    assert_eq!(run(right, &["[1, 2, 3]", OFFSETS]), "[3, 2, 3]");
    assert_eq!(run(right, &["[]", "[0, 0]"]), "[]");
}

/// `scanl_seg` and `scanr_seg` have one element more in each segment, an empty one too: the extent and the number of segments.
#[test]
fn exclusive_segments() {
    let left = "fn f(x: [n]i32, o: [k]i32) -> [?]i32 {
        let m = k - 1 let z = n + m let s: [z]i32 = scanl_seg(|a, b| a + b, 100, x, offsets: o) return s }";
    assert_eq!(run(left, &["[1, 2, 3]", OFFSETS]), "[100, 101, 103, 100, 100, 103]");
    let right = "fn f(x: [n]i32, o: [k]i32) -> [?]i32 {
        let m = k - 1 let z = n + m let s: [z]i32 = scanr_seg(|a, b| a + b, 100, x, offsets: o) return s }";
    assert_eq!(run(right, &["[1, 2, 3]", OFFSETS]), "[103, 102, 100, 100, 103, 100]");
    assert_eq!(run(left, &["[]", "[0]"]), "[]");
}

/// `scanl'_seg` and `scanr'_seg` give a total for each segment.
#[test]
fn segments_with_totals() {
    let left = "fn f(x: [n]i32, o: [k]i32) -> [n]i32, [?]i32 {
        let m = k - 1 let s: [n]i32, t: [m]i32 = scanl'_seg(|a, b| a + b, 100, x, offsets: o) return s, t }";
    assert_eq!(run(left, &["[1, 2, 3]", OFFSETS]), "[100, 101, 100]; [103, 100, 103]");
    let right = "fn f(x: [n]i32, o: [k]i32) -> [n]i32, [?]i32 {
        let m = k - 1 let s: [n]i32, t: [m]i32 = scanr'_seg(|a, b| a + b, 100, x, offsets: o) return s, t }";
    assert_eq!(run(right, &["[1, 2, 3]", OFFSETS]), "[102, 100, 100]; [103, 100, 103]");
}

/// Segments of rows: each row is cut alike.
#[test]
fn segments_of_rows() {
    let program = "fn f(x: [2, n]i32, o: [k]i32) -> [2, n]i32, [2, ?]i32 {
        let m = k - 1 let s: [2, n]i32, t: [2, m]i32 = scanl'_seg(|a, b| a + b, 0, x, offsets: o) return s, t }";
    assert_eq!(run(program, &["[[1, 2, 3], [4, 5, 6]]", "[0, 1, 3]"]), "[[0, 0, 2], [0, 0, 5]]; [[1, 5], [4, 11]]");
}

/// Wrong offsets are errors of scans as of folds.
#[test]
fn wrong_offsets() {
    let program =
        "fn f(x: [n]i32, o: [k]i32) -> [n]i32 { let s: [n]i32 = scanl1_seg(|a, b| a + b, x, offsets: o) return s }";
    let message = fails(program, &["[1, 2, 3]", "[0, 9, 3]"]);
    assert!(
        message.ends_with("scanl1_seg `s`: offset 1 of `o` is 9: offsets rise from 0 to the extent, 3"),
        "{message}"
    );
    assert!(fails(program, &["[]", "[]"]).ends_with("`o` is empty: there is one offset more than segments"));
}
