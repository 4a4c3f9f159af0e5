//! The plan of one program for each operation, as text.

use crate::strict::lower;
use fusebox_ir::text;
use fusebox_kernels::{Config, Error};

fn plan(source: &str) -> String {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let (plan, _) = lower(&program, &Config::default()).unwrap();
    fusebox_ir::validate_plan(&plan).unwrap_or_else(|errors| panic!("{errors}\n{plan}"));
    plan.to_string()
}

macro_rules! plans {
    ($($name:ident: $source:literal;)*) => {$(
        #[test]
        fn $name() {
            insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false, description => $source }, {
                insta::assert_snapshot!(stringify!($name), plan($source));
            });
        }
    )*};
}

plans! {
    constant: "fn f() -> [2, 2]i32 { let a: [2, 2]i32 = constant([1, 2, 3, 4]) return a }";
    unit: "fn f(n: i64, x: f32) -> f32 { let y = if n > 0 { x / f32(n) } else { 0.0 } return y }";
    compute: "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = compute(a) return b }";
    generate: "fn f(n: i64) -> [?, 3]i64 { let b: [n, 3]i64 = generate([n, 3], |i, j| i * 3 + j) return b }";
    map: "fn f(a: [n]f32, b: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x, y| x * y + 1.0, a, b) return c }";
    map_over_less: "fn f(a: [n]f32, k: i64) -> [?]f32 { let c: [k]f32 = map(|x| x * x, a) return c }";
    map_reads_beside: "fn f(a: [n]f32) -> [n]f32 { let c: [n]f32 = generate([n], |i| if i > 0 { a[i] - a[i - 1] } else { a[0] }) return c }";
    map_computed_index: "fn f(a: [n]f32, at: [m]i32) -> [m]f32 { let c: [m]f32 = map(|i| a[i64(i)], at) return c }";
    division_in_a_branch: "fn f(a: [n]i32) -> [n]i32 { let c: [n]i32 = map(|x| { let q = 100 / x return if x > 0 { q } else { 0 } }, a) return c }";
    backpermute_transpose: "fn f(a: [n, m]f32) -> [m, n]f32 { let c: [m, n]f32 = backpermute([m, n], |i, j| { return j, i }, a) return c }";
    backpermute_reverse: "fn f(a: [n]f32) -> [n]f32 { let c: [n]f32 = backpermute([n], |i| n - 1 - i, a) return c }";
    backpermute_half: "fn f(a: [n]f32) -> [?]f32 { let h = n / 2 let c: [h]f32 = backpermute([h], |i| 2 * i, a) return c }";
    transform: "fn f(a: [n]f32, k: i64) -> [?]f32 { let c: [k]f32 = transform([k], |i| mod(i, n), |x| x + 1.0, a) return c }";
    replicate: "fn f(a: [n]f32, k: i64) -> [?, ?]f32 { let c: [k, n]f32 = replicate([k, _], a) return c }";
    slice: "fn f(a: [n, m]f32, j: i64) -> [n]f32 { let c: [n]f32 = slice([_, j], a) return c }";
    reshape: "fn f(a: [n, m]f32, k: i64) -> [?]f32 { let c: [k]f32 = reshape([k], a) return c }";
    concat: "fn f(a: [n]f32, b: [m]f32) -> [?]f32 { let k = n + m let c: [k]f32 = concat(a, b) return c }";
    fold: "fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, a) return s }";
    fold_rows: "fn f(a: [n, m]f64) -> [n]f64 { let s: [n]f64 = fold(|x, y| x + y, 0.0, a) return s }";
    fold_tuple: "fn f(a: [n]f32, b: [n]i64) -> f32, i64 { let s: f32, t: i64 = fold(|x, i, y, j| { return x + y, max(i, j) }, 0.0, 0, a, b) return s, t }";
    fold1: "fn f(a: [n, m]f32) -> [n]f32 { let s: [n]f32 = fold1(|x, y| max(x, y), a) return s }";
    fold_in_order: "fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x * 0.5 + y, 0.0, a) return s }";
    fold_seg: "fn f(a: [n]f32, o: [m]i32) -> [?]f32 { let k = m - 1 let s: [k]f32 = fold_seg(|x, y| x + y, 0.0, a, offsets: o) return s }";
    fold1_seg: "fn f(a: [n]f32, o: [m]i64) -> [?]f32 { let k = m - 1 let s: [k]f32 = fold1_seg(|x, y| x + y, a, offsets: o) return s }";
    scanl: "fn f(a: [n]f32) -> [?]f32 { let k = n + 1 let s: [k]f32 = scanl(|x, y| x + y, 0.0, a) return s }";
    scanl1: "fn f(a: [n]i32) -> [n]i32 { let s: [n]i32 = scanl1(|x, y| max(x, y), a) return s }";
    scanl_body: "fn f(a: [n]f32) -> [n]f32, f32 { let s: [n]f32, t: f32 = scanl'(|x, y| x + y, 0.0, a) return s, t }";
    scanr: "fn f(a: [n, m]f32) -> [n, ?]f32 { let k = m + 1 let s: [n, k]f32 = scanr(|x, y| x + y, 0.0, a) return s }";
    scanr1: "fn f(a: [n]f32) -> [n]f32 { let s: [n]f32 = scanr1(|x, y| x + y, a) return s }";
    scanr_body: "fn f(a: [n]f32) -> [n]f32, f32 { let s: [n]f32, t: f32 = scanr'(|x, y| x + y, 0.0, a) return s, t }";
    scanl_seg: "fn f(a: [n]f32, o: [m]i64) -> [?]f32 { let z = n + m - 1 let s: [z]f32 = scanl_seg(|x, y| x + y, 0.0, a, offsets: o) return s }";
    scanr_body_seg: "fn f(a: [n]f32, o: [m]i64) -> [n]f32, [?]f32 { let k = m - 1 let s: [n]f32, t: [k]f32 = scanr'_seg(|x, y| x + y, 0.0, a, offsets: o) return s, t }";
    permute: "fn f(d: [m]i32, a: [n]i32, t: [n]i64) -> [m]i32 { let r: [m]i32 = permute(|x, y| x + y, d, a, at: t) return r }";
    permute_keep: "fn f(d: [m]f32, a: [n]f32, t: [n]i64, k: [n]bool) -> [m]f32 { let r: [m]f32 = permute(|x, y| x + y, d, a, at: t, keep: k) return r }";
    permute_overwrites: "fn f(d: [m]f32, a: [n]f32, t: [n]i64) -> [m]f32 { let r: [m]f32 = permute(|x, y| x, d, a, at: t) return r }";
    permute_rank_0: "fn f(d: i32, a: i32) -> i32 { let r: i32 = permute(|x, y| x + y, d, a, at: ()) return r }";
    expand: "fn f(a: [n]i64) -> [?]i64 { let t: i64, r: [t]i64 = expand(|x| x, |x, j| x + j, a) return r }";
    permuted_expand: "fn f(d: [m]i32, a: [n]i64) -> [m]i32 { let r: [m]i32 = permuted_expand(|x| x, |x, j| { return x + j, 1i32, j > 0 }, |x, y| x + y, d, a) return r }";
    filter: "fn f(a: [n]f32) -> i64, [?]f32 { let k: i64, r: [k]f32 = filter(|x| x > 0.5, a) return k, r }";
    sort: "fn f(a: [n]f32, b: [n]i64) -> [n]f32, [n]i64 { let k: [n]f32, r: [n]i64 = sort(a, carry: b) return k, r }";
    stencil: "fn f(a: [h, w]f32) -> [h, w]f32 { let r: [h, w]f32 = stencil(|x, y, z| x + y - z, a[0, -1], a[0, 0], a[1, 0], a: clamp) return r }";
    stencil_outside: "fn f(a: [n]f32, b: [n]f32) -> [n]f32 { let r: [n]f32 = stencil(|x, y| x + y, a[-1], b[2], a: constant(0.5), b: function(|i| f32(i))) return r }";
    cond: "fn f(c: bool, a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x + 1.0, a)
      let r: [n]f32 = cond(c, || { let d: [n]f32 = map(|x| x * 2.0, b) return d }, || { return a }) return r }";
    while_loop: "fn f(k: i64, a: [n]f32) -> [n]f32 { let t: i64, r: [n]f32 = while(|t: i64, s: [n]f32| { let go = t < k return go },
      |t: i64, s: [n]f32| { let u = t + 1 let v: [n]f32 = map(|x| x * 0.5, s) return u, v }, 0, a) return r }";
    while_needs_a_quotient: "fn f(k: i64, a: [n]i64) -> [n]i64 { let q = 100 / k let t: i64, r: [n]i64 = while(|t: i64, s: [n]i64| { let go = t < k return go },
      |t: i64, s: [n]i64| { let u = t + 1 let v: [n]i64 = map(|x| x + q, s) return u, v }, 0, a) return r }";
    foreign: "fn f(a: [n]f32) -> [n]f32 { let r: [n]f32 = foreign(\"twice\", |x: [m]f32| { let y: [m]f32 = map(|v| v + v, x) return y }, a) return r }";
    cluster: "fn f(a: [n]f32) -> f32, f32 { let s: f32, t: f32 = cluster(|| { horizontal s: f32 = fold(|x, y| x + y, 0.0, a)
      vertical b: [n]f32 = map(|x| x * x, a) last t: f32 = fold(|x, y| x + y, 0.0, b) return s, t }) return s, t }";
    half_precision: "fn f(a: [n]f16, b: [n]f16) -> [n]f16 { let c: [n]f16 = map(|x, y| x * y + 1.0, a, b) return c }";
}

#[test]
fn what_is_not_flat_is_refused() {
    let refused = |source: &str| {
        let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        lower(&program, &Config::default()).map(|_| ()).unwrap_err()
    };
    let nest = refused(
        "fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = nest([n], |i| { let s: f32 = fold(|x, y| x + y, 0.0, a) return s }) return b }",
    );
    assert_eq!(nest.to_string(), "1:45: cannot make a kernel of nest `b`: flattening must run before");
    let inner = refused("fn f(a: [n][m]f32) -> i64 { return n }");
    assert!(matches!(&inner, Error::UnsupportedType { name, kind: "array of arrays" } if name == "a"), "{inner}");
    let stream = refused("fn f(a: stream [3]f32) -> i64 { let k = 1i64 return k }");
    assert!(matches!(&stream, Error::UnsupportedType { name, kind: "stream" } if name == "a"), "{stream}");
    // Memory of what is counted has room for the count.
    let counted = refused("fn f(a: [n]i64) -> [3]i64 { let k: i64, r: [3]i64 = expand(|x| x, |x, j| j, a) return r }");
    assert!(
        matches!(&counted, Error::Counted { result, count, .. } if (&**result, &**count) == ("r", "k")),
        "{counted}"
    );
}

/// Backends add no guards to what is vouched for, so nothing is of a program that is not valid.
#[test]
fn nothing_is_vouched_for_of_a_program_that_is_not_valid() {
    let source = "fn f(a: [n]f32, at: [n]i64) -> [n]f32 { let b: [n]f32 = map(|i| a[i], at) return b }";
    let mut program = text::parse(source).unwrap();
    fusebox_kernels::lower_proved(&program, &Config::default()).unwrap();
    program.body.params.pop();
    let error = fusebox_kernels::lower_proved(&program, &Config::default()).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error}");
}
