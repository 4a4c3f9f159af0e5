//! Every law of the table: a program in which it is applied and chosen, and where it has a condition one in which that does not hold.

use std::collections::BTreeSet;

use fusebox_fusion::{Config, Report, fuse, laws};
use fusebox_interp::{Error, run};
use fusebox_ir::{Program, generate, text, validate};

/// A program whose result is `r`, with inputs of many forms.
fn parsed(extents: &str, body: &str) -> Program {
    let source = format!(
        "fn f(a: [n]f32, b: [n]f32, m: [p, q]f32, c: [8]f32, d: [4, 8]f32, h: [6, 4, q]f32, t: [n]i64, s: i64, go: bool)
           -> [{extents}]f32 {{ {body} return r }}"
    );
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    program
}

/// Fuses, and compares what both programs give: results, or that there are none.
fn fused(before: &Program) -> (Program, Report) {
    let (after, report) = fuse(before, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    validate(&after, &[]).unwrap_or_else(|errors| panic!("{errors}\n{after}"));
    let config = generate::Config::default();
    for seed in 0..20 {
        let inputs = generate::inputs(before, seed, &config);
        match (run(before, &inputs), run(&after, &inputs)) {
            (Ok(expected), Ok(found)) => assert_eq!(expected, found, "{after}"),
            // All elements are read in these programs, so no error may be lost.
            (Err(Error::Run(_)), Err(Error::Run(_))) => {}
            (expected, found) => panic!("{found:?} instead of {expected:?}\n{before}\n{after}"),
        }
    }
    (after, report)
}

fn is_applied(report: &Report, law: &str) -> bool {
    report.choices.iter().any(|choice| choice.laws.contains(&law))
}

/// A law, the extents of the result, a program in which the law is applied.
const APPLIED: &[(&str, &str, &str)] = &[
    ("map-map", "n", "let x: [n]f32 = map(|e| e * 2.0, a) let r: [n]f32 = map(|e| e + 1.0, x)"),
    ("map-fill", "n", "let x: [n]f32 = generate([n], |i| 3.0) let r: [n]f32 = map(|e, g| e + g, a, x)"),
    ("map-generate", "n", "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = map(|e| e + 1.0, x)"),
    ("map-backpermute", "n", "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = map(|e| e + 1.0, x)"),
    (
        "map-transform",
        "n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a) let r: [n]f32 = map(|e| e + 1.0, x)",
    ),
    ("map-replicate", "p, n", "let x: [p, n]f32 = replicate([p, _], a) let r: [p, n]f32 = map(|e| e + 1.0, x)"),
    ("map-slice", "q", "let z = p - 1 let x: [q]f32 = slice([z, _], m) let r: [q]f32 = map(|e| e + 1.0, x)"),
    (
        "map-reshape",
        "?",
        "let x: [p, q]f32 = scanl1(|e, g| max(e, g), m) let l = p * q let y: [l]f32 = reshape([l], x) let r: [l]f32 = map(|e| e * 2.0, y)",
    ),
    ("backpermute-map", "n", "let x: [n]f32 = map(|e| e * 2.0, a) let r: [n]f32 = backpermute([n], |i| n - 1 - i, x)"),
    (
        "transform-map",
        "n",
        "let x: [n]f32 = map(|e| e * 2.0, a) let r: [n]f32 = transform([n], |i| n - 1 - i, |e| e + 1.0, x)",
    ),
    ("replicate-map", "p, n", "let x: [n]f32 = map(|e| e * 2.0, a) let r: [p, n]f32 = replicate([p, _], x)"),
    ("slice-map", "q", "let x: [p, q]f32 = map(|e| e * 2.0, m) let z = p - 1 let r: [q]f32 = slice([z, _], x)"),
    (
        "backpermute-generate",
        "n",
        "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = backpermute([n], |i| n - 1 - i, x)",
    ),
    (
        "transform-generate",
        "n",
        "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = transform([n], |i| n - 1 - i, |e| e + 1.0, x)",
    ),
    ("replicate-generate", "p, n", "let x: [n]f32 = generate([n], |i| f32(i)) let r: [p, n]f32 = replicate([p, _], x)"),
    ("slice-generate", "q", "let x: [4, q]f32 = generate([4, q], |i, j| f32(i * j)) let r: [q]f32 = slice([2, _], x)"),
    (
        "backpermute-backpermute",
        "n",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = backpermute([n], |i| max(i - 1, 0), x)",
    ),
    (
        "backpermute-transform",
        "n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a) let r: [n]f32 = backpermute([n], |i| n - 1 - i, x)",
    ),
    (
        "backpermute-replicate",
        "n, p",
        "let x: [p, n]f32 = replicate([p, _], a) let r: [n, p]f32 = backpermute([n, p], |i, j| { return j, i }, x)",
    ),
    (
        "backpermute-slice",
        "q",
        "let z = p - 1 let x: [q]f32 = slice([z, _], m) let r: [q]f32 = backpermute([q], |i| q - 1 - i, x)",
    ),
    (
        "transform-backpermute",
        "n",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = transform([n], |i| n - 1 - i, |e| e + 1.0, x)",
    ),
    (
        "transform-transform",
        "n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a)
         let r: [n]f32 = transform([n], |i| n - 1 - i, |e| e + 1.0, x)",
    ),
    (
        "transform-replicate",
        "n, p",
        "let x: [p, n]f32 = replicate([p, _], a)
         let r: [n, p]f32 = transform([n, p], |i, j| { return j, i }, |e| e + 1.0, x)",
    ),
    (
        "transform-slice",
        "q",
        "let z = p - 1 let x: [q]f32 = slice([z, _], m) let r: [q]f32 = transform([q], |i| q - 1 - i, |e| e + 1.0, x)",
    ),
    (
        "replicate-backpermute",
        "p, n",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [p, n]f32 = replicate([p, _], x)",
    ),
    (
        "replicate-transform",
        "p, n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a) let r: [p, n]f32 = replicate([p, _], x)",
    ),
    (
        "replicate-replicate",
        "p, n, q",
        "let x: [n, q]f32 = replicate([_, q], a) let r: [p, n, q]f32 = replicate([p, _, _], x)",
    ),
    (
        "replicate-slice",
        "n, q",
        "let z = p - 1 let x: [q]f32 = slice([z, _], m) let r: [n, q]f32 = replicate([n, _], x)",
    ),
    (
        "slice-backpermute",
        "q",
        "let x: [4, q]f32 = backpermute([4, q], |i, j| { return i + 1, i, j }, h) let r: [q]f32 = slice([2, _], x)",
    ),
    (
        "slice-transform",
        "q",
        "let x: [4, q]f32 = transform([4, q], |i, j| { return i + 1, i, j }, |e| e * 2.0, h)
         let r: [q]f32 = slice([2, _], x)",
    ),
    ("slice-replicate", "n", "let x: [4, n]f32 = replicate([4, _], a) let r: [n]f32 = slice([2, _], x)"),
    ("slice-slice", "q", "let x: [4, q]f32 = slice([1, _, _], h) let r: [q]f32 = slice([2, _], x)"),
    ("reshape-map", "?", "let x: [p, q]f32 = map(|e| e * 2.0, m) let l = p * q let r: [l]f32 = reshape([l], x)"),
    ("reshape-reshape", "q, p", "let l = p * q let x: [l]f32 = reshape([l], m) let r: [q, p]f32 = reshape([q, p], x)"),
    (
        "reshape-generate",
        "p, q",
        "let l = p * q let x: [l]f32 = generate([l], |i| f32(i)) let y: [p, q]f32 = reshape([p, q], x)
         let r: [p, q]f32 = scanl1(|e, g| max(e, g), y)",
    ),
    (
        "generate-reads-map",
        "n",
        "let x: [n]f32 = map(|e| e * 2.0, a) let r: [n]f32 = generate([n], |i| x[max(i - 1, 0)] + x[i])",
    ),
    (
        "generate-reads-generate",
        "n",
        "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = generate([n], |i| x[n - 1 - i] + 1.0)",
    ),
    (
        "generate-reads-backpermute",
        "n",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = generate([n], |i| x[n - 1 - i] + 1.0)",
    ),
    // A reshape of what is stored is no more to store.
    (
        "generate-reads-backpermute",
        "4",
        "let z: [2, 4]f32 = reshape([2, 4], c) let x: [4, 2]f32 = backpermute([4, 2], |i, j| { return j, i }, z)
         let r: [4]f32 = generate([4], |i| x[i, 0] + x[3 - i, 1])",
    ),
    (
        "generate-reads-transform",
        "n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a)
         let r: [n]f32 = generate([n], |i| x[n - 1 - i] + 1.0)",
    ),
    (
        "generate-reads-replicate",
        "n, p",
        "let x: [p, n]f32 = replicate([p, _], a) let r: [n, p]f32 = generate([n, p], |i, j| x[j, i] + 1.0)",
    ),
    (
        "generate-reads-slice",
        "q",
        "let z = p - 1 let x: [q]f32 = slice([z, _], m) let r: [q]f32 = generate([q], |i| x[q - 1 - i] + 1.0)",
    ),
    ("map-reads-map", "n", "let x: [8]f32 = map(|e| e * 2.0, c) let r: [n]f32 = map(|e| e + x[3], a)"),
    ("map-reads-generate", "n", "let x: [8]f32 = generate([8], |i| f32(i)) let r: [n]f32 = map(|e| e + x[3], a)"),
    (
        "map-reads-backpermute",
        "n",
        "let x: [8]f32 = backpermute([8], |i| 7 - i, c) let r: [n]f32 = map(|e| e + x[3], a)",
    ),
    (
        "map-reads-transform",
        "n",
        "let x: [8]f32 = transform([8], |i| 7 - i, |e| e * 2.0, c) let r: [n]f32 = map(|e| e + x[3], a)",
    ),
    ("map-reads-replicate", "n", "let x: [4, 8]f32 = replicate([4, _], c) let r: [n]f32 = map(|e| e + x[3, 2], a)"),
    ("map-reads-slice", "n", "let x: [8]f32 = slice([1, _], d) let r: [n]f32 = map(|e| e + x[3], a)"),
    (
        "stencil-map",
        "n",
        "let x: [n]f32 = map(|e| e * 2.0, a) let r: [n]f32 = stencil(|u, v| u + v, x[-1], x[0], x: clamp)",
    ),
    (
        "reshape-backpermute",
        "?",
        "let x: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, m) let l = q * p
         let y: [l]f32 = reshape([l], x) let r: [l]f32 = scanl1(|e, g| max(e, g), y)",
    ),
    (
        "reshape-transform",
        "?",
        "let x: [q, p]f32 = transform([q, p], |i, j| { return j, i }, |e| e * 2.0, m)
         let l = q * p let y: [l]f32 = reshape([l], x) let r: [l]f32 = scanl1(|e, g| max(e, g), y)",
    ),
    (
        "reshape-replicate",
        "?",
        "let x: [n, p]f32 = replicate([_, p], a) let l = n * p
         let y: [l]f32 = reshape([l], x) let r: [l]f32 = scanl1(|e, g| max(e, g), y)",
    ),
    (
        "reshape-slice",
        "?",
        "let x: [4, q]f32 = slice([2, _, _], h) let l = q * 4
         let y: [l]f32 = reshape([l], x) let r: [l]f32 = scanl1(|e, g| max(e, g), y)",
    ),
    // Rows that are too short to be loops of their own.
    (
        "reshape-backpermute",
        "?",
        "let x: [q, 4]f32 = backpermute([q, 4], |i, j| { return j, i, j }, h) let l = q * 4 let r: [l]f32 = reshape([l], x)",
    ),
    (
        "stencil-fill",
        "n",
        "let x: [n]f32 = generate([n], |i| 2.5)
         let r: [n]f32 = stencil(|u, v, w| u * v + w, x[-1], a[0], a[1], x: clamp, a: constant(0.5))",
    ),
    (
        "stencil-generate",
        "n, n",
        "let x: [n, n]f32, y: [n, n]f32 = generate([n, n], |i, j| { return f32(i * 3 - j), f32(i + j * j) })
         let r: [n, n]f32 = stencil(|t, u, v, w| t + u * v + w, x[-7, 1], x[1, 0], x[0, 0], y[0, 5], x: mirror, y: wrap)",
    ),
    (
        "stencil-backpermute",
        "p, q",
        "let x: [p, q]f32 = backpermute([p, q], |i, j| { return p - 1 - i, j }, m)
         let r: [p, q]f32 = stencil(|u, v| u + v, x[-1, 0], x[1, 0], x: clamp)",
    ),
    (
        "stencil-transform",
        "p, q",
        "let x: [p, q]f32 = transform([p, q], |i, j| { return p - 1 - i, j }, |e| e * 2.0, m)
         let r: [p, q]f32 = stencil(|u, v| u + v, x[-1, 0], x[0, 0], x: wrap)",
    ),
    (
        "stencil-replicate",
        "n, q",
        "let x: [n, q]f32 = replicate([_, q], a) let r: [n, q]f32 = stencil(|u, v, w| u * v + w, x[-1, 2], x[0, 0], x[1, 1], x: mirror)",
    ),
    (
        "stencil-slice",
        "4, q",
        "let x: [4, q]f32 = slice([2, _, _], h) let r: [4, q]f32 = stencil(|u, v| u + v, x[-1, 0], x[1, 0], x: clamp)",
    ),
];

/// A law with a condition, the extents of the result, a program in which that does not hold of `x` and `r`, and what the report says.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("map-map", "?", "let l = n / 2 let x: [l]f32 = map(|e| e * 2.0, a) let r: [s]f32 = map(|e| e + 1.0, x)", SHORT),
    // The length of `x` is checked by `r` alone, of which nothing would be left to check it.
    ("map-map", "?", "let x: [n]f32 = map(|e| 2.0, a) let r: [s]f32 = map(|e| e + 1.0, x)", FORGOTTEN),
    ("map-fill", "n", "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = map(|e, g| e + g, a, x)", "by index"),
    ("map-generate", "?", "let x: [n]f32 = generate([n], |i| f32(i)) let r: [s]f32 = map(|e| e + 1.0, x)", SHORT),
    (
        "map-backpermute",
        "?",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [s]f32 = map(|e| e + 1.0, x)",
        SHORT,
    ),
    (
        "map-transform",
        "n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a) let r: [n]f32 = map(|e, g| e + g, x, b)",
        "same index",
    ),
    ("map-replicate", "p, ?", "let x: [p, n]f32 = replicate([p, _], a) let r: [p, s]f32 = map(|e| e + 1.0, x)", SHORT),
    ("map-slice", "?", "let x: [q]f32 = slice([s, _], m) let r: [s]f32 = map(|e| e + 1.0, x)", SHORT),
    (
        "map-reshape",
        "?",
        "let y: [p, q]f32 = scanl1(|e, g| max(e, g), m) let x: [s]f32 = reshape([s], y) let r: [s]f32 = map(|e| e * 2.0, x)",
        COUNT,
    ),
    (
        "map-reshape",
        "?",
        "let l = p * q let x: [l]f32 = reshape([l], m) let r: [l]f32 = map(|e| e * 2.0, x)",
        "stored anyway",
    ),
    // What is traversed beside it is no reshape.
    (
        "map-reshape",
        "n",
        "let y: [n, 1]f32 = generate([n, 1], |i, j| f32(i)) let z: [n, 1]f32 = scanl1(|e, g| max(e, g), y)
         let x: [n]f32 = reshape([n], z) let r: [n]f32 = map(|e, g| e * g, x, a)",
        "traversed",
    ),
    ("backpermute-map", "n", "let x: [n]f32 = map(|e| 2.0, a) let r: [n]f32 = backpermute([n], |i| i + s, x)", UNREAD),
    (
        "backpermute-map",
        "n",
        "let x: [n]f32 = map(|e| if go { e } else { 2.0 }, a) let r: [n]f32 = backpermute([n], |i| i + s, x)",
        UNREAD,
    ),
    (
        "transform-map",
        "n",
        "let x: [n]f32 = map(|e| 2.0, a) let r: [n]f32 = transform([n], |i| i + s, |e| e + 1.0, x)",
        UNREAD,
    ),
    ("replicate-map", "p, n", "let x: [n]f32 = map(|e| exp(e), a) let r: [p, n]f32 = replicate([p, _], x)", "costs"),
    ("slice-map", "q", "let x: [p, q]f32 = map(|e| 2.0, m) let r: [q]f32 = slice([s, _], x)", UNREAD),
    (
        "backpermute-generate",
        "n",
        "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = backpermute([n], |i| i + s, x)",
        UNPROVED,
    ),
    (
        "backpermute-generate",
        "n",
        "let x: [8]f32 = generate([8], |i| 2.0) let r: [n]f32 = backpermute([n], |i| min(max(i / s, 0), 7), x)",
        UNREAD,
    ),
    (
        "transform-generate",
        "n",
        "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = transform([n], |i| i + s, |e| e + 1.0, x)",
        UNPROVED,
    ),
    (
        "replicate-generate",
        "p, n",
        "let x: [n]f32 = generate([n], |i| exp(f32(i))) let r: [p, n]f32 = replicate([p, _], x)",
        "costs",
    ),
    (
        "slice-generate",
        "q",
        "let x: [p, q]f32 = generate([p, q], |i, j| f32(i * j)) let r: [q]f32 = slice([2, _], x)",
        UNPROVED,
    ),
    (
        "backpermute-backpermute",
        "n",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = backpermute([n], |i| i + s, x)",
        UNPROVED,
    ),
    (
        "backpermute-replicate",
        "n",
        "let x: [8, n]f32 = replicate([8, _], a)
         let r: [n]f32 = backpermute([n], |i| { return min(max(i / s, 0), 7), i }, x)",
        UNREAD,
    ),
    (
        "backpermute-transform",
        "n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a) let r: [n]f32 = backpermute([n], |i| i + s, x)",
        UNPROVED,
    ),
    (
        "backpermute-slice",
        "q",
        "let x: [q]f32 = slice([s, _], m) let r: [q]f32 = backpermute([q], |i| i + s, x)",
        UNPROVED,
    ),
    (
        "transform-backpermute",
        "n",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = transform([n], |i| i + s, |e| e + 1.0, x)",
        UNPROVED,
    ),
    (
        "transform-transform",
        "n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a) let r: [n]f32 = transform([n], |i| i + s, |e| e + 1.0, x)",
        UNPROVED,
    ),
    (
        "transform-replicate",
        "n, p",
        "let x: [p, n]f32 = replicate([p, _], a) let r: [n, p]f32 = transform([n, p], |i, j| { return j + s, i }, |e| e + 1.0, x)",
        UNPROVED,
    ),
    (
        "transform-slice",
        "q",
        "let x: [q]f32 = slice([s, _], m) let r: [q]f32 = transform([q], |i| i + s, |e| e + 1.0, x)",
        UNPROVED,
    ),
    (
        "slice-backpermute",
        "q",
        "let x: [p, q]f32 = backpermute([p, q], |i, j| { return p - 1 - i, j }, m) let r: [q]f32 = slice([s, _], x)",
        UNPROVED,
    ),
    (
        "slice-transform",
        "q",
        "let x: [p, q]f32 = transform([p, q], |i, j| { return p - 1 - i, j }, |e| e * 2.0, m) let r: [q]f32 = slice([s, _], x)",
        UNPROVED,
    ),
    ("slice-replicate", "n", "let x: [p, n]f32 = replicate([p, _], a) let r: [n]f32 = slice([s, _], x)", UNPROVED),
    ("slice-slice", "q", "let x: [4, q]f32 = slice([1, _, _], h) let r: [q]f32 = slice([s, _], x)", UNPROVED),
    ("reshape-map", "?", "let x: [n]f32 = map(|e| 2.0, a) let r: [s]f32 = reshape([s], x)", COUNT),
    ("reshape-reshape", "?", "let l = p * q let x: [l]f32 = reshape([l], m) let r: [s]f32 = reshape([s], x)", COUNT),
    ("reshape-generate", "?", "let x: [n]f32 = generate([n], |i| f32(i)) let r: [s]f32 = reshape([s], x)", COUNT),
    (
        "reshape-generate",
        "?",
        "let x: [s, s]f32 = generate([s, s], |i, j| f32(i)) let l = s * s let r: [l]f32 = reshape([l], x)",
        FORGOTTEN,
    ),
    (
        "generate-reads-map",
        "n",
        "let x: [n]f32 = map(|e| 2.0, a) let r: [n]f32 = generate([n], |i| x[i + s] + 1.0)",
        UNPROVED,
    ),
    (
        "generate-reads-map",
        "n",
        "let x: [8]f32 = map(|e| 2.0, c) let r: [n]f32 = generate([n], |i| x[min(max(i / s, 0), 7)] + 1.0)",
        UNREAD,
    ),
    (
        "generate-reads-generate",
        "n",
        "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = generate([n], |i| x[i + s] + 1.0)",
        UNPROVED,
    ),
    (
        "generate-reads-backpermute",
        "n",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = generate([n], |i| x[i + s] + 1.0)",
        UNPROVED,
    ),
    (
        "generate-reads-transform",
        "n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a) let r: [n]f32 = generate([n], |i| x[i + s] + 1.0)",
        UNPROVED,
    ),
    (
        "generate-reads-replicate",
        "n",
        "let x: [p, n]f32 = replicate([p, _], a) let r: [n]f32 = generate([n], |i| x[s, i] + 1.0)",
        UNPROVED,
    ),
    (
        "generate-reads-slice",
        "q",
        "let x: [q]f32 = slice([s, _], m) let r: [q]f32 = generate([q], |i| x[i + s] + 1.0)",
        UNPROVED,
    ),
    ("map-reads-map", "n", "let x: [8]f32 = map(|e| 2.0, c) let r: [n]f32 = map(|e| e + x[s], a)", UNPROVED),
    (
        "map-reads-generate",
        "n",
        "let x: [8]f32 = generate([8], |i| f32(i)) let r: [n]f32 = map(|e| e + x[s], a)",
        UNPROVED,
    ),
    (
        "map-reads-backpermute",
        "n",
        "let x: [8]f32 = backpermute([8], |i| 7 - i, c) let r: [n]f32 = map(|e| e + x[s], a)",
        UNPROVED,
    ),
    (
        "map-reads-transform",
        "n",
        "let x: [8]f32 = transform([8], |i| 7 - i, |e| e * 2.0, c) let r: [n]f32 = map(|e| e + x[s], a)",
        UNPROVED,
    ),
    (
        "map-reads-replicate",
        "n",
        "let x: [4, 8]f32 = replicate([4, _], c) let r: [n]f32 = map(|e| e + x[s, 2], a)",
        UNPROVED,
    ),
    ("map-reads-slice", "n", "let x: [8]f32 = slice([1, _], d) let r: [n]f32 = map(|e| e + x[s], a)", UNPROVED),
    (
        "stencil-map",
        "8",
        "let x: [n]f32 = map(|e| 2.0, a) let r: [8]f32 = stencil(|u, v| u + v, x[-1], x[0], x: clamp)",
        UNREAD,
    ),
    (
        "replicate-backpermute",
        "p, n",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [p, n]f32, y: [p, n]f32 = replicate([p, _], x, b)",
        OTHERS,
    ),
    (
        "replicate-transform",
        "p, n",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| exp(e), a) let r: [p, n]f32 = replicate([p, _], x)",
        "costs",
    ),
    (
        "replicate-replicate",
        "p, n, q",
        "let x: [n, q]f32 = replicate([_, q], a) let z: [n, q]f32 = map(|e| exp(e), x)
         let r: [p, n, q]f32, y: [p, n, q]f32 = replicate([p, _, _], x, z)",
        OTHERS,
    ),
    (
        "replicate-slice",
        "n, q",
        "let z = p - 1 let x: [q]f32 = slice([z, _], m) let y: [q]f32 = slice([1, 2, _], h)
         let r: [n, q]f32, w: [n, q]f32 = replicate([n, _], x, y)",
        OTHERS,
    ),
    // In its own extents it is stored without taking indices apart.
    (
        "reshape-backpermute",
        "?",
        "let x: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, m) let l = q * p let r: [l]f32 = reshape([l], x)",
        STORED,
    ),
    (
        "reshape-generate",
        "?",
        "let x: [n, 8]f32 = generate([n, 8], |i, j| f32(i + j)) let l = n * 8 let r: [l]f32 = reshape([l], x)",
        STORED,
    ),
    (
        "reshape-backpermute",
        "?",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [s]f32 = reshape([s], x)",
        COUNT,
    ),
    (
        "reshape-transform",
        "?",
        "let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, a) let r: [s]f32 = reshape([s], x)",
        COUNT,
    ),
    ("reshape-replicate", "?", "let x: [p, n]f32 = replicate([p, _], a) let r: [s]f32 = reshape([s], x)", COUNT),
    ("reshape-slice", "?", "let x: [4, q]f32 = slice([2, _, _], h) let r: [s]f32 = reshape([s], x)", COUNT),
    (
        "stencil-fill",
        "n",
        "let x: [n]f32 = generate([n], |i| 2.5)
         let r: [n]f32 = stencil(|u, v| u * v, x[-1], a[0], x: constant(0.0), a: clamp)",
        OUTSIDE,
    ),
    (
        "stencil-fill",
        "n",
        "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = stencil(|u, v| u * v, x[-1], a[0], x: wrap, a: clamp)",
        "its user taps another array too",
    ),
    (
        "stencil-generate",
        "n",
        "let x: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = stencil(|u, v| u * v, x[-1], x[0], x: constant(0.0))",
        OUTSIDE,
    ),
    (
        "stencil-generate",
        "n",
        "let x: [n]f32 = generate([n], |i| exp(f32(i))) let r: [n]f32 = stencil(|u, v| u * v, x[-1], x[0], x: clamp)",
        "costs",
    ),
    (
        "stencil-backpermute",
        "n",
        "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = stencil(|u, v| u + v, x[-1], x[0], x: clamp)",
        "gathered",
    ),
    (
        "stencil-backpermute",
        "p, q",
        "let x: [p, q]f32 = backpermute([p, q], |i, j| { return i + s, j }, m)
         let r: [p, q]f32 = stencil(|u, v| u + v, x[-1, 0], x[0, 0], x: clamp)",
        UNPROVED,
    ),
    (
        "stencil-transform",
        "p, q",
        "let x: [p, q]f32 = transform([p, q], |i, j| { return p - 1 - i, j }, |e| exp(e) * exp(e + 1.0), m)
         let r: [p, q]f32 = stencil(|u, v| u + v, x[-1, 0], x[0, 0], x: clamp)",
        "costs",
    ),
    (
        "stencil-replicate",
        "n, q",
        "let x: [n, q]f32 = replicate([_, q], a) let y: [n, q]f32 = replicate([_, q], b)
         let r: [n, q]f32 = stencil(|u, v| u + v, x[-1, 0], y[0, 0], x: clamp, y: clamp)",
        "taps another array",
    ),
    (
        "stencil-slice",
        "4, q",
        "let x: [4, q]f32 = slice([2, _, _], h) let r: [4, q]f32 = stencil(|u, v| u + v, x[-1, 0], x[1, 0], x: constant(0.0))",
        OUTSIDE,
    ),
];

const STORED: &str = "what it reads is stored anyway";
const SHORT: &str = "it may run over less than its sources";
const FORGOTTEN: &str = "what it checks of extents was not proved";
const UNREAD: &str = "its function may not look at what it reads";
const UNPROVED: &str = "that its user stays inside was not proved";
const OTHERS: &str = "its user has other sources too";
const OUTSIDE: &str = "outside of it stands a constant or a function";
const COUNT: &str = "that both have as many elements was not proved";

#[test]
fn every_law_is_applied_in_some_program() {
    let listed: BTreeSet<&str> = APPLIED.iter().map(|(law, ..)| *law).collect();
    let all: BTreeSet<&str> = laws().collect();
    assert_eq!(listed, all, "a row for each law, and no other");
    let mut idle = Vec::new();
    for (law, extents, body) in APPLIED {
        let (after, report) = fused(&parsed(extents, body));
        if !is_applied(&report, law) {
            idle.push(format!("{law}: {:?}\n{after}", report.refusals));
        }
    }
    assert!(idle.is_empty(), "{}", idle.join("\n"));
}

#[test]
fn no_law_is_applied_where_its_condition_does_not_hold() {
    let listed: BTreeSet<&str> = REFUSED.iter().map(|(law, ..)| *law).collect();
    let all: BTreeSet<&str> = laws().collect();
    assert_eq!(listed, all, "a row for each law, and no other");
    let mut wrong = Vec::new();
    for (law, extents, body, reason) in REFUSED {
        let (after, report) = fused(&parsed(extents, body));
        let refusal = report.refusals.iter().find(|refusal| refusal.producer == "x" && refusal.consumer == "r");
        let said = refusal.map_or("nothing", |refusal| refusal.reason.as_str());
        if is_applied(&report, law) || !said.contains(reason) {
            wrong.push(format!("{law}, {body}: {said}\n{after}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
