//! Generates that read arrays at functions of their own index: what they become, and where they stay generates.

use fusebox_fusion::{Config, fuse};
use fusebox_interp::run;
use fusebox_ir::{generate, text, validate};

/// What `r`, over `extents`, and all that is made for it are after fusion; `s`, `u` are folds of rows, `x` a map of one. Results are compared.
fn fused(extents: &str, body: &str) -> String {
    let source = format!(
        "fn f(a: [n]f32, m: [n, k]f32, t: [n]i64) -> [{extents}]f32 {{
            let s: [n]f32 = fold(|e, g| e + g, 0.0, m)
            let u: [n]f32 = fold(|e, g| max(e, g), 0.0, m)
            {body} return r }}"
    );
    let before = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    validate(&before, &[]).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    let (after, _) = fuse(&before, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    validate(&after, &[]).unwrap_or_else(|errors| panic!("{errors}\n{after}"));
    for seed in 0..10 {
        let inputs = generate::inputs(&before, seed, &generate::Config::default());
        let (expected, found) = (run(&before, &inputs), run(&after, &inputs));
        let expected = expected.unwrap_or_else(|error| panic!("{error}\n{before}"));
        assert_eq!(expected, found.unwrap_or_else(|error| panic!("{error}\n{after}")), "{after}");
    }
    let text = after.to_string();
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("let") && !line.contains("= fold("));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn reads_at_one_index() {
    // A replicate, and what is computed of it.
    insta::assert_snapshot!(fused("n, k", "let r: [n, k]f32 = generate([n, k], |i, j| s[i])"), @"let r: [n, k]f32 = replicate([_, k], s)");
    insta::assert_snapshot!(fused("k, n", "let r: [k, n]f32 = generate([k, n], |i, j| s[j] * u[j])"), @"let r: [k, n]f32 = transform([k, n], |x, x1| x1, |x, x1| x * x1, s, u)");
    // A transposed array, a slice, a window.
    insta::assert_snapshot!(
        fused("k, n", "let y: [n, k]f32 = scanl1(|e, g| e + g, m) let r: [k, n]f32 = generate([k, n], |i, j| y[j, i] * 2.0)"),
        @r"
    let y: [n, k]f32 = scanl1(|e, g| e + g, m)
    let r: [k, n]f32 = transform([k, n], |x, x1| { return x1, x }, |x| x * 2.0, y)
    "
    );
    insta::assert_snapshot!(
        fused("k", "let z: [4, k]f32 = generate([4, k], |i, j| f32(i * j)) let y: [4, k]f32 = scanl1(|e, g| e + g, z) let r: [k]f32 = generate([k], |j| y[2, j] * 2.0)"),
        @r"
    let z: [4, k]f32 = generate([4, k], |i, j| f32(i * j))
    let y: [4, k]f32 = scanl1(|e, g| e + g, z)
    let r: [k]f32 = transform([k], |x| { return 2, x }, |x| x * 2.0, y)
    "
    );
    insta::assert_snapshot!(fused("n", "let r: [n]f32 = generate([n], |i| s[min(i + 1, n - 1)])"), @"let r: [n]f32 = backpermute([n], |x| min(x + 1, n - 1), s)");
    // What makes the array is taken in, although it is not read at a stored array.
    insta::assert_snapshot!(
        fused("n, k", "let x: [n]f32 = map(|e| e * 2.0, s) let r: [n, k]f32 = generate([n, k], |i, j| x[i] + 1.0)"),
        @r"
    let x: [n]f32 = map(|e| e * 2.0, s)
    let r: [n, k]f32 = transform([n, k], |x1, x2| x1, |x1| x1 + 1.0, x)
    "
    );
}

#[test]
fn reads_at_several_indices() {
    // Rows beside what is read as it is, and beside the index.
    insta::assert_snapshot!(fused("n, k", "let r: [n, k]f32 = generate([n, k], |i, j| exp(m[i, j] - u[i]) / s[i])"), @r"
    let s1: [n, k]f32 = replicate([_, k], s)
    let u1: [n, k]f32 = replicate([_, k], u)
    let r: [n, k]f32 = map(|x, x1, x2| exp(x - x1) / x2, m, u1, s1)
    ");
    insta::assert_snapshot!(fused("n, k", "let r: [n, k]f32 = generate([n, k], |i, j| s[i] + f32(j))"), @r"
    let index: [n, k]i64 = generate([n, k], |x, x1| x1)
    let s1: [n, k]f32 = replicate([_, k], s)
    let r: [n, k]f32 = map(|x, x1| x + f32(x1), s1, index)
    ");
}

#[test]
fn what_stays_a_generate() {
    // Arrays that are stored anyway are read as well by index.
    insta::assert_snapshot!(fused("n, k", "let r: [n, k]f32 = generate([n, k], |i, j| a[i] + f32(j))"), @"let r: [n, k]f32 = generate([n, k], |i, j| a[i] + f32(j))");
    // No traversal in order reads several windows, or what data decides.
    insta::assert_snapshot!(fused("n", "let r: [n]f32 = generate([n], |i| s[i] + s[max(i - 1, 0)])"), @"let r: [n]f32 = generate([n], |i| s[i] + s[max(i - 1, 0)])");
    insta::assert_snapshot!(fused("n", "let r: [n]f32 = generate([n], |i| s[min(max(t[i], 0), n - 1)])"), @"let r: [n]f32 = generate([n], |i| s[min(max(t[i], 0), n - 1)])");
    // What is read elsewhere is one array, not two.
    insta::assert_snapshot!(
        fused("k, n", "let y: [n, k]f32 = generate([n, k], |i, j| s[i] + f32(j)) let r: [k, n]f32 = backpermute([k, n], |i, j| { return j, i }, y)"),
        @"let r: [k, n]f32 = generate([k, n], |x, x1| s[x1] + f32(x))"
    );
    // A read that a condition keeps inside is not proved to be.
    insta::assert_snapshot!(fused("n", "let r: [n]f32 = generate([n], |i| if i > 0 { s[i - 1] } else { 0.5 })"), @"let r: [n]f32 = generate([n], |i| if i > 0 { s[i - 1] } else { 0.5 })");
}

#[test]
fn some_reads_become_sources_and_others_stay() {
    // A scan beside what data decides, beside a window of a stored array, and beside a read that a condition keeps inside.
    let scanned = |read: &str| {
        fused(
            "n",
            &format!("let y: [n]f32 = scanl1(|e, g| max(e, g), a) let r: [n]f32 = generate([n], |i| y[i] * {read})"),
        )
    };
    insta::assert_snapshot!(scanned("a[min(max(t[i], 0), n - 1)]"), @r"
    let y: [n]f32 = scanl1(|e, g| max(e, g), a)
    let r: [n]f32 = map(|x, x1| x * a[min(max(x1, 0), n - 1)], y, t)
    ");
    insta::assert_snapshot!(scanned("a[max(i - 1, 0)]"), @r"
    let y: [n]f32 = scanl1(|e, g| max(e, g), a)
    let index: [n]i64 = generate([n], |x| x)
    let r: [n]f32 = map(|x, x1| x * a[max(x1 - 1, 0)], y, index)
    ");
    insta::assert_snapshot!(scanned("(if i > 0 { a[i - 1] } else { 0.5 })"), @r"
    let y: [n]f32 = scanl1(|e, g| max(e, g), a)
    let index: [n]i64 = generate([n], |x| x)
    let r: [n]f32 = map(|x, x1| x * (if x1 > 0 { a[x1 - 1] } else { 0.5 }), y, index)
    ");
    // Two windows of what repeats rows.
    insta::assert_snapshot!(
        fused("n, k", "let y: [n, k]f32 = replicate([_, k], s) let r: [n, k]f32 = generate([n, k], |i, j| y[i, max(j - 1, 0)] - y[i, j])"),
        @r"
    let y: [n, k]f32 = replicate([_, k], s)
    let y1: [n, k]f32 = replicate([_, k], s)
    let r: [n, k]f32 = map(|x, x1| x - x1, y1, y)
    "
    );
    // What a map of a stored array makes is taken in beside the scan.
    insta::assert_snapshot!(
        fused("n", "let y: [n]f32 = scanl1(|e, g| max(e, g), a) let z: [n]f32 = map(|e| e * 2.0, a) let r: [n]f32 = generate([n], |i| y[i] * z[n - 1 - i])"),
        @r"
    let y: [n]f32 = scanl1(|e, g| max(e, g), a)
    let z: [n]f32 = transform([n], |x| n - 1 - x, |e| e * 2.0, a)
    let r: [n]f32 = map(|x, x1| x * x1, y, z)
    "
    );
    // What is read elsewhere too is stored before, so nothing is gained.
    insta::assert_snapshot!(scanned("y[max(i - 1, 0)]"), @r"
    let y: [n]f32 = scanl1(|e, g| max(e, g), a)
    let r: [n]f32 = generate([n], |i| y[i] * y[max(i - 1, 0)])
    ");
}
