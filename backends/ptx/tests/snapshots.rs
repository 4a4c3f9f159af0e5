//! The text of some kernels, one for each way in which something is emitted.

mod common;

use fusebox_schedule::Target;

/// The PTX of the last kernel of a program.
fn text(source: &str, target: &str) -> String {
    let plan = common::plan(source);
    let kernel = plan.kernels.last().unwrap_or_else(|| panic!("no kernel\n{source}"));
    let module = fusebox_ptx::emit(kernel, &Target::named(target).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    assemble(&module.text, target);
    module.text
}

/// Leaves the text where the assembler is to find it, if it is asked for.
fn assemble(text: &str, target: &str) {
    if let Some(folder) = std::env::var_os("FUSEBOX_PTX_OUT") {
        let name: String =
            text.lines().next().unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
        let path = std::path::Path::new(&folder).join(format!("test-{name}.{target}.ptx"));
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

macro_rules! snapshots {
    ($($name:ident: $target:literal, $source:expr;)*) => {$(
        #[test]
        fn $name() {
            insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
                insta::assert_snapshot!(stringify!($name), text($source, $target));
            });
        }
    )*};
}

snapshots! {
    a_map: "sm_80", "fn f(a: [n]f32, b: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x, y| 2.0 * x + y, a, b) return c }";
    a_transpose: "sm_80", "fn f(a: [n, m]f64) -> [m, n]f64 { let t: [m, n]f64 = backpermute([m, n], |i, j| { return j, i }, a) return t }";
    a_checked_gather: "sm_80", "fn f(a: [m]i16, at: [n]i64) -> [n]i16 { let b: [n]i16 = map(|k| a[k], at) return b }";
    a_division: "sm_80", "fn f(a: [n]i32, b: [n]i32) -> [n]i32 { let c: [n]i32 = map(|x, y| div(x, y), a, b) return c }";
    a_minimum_without_its_instruction: "sm_70", "fn f(a: [n]f32, b: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x, y| min(x, y), a, b) return c }";
    a_loop: "sm_80", "fn f(a: [n]i32) -> [n]i32 { let r: [n]i32 = map(|x| {
        let v: i32, k: i32 = while(|v: i32, k: i32| v > 1, |v: i32, k: i32| { return v / 2, k + 1 }, x, 0i32)
        return k }, a) return r }";
    a_stencil: "sm_80", "fn f(u: [n]f32) -> [n]f32 { let p: [n]f32 = stencil(|l, r| 0.5 * (l + r), u[-1], u[1], u: clamp) return p }";
    a_stencil_of_two_levels: "sm_90", "fn f(u: [n, m]f32) -> [n, m]f32 {
        let p: [n, m]f32 = stencil(|a, b, c, d, e| a + b + c + d + e, u[0, 0], u[-1, 0], u[1, 0], u[0, 1], u[0, -1], u: clamp) return p }";
    all_pairs: "sm_90", "fn f(p: [n]f32, q: [n]f32) -> [n]f32 { let s: [n]f32 = cluster(|| {
        vertical d: [n, n]f32 = generate([n, n], |i, j| q[j] * (p[j] - p[i]))
        last s: [n]f32 = fold(|x, y| x + y, 0.0, d) return s }) return s }";
    a_fold: "sm_80", "fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, a) return s }";
    a_fold_of_rows: "sm_80", "fn f(a: [n, m]f32) -> [n]f32 { let s: [n]f32 = fold(|x, y| max(x, y), 0.0, a) return s }";
    a_fold_of_short_rows: "sm_80", "fn f(a: [n, 100]f32) -> [n]f32 { let s: [n]f32 = fold(|x, y| x + y, 0.0, a) return s }";
    a_product: "sm_80", "fn f(a: [n, k]f32, b: [k, m]f32) -> [n, m]f32 {
        let x: [n, m, k]f32 = generate([n, m, k], |i, j, l| a[i, l] * b[l, j])
        let c: [n, m]f32 = fold(|x, y| x + y, 0.0, x) return c }";
    a_tiled_product: "sm_90", "fn f(a: [n, k]f32, b: [k, m]f32) -> [n, m]f32 { let c: [n, m]f32 = cluster(|| {
        vertical x: [n, m, k]f32 = generate([n, m, k], |i, j, l| a[i, l] * b[l, j])
        last c: [n, m]f32 = fold(|x, y| x + y, 0.0, x) return c }) return c }";
    rows_of_different_lengths: "sm_90", "fn f(offsets: [n]i64, at: [m]i32, v: [m]f32, x: [l]f32) -> [?]f32 { let rows = n - 1
        let y: [rows]f32 = cluster(|| {
          vertical p: [m]f32 = map(|c, v| v * x[i64(c)], at, v)
          last y: [rows]f32 = fold_seg(|a, b| a + b, 0.0, p, offsets: offsets) return y }) return y }";
    pairs_in_words: "sm_90", "fn f(d: [m]i32, e: [m]i32, v: [n]i32, j: [n]i32, t: [n]i64) -> [m]i32, [m]i32 {
        let p: [m]i32, q: [m]i32 = permute(|x, j, y, l| {
            let first = x < y || (x == y && j <= l)
            return if first { x } else { y }, if first { j } else { l } }, (d, e), (v, j), at: t) return p, q }";
    a_scan: "sm_80", "fn f(a: [n]i32) -> [n]i32 { let s: [n]i32 = scanl1(|x, y| x + y, a) return s }";
    a_scan_of_rows: "sm_90", "fn f(a: [n, m]f32) -> [n, m]f32 { let s: [n, m]f32 = scanl1(|x, y| x + y, a) return s }";
    an_expand: "sm_90", "fn f(sizes: [n]i32, start: [n]i32, d: [m]i32) -> [m]i32 {
        let c: [m]i32 = permuted_expand(|z, s| i64(z), |z, s, j| { return (i64(s) + j) % m, s, j & 1 == 0 }, |x, y| x + y, d, sizes, start)
        return c }";
    a_filter: "sm_80", "fn f(a: [n]f32) -> [?]f32 { let k: i64, r: [k]f32 = filter(|x| x > 0.5, a) return r }";
    a_histogram: "sm_80", "fn f(h: [m]i32, t: [n]i64) -> [m]i32 { let o: [n]i32 = generate([n], |i| 1i32)
        let p: [m]i32 = permute(|x, y| x + y, h, o, at: t) return p }";
    a_sum_in_chunks: "sm_80", "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32 { let p: [m]f32 = permute(|x, y| x + y, d, v, at: t) return p }";
}

/// The entries of one of the four modules that sort; the others differ in the widths of words.
#[test]
fn a_sort() {
    let texts = fusebox_ptx::sorts(&Target::named("sm_80").unwrap());
    let (_, text) = texts.into_iter().find(|(name, _)| name == "sort-32-64").unwrap();
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("a_sort", text);
    });
}
