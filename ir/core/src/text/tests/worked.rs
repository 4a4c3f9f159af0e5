//! Every line of the worked texts of the design (D7) and of the text form (§2), in a program that gives it its inputs.

use super::same;
use crate::{ArrayOp, Extent, Order, Program, Sink};

/// A line of statements, in a program with these inputs whose result is a size.
#[track_caller]
fn line(inputs: &str, statements: &str) -> Program {
    same(&format!("fn line({inputs}) -> i64 {{\n{statements}\nlet done = 0i64\nreturn done }}"))
}

#[test]
fn dot_product() {
    let program = same(
        "fn dotp(xs: [n]f32, ys: [m]f32) -> f32 {
          let k = min(n, m)
          let a: [k]f32 = map(|x, y| x * y, xs, ys)
          let s: f32 = fold(|x, y| x + y, 0.0, a)
          return s }",
    );
    assert_eq!(program.body.sizes.len(), 2);
    insta::assert_snapshot!(program, @r"
    fn dotp(xs: [n]f32, ys: [m]f32) -> f32 {
      let k = min(n, m)
      let a: [k]f32 = map(|x, y| x * y, xs, ys)
      let s: f32 = fold(|x, y| x + y, 0.0, a)
      return s }
    ");
}

#[test]
fn state_and_branches_that_change_size() {
    let program = same(
        "fn thin(xs0: [n]f32, coarse: bool) -> [?]f32 {         # state and branches change size: sizes are results
          let k: i64, xs: [k]f32, r: i64 = while(|k: i64, xs: [k]f32, r: i64| { let go = r < 10; return go }, |k: i64, xs: [k]f32, r: i64| {
            let m: i64, ys: [m]f32 = cond(coarse, || { let h = k / 2; let half: [h]f32 = backpermute([h], |i| 2 * i, xs); return h, half },
                                                  || { let j: i64, kept: [j]f32 = filter(|x| x > 0.5, xs); return j, kept })
            let q = r + 1; return m, ys, q }, n, xs0, 0i64); return xs }",
    );
    insta::assert_snapshot!(program, @r"
    fn thin(xs0: [n]f32, coarse: bool) -> [?]f32 {
      let k2: i64, xs: [k2]f32, r2: i64 = while(|k: i64, xs1: [k]f32, r: i64| {
        let go = r < 10
        return go }, |k1: i64, xs2: [k1]f32, r1: i64| {
        let m: i64, ys: [m]f32 = cond(coarse, || {
          let h = k1 / 2
          let half: [h]f32 = backpermute([h], |i| 2 * i, xs2)
          return h, half }, || {
          let j: i64, kept: [j]f32 = filter(|x| x > 0.5, xs2)
          return j, kept })
        let q = r1 + 1
        return m, ys, q }, n, xs0, 0i64)
      return xs }
    ");
    // Sizes, parameters, then each binding's blocks before its results.
    let ArrayOp::While { condition, step, .. } = &program.body.bindings[0].op else { panic!() };
    assert_eq!(program.body.sizes[0].id.0, 0);
    assert_eq!(program.body.params[1].id.0, 2);
    assert_eq!(condition.params[0].id.0, 3);
    assert_eq!(condition.bindings[0].results[0].id.0, 6);
    assert_eq!(step.params[0].id.0, 7);
    assert_eq!(program.body.bindings[0].results[1].ty.extents, [Extent::Value(program.body.bindings[0].results[0].id)]);
}

#[test]
fn nested_arrays_and_the_same_flat() {
    line("", "let t: [10][?]i64 = nest([10], |i| { let r: [i]i64 = generate([i], |j| i * j); return r })
      let s: [10]i64 = nest([10], |i| { let k: i64, r: [k]i64 = element(t, i); let q: i64 = fold(|a, b| a + b, 0, r); return q })");
    line("", "let e: [10]i64 = generate([10], |i| i)                                                               # the same, flat
      let o: [11]i64 = scanl(|a, b| a + b, 0, e)
      let w: i64, v: [w]i64 = expand(|i| i, |i, j| i * j, e)
      let s: [10]i64 = fold_seg(|a, b| a + b, 0, v, offsets: o)");
}

#[test]
fn permutes() {
    line("zeros: [m]i32, v: [n]i32, at: [n]i64", "let h: [m]i32 = permute(|new, old| new + old, zeros, v, at: at)");
    line(
        "d: [m, w]i32, e: [m, w]f32, v: [n]i32, x: [n]f32, i: [n]i64, j: [n]i64, c: [n]bool",
        "let p: [m, w]i32, q: [m, w]f32 = permute(|v, x, v0, x0| { return v + v0, x + x0 }, (d, e), (v, x), at: (i, j), keep: c, unique: true)
         let r: [m, w]i32 = permute(|a, b| a, d, v, at: (i, j), ordered: true)",
    );
    line("s: i32, v: [n]i32", "let h: i32 = permute(|new, old| new + old, s, v, at: ())");
    line(
        "zeros: [m]i32, size: [n]i64, start: [n]i64",
        "let h: [m]i32 = permuted_expand(|z, b| z, |z, b, j| { return b + j, 1i32 }, |new, old| new + old, zeros, size, start)",
    );
    line(
        "d: [m]i32, e: [m]f32, zs: [n]i64",
        "let y: [m]i32 = permuted_expand(|z| z, |z, j| { return z + j, 1i32 }, |new, old| new + old, d, zs)
         let a: [m]i32, b: [m]f32 = permuted_expand(|z| z, |z, j| { return z + j, 1, 2.0, z > j }, |v, x, w, y| { return v, x },
           (d, e), zs, unique: true)
         let c: [m]i32 = permuted_expand(|z| z, |z, j| { return z + j, 1 }, |a, b| a, d, zs, ordered: true)",
    );
}

#[test]
fn stencils() {
    line(
        "u: [h, w]f32, g: [h, w]f32",
        "let p: [h, w]f32 = stencil(|l, r, c| 0.5 * (l + r) - c, u[0, -1], u[0, 1], g[0, 0], u: clamp, g: constant(0.0))",
    );
    line(
        "u: [n]f32, x: f32",
        "let l: [n]f32 = stencil(|a, b| a - b, u[-1], u[1], u: function(|i| f32(i)))
      let k: [n]f32 = stencil(|a| a, u[-1], u: constant(x))
      let m: [n]f32 = stencil(|a| a, u[-1], u: mirror)
      let v: [n]f32 = stencil(|a| a, u[-1], u: wrap)",
    );
}

#[test]
fn foreign_functions() {
    let program = line(
        "x: [n, k]f32, y: [k, m]f32, s: f32",
        "let c: [n, m]f32 = foreign(\"gemm\", |a: [n, k]f32, b: [k, m]f32| {
           let o: [n, m]f32 = generate([n, m], |i, j| a[i, 0] * b[0, j])
           return o }, x, y)
         let d: f32 = foreign(\"with \\\"quotes\\\"\", |t: f32, u: i32| { return t }, 2.0, 1i32)",
    );
    let ArrayOp::Foreign { fallback, .. } = &program.body.bindings[0].op else { panic!() };
    assert_eq!(fallback.sizes.len(), 3, "a fallback sees nothing outside");
}

#[test]
fn sequences() {
    line(
        "frames: stream [?, ?]f32, rows: i64",
        "let k: i64, y: [k]f32 = consume([rows], |i, frame: [a, b]f32| {
           let r: [a]f32 = fold(|x, y| x + y, 0.0, frame); let s: f32 = fold(|x, y| x + y, 0.0, r); yield elements(s) }, frames)",
    );
    let program = line(
        "frames: stream [?, ?]f32, k: i64",
        "let n: i64, v: [n]f32, total: f32 = consume([k], |i, frame: [a, b]f32| {
           let s = frame[0, 0]
           yield elements(s), accumulate(|st: f32, w: [z]f32| { let t: f32 = fold(|x, y| x + y, st, w); return t }, 0.0, s) }, frames)",
    );
    let ArrayOp::Consume { sinks, body, .. } = &program.body.bindings[0].op else { panic!() };
    assert!(matches!(sinks[..], [Sink::Elements { count: 1 }, Sink::Accumulate { count: 1, .. }]));
    assert_eq!(body.results.len(), 2);
    assert_eq!(body.sizes.len(), 2);
    line(
        "frames: stream [c, 2]i64, m: [p, q]f32",
        "let n: i64, re: [n]i64, im: [n]i64, r: i64, e: i64, t: [r, e]i64, out: stream [e]i64, st: i64 = consume(|i, f: [a, 2]i64, y: [q]f32| {
           let x: [a]i64 = slice([_, 0], f)
           yield elements(x, x), tabulate(x), stream_out(x), accumulate(|s: i64, ext: [c, 2]i64, w: [z]i64, v: [z]i64| { return s }, 0, f, f)
         }, frames, m)",
    );
    line(
        "lines: stream [?]i64",
        "let k: i64, y: [k]i64 = consume(|first: i64, count: i64, extents: [c]i64, values: [z]i64| { yield elements(values) }, lines, chunks: true)",
    );
}

#[test]
fn clusters() {
    let program = line(
        "xs: [n]f32",
        "let sum1: f32, sum2: f32 = cluster(|| { horizontal sum1: f32 = fold(|a, b| a + b, 0.0, xs); vertical scn: [n]f32 = scanl1(|a, b| a + b, xs)
           last sum2: f32 = fold(|a, b| a + b, 0.0, scn); return sum1, sum2 })
         let down: [n]f32 = cluster(|| { last b: [n]f32 = scanr1(|a, b| a + b, xs); return b }, order: descending)
         let both: [n]f32, back: [n]f32 = cluster(|| {
           diagonal a: [n]f32 = map(|x| x, xs, order: b)
           horizontal k = 3i64
           vertical up: [n]f32 = scanl1(|a, b| a + b, xs, order: ascending)
           last b: [n]f32 = backpermute([n], |i| n - 1 - i, a)
           return a, b }, order: b)",
    );
    let ArrayOp::Cluster { body, marks, order } = &program.body.bindings[2].op else { panic!() };
    let b = body.bindings[3].results[0].id;
    assert_eq!(*order, Order::Of(b));
    assert_eq!(marks[0].order, Some(Order::Of(b)));
    assert_eq!(marks[2].order, Some(Order::Ascending));
    assert_eq!(marks[1].order, None);
}

#[test]
fn the_order_of_a_binding_and_a_boundary_of_that_name() {
    let program = line(
        "order: [n]f32, clamp: [n]f32",
        "let a: [n]f32, b: [n]f32 = cluster(|| {
           horizontal b: [n]f32 = backpermute([n], |i| i, clamp)
           last a: [n]f32 = stencil(|x| x, order[1], order: constant(0.0))
           return a, b })",
    );
    let ArrayOp::Cluster { marks, .. } = &program.body.bindings[0].op else { panic!() };
    assert_eq!(marks[1].order, None);
}

#[test]
fn constants_and_shapes() {
    line(
        "",
        "let a: [4]i32 = constant([1, 2, 3, 4])
      let b: [2, 2]i32 = constant([[1, 2], [3, 4]])
      let c: f32 = constant(3.0)
      let d: [0]f32 = constant([])
      let e: [2, 0, 3]u8 = constant([[], []])
      let f: [0, 3]bool = constant([])
      let g: [3]f16 = constant([inf_f16, -nan_f16, bits_f16(0x7e01)])
      let h: [2]bool = constant([true, false])",
    );
    line(
        "a: [n]f32, m: [n, 2]f32, j: i64, s: f32, p: i64, q: i64, k: i64",
        "let r: [n, 3]f32 = replicate([_, 3], a)
      let r1: [n, 3]f32, r2: [n, 3]f32 = replicate([_, 3], a, a)
      let s1: [n]f32 = slice([_, j], m)
      let s2: f32 = slice([0, j], m)
      let t: [k]f32 = transform([k], |i| 2 * i, |x| x + 1.0, a)
      let u: [p, q]f32 = reshape([p, q], a)
      let v: f32 = reshape([], a)
      let x: f32 = generate([], || 1.0)
      let y: [2, 3]f32 = replicate([2, 3], s)
      let z: [n]f32, z2: [n]f32 = compute(a, a)",
    );
    line(
        "a: [p, m]f32, b: [q, m]f32, x: [n]i8",
        "let w = p + q
      let c: [w, m]f32 = concat(a, b, dim: 0)
      let n2 = n + n
      let d: [n2]i8 = concat(x, x)",
    );
}

#[test]
fn folds_and_scans() {
    line(
        "xs: [n]f32, js: [n]i64, a: [n]i64, o: [k]i32",
        "let one = 1i64
      let s: f32, i: i64 = fold(|x, j, y, k| { return x + y, j + k }, 0.0, 0, xs, js, commutes: true)
      let t: f32 = fold1(|x, y| x + y, xs)
      let seed = t + t
      let s2: f32 = fold(|x, y| x + y, seed, xs)
      let b: [n]i64, d: [n]f32, u: i64, v: f32 = scanl'(|x, y, v, w| { return x + v, y + w }, 0, 0.0, a, xs)
      let m = k - 1
      let z = n + m
      let g: [z]f32 = scanl_seg(|x, y| x + y, 0.0, xs, offsets: o)
      let h: [n]f32, l: [m]f32 = scanl'_seg(|x, y| x + y, 0.0, xs, offsets: o)
      let h2: [n]f32, l2: [m]f32 = scanr'_seg(|x, y| x + y, 0.0, xs, offsets: o, commutes: true)
      let f1: [m]f32 = fold_seg(|x, y| x + y, 0.0, xs, offsets: o)
      let f2: [m]f32 = fold1_seg(|x, y| x + y, xs, offsets: o)
      let s3: [n]f32 = scanl1_seg(|x, y| x + y, xs, offsets: o)
      let s4: [n]f32 = scanr1_seg(|x, y| x + y, xs, offsets: o)
      let s5: [z]f32 = scanr_seg(|x, y| x + y, 0.0, xs, offsets: o)
      let nn = n + 1
      let s6: [nn]f32 = scanl(|x, y| x + y, 0.0, xs)
      let s7: [nn]f32 = scanr(|x, y| x + y, 0.0, xs)
      let s8: [n]f32 = scanr1(|x, y| x + y, xs)
      let s9: [n]f32, ta: f32 = scanr'(|x, y| x + y, 0.0, xs)",
    );
}

#[test]
fn sorting_and_elements() {
    line(
        "x: [n]f32, w: [n]i32, y: [n]i64, z: [n]u8",
        "let k: [n]f32, a: [n]i64, b: [n]u8 = sort(x, carry: (y, z))
      let k1: [n]f32, k2: [n]i32, c: [n]i64 = sort((x, w), carry: y)
      let k3: [n]f32 = sort(x)",
    );
    line(
        "t: [r][?, 4]f32, i: i64",
        "let k: i64, e: [k, 4]f32 = element(t, i)
      let k1: i64, e1: [k1, 4]f32 = element(t, 0)",
    );
}

#[test]
fn functions_that_hold_operations_are_nests() {
    let program = line("xs: [n]i64, m: [n, 2]f32", "let a: [n]i64 = map(|x| { let r: [x]i64 = generate([x], |j| x * j); let s: i64 = fold(|p, q| p + q, 0, r); return s }, xs)
      let b: [n][?]i64 = generate([n], |i| { let k = xs[i] + 1; let r: [k]i64 = generate([k], |j| j); return r })
      let c: [n]i64 = generate([n], |i| {
        let v, k = while(|v: i64, k: i64| v > 1, |v: i64, k: i64| { return v / 2, k + 1 }, i, 0)
        let r: [k]i64 = generate([k], |j| j)
        let s: i64 = fold(|p, q| p + q, 0, r)
        return s + v })
      let d: [n, 2]f32 = map(|x, y| { let r: [3]f32 = generate([3], |j| x * y); let s: f32 = fold(|p, q| p + q, 0.0, r); return s }, m, m)");
    assert!(program.body.bindings[..4].iter().all(|binding| matches!(binding.op, ArrayOp::Nest { .. })));
    insta::assert_snapshot!(program, @r"
    fn line(xs: [n]i64, m: [n, 2]f32) -> i64 {
      let a: [n]i64 = nest([n], |a3| {
        let x = xs[a3]
        let r: [x]i64 = generate([x], |j| x * j)
        let s: i64 = fold(|p, q| p + q, 0, r)
        return s })
      let b: [n][?]i64 = nest([n], |i| {
        let k = xs[i] + 1
        let r1: [k]i64 = generate([k], |j| j)
        return r1 })
      let c: [n]i64 = nest([n], |i1| {
        let v, k1 = (while(|v1: i64, k2: i64| v1 > 1, |v2: i64, k3: i64| { return v2 / 2, k3 + 1 }, i1, 0i64))
        let r2: [k1]i64 = generate([k1], |j| j)
        let s1: i64 = fold(|p, q| p + q, 0, r2)
        let a17 = s1 + v
        return a17 })
      let d: [n, 2]f32 = nest([n, 2], |a19, a20| {
        let x1 = m[a19, a20]
        let y = m[a19, a20]
        let r3: [3]f32 = generate([3], |j| x1 * y)
        let s2: f32 = fold(|p, q| p + q, 0.0, r3)
        return s2 })
      let done = 0i64
      return done }
    ");
}

#[test]
fn names_of_results() {
    let program = same(
        "fn p(z.re: [n]f64, z.im: [n]f64) -> [n]f64, [n]f64, [n]f64 {
           let a: [n]f64 = map(|x, y| x * y, z.re, z.im) return w.re: a, y: a, z.re }",
    );
    let names: Vec<_> = program.outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["w.re", "y", "z.re"]);
    assert_eq!(program.body.params[0].name.0, "z.re");
}
