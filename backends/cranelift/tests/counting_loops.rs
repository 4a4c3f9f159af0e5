//! Loops of scalar instructions that count: what they read is asked for before them where that can be, and errors are those of the interpreter.

use crate::common::check;
use fusebox_ir::Array;

/// Vectors of `n` elements, offsets of rows in them, and where loops begin and end.
fn inputs() -> Vec<Vec<Array>> {
    let mut all = Vec::new();
    for n in [0usize, 1, 5, 40, 70] {
        for (from, to) in [
            (0i64, n as i64),
            (1, n as i64 - 1),
            (n as i64, 0),
            (-1, 2),
            (0, n as i64 + 1),
            (-3, -1),
            (i64::MAX - 1, i64::MAX),
        ] {
            let values: Vec<i32> = (0..n as i32).map(|at| (at * 37 + 11) % 23 - 9).collect();
            all.push(vec![Array::new(&[n], &values).unwrap(), Array::scalar(from), Array::scalar(to)]);
        }
    }
    all
}

/// Programs of `s [n]i32`, `a` and `z`, where a loop goes from `a` to `z`.
const PROGRAMS: [&str; 14] = [
    // Each element counts the lesser ones.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = map(|x| {
       let t, less = while(|t: i64, less: i32| t < z, |t: i64, less: i32| { return t + 1, less + i32(s[t] < x) }, a, 0)
       return less }, s)
     return r }",
    // The count is a result, and another index is not the count.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i64, [n]i32 {
     let r: [n]i64, q: [n]i32 = generate([n], |i| {
       let sum, t = while(|sum: i32, t: i64| t < z, |sum: i32, t: i64| { return sum + s[t] * s[n - 1 - t], 1 + t }, 0, a)
       return t, sum })
     return r, q }",
    // Reads where some turns alone read.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| {
       let t, sum = while(|t: i64, sum: i32| t < z, |t: i64, sum: i32| {
         return t + 1, sum + if t > i { s[t] } else { 1 } }, a, 0)
       return sum })
     return r }",
    // The count starts elsewhere in each lane, so that lanes make different turns.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| {
       let t, sum = while(|t: i64, sum: i32| t < z, |t: i64, sum: i32| { return t + 1, sum + s[t] }, max(a, i), 0)
       return sum })
     return r }",
    // A loop inside.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| {
       let t, sum = while(|t: i64, sum: i32| t < z, |t: i64, sum: i32| {
         let u, own = while(|u: i64, own: i32| u < t, |u: i64, own: i32| { return u + 1, own ^ s[u] }, max(a, 0), 0)
         return t + 1, sum + own * s[t] }, a, 0)
       return sum })
     return r }",
    // By twos, and up to a bound that the loop changes: these do not count.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| {
       let t, sum = while(|t: i64, sum: i32| (t < z) & (t < 1000), |t: i64, sum: i32| { return t + 2, sum + s[t] }, a, 0)
       return sum })
     return r }",
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let e = min(z, 100)
     let r: [n]i32 = generate([n], |i| {
       let t, u, sum = while(|t: i64, u: i64, sum: i32| t < u, |t: i64, u: i64, sum: i32| { return t + 1, u - 1, sum + s[t] }, max(a, -5), e, 0)
       return sum })
     return r }",
    // Where a condition holds, which is the same for all elements.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| if a > 0 {
       let t, sum = while(|t: i64, sum: i32| t < z, |t: i64, sum: i32| { return t + 1, sum + s[t] * s[i] }, a, 0)
       return sum } else { return i32(a) })
     return r }",
    // Where a condition holds that elements do not agree on.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| if s[i] > 0 {
       let t, sum = while(|t: i64, sum: i32| t < z, |t: i64, sum: i32| { return t + 1, sum + s[t] * s[i] }, a, 0)
       return sum } else { return i32(a) })
     return r }",
    // No element takes part: the loop would not end.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| if s[i] > 99 {
       let t, sum = while(|t: i64, sum: i32| t != a, |t: i64, sum: i32| { return t + 2, sum ^ s[i] }, a + 1, 0)
       return sum } else { return s[i] })
     return r }",
    // The condition reads, and would fail where no element takes part.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| if (s[i] > 5) & (a >= 0) & (a < n) {
       let t, sum = while(|t: i64, sum: i32| s[t] < 9, |t: i64, sum: i32| { return t + 1, sum + s[t] * s[i] }, a, 0)
       return sum } else { return i32(z) })
     return r }",
    // Reads at other places for each element, which are outside for those that take no part; then for some that do.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| if (i >= a) & (i + z <= n) {
       let t, sum = while(|t: i64, sum: i32| t < z, |t: i64, sum: i32| { return t + 1, sum + s[i + t - a] }, a, 0)
       return sum } else { return 7 })
     return r }",
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| if s[i] & 1 == 0 {
       let t, sum = while(|t: i64, sum: i32| t < z, |t: i64, sum: i32| {
         return t + 1, sum + if s[t] > 3 { s[i + t] } else { s[t] } }, a, 0)
       return sum } else { return 7 })
     return r }",
    // What fails is the same for all elements that get there, and what it shows is not; loops in loops in branches.
    "fn f(s: [n]i32, a: i64, z: i64) -> [n]i32 {
     let r: [n]i32 = generate([n], |i| if s[i] > 2 {
       let t, sum = while(|t: i64, sum: i32| t < z, |t: i64, sum: i32| {
         let own = assert(t < 38, \"the count stays small\", i)
         let u, more = while(|u: i64, more: i32| u < t, |u: i64, more: i32| { return u + 1, more + s[u] }, own, 0)
         return t + 1, sum + more * s[i] }, a, 0)
       return sum } else { return i32(z) })
     return r }",
];

#[test]
fn results_and_errors_are_those_of_the_interpreter() {
    for source in PROGRAMS {
        check(source, &inputs());
    }
}

#[test]
fn rows_of_matrices_are_read_inside() {
    let source = "fn f(s: [n, m]f64, a: i64, z: i64) -> [n]f64 {
        let r: [n]f64 = generate([n], |i| {
          let t, sum = while(|t: i64, sum: f64| t < z, |t: i64, sum: f64| { return t + 1, sum + s[i, t] + s[t, i] }, a, 0.0)
          return sum })
        return r }";
    let mut all = Vec::new();
    for [n, m] in [[3usize, 3], [2, 5], [20, 20], [0, 4]] {
        let elements: Vec<f64> = (0..n * m).map(|at| at as f64 * 0.25 - 3.0).collect();
        for (from, to) in [(0i64, n.min(m) as i64), (0, n.max(m) as i64), (-1, 1), (2, 2)] {
            let matrix = Array::new(&[n, m], &elements).unwrap();
            all.push(vec![matrix, Array::scalar(from), Array::scalar(to)]);
        }
    }
    check(source, &all);
}

/// A row of no elements takes no part in the masked gangs that short rows are: its loop would not end inside of the array, and what it reads for all
/// elements need not be there.
#[test]
fn rows_without_elements_make_no_turns() {
    let source = "fn f(s: [n]i32, from: [m]i64, to: [m]i64, z: i64) -> [?]i32 {
        let t: i64, r: [t]i32 = expand(|a, b| b - a, |a, b, j| {
          let u, sum = while(|u: i64, sum: i32| u != b, |u: i64, sum: i32| { return u + 1, sum * 3 + s[u] }, a + 1, i32(j))
          return sum + s[z] * s[a + j] }, from, to)
        return r }";
    let values: Vec<i32> = (0..40).map(|at| at * 13 % 29 - 7).collect();
    let rows: [&[(i64, i64)]; 5] = [
        &[],
        &[(3, 3)],
        &[(0, 0), (40, 40), (7, 7)],
        &[(0, 2), (5, 5), (5, 9), (20, 20), (1, 40), (9, 9)],
        &[(0, 17), (17, 17), (17, 26), (30, 31)],
    ];
    let mut all = Vec::new();
    for rows in rows {
        for z in [0i64, 39, 40, -1] {
            let column = |of: fn(&(i64, i64)) -> i64| rows.iter().map(of).collect::<Vec<_>>();
            let (from, to) = (column(|row| row.0), column(|row| row.1));
            all.push(vec![
                Array::new(&[40], &values).unwrap(),
                Array::new(&[rows.len()], &from).unwrap(),
                Array::new(&[rows.len()], &to).unwrap(),
                Array::scalar(z),
            ]);
        }
    }
    check(source, &all);
}
