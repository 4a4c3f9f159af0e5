//! `foreign`: an implementation by name where the backend has one, else the fallback. The interpreter has none.

use crate::support::{fails, run};

/// The fallback is what a foreign function means.
#[test]
fn fallback() {
    let program = "fn f(x: [n, k]f32, y: [k, m]f32) -> [n, m]f32 {
        let c: [n, m]f32 = foreign(\"gemm\", |a: [n, k]f32, b: [k, m]f32| {
            let o: [n, m]f32 = nest([n, m], |i, j| {
                let u: [k]f32 = slice([i, _], a) let v: [k]f32 = slice([_, j], b)
                let p: [k]f32 = map(|s, t| s * t, u, v) let q: f32 = fold(|s, t| s + t, 0.0, p) return q })
            return o }, x, y) return c }";
    assert_eq!(run(program, &["[[1, 2], [3, 4]]", "[[1, 0], [0, 1]]"]), "[[1.0, 2.0], [3.0, 4.0]]");
}

/// It sees nothing outside: extents in the types of its parameters are bound there, and checked where met again.
#[test]
fn a_fallback_binds_its_own_extents() {
    let program = "fn f(x: [n]i32, y: [m]i32) -> i32, i64 {
        let s: i32, k: i64 = foreign(\"dot\", |a: [k]i32, b: [k]i32| {
            let p: [k]i32 = map(|u, v| u * v, a, b) let q: i32 = fold(|u, v| u + v, 0, p) return q, k }, x, y) return s, k }";
    assert_eq!(run(program, &["[1, 2]", "[3, 4]"]), "11; 2");
    let message = fails(program, &["[1, 2]", "[3]"]);
    assert!(message.ends_with("foreign `s`: extent 1 of `b` and extent 2 of `k` should be equal"), "{message}");
}

/// Scalars are arguments too; a result needs nothing of its siblings.
#[test]
fn scalars_and_need() {
    let program = "fn f(x: i32) -> i32 {
        let a: i32, b: i32 = foreign(\"pair\", |u: i32, v: i32| { let s = u + v let t = u / 0 return s, t }, x, 5i32) return a }";
    assert_eq!(run(program, &["2"]), "7");
}
