//! What scalar code needs only in a branch is computed only where the branch is taken.

use super::{check, fails, given, matrix, runs, scalar, vector};

#[test]
fn branches_of_scalar_code_guard_what_they_read() {
    let greatest = "fn f(x: [n]i64) -> i64 {
        let m: i64 = fold1(|a, b| max(a, b), x)
        let y = if n > 0 { m } else { -1 }
        return y }";
    let chain = "fn f(x: [n]i64) -> i64, i64 {
        let m: i64 = fold1(|a, b| max(a, b), x)
        let l: i64 = fold1(|a, b| min(a, b), x)
        let width = m - l
        let many = n > 2
        let y, z = if many { return width, n } else if n > 0 { return m, 1 } else { return 0, 0 }
        return y: y + 1, z }";
    let both = "fn f(x: [n]i64) -> bool, bool {
        let m: i64 = fold1(|a, b| max(a, b), x)
        let y = n > 0 && m > 3
        let z = n == 0 || m > 3
        return y, z }";
    let read = "fn f(x: [n]i64, k: i64) -> i64 {
        let t: [n]i64 = map(|v| v / k, x)
        let s: [n]i64 = sort(t)
        let y = if k > 0 { s[0] + s[n - 1] } else { k }
        return y }";
    let beside = "fn f(x: [n]i64) -> i64, i64 {
        let m: i64 = fold1(|a, b| max(a, b), x)
        let y = if n > 0 { m } else { -1 }
        let z = m + 1
        return y, z }";
    let inside = "fn f(x: [n]i64, k: i64) -> [n]i64 {
        let t: [n]i64 = map(|v| v / k, x)
        let s: i64 = fold(|a, b| a + b, 0, t)
        let y = if k > 0 { s } else { 7 }
        let z: [n]i64 = map(|v| v + y, x)
        return z }";
    check(&[
        runs(greatest, vec![vector(0)]),
        runs(greatest, vec![given(&[4, 9, 2])]),
        runs(chain, vec![vector(0)]),
        runs(chain, vec![vector(1)]),
        runs(chain, vec![given(&[4, 9, 2])]),
        runs(both, vec![vector(0)]),
        runs(both, vec![given(&[4, 9, 2])]),
        runs(read, vec![vector(3), scalar(0)]),
        runs(read, vec![vector(3), scalar(2)]),
        fails(read, vec![vector(0), scalar(2)], "outside"),
        fails(beside, vec![vector(0)], "empty"),
        runs(beside, vec![vector(2)]),
        runs(inside, vec![vector(3), scalar(0)]),
        runs(inside, vec![vector(3), scalar(2)]),
    ]);
}

#[test]
fn each_lane_guards_what_it_reads() {
    let greatest = "fn f(d: [n]i64) -> [n]i64 {
        let s: [n]i64 = nest([n], |q| {
          let k = d[q]
          let x: [k]i64 = generate([k], |i| (i * 7) % 5)
          let m: i64 = fold1(|a, b| max(a, b), x)
          let r = if k > 0 { m } else { -1 }
          return r })
        return s }";
    let branch = "fn f(d: [n]i64) -> [n]i64 {
        let s: [n]i64 = nest([n], |q| {
          let k = d[q]
          let x: [3]i64 = generate([3], |i| (i + 12) / k)
          let t: [3]i64 = sort(x)
          let r: i64 = cond(k != 0, || { let v = t[0] return v }, || { return k })
          return r })
        return s }";
    let extent = "fn f(d: [n]i64) -> [n]i64 {
        let s: [n]i64 = nest([n], |q| {
          let k = d[q]
          let r: i64 = cond(k > 0, || {
            let x: [k]i64 = generate([k], |i| i + 1)
            let t: i64 = fold(|a, b| a + b, 0, x)
            return t }, || { let none = -1i64 return none })
          return r })
        return s }";
    let every = "fn f(d: [n]i64) -> [n]i64 {
        let s: [n]i64 = nest([n], |q| {
          let k = d[q]
          let r: i64 = cond(q > 0, || {
            let x: [k]i64 = generate([k], |i| i + 1)
            let t: i64 = fold(|a, b| a + b, 0, x)
            return t }, || { let none = -1i64 return none })
          return r })
        return s }";
    check(&[
        runs(extent, vec![given(&[0, -2, 0, 5])]),
        runs(every, vec![given(&[-2, 3])]),
        fails(every, vec![given(&[-2, 3, -4])], "extent -4 of `x` is negative, in lane 2"),
        runs(greatest, vec![given(&[0, 2, 0, 5])]),
        runs(greatest, vec![given(&[0])]),
        runs(greatest, vec![given(&[3, 1])]),
        runs(greatest, vec![given(&[3, -1])]),
        runs(branch, vec![given(&[0, 2, 0, 5])]),
        runs(branch, vec![given(&[3, 1])]),
    ]);
}

#[test]
fn folds_of_empty_rows_fail_where_they_are_needed() {
    let vector_less = "fn f(x: [n]i64) -> [n]i64 {
        let m: i64 = fold1(|a, b| max(a, b), x)
        let l: i64 = fold1(|a, b| min(a, b), x)
        let width = m - l
        let y: [n]i64 = map(|v| v - m + width, x)
        return y }";
    let given_too = "fn f(x: [n]i64) -> [n]i64, i64 {
        let m: i64 = fold1(|a, b| max(a, b), x)
        let y: [n]i64 = map(|v| v - m, x)
        return y, m }";
    let rows = "fn f(x: [n, m]i64) -> [n, m]i64 {
        let g: [n]i64 = fold1(|a, b| max(a, b), x)
        let y: [n, m]i64 = generate([n, m], |i, j| x[i, j] - g[i])
        return y }";
    let sums = "fn f(x: [n, m]i64) -> [n]i64 {
        let g: [n]i64 = fold1(|a, b| a + b, x)
        let y: [n]i64 = map(|v| v + 1, g)
        return y }";
    let lanes = "fn f(d: [n]i64) -> [n]i64 {
        let s: [n]i64 = nest([n], |q| {
          let k = d[q]
          let x: [k]i64 = generate([k], |i| (i * 7) % 5)
          let m: i64 = fold1(|a, b| max(a, b), x)
          let y: [k]i64 = map(|v| v - m, x)
          let t: i64 = fold(|a, b| a + b, 0, y)
          return t })
        return s }";
    check(&[
        runs(vector_less, vec![vector(0)]),
        runs(vector_less, vec![given(&[4, 9, 2])]),
        fails(given_too, vec![vector(0)], "empty"),
        runs(given_too, vec![given(&[4, 9, 2])]),
        runs(rows, vec![matrix(3, 0)]),
        runs(rows, vec![matrix(0, 3)]),
        runs(rows, vec![matrix(3, 2)]),
        fails(sums, vec![matrix(3, 0)], "empty"),
        runs(sums, vec![matrix(0, 3)]),
        runs(lanes, vec![given(&[2, 0, 3])]),
        runs(lanes, vec![given(&[0, 0])]),
        runs(lanes, vec![vector(0)]),
    ]);
}
