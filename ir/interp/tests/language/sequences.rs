//! Sequences: `consume` is one traversal of its streams, and its sinks say what becomes of what its body gives.

use crate::support::{fails, run};

/// A stream is a number of elements of one type that come one after the other; an array counts as the stream of its outermost dimension.
#[test]
fn streams_and_arrays() {
    let program = "fn f(s: stream [?]i32, a: [n, 2]i32) -> i64, [?]i32 {
        let k: i64, y: [k]i32 = consume(|i, x: [m]i32, row: [2]i32| { let t: i32 = fold(|a, b| a + b, 0, x) let u = t + row[1] yield elements(u) }, s, a)
        return k, y }";
    assert_eq!(run(program, &["[[1, 2, 3], [], [4]]", "[[0, 10], [0, 20], [0, 30]]"]), "3; [16, 20, 34]");
}

/// How many elements a stream has says nothing of their extents, which a later input may bind.
#[test]
fn extents_that_a_later_input_binds() {
    let program = "fn f(s: stream [m]i32, a: [m]i32) -> i64, [?]i32 {
        let k: i64, y: [k]i32 = consume(|i, x: [m]i32| {
          let p: [m]i32 = map(|x, a| x * a, x, a) let t: i32 = fold(|a, b| a + b, 0, p) yield elements(t) }, s)
        return k, y }";
    assert_eq!(run(program, &["[[1, 2, 3], [4, 5, 6]]", "[1, 10, 100]"]), "2; [321, 654]");
    assert_eq!(run(program, &["[]", "[1, 10, 100]"]), "0; []");
}

/// The shortest of limit and streams decides; a negative limit is none at all.
#[test]
fn limits() {
    let program = "fn f(s: stream i32, t: stream i32, limit: i64) -> [?]i32 {
        let k: i64, y: [k]i32 = consume([limit], |i, a: i32, b: i32| { let c = a * b yield elements(c) }, s, t) return y }";
    assert_eq!(run(program, &["[1, 2, 3]", "[4, 5]", "9"]), "[4, 10]");
    assert_eq!(run(program, &["[1, 2, 3]", "[4, 5]", "1"]), "[4]");
    assert_eq!(run(program, &["[1, 2, 3]", "[4, 5]", "-1"]), "[]");
    assert_eq!(run(program, &["[]", "[4, 5]", "9"]), "[]");
}

/// With a limit and no streams the body is given the step alone.
#[test]
fn a_limit_without_streams() {
    let program = "fn f(n: i64) -> [?]i64 { let k: i64, y: [k]i64 = consume([n], |i| { let s = i * i yield elements(s) }) return y }";
    assert_eq!(run(program, &["4"]), "[0, 1, 4, 9]");
}

/// `elements` puts all values one after the other, in row-major order; one size for several arrays.
#[test]
fn elements() {
    let program = "fn f(s: stream [?, 2]i32) -> i64, [?]i32, [?]i32 {
        let k: i64, y: [k]i32, z: [k]i32 = consume(|i, x: [m, 2]i32| { let d: [m, 2]i32 = map(|v| 10 * v, x) yield elements(x, d) }, s)
        return k, y, z }";
    assert_eq!(run(program, &["[[[1, 2], [3, 4]], [[5, 6]]]"]), "6; [1, 2, 3, 4, 5, 6]; [10, 20, 30, 40, 50, 60]");
    assert_eq!(run(program, &["[]"]), "0; []; []");
}

/// The arrays that `elements` takes at a step have equal extents.
#[test]
fn elements_of_unequal_extents() {
    let program = "fn f(s: stream [?]i32, t: stream [?]i32) -> i64, [?]i32, [?]i32 {
        let k: i64, y: [k]i32, z: [k]i32 = consume(|i, a: [n]i32, b: [m]i32| { yield elements(a, b) }, s, t) return k, y, z }";
    assert_eq!(run(program, &["[[1, 2], []]", "[[3, 4], []]"]), "2; [1, 2]; [3, 4]");
    let message = fails(program, &["[[1, 2], [5]]", "[[3, 4], []]"]);
    assert!(message.ends_with("extent 1 of `a` and extent 0 of `b` should be equal"), "{message}");
}

/// `tabulate` puts arrays along a new dimension, cut to the least extents met: the number, the extents, the array.
#[test]
fn tabulate() {
    let program = "fn f(s: stream [?]i32) -> i64, i64, [?, ?]i32 {
        let r: i64, c: i64, t: [r, c]i32 = consume(|i, x: [m]i32| { yield tabulate(x) }, s) return r, c, t }";
    assert_eq!(run(program, &["[[1, 2, 3], [4, 5], [6, 7, 8]]"]), "3; 2; [[1, 2], [4, 5], [6, 7]]");
    assert_eq!(run(program, &["[]"]), "0; 0; empty [0, 0]");
    assert_eq!(run(program, &["[[1], []]"]), "2; 0; empty [2, 0]");
    let scalars = "fn f(s: stream i32) -> i64, [?]i32 { let r: i64, t: [r]i32 = consume(|i, x: i32| { let y = x + 1 yield tabulate(y) }, s) return r, t }";
    assert_eq!(run(scalars, &["[1, 2]"]), "2; [2, 3]");
}

/// `stream_out` makes a stream again.
#[test]
fn stream_out() {
    let program = "fn f(s: stream [?]i32) -> stream [?]i32 {
        let o: stream [?]i32 = consume(|i, x: [m]i32| { let k: i64, y: [k]i32 = filter(|v| v > 0, x) yield stream_out(y) }, s) return o }";
    assert_eq!(run(program, &["[[1, -2, 3], [-4], [5]]"]), "[[1, 3], [], [5]]");
    assert_eq!(run(program, &["[]"]), "[]");
}

/// `accumulate` folds chunks into a state; its function is given the state and all values of a chunk.
#[test]
fn accumulate() {
    let program = "fn f(s: stream i32) -> i32 {
        let t: i32 = consume(|i, x: i32| { yield accumulate(|st: i32, w: [z]i32| { let u: i32 = fold(|a, b| a + b, st, w) return u }, 100, x) }, s)
        return t }";
    assert_eq!(run(program, &["[1, 2, 3]"]), "106");
    assert_eq!(run(program, &["[]"]), "100");
}

/// Of elements with extents it is also given these, once for all its arrays; values are in row-major order.
#[test]
fn accumulate_extents() {
    let program = "fn f(s: stream [?]i64) -> i64, i64, i64 {
        let count: i64, most: i64, sum: i64 = consume(|i, x: [m]i64| {
            yield accumulate(|n: i64, most: i64, sum: i64, e: [c]i64, w: [z]i64| {
                let k = n + c let l: i64 = fold(|a, b| max(a, b), most, e) let t: i64 = fold(|a, b| a + b, sum, w) return k, l, t }, 0, 0, 0, x) }, s)
        return count, most, sum }";
    assert_eq!(run(program, &["[[1, 2, 3], [], [4]]"]), "3; 3; 10");
    let tables = "fn f(s: stream [?, ?]i64) -> i64 {
        let area: i64 = consume(|i, x: [p, q]i64| {
            yield accumulate(|st: i64, e: [c, 2]i64, w: [z]i64| {
                let areas: [c]i64 = generate([c], |j| e[j, 0] * e[j, 1]) let t: i64 = fold(|a, b| a + b, st, areas) return t }, 0, x) }, s)
        return area }";
    assert_eq!(run(tables, &["[[[1, 2, 3]], [[4], [5]]]"]), "5");
}

/// The arrays that `accumulate` takes at a step have equal extents.
#[test]
fn accumulate_unequal_extents() {
    let program = "fn f(s: stream [?]i64, t: stream [?]i64) -> i64 {
        let r: i64 = consume(|i, a: [n]i64, b: [m]i64| {
            yield accumulate(|st: i64, e: [c]i64, v: [z]i64, w: [z]i64| { let u: i64, x: i64 = fold(|a, b, c, d| { return a + c * d, b }, st, 0, v, w) return u },
                0, a, b) }, s, t) return r }";
    assert_eq!(run(program, &["[[1, 2], [3]]", "[[10, 10], [100]]"]), "330");
    let message = fails(program, &["[[1, 2], [3]]", "[[10, 10], []]"]);
    assert!(message.ends_with("extent 1 of `a` and extent 0 of `b` should be equal"), "{message}");
}

/// States are arrays too; seeds are computed outside.
#[test]
fn states_that_are_arrays() {
    let program = "fn f(s: stream i64) -> [3]i64 {
        let zeros: [3]i64 = generate([3], |i| 0i64)
        let h: [3]i64 = consume(|i, x: i64| {
            yield accumulate(|now: [3]i64, w: [z]i64| {
                let ones: [z]i64 = generate([z], |j| 1i64) let next: [3]i64 = permute(|new, old| new + old, now, ones, at: w) return next }, zeros, x) }, s)
        return h }";
    assert_eq!(run(program, &["[0, 2, 2]"]), "[1, 0, 2]");
}

/// Results come in the order of the sinks, and each needs its own part of the body.
#[test]
fn several_sinks() {
    let program = "fn f(s: stream [?]i32) -> i64, [?]i32, i64, i64, [?, ?]i32, stream [?]i32, i32 {
        let k: i64, y: [k]i32, r: i64, c: i64, t: [r, c]i32, o: stream [?]i32, sum: i32 = consume(|i, x: [m]i32| {
            let s: i32 = fold(|a, b| a + b, 0, x)
            yield elements(s), tabulate(x), stream_out(x), accumulate(|st: i32, w: [z]i32| { let u: i32 = fold(|a, b| a + b, st, w) return u }, 0, s) }, s)
        return k, y, r, c, t, o, sum }";
    assert_eq!(run(program, &["[[1, 2], [3]]"]), "2; [3, 3]; 2; 1; [[1], [3]]; [[1, 2], [3]]; 6");
    let by_need = "fn f(s: stream i32) -> [?]i32 {
        let k: i64, y: [k]i32, l: i64, z: [l]i32 = consume(|i, x: i32| { let d = x / 0 yield elements(x), elements(d) }, s) return y }";
    assert_eq!(run(by_need, &["[1, 2]"]), "[1, 2]");
}

/// The lifted form (`chunks: true`) is given the first step and the number of steps, and of each stream extents and values.
#[test]
fn chunks() {
    let program = "fn f(s: stream [?]i64) -> [?]i64 {
        let k: i64, y: [k]i64 = consume(|first: i64, count: i64, e: [c]i64, v: [z]i64| {
            let w: [z]i64 = map(|x| 2 * x, v) yield elements(w) }, s, chunks: true) return y }";
    assert_eq!(run(program, &["[[1, 2], [], [3]]"]), "[2, 4, 6]");
    let scalars = "fn f(s: stream i64) -> [?]i64 {
        let k: i64, y: [k]i64 = consume(|first: i64, count: i64, v: [count]i64| {
            let w: [count]i64 = generate([count], |j| v[j] + 10 * (first + j)) yield elements(w) }, s, chunks: true) return y }";
    assert_eq!(run(scalars, &["[1, 2, 3]"]), "[1, 12, 23]");
}

/// A `consume` in a lane is that lane's own traversal.
#[test]
fn consume_in_a_lane() {
    let program = "fn f(n: i64) -> [n]i64 {
        let s: [n]i64 = nest([n], |l| {
            let t: i64 = consume([l], |i| { let x = i + 1 yield accumulate(|st: i64, w: [z]i64| { let u: i64 = fold(|a, b| a + b, st, w) return u }, 0, x) })
            return t }) return s }";
    assert_eq!(run(program, &["4"]), "[0, 1, 3, 6]");
}

/// Elements of a stream that do not have the extents of its type are found when they are met.
#[test]
fn elements_that_do_not_fit() {
    let program = "fn f(w: [n]i32, s: stream [n]i32) -> [?]i32 {
        let k: i64, y: [k]i32 = consume(|i, x: [n]i32| { yield elements(x) }, s) return y }";
    assert_eq!(run(program, &["[1, 1]", "[[1, 2], [3, 4]]"]), "[1, 2, 3, 4]");
    assert!(
        fails(program, &["[1, 1]", "[[1, 2], [3]]"]).contains("extent 1 of `x` and extent 2 of `n` should be equal")
    );
}
