//! Folds: the innermost dimension combined in order, the seed first.

use crate::support::{fails, run};

/// A fold combines from left to right; operands keep their order.
#[test]
fn fold_keeps_the_order() {
    // Each function is x -> a x + b; their composition is associative, and does not commute.
    let program = "fn f(a: [n]i32, b: [n]i32) -> i32, i32 {
        let p: i32, q: i32 = fold(|a, b, c, d| { return c * a, c * b + d }, 1, 0, a, b) return p, q }";
    assert_eq!(run(program, &["[2, 3]", "[1, 10]"]), "6; 13");
    assert_eq!(run(program, &["[3, 2]", "[10, 1]"]), "6; 21");
}

/// The seed comes first, once a row, and need not be neutral; an empty row gives the seed.
#[test]
fn the_seed() {
    let program = "fn f(x: [n]i32) -> i32 { let s: i32 = fold(|a, b| a + b, 100, x) return s }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "106");
    assert_eq!(run(program, &["[]"]), "100");
    let computed =
        "fn f(x: [n]f32, k: f32) -> f32 { let seed = k * 2.0 let s: f32 = fold(|a, b| max(a, b), seed, x) return s }";
    assert_eq!(run(computed, &["[1.0, 5.0]", "2.0"]), "5.0");
    assert_eq!(run(computed, &["[1.0, 5.0]", "3.0"]), "6.0");
}

/// Of an array of any rank each row of the innermost dimension is folded.
#[test]
fn rows() {
    let program = "fn f(x: [n, m]i32) -> [n]i32 { let s: [n]i32 = fold(|a, b| a + b, 10, x) return s }";
    assert_eq!(run(program, &["[[1, 2], [3, 4], [5, 6]]"]), "[13, 17, 21]");
    assert_eq!(run(program, &["empty [2, 0]"]), "[10, 10]");
    assert_eq!(run(program, &["empty [0, 2]"]), "[]");
    let cube = "fn f(x: [2, 2, 2]i32) -> [2, 2]i32 { let s: [2, 2]i32 = fold(|a, b| a + b, 0, x) return s }";
    assert_eq!(run(cube, &["[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]"]), "[[3, 7], [11, 15]]");
}

/// The interpreter adds floats from left to right in the element type.
#[test]
fn floats_from_left_to_right() {
    let program = "fn f(x: [n]f32) -> f32 { let s: f32 = fold(|a, b| a + b, 0.0, x) return s }";
    assert_eq!(run(program, &["[16777216.0, 1.0, 1.0]"]), "16777216.0");
    assert_eq!(run(program, &["[1.0, 1.0, 16777216.0]"]), "16777218.0");
    assert_eq!(run(program, &["[1.0, nan, 2.0]"]), "nan");
    let least = "fn f(x: [n]f32) -> f32 { let s: f32 = fold(|a, b| min(a, b), inf_f32, x) return s }";
    assert_eq!(run(least, &["[0.0, -0.0, 3.0]"]), "-0.0");
}

/// Several arrays are the components of one: k seeds, a function of 2k parameters, left operands first.
#[test]
fn components() {
    let argmax = "fn f(x: [n]f32) -> f32, i64 {
        let at: [n]i64 = generate([n], |i| i)
        let m: f32, i: i64 = fold(|x, i, y, j| if y > x { return y, j } else { return x, i }, -inf_f32, -1, x, at) return m, i }";
    assert_eq!(run(argmax, &["[3.0, 7.0, 7.0, -1.0]"]), "7.0; 1");
    assert_eq!(run(argmax, &["[]"]), "-inf; -1");
}

/// `commutes` says that the function is known to commute: it changes no result.
#[test]
fn commutes() {
    let program = "fn f(x: [n]i32) -> i32 { let s: i32 = fold(|a, b| (a + b) & 255, 0, x, commutes: true) return s }";
    assert_eq!(run(program, &["[200, 100, 7]"]), "51");
}

/// `fold1` starts with the first element; an empty row is an error that names the array and the row.
#[test]
fn fold1() {
    let program = "fn f(x: [n, m]i32) -> [n]i32 { let s: [n]i32 = fold1(|a, b| a - b, x) return s }";
    assert_eq!(run(program, &["[[10, 3, 2], [7, 7, 7]]"]), "[5, -7]");
    assert_eq!(run(program, &["[[4]]"]), "[4]");
    assert!(fails(program, &["empty [2, 0]"]).ends_with("fold1 `s`: row 0 of `x` is empty, and there is no seed"));
    assert_eq!(run(program, &["empty [0, 0]"]), "[]");
}

/// Segments are cut by offsets: from 0 to the extent, never falling, one more than there are segments.
#[test]
fn segments() {
    let program = "fn f(x: [n]i32, o: [k]i64) -> [?]i32 {
        let m = k - 1 let s: [m]i32 = fold_seg(|a, b| a + b, 100, x, offsets: o) return s }";
    assert_eq!(run(program, &["[1, 2, 3, 4]", "[0, 2, 2, 3, 4]"]), "[103, 100, 103, 104]");
    assert_eq!(run(program, &["[1, 2]", "[0, 2]"]), "[103]");
    assert_eq!(run(program, &["[]", "[0, 0, 0]"]), "[100, 100]");
}

/// One offset is no segments, and then the extent is 0.
#[test]
fn no_segments() {
    let program = "fn f(x: [n]i32, o: [k]i64) -> [?]i32 {
        let m = k - 1 let s: [m]i32 = fold_seg(|a, b| a + b, 100, x, offsets: o) return s }";
    assert_eq!(run(program, &["[]", "[0]"]), "[]");
    assert!(fails(program, &["[5]", "[0]"]).ends_with("offset 0 of `o` is 0: offsets rise from 0 to the extent, 1"));
}

/// Offsets are of any integer type, and cut the innermost dimension of each row alike.
#[test]
fn segments_of_rows() {
    let program = "fn f(x: [2, n]i32, o: [3]u8) -> [2, 2]i32 { let s: [2, 2]i32 = fold_seg(|a, b| a + b, 0, x, offsets: o) return s }";
    assert_eq!(run(program, &["[[1, 2, 3], [4, 5, 6]]", "[0, 1, 3]"]), "[[1, 5], [4, 11]]");
}

/// `fold1_seg` of an empty segment is an error that names the segment.
#[test]
fn fold1_of_segments() {
    let program =
        "fn f(x: [n]i32, o: [4]i32) -> [3]i32 { let s: [3]i32 = fold1_seg(|a, b| a * b, x, offsets: o) return s }";
    assert_eq!(run(program, &["[2, 3, 4, 5]", "[0, 1, 2, 4]"]), "[2, 3, 20]");
    let message = fails(program, &["[2, 3, 4, 5]", "[0, 2, 2, 4]"]);
    assert!(message.ends_with("fold1_seg `s`: row 1 of `x` is empty, and there is no seed"), "{message}");
}

/// Of several offsets that are wrong, the first is named, with its value and the extent.
#[test]
fn wrong_offsets() {
    let program = "fn f(x: [n]i32, o: [k]i64) -> [?]i32 {
        let m = k - 1 let s: [m]i32 = fold_seg(|a, b| a + b, 0, x, offsets: o) return s }";
    let x = "[1, 2, 3, 4]";
    let rise = "offsets rise from 0 to the extent, 4";
    let blamed = |offsets: &str, which: &str| {
        let message = fails(program, &[x, offsets]);
        assert!(message.ends_with(&format!("fold_seg `s`: offset {which}: {rise}")), "{offsets}: {message}");
    };
    blamed("[1, 4]", "0 of `o` is 1");
    blamed("[0, 3, 2, 4]", "2 of `o` is 2");
    blamed("[0, 3]", "1 of `o` is 3");
    blamed("[0, 5]", "1 of `o` is 5");
    blamed("[0, 2, 77, 4]", "2 of `o` is 77");
    blamed("[0, -1, 4]", "1 of `o` is -1");
    blamed("[-3, 4]", "0 of `o` is -3");
    blamed("[9]", "0 of `o` is 9");
}

/// An offset beyond the range of `i64` is beyond any extent.
#[test]
fn huge_offsets() {
    let program =
        "fn f(x: [n]i32, o: [3]u64) -> [2]i32 { let s: [2]i32 = fold_seg(|a, b| a + b, 0, x, offsets: o) return s }";
    assert_eq!(run(program, &["[1, 2]", "[0, 1, 2]"]), "[1, 2]");
    let message = fails(program, &["[1, 2]", "[0, 18446744073709551615, 2]"]);
    assert!(message.contains("offset 1 of `o` is 9223372036854775807"), "{message}");
}

/// No offsets at all is an error.
#[test]
fn no_offsets() {
    let program = "fn f(x: [n]i32, o: [k]i64) -> [?]i32 {
        let m = max(k - 1, 0) let s: [m]i32 = fold_seg(|a, b| a + b, 0, x, offsets: o) return s }";
    assert!(fails(program, &["[]", "[]"]).ends_with("`o` is empty: there is one offset more than segments"));
}
