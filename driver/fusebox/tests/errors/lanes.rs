//! What lanes do not reach.

use super::{check, given, runs};

/// In lanes: branches that are not taken, loops without turns, nests without lanes, with operations between what fails and what needs it.
#[test]
fn what_lanes_do_not_reach_cannot_fail() {
    let branch = "fn f(d: [n]i64) -> [n]i64 {
        let c: [n]i64 = nest([n], |q| {
          let y: i64 = cond(d[q] != 0, || {
            let v = 100 / d[q]
            let vs: [2]i64 = generate([2], |z| v + z)
            let s: i64 = fold(|a, b| a + b, 0, vs)
            return s }, || { return i64(-1) })
          return y })
        return c }";
    let before = "fn f(d: [n]i64) -> [n]i64 {
        let c: [n]i64 = nest([n], |q| {
          let k = d[q]
          let v = 100 / k
          let vs: [3]i64 = generate([3], |z| v + z)
          let ws: [3]i64 = sort(vs)
          let y: i64 = cond(k > 0, || {
            let s: i64 = fold(|a, b| a + b, 0, ws)
            return s }, || { return i64(-1) })
          return y })
        return c }";
    let turns = "fn f(d: [n]i64) -> [n]i64 {
        let c: [n]i64 = nest([n], |q| {
          let i: i64, s: i64 = while(|i: i64, s: i64| { return i < d[q] }, |i: i64, s: i64| {
            let v = 100 / d[q]
            let vs: [2]i64 = generate([2], |z| v + z)
            let ws: [2]i64 = sort(vs)
            let a: i64 = fold(|a, b| a + b, s, ws)
            return i + 1, a }, 0, 0)
          return s })
        return c }";
    let inner = "fn f(d: [n]i64) -> [n]i64 {
        let c: [n]i64 = nest([n], |q| {
          let k = d[q]
          let y: [k]i64 = nest([k], |j| {
            let v = 100 / k
            let vs: [2]i64 = generate([2], |z| v + z)
            let ws: [2]i64 = sort(vs)
            let s: i64 = fold(|a, b| a + b, j, ws)
            return s })
          let t: i64 = fold(|a, b| a + b, 0, y)
          return t })
        return c }";
    let read = "fn f(d: [n]i64) -> [n]i64 {
        let c: [n]i64 = nest([n], |q| {
          let at = d[q]
          let y: i64 = cond(at < n, || {
            let v = d[at]
            let vs: [3]i64 = generate([3], |z| v * z)
            let ws: [3]i64 = scanl1(|a, b| a + b, vs)
            return ws[2] }, || { return i64(-1) })
          return y })
        return c }";
    check(&[
        runs(branch, vec![given(&[5, 0, 7])]),
        runs(branch, vec![given(&[0])]),
        runs(before, vec![given(&[5, 0, 7])]),
        runs(turns, vec![given(&[2, 0, -1])]),
        runs(inner, vec![given(&[2, 0, 3])]),
        runs(inner, vec![given(&[0, 0])]),
        runs(read, vec![given(&[1, 9, 0])]),
    ]);
}
