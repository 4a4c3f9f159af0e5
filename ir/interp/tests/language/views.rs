//! Operations that arrange elements: `replicate`, `slice`, `reshape`, `backpermute`, `transform`, `concat`.

use crate::support::{fails, run};

/// `replicate` repeats along new dimensions; `_` keeps one.
#[test]
fn replicate() {
    let rows = "fn f(x: [n]i32) -> [2, n]i32 { let y: [2, n]i32 = replicate([2, _], x) return y }";
    assert_eq!(run(rows, &["[1, 2, 3]"]), "[[1, 2, 3], [1, 2, 3]]");
    let columns = "fn f(x: [n]i32) -> [n, 2]i32 { let y: [n, 2]i32 = replicate([_, 2], x) return y }";
    assert_eq!(run(columns, &["[1, 2, 3]"]), "[[1, 1], [2, 2], [3, 3]]");
    let between = "fn f(x: [n, m]i32) -> [n, 2, m]i32 { let y: [n, 2, m]i32 = replicate([_, 2, _], x) return y }";
    assert_eq!(run(between, &["[[1, 2], [3, 4]]"]), "[[[1, 2], [1, 2]], [[3, 4], [3, 4]]]");
    assert_eq!(run("fn f(x: i32) -> [3]i32 { let y: [3]i32 = replicate([3], x) return y }", &["7"]), "[7, 7, 7]");
}

/// A new dimension of extent 0 leaves no elements; a negative one is an error.
#[test]
fn replicate_none_or_less() {
    let program = "fn f(x: [n]i32, k: i64) -> [?, n]i32 { let y: [k, n]i32 = replicate([k, _], x) return y }";
    assert_eq!(run(program, &["[1, 2]", "0"]), "empty [0, 2]");
    assert!(fails(program, &["[1, 2]", "-3"]).ends_with("replicate `y`: extent -3 of `y` is negative"));
}

/// `slice` fixes dimensions at an index; `_` keeps one.
#[test]
fn slice() {
    let row = "fn f(x: [n, m]i32, i: i64) -> [m]i32 { let y: [m]i32 = slice([i, _], x) return y }";
    assert_eq!(run(row, &["[[1, 2, 3], [4, 5, 6]]", "1"]), "[4, 5, 6]");
    let column = "fn f(x: [n, m]i32, j: i64) -> [n]i32 { let y: [n]i32 = slice([_, j], x) return y }";
    assert_eq!(run(column, &["[[1, 2, 3], [4, 5, 6]]", "0"]), "[1, 4]");
    assert_eq!(
        run("fn f(x: [n, m]i32) -> i32 { let y: i32 = slice([1, 2], x) return y }", &["[[1, 2, 3], [4, 5, 6]]"]),
        "6"
    );
    assert!(
        fails(row, &["[[1, 2, 3], [4, 5, 6]]", "2"])
            .ends_with("index [2, 0] is outside of `x`, whose extents are [2, 3]")
    );
}

/// An index out of bounds is an error of the element that is read there: where there is none, nothing fails.
#[test]
fn a_slice_without_elements_reads_nothing() {
    let row = "fn f(x: [n, m]i32, i: i64) -> [m]i32 { let y: [m]i32 = slice([i, _], x) return y }";
    assert_eq!(run(row, &["empty [2, 0]", "9"]), "[]");
}

/// `reshape` keeps the elements in row-major order, in other extents of the same product.
#[test]
fn reshape() {
    let program = "fn f(x: [n, m]i32, p: i64, q: i64) -> [?, ?]i32 { let y: [p, q]i32 = reshape([p, q], x) return y }";
    assert_eq!(run(program, &["[[1, 2, 3], [4, 5, 6]]", "3", "2"]), "[[1, 2], [3, 4], [5, 6]]");
    assert_eq!(run(program, &["empty [0, 5]", "7", "0"]), "empty [7, 0]");
    let message = fails(program, &["[[1, 2, 3], [4, 5, 6]]", "2", "2"]);
    assert!(message.ends_with("reshape `y`: extent 4 of `y` and extent 6 of `x` should be equal"), "{message}");
    assert!(fails(program, &["[[1, 2, 3], [4, 5, 6]]", "-3", "-2"]).ends_with("extent -3 of `y` is negative"));
}

/// `backpermute` takes each element from where its function says.
#[test]
fn backpermute() {
    let reverse = "fn f(x: [n]i32) -> [n]i32 { let y: [n]i32 = backpermute([n], |i| n - 1 - i, x) return y }";
    assert_eq!(run(reverse, &["[1, 2, 3]"]), "[3, 2, 1]");
    let transpose = "fn f(x: [n, m]i32) -> [m, n]i32 { let y: [m, n]i32 = backpermute([m, n], |i, j| { return j, i }, x) return y }";
    assert_eq!(run(transpose, &["[[1, 2, 3], [4, 5, 6]]"]), "[[1, 4], [2, 5], [3, 6]]");
    assert_eq!(run(transpose, &["empty [0, 2]"]), "empty [2, 0]");
    let several = "fn f(x: [n]i32, y: [n]bool) -> [2]i32, [2]bool {
        let a: [2]i32, b: [2]bool = backpermute([2], |i| i + 1, x, y) return a, b }";
    assert_eq!(run(several, &["[1, 2, 3]", "[true, false, true]"]), "[2, 3]; [false, true]");
}

/// The error of an index outside names the array, the index and the extents.
#[test]
fn backpermute_from_outside() {
    let program =
        "fn f(x: [n, m]i32) -> [2]i32 { let y: [2]i32 = backpermute([2], |i| { return i, 2 * i }, x) return y }";
    assert_eq!(run(program, &["[[1, 2, 3], [4, 5, 6]]"]), "[1, 6]");
    let message = fails(program, &["[[1, 2], [4, 5]]"]);
    assert!(
        message.ends_with("backpermute `y`: index [1, 2] is outside of `x`, whose extents are [2, 2]"),
        "{message}"
    );
}

/// `transform` is a backpermute, then a map: the index function first.
#[test]
fn transform() {
    let program = "fn f(x: [n]i32) -> [2]i32 { let y: [2]i32 = transform([2], |i| 2 * i, |v| v + 100, x) return y }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "[101, 103]");
    let several = "fn f(x: [n]i32, y: [n]i32) -> [n]i32 {
        let z: [n]i32 = transform([n], |i| n - 1 - i, |a, b| a - b, x, y) return z }";
    assert_eq!(run(several, &["[1, 2, 3]", "[10, 10, 10]"]), "[-7, -8, -9]");
}

/// A transform whose function does not need an element reads none.
#[test]
fn transform_reads_by_need() {
    let program = "fn f(x: [n]i32) -> [2]i32 { let y: [2]i32 = transform([2], |i| i + 99, |v| 5, x) return y }";
    assert_eq!(run(program, &["[1]"]), "[5, 5]");
}

/// `concat` puts arrays one after the other along a dimension.
#[test]
fn concat() {
    let vectors = "fn f(x: [n]i32, y: [m]i32, z: [k]i32) -> [?]i32 { let w = n + m + k let a: [w]i32 = concat(x, y, z) return a }";
    assert_eq!(run(vectors, &["[1, 2]", "[]", "[3]"]), "[1, 2, 3]");
    assert_eq!(run(vectors, &["[]", "[]", "[]"]), "[]");
    let below = "fn f(x: [n, m]i32, y: [k, m]i32) -> [?, m]i32 { let w = n + k let a: [w, m]i32 = concat(x, y, dim: 0) return a }";
    assert_eq!(run(below, &["[[1, 2]]", "[[3, 4], [5, 6]]"]), "[[1, 2], [3, 4], [5, 6]]");
    let beside = "fn f(x: [n, m]i32, y: [n, k]i32) -> [n, ?]i32 { let w = m + k let a: [n, w]i32 = concat(x, y, dim: 1) return a }";
    assert_eq!(run(beside, &["[[1], [2]]", "[[3, 4], [5, 6]]"]), "[[1, 3, 4], [2, 5, 6]]");
}

/// The other extents of what is put together are equal.
#[test]
fn concat_of_unequal_rows() {
    let program = "fn f(x: [n, m]i32, y: [k, l]i32) -> [?, ?]i32 { let w = n + k let a: [w, m]i32 = concat(x, y, dim: 0) return a }";
    assert!(
        fails(program, &["[[1, 2]]", "[[3]]"])
            .ends_with("concat `a`: extent 2 of `x` and extent 1 of `y` should be equal")
    );
}

/// `replicate_seg` repeats each element along its segment; offsets are those of `fold_seg`, and as wrong.
#[test]
fn replicate_along_segments() {
    let program = "fn f(x: [m]i32, o: [k]i64, n: i64) -> [?]i32 {
        let t: [n]i32 = replicate_seg([n], x, offsets: o) return t }";
    assert_eq!(run(program, &["[7, 8, 9]", "[0, 2, 2, 5]", "5"]), "[7, 7, 9, 9, 9]");
    assert_eq!(run(program, &["[]", "[0]", "0"]), "[]");
    assert_eq!(run(program, &["[1, 2]", "[0, 0, 0]", "0"]), "[]");
    // An element that no segment stands for is not read; one that a segment lacks only where the segment has elements.
    assert_eq!(run(program, &["[7, 8, 9]", "[0, 1]", "1"]), "[7]");
    assert_eq!(run(program, &["[7]", "[0, 2, 2]", "2"]), "[7, 7]");
    let said = |inputs: &[&str], end: &str| {
        let message = fails(program, inputs);
        assert!(message.ends_with(end), "{message}");
    };
    said(&["[7]", "[0, 1, 2]", "2"], "index [1] is outside of `x`, whose extents are [1]");
    said(
        &["[7, 8]", "[0, 2, 1]", "1"],
        "replicate_seg `t`: offset 1 of `o` is 2: offsets rise from 0 to the extent, 1",
    );
    said(
        &["[7, 8]", "[0, 1, 1]", "2"],
        "replicate_seg `t`: offset 2 of `o` is 1: offsets rise from 0 to the extent, 2",
    );
    said(
        &["[7, 8]", "[1, 1, 2]", "2"],
        "replicate_seg `t`: offset 0 of `o` is 1: offsets rise from 0 to the extent, 2",
    );
    said(&["[]", "[]", "0"], "`o` is empty: there is one offset more than segments");
}
