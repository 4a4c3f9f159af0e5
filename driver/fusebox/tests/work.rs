//! Work is done again only where that pays, through all passes: what fusion refuses, clustering does not bring back.

use fusebox::{Fusion, Options, explain, ir::text};

/// Kernels of a program whose function `f` is expensive or cheap.
fn kernels(program: &str, f: &str, fusion: Fusion) -> usize {
    let program = text::parse(&program.replace("F(x)", f)).unwrap_or_else(|error| panic!("{error}"));
    let explained = explain(&program, &Options { fusion, ..Options::default() }).unwrap();
    explained.after.expect("it compiles").kernels
}

#[test]
fn an_expensive_map_is_stored_and_a_cheap_one_is_not() {
    let replicated = "fn f(a: [n]f32, m: i64) -> [?, ?]f32 {
        let b: [n]f32 = map(|x| F(x), a)
        let c: [m, n]f32 = replicate([m, _], b)
        return c }";
    let windows = "fn f(a: [n]f32) -> [?, ?]f32 {
        let b: [n]f32 = map(|x| F(x), a)
        let k = max(n - 8, 0)
        let c: [k, 8]f32 = backpermute([k, 8], |i, j| i + j, b)
        return c }";
    let anywhere = "fn f(a: [n]f32, ix: [m]i64) -> [m]f32 {
        let b: [n]f32 = map(|x| F(x), a)
        let c: [m]f32 = backpermute([m], |i| ix[i], b)
        return c }";
    for program in [replicated, windows, anywhere] {
        for fusion in [Fusion::Greedy, Fusion::Optimal] {
            let expensive = kernels(program, "exp(sin(x))", fusion);
            let cheap = kernels(program, "x + 1.0", fusion);
            assert_eq!(expensive, cheap + 1, "{fusion:?}: {program}");
        }
    }
}
