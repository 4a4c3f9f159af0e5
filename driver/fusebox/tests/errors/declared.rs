//! Extents that a program declares, of what is known to have them only when it runs.

use super::{check, fails, given, runs, scalar, vector};

/// A filter and an expansion count their elements: what is declared in the place of that count should be equal.
#[test]
fn declared_extents_of_what_is_counted_are_checked() {
    let filter = "fn f(d: [n]i64) -> [3]i64, i64 {
        let k: i64, y: [3]i64 = filter(|v| v > 4, d) return y, k }";
    let as_many = "fn f(d: [n]i64) -> [n]i64 {
        let k: i64, y: [n]i64 = filter(|v| v > 4, d) let z: [n]i64 = map(|v, w| v + w, y, d) return z }";
    let expand = "fn f(d: [n]i64, m: i64) -> i64, [?]i64 {
        let k: i64, y: [m]i64 = expand(|v| v, |v, j| v + j, d)
        let s: i64 = fold(|a, b| a + b, 0, y)
        let z: [m]i64 = map(|v| v + 1, y)
        return s, z }";
    check(&[
        runs(filter, vec![given(&[7, 5, 0, 9])]),
        fails(filter, vec![given(&[1, 5, 0])], "should be 3"),
        fails(filter, vec![given(&[5, 6, 7, 8, 9])], "should be 3"),
        runs(as_many, vec![given(&[7, 5])]),
        fails(as_many, vec![given(&[7, 5, 1])], "should be equal"),
        runs(expand, vec![given(&[1, 0, 2]), scalar(3)]),
        fails(expand, vec![given(&[1, 3, 2]), scalar(3)], "should be equal"),
        fails(expand, vec![given(&[1, 3, 2]), scalar(7)], "should be equal"),
        fails(expand, vec![given(&[100_000, 200_000]), scalar(2)], "should be equal"),
    ]);
}

#[test]
fn declared_numbers_of_lanes_are_checked() {
    let scalars = "fn f(x: [n]i64, m: i64) -> [?]i64 {
        let r: [m]i64 = nest([n], |i| {
          let q: [n]i64 = map(|v| v * x[i], x)
          let z: [n]i64 = sort(q)
          return z[0] })
        return r }";
    let rows = "fn f(x: [n]i64, m: i64) -> [n]i64 {
        let r: [m][?]i64 = nest([n], |i| { let k: i64, q: [k]i64 = filter(|v| v > i, x) return q })
        let s: [n]i64 = nest([n], |i| {
          let k: i64, e: [k]i64 = element(r, i)
          let t: i64 = fold(|a, b| a + b, 0, e)
          return t })
        return s }";
    check(&[
        runs(scalars, vec![vector(3), scalar(3)]),
        fails(scalars, vec![vector(3), scalar(2)], "should be equal"),
        fails(scalars, vec![vector(3), scalar(4)], "should be equal"),
        runs(rows, vec![vector(3), scalar(3)]),
        fails(rows, vec![vector(3), scalar(2)], "should be equal"),
        fails(rows, vec![vector(3), scalar(4)], "should be equal"),
    ]);
}

/// Arrays of `d[q]` elements, declared with others.
#[test]
fn declared_extents_of_inner_arrays_are_checked() {
    let element = "fn f(d: [n]i64) -> [n]i64 {
        let a: [n][?]i64 = nest([n], |q| { let k = d[q] let x: [k]i64 = generate([k], |i| i) return x })
        let s: [n]i64 = nest([n], |q| {
          let k: i64, r: [3]i64 = element(a, q)
          let s: i64 = fold(|a, b| a + b, 0, r)
          return s })
        return s }";
    let outside = "fn f(d: [n]i64) -> i64 {
        let a: [n][?]i64 = nest([n], |q| { let k = d[q] let x: [k]i64 = generate([k], |i| i) return x })
        let k: i64, r: [3]i64 = element(a, 0)
        let s: i64 = fold(|a, b| a + b, 0, r)
        return s }";
    let computed = "fn f(d: [n]i64, m: i64) -> [n]i64 {
        let a: [n][?]i64 = nest([n], |q| { let k = d[q] let x: [k]i64 = generate([k], |i| i) return x })
        let b: [m][3]i64 = compute(a)
        let s: [n]i64 = nest([n], |q| {
          let r: [3]i64 = element(b, q)
          let s: i64 = fold(|a, b| a + b, 0, r)
          return s })
        return s }";
    let branch = "fn f(d: [n]i64, m: i64) -> [n]i64 {
        let a: [n][?]i64 = nest([n], |q| { let k = d[q] let x: [k]i64 = generate([k], |i| i) return x })
        let b: [m][?]i64 = cond(m > 2, || { return a }, || { return a })
        let s: [n]i64 = nest([n], |q| {
          let k: i64, r: [k]i64 = element(b, q)
          let s: i64 = fold(|a, b| a + b, 0, r)
          return s })
        return s }";
    let fallback = "fn f(d: [n]i64) -> [n]i64 {
        let s: [n]i64 = nest([n], |q| {
          let k = d[q]
          let a: [k]i64 = generate([k], |i| i)
          let b: [k]i64 = foreign(\"none\", |u: [m]i64| { let w: i64, z: [w]i64 = filter(|x| x > 0, u) return z }, a)
          let s: i64 = fold(|a, b| a + b, 0, b)
          return s })
        return s }";
    check(&[
        runs(element, vec![given(&[3, 3])]),
        fails(element, vec![given(&[3, 2])], "should be 3, in lane 1"),
        fails(element, vec![given(&[7, 3])], "should be 3, in lane 0"),
        runs(outside, vec![given(&[3, 1])]),
        fails(outside, vec![given(&[7, 3])], "should be 3"),
        fails(outside, vec![given(&[2, 3])], "should be 3"),
        runs(computed, vec![given(&[3, 3]), scalar(2)]),
        fails(computed, vec![given(&[3, 3]), scalar(1)], "should be equal"),
        fails(computed, vec![given(&[3, 4]), scalar(2)], "should be 3"),
        runs(branch, vec![given(&[4, 2, 3]), scalar(3)]),
        runs(branch, vec![given(&[4, 2]), scalar(2)]),
        fails(branch, vec![given(&[4, 2, 3]), scalar(2)], "should be equal"),
        fails(branch, vec![given(&[4, 2, 3]), scalar(5)], "should be equal"),
        runs(fallback, vec![given(&[0, 0])]),
        fails(fallback, vec![given(&[0, 3])], "should be equal"),
    ]);
}

#[test]
fn declared_extents_of_traversals_and_loops_are_checked() {
    let elements = "fn f(d: [n]i64) -> i64, [?]i64 {
        let k: i64, y: [3]i64 = consume(|i, e: i64| { yield elements(e) }, d)
        let s: i64 = fold(|a, b| a + b, 0, y)
        return s, y }";
    let condition = "fn f(x: [n]i64) -> i64 {
        let i: i64, y: [n]i64 = while(
          |i: i64, y: [2]i64| { let s: i64 = fold(|a, b| a + b, 0, y) return s < 30 },
          |i: i64, y: [n]i64| { let z: [n]i64 = map(|v| v * 2, y) return i + 1, z }, 0, x)
        return i }";
    check(&[
        runs(elements, vec![vector(3)]),
        fails(elements, vec![vector(2)], "should be 3"),
        fails(elements, vec![vector(4)], "should be 3"),
        runs(condition, vec![vector(2)]),
        fails(condition, vec![vector(3)], "should be 2"),
        fails(condition, vec![vector(1)], "should be 2"),
    ]);
}
