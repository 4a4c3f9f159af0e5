//! Each law alone, and beside it where it does not apply. `fused` also runs both programs on generated inputs.

use fusebox_fusion::{Config, Report, fuse};
use fusebox_interp::{Error, run};
use fusebox_ir::{Fault, Program, generate, text, validate};

fn parsed(source: &str) -> Program {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    program
}

/// The only place that touches the API: fuses, validates, compares what both programs give.
fn fuse_checked(source: &str) -> (Program, Report) {
    let before = parsed(source);
    let (after, report) = fuse(&before, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    validate(&after, &[]).unwrap_or_else(|errors| panic!("{errors}\n{after}"));
    let config = generate::Config::default();
    let mut ran = 0;
    for seed in 0..20 {
        let inputs = generate::inputs(&before, seed, &config);
        match (run(&before, &inputs), run(&after, &inputs)) {
            (Ok(expected), Ok(found)) => {
                ran += 1;
                assert_eq!(expected, found, "{after}");
            }
            (Ok(_), Err(error)) => panic!("an error was made: {error}\n{after}"),
            // The error of an element that nobody reads may be lost, none of extents.
            (Err(Error::Run(error)), Ok(_)) if matches!(error.fault, Fault::Index { .. }) => {}
            (Err(error), Ok(_)) => panic!("an error was lost: {error}\n{after}"),
            (Err(_), Err(_)) => {}
        }
    }
    assert!(ran > 0, "no inputs without an error");
    (after, report)
}

/// The bindings of the fused program.
fn fused(body: &str) -> String {
    let (after, _) = fuse_checked(body);
    let text = after.to_string();
    let (bindings, _) = text.trim_end().rsplit_once('\n').unwrap_or_default();
    bindings.lines().skip(1).map(str::trim).collect::<Vec<_>>().join("\n")
}

/// Why a producer stays apart from a user.
fn refusal(source: &str, producer: &str, consumer: &str) -> String {
    let (_, report) = fuse_checked(source);
    let found = report.refusals.iter().find(|refusal| refusal.producer == producer && refusal.consumer == consumer);
    found.map_or_else(|| format!("none: {report:?}"), |refusal| refusal.reason.clone())
}

/// A program over vectors `a`, `b`, a matrix `m`, and an index `j`, whose result is `r` of `extents`.
fn program(extents: &str, body: &str) -> String {
    format!("fn f(a: [n]f32, b: [n]f32, m: [p, q]f32, t: [k]i64) -> [{extents}]f32 {{ {body} return r }}")
}

#[test]
fn map_map() {
    insta::assert_snapshot!(fused(&program("n", "let x: [n]f32 = map(|e| e * 2.0, a) let r: [n]f32 = map(|e, g| e + g, x, b)")), @"let r: [n]f32 = map(|x, x1| x * 2.0 + x1, a, b)");
    // Both arguments of a zip, and what both share is computed once.
    insta::assert_snapshot!(fused(&program("n", "let x: [n]f32 = map(|e| sqrt(e), a) let y: [n]f32 = map(|e| e + 1.0, x)
        let z: [n]f32 = map(|e| e - 1.0, x) let r: [n]f32 = map(|e, g| e * g, y, z)")), @"let r: [n]f32 = map(|x| { let x1 = sqrt(x); return (x1 + 1.0) * (x1 - 1.0) }, a)");
}

#[test]
fn a_map_that_may_stop_short_is_not_run_over_more() {
    let source = "fn f(a: [n]f32, k: i64) -> [?]f32 { let h = n / 2 let x: [h]f32 = map(|e| e * 2.0, a) let r: [k]f32 = map(|e| e + 1.0, x) return r }";
    insta::assert_snapshot!(refusal(source, "x", "r"), @"it may run over less than its sources, and its user was not proved to stay inside");
}

#[test]
fn map_fill() {
    insta::assert_snapshot!(fused(&program("n", "let c: [n]f32 = generate([n], |i| 3.0) let r: [n]f32 = map(|e, g| e * g, a, c)")), @"let r: [n]f32 = map(|x| x * 3.0, a)");
    let source = program("n", "let c: [n]f32 = generate([n], |i| f32(i)) let r: [n]f32 = map(|e, g| e * g, a, c)");
    insta::assert_snapshot!(fused(&source), @r#"
    let c: [n]f32 = generate([n], |i| f32(i))
    let r: [n]f32 = map(|e, g| e * g, a, c)
    "#);
    insta::assert_snapshot!(refusal(&source, "c", "r"), @"beside it an array is traversed, which would have to be read by index: clustering fuses the two");
}

#[test]
fn map_generate() {
    insta::assert_snapshot!(fused("fn f(n: i64) -> [n]f32 { let x: [n]f32 = generate([n], |i| f32(i)) let y: [n]f32 = generate([n], |i| f32(i * i))
        let r: [n]f32 = map(|e, g| e * g, x, y) return r }"), @"let r: [n]f32 = generate([n], |x| f32(x) * f32(x * x))");
}

#[test]
fn map_backpermute() {
    insta::assert_snapshot!(fused(&program("n", "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let y: [n]f32 = backpermute([n], |i| n - 1 - i, b)
        let r: [n]f32 = map(|e, g| e * g, x, y)")), @"let r: [n]f32 = transform([n], |i| n - 1 - i, |e, g| e * g, a, b)");
    let source =
        program("n", "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = map(|e, g| e * g, x, b)");
    insta::assert_snapshot!(fused(&source), @r#"
    let x: [n]f32 = backpermute([n], |i| n - 1 - i, a)
    let r: [n]f32 = map(|e, g| e * g, x, b)
    "#);
    insta::assert_snapshot!(refusal(&source, "x", "r"), @"the other sources are not read at the same index: clustering fuses them");
}

#[test]
fn backpermute_map() {
    insta::assert_snapshot!(fused(&program("q, p", "let x: [p, q]f32 = map(|e| exp(e), m) let r: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, x)")), @"let r: [q, p]f32 = transform([q, p], |i, j| { return j, i }, |e| exp(e), m)");
}

#[test]
fn backpermute_map_of_sources_of_several_extents() {
    insta::assert_snapshot!(fused("fn f(a: [n]f32, b: [k]f32) -> [?]f32 { let h = min(n, k) let x: [h]f32 = map(|e, g| e + g, a, b)
        let r: [h]f32 = backpermute([h], |i| h - 1 - i, x) return r }"), @r#"
    let h = min(n, k)
    let x: [h]f32 = map(|e, g| e + g, a, b)
    let r: [h]f32 = backpermute([h], |i| h - 1 - i, x)
    "#);
}

#[test]
fn transform_map_and_map_transform() {
    insta::assert_snapshot!(fused(&program("n", "let w: [n]f32 = map(|e| e + 1.0, a) let x: [n]f32 = transform([n], |i| n - 1 - i, |e| e * 2.0, w)
        let r: [n]f32 = map(|e| e - 3.0, x)")), @"let r: [n]f32 = transform([n], |i| n - 1 - i, |x| (x + 1.0) * 2.0 - 3.0, a)");
}

#[test]
fn backpermute_generate() {
    insta::assert_snapshot!(fused("fn f(n: i64) -> [n]f32 { let x: [n]f32 = generate([n], |i| exp(f32(i))) let r: [n]f32 = backpermute([n], |i| n - 1 - i, x) return r }"), @"let r: [n]f32 = generate([n], |x| exp(f32(n - 1 - x)))");
    let source = "fn f(n: i64, t: [k]i64) -> [k]f32 { let x: [n]f32 = generate([n], |i| exp(f32(i))) let r: [k]f32 = backpermute([k], |i| min(max(t[i], 0), n - 1), x) return r }";
    insta::assert_snapshot!(refusal(source, "x", "r"), @"data decides the index that it is read at, so how often its work would be done is unknown");
}

#[test]
fn what_maps_do_not_read_is_not_made() {
    // Extents that are known only after the array; the array moves to where they are.
    let source = "fn f(a: [n, m]f32, b: [k, l]f32) -> [n, l]f32 {
        let x: [n, l, m]f32 = replicate([_, l, _], a) let y: [n, l, k]f32 = backpermute([n, l, k], |i, j, h| { return h, j }, b)
        let z: [n, l, m]f32 = map(|e| exp(e), x) let h = min(m, k) let p: [n, l, h]f32 = map(|e, g| e * g, z, y)
        let r: [n, l]f32 = fold(|e, g| e + g, 0.0, p) return r }";
    insta::assert_snapshot!(fused(source), @r"
    let h = min(m, k)
    let z: [n, l, h]f32 = transform([n, l, h], |x, x1, x2| { return x, x2 }, |e| exp(e), a)
    let y: [n, l, h]f32 = backpermute([n, l, h], |i, j, h1| { return h1, j }, b)
    let p: [n, l, h]f32 = map(|e, g| e * g, z, y)
    let r: [n, l]f32 = fold(|e, g| e + g, 0.0, p)
    ");
    // Not where another user reads all of it, or nothing proves that less is read.
    insta::assert_snapshot!(fused("fn f(a: [n]f32, b: [m]f32) -> [?]f32, f32 { let x: [n]f32 = generate([n], |i| exp(a[n - 1 - i])) let h = min(m, n) let r: [h]f32 = map(|e, g| e * g, x, b)
        let s: f32 = fold(|e, g| e + g, 0.0, x) return r, s }"), @r"
    let x: [n]f32 = generate([n], |i| exp(a[n - 1 - i]))
    let h = min(m, n)
    let r: [h]f32 = map(|e, g| e * g, x, b)
    let s: f32 = fold(|e, g| e + g, 0.0, x)
    ");
    insta::assert_snapshot!(fused("fn f(a: [n]f32, h: i64) -> [?]f32 { let x: [n]f32 = generate([n], |i| exp(a[n - 1 - i])) let r: [h]f32 = map(|e| e * 2.0, x) return r }"), @r"
    let x: [n]f32 = generate([n], |i| exp(a[n - 1 - i]))
    let r: [h]f32 = map(|e| e * 2.0, x)
    ");
}

#[test]
fn backpermute_backpermute() {
    insta::assert_snapshot!(fused(&program("n", "let x: [n]f32 = backpermute([n], |i| n - 1 - i, a) let r: [n]f32 = backpermute([n], |i| max(i - 1, 0), x)")), @"let r: [n]f32 = backpermute([n], |x| n - 1 - max(x - 1, 0), a)");
    insta::assert_snapshot!(fused(&program("q, p", "let x: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, m) let y: [p, q]f32 = backpermute([p, q], |i, j| { return j, i }, x)
        let r: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, y)")), @"let r: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, m)");
}

#[test]
fn a_cheap_map_under_a_replicate_is_computed_there_and_an_expensive_one_stored() {
    let of = |function: &str| {
        program("p, n", &format!("let x: [n]f32 = map(|e| {function}, a) let r: [p, n]f32 = replicate([p, _], x)"))
    };
    insta::assert_snapshot!(fused(&of("e * 2.0")), @"let r: [p, n]f32 = transform([p, n], |x, x1| x1, |e| e * 2.0, a)");
    insta::assert_snapshot!(fused(&of("exp(e)")), @r#"
    let x: [n]f32 = map(|e| exp(e), a)
    let r: [p, n]f32 = replicate([p, _], x)
    "#);
    insta::assert_snapshot!(refusal(&of("exp(e)"), "x", "r"), @"computing it where it is read costs 25 an element of its user, storing it 3");
}

#[test]
fn what_some_instructions_make_is_stored_where_its_rows_come_again_and_again() {
    let some = "(e * 2.0 + 1.0) * (e - 3.0)";
    let of = |extents: &str, index: &str, function: &str| {
        let source = format!(
            "let x: [n]f32 = map(|e| {function}, a)
             let r: [{extents}]f32 = generate([{extents}], |i, l| x[{index}] + f32(i))"
        );
        refusal(&program(extents, &source), "x", "r")
    };
    let stored = "computing it where it is read costs 5 an element of its user, storing it 3";
    assert_eq!(of("p, n", "l", some), stored);
    // One instruction, few rows, each element once a row, and a row that is shorter each time.
    for (extents, index, function) in
        [("p, n", "l", "e * 2.0"), ("2, n", "l", some), ("n, q", "i", some), ("p, n", "max(l - i, 0)", some)]
    {
        let said = of(extents, index, function);
        assert!(said.starts_with("none"), "{extents}, {index}, {function}: {said}");
    }
}

#[test]
fn a_replicate_of_a_replicate_and_a_slice_of_a_replicate() {
    insta::assert_snapshot!(fused(&program("p, n", "let x: [p, n, q]f32 = replicate([p, _, q], a) let z = 0i64 let r: [p, n]f32 = slice([_, _, z], x)")), @r"
    let x: [p, n, q]f32 = replicate([p, _, q], a)
    let z = 0i64
    let r: [p, n]f32 = slice([_, _, z], x)
    ");
    insta::assert_snapshot!(fused(&program("p, n, q", "let x: [n, q]f32 = replicate([_, q], a) let r: [p, n, q]f32 = replicate([p, _, _], x)")), @"let r: [p, n, q]f32 = replicate([p, _, q], a)");
}

#[test]
fn slice_map() {
    insta::assert_snapshot!(fused(&program("q", "let x: [p, q]f32 = map(|e| exp(e), m) let z = p - 1 let r: [q]f32 = slice([z, _], x)")), @r#"
    let z = p - 1
    let r: [q]f32 = transform([q], |x| { return z, x }, |e| exp(e), m)
    "#);
}

#[test]
fn reshapes() {
    insta::assert_snapshot!(fused("fn f(m: [p, q]f32) -> [?]f32 { let s = p * q let x: [p, q]f32 = map(|e| exp(e), m) let y: [s]f32 = reshape([s], x)
        let r: [s]f32 = map(|e| e + 1.0, y) return r }"), @r#"
    let s = p * q
    let m1: [s]f32 = reshape([s], m)
    let r: [s]f32 = map(|x| exp(x) + 1.0, m1)
    "#);
    // What is stored anyway costs nothing in other extents, where a generate would divide for each element; what a scan takes in is not stored.
    insta::assert_snapshot!(fused("fn f(m: [p, q]f32) -> [?]f32 { let s = p * q let x: [p, q]f32 = generate([p, q], |i, j| f32(i - j)) let r: [s]f32 = reshape([s], x) return r }"), @r#"
    let s = p * q
    let x: [p, q]f32 = generate([p, q], |i, j| f32(i - j))
    let r: [s]f32 = reshape([s], x)
    "#);
    insta::assert_snapshot!(fused("fn f(m: [p, q]f32) -> [p, q]f32 { let s = p * q let x: [s]f32 = generate([s], |i| f32(i)) let y: [p, q]f32 = reshape([p, q], x)
        let r: [p, q]f32 = scanl1(|e, g| max(e, g), y) return r }"), @r#"
    let s = p * q
    let y: [p, q]f32 = generate([p, q], |x, x1| f32(x * q + x1))
    let r: [p, q]f32 = scanl1(|e, g| max(e, g), y)
    "#);
    // A map of a reshaped scan is made in the pass of the scan, and reshaped then.
    insta::assert_snapshot!(fused("fn f(m: [p, q]f32) -> [?]f32 { let s = p * q let x: [p, q]f32 = scanl1(|e, g| max(e, g), m) let y: [s]f32 = reshape([s], x)
        let r: [s]f32 = map(|e| e * 2.0, y) return r }"), @r#"
    let s = p * q
    let x: [p, q]f32 = scanl1(|e, g| max(e, g), m)
    let x1: [p, q]f32 = map(|e| e * 2.0, x)
    let r: [s]f32 = reshape([s], x1)
    "#);
    let source = "fn f(a: [n]f32, s: i64) -> [s]f32 { let x: [n]f32 = generate([n], |i| f32(i)) let r: [s]f32 = reshape([s], x) return r }";
    let (_, report) = fuse(&parsed(source), &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    insta::assert_snapshot!(report.refusals[0].reason, @"that both have as many elements was not proved: it is checked when it runs");
}

#[test]
fn reads_in_functions() {
    // A generate that reads at its own index is a map.
    insta::assert_snapshot!(fused(&program("n", "let x: [n]f32 = map(|e| exp(e), a) let r: [n]f32 = generate([n], |i| x[i] + b[i])")), @"let r: [n]f32 = map(|x, x1| exp(x) + x1, a, b)");
    // A window of a cheap map is computed at each read, one of an expensive map is stored.
    let window = |function: &str| {
        program(
            "n",
            &format!(
                "let x: [n]f32 = map(|e| {function}, a)
        let r: [n]f32 = generate([n], |i| x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)])"
            ),
        )
    };
    insta::assert_snapshot!(fused(&window("e * 2.0")), @"let r: [n]f32 = generate([n], |x| a[max(x - 1, 0)] * 2.0 + a[x] * 2.0 + a[min(x + 1, n - 1)] * 2.0)");
    insta::assert_snapshot!(fused(&window("exp(e)")), @r#"
    let x: [n]f32 = map(|e| exp(e), a)
    let r: [n]f32 = generate([n], |i| x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)])
    "#);
    insta::assert_snapshot!(refusal(&window("exp(e)"), "x", "r"), @"computing it where it is read costs 75 an element of its user, storing it 16");
}

#[test]
fn nothing_is_inlined_through_an_index_that_data_decides() {
    let source = |function: &str| {
        program(
            "k",
            &format!("let x: [n]f32 = map(|e| {function}, a) let r: [k]f32 = map(|j| x[min(max(j, 0), n - 1)], t)"),
        )
    };
    insta::assert_snapshot!(fused(&source("e * 2.0")), @r#"
    let x: [n]f32 = map(|e| e * 2.0, a)
    let r: [k]f32 = map(|j| x[min(max(j, 0), n - 1)], t)
    "#);
    insta::assert_snapshot!(refusal(&source("e * 2.0"), "x", "r"), @"data decides the index that it is read at, so how often its work would be done is unknown");
    // A pure copy is, where it is proved to stay inside; else the check is that of reading what is stored.
    let copy = |last: &str| {
        program(
            "k",
            &format!(
                "let x: [{last}]f32 = backpermute([{last}], |i| 7 - i, a) let r: [k]f32 = map(|j| x[min(max(j, 0), 7)], t)"
            ),
        )
    };
    insta::assert_snapshot!(fused(&copy("8")), @"let r: [k]f32 = map(|x| a[7 - min(max(x, 0), 7)], t)");
    insta::assert_snapshot!(fused(&copy("n")), @r"
    let x: [n]f32 = backpermute([n], |i| 7 - i, a)
    let r: [k]f32 = map(|j| x[min(max(j, 0), 7)], t)
    ");
}

#[test]
fn taps_of_stencils() {
    let of = |function: &str, boundary: &str| {
        program(
            "n",
            &format!(
                "let x: [n]f32 = map(|e| {function}, a)
        let r: [n]f32 = stencil(|l, c, r| l + c + r, x[-1], x[0], x[1], x: {boundary})"
            ),
        )
    };
    insta::assert_snapshot!(fused(&of("e * 2.0", "clamp")), @"let r: [n]f32 = stencil(|x, x1, x2| x * 2.0 + x1 * 2.0 + x2 * 2.0, a[-1], a[0], a[1], a: clamp)");
    insta::assert_snapshot!(fused(&of("e * 2.0", "mirror")), @"let r: [n]f32 = stencil(|x, x1, x2| x * 2.0 + x1 * 2.0 + x2 * 2.0, a[-1], a[0], a[1], a: mirror)");
    insta::assert_snapshot!(fused(&of("e * 2.0", "wrap")), @"let r: [n]f32 = stencil(|x, x1, x2| x * 2.0 + x1 * 2.0 + x2 * 2.0, a[-1], a[0], a[1], a: wrap)");
    insta::assert_snapshot!(refusal(&of("e * 2.0", "constant(0.0)"), "x", "r"), @"outside of it stands a constant or a function, which are no results of the map");
    insta::assert_snapshot!(refusal(&of("e * 2.0", "function(|i| f32(i))"), "x", "r"), @"outside of it stands a constant or a function, which are no results of the map");
    insta::assert_snapshot!(refusal(&of("exp(e)", "clamp"), "x", "r"), @"computing it where it is read costs 75 an element of its user, storing it 49");
}

#[test]
fn a_cheap_map_of_two_passes_is_computed_in_both_and_an_expensive_one_stored() {
    let of = |function: &str| {
        program(
            "n",
            &format!(
                "let x: [n]f32 = map(|e| {function}, a) let s: f32 = fold(|u, v| max(u, v), 0.0, x) let r: [n]f32 = map(|e| e / s, x)"
            ),
        )
    };
    insta::assert_snapshot!(fused(&of("e + 1.0")), @r#"
    let x: [n]f32 = map(|e| e + 1.0, a)
    let s: f32 = fold(|u, v| max(u, v), 0.0, x)
    let r: [n]f32 = map(|x1| (x1 + 1.0) / s, a)
    "#);
    insta::assert_snapshot!(fused(&of("exp(e) * log(e + 2.0) * sin(e)")), @r#"
    let x: [n]f32 = map(|e| exp(e) * log(e + 2.0) * sin(e), a)
    let s: f32 = fold(|u, v| max(u, v), 0.0, x)
    let r: [n]f32 = map(|e| e / s, x)
    "#);
    insta::assert_snapshot!(refusal(&of("exp(e) * log(e + 2.0) * sin(e)"), "x", "r"), @"others use it too, and it is too expensive to be computed twice");
    let (_, report) = fuse_checked(&of("e + 1.0"));
    assert_eq!(report.duplications.len(), 1);
    assert_eq!(report.duplications[0].places, ["x", "r"]);
    // In one pass it is computed once, however cheap.
    insta::assert_snapshot!(fused(&program("n", "let x: [n]f32 = map(|e| e + 1.0, a) let y: [n]f32 = scanl1(|u, v| max(u, v), x) let r: [n]f32 = map(|e, g| e * g, x, y)")), @r#"
    let x: [n]f32 = map(|e| e + 1.0, a)
    let y: [n]f32 = scanl1(|u, v| max(u, v), x)
    let r: [n]f32 = map(|e, g| e * g, x, y)
    "#);
}

#[test]
fn what_stays_apart() {
    // Defaults become the result; what a loop uses is not computed once a turn; results are results.
    let source = "fn f(a: [n]f32, t: [k]i64, v: [k]f32) -> [n]f32, [n]f32 {
        let d: [n]f32 = map(|e| e * 2.0, a) let u: [k]i64 = map(|j| j % n, t) let r: [n]f32 = permute(|new, old| max(new, old), d, v, at: u)
        let c: [n]f32 = map(|e| e + 1.0, a)
        let i: i64, s: [n]f32 = while(|i: i64, s: [n]f32| { let go = i < 3 return go }, |i: i64, s: [n]f32| {
          let l = i + 1 let z: [n]f32 = map(|x, y| x + y, s, c) return l, z }, 0, a)
        return r, s }";
    let before = parsed(source);
    let (after, report) = fuse(&before, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(before, after);
    let reasons: Vec<String> =
        report.refusals.iter().map(|r| format!("{} {}: {}", r.producer, r.consumer, r.reason)).collect();
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    z return: it is a result
    d r: it becomes the memory of the result
    u r: clustering fuses a permute with what it traverses
    c i: a while needs it as a whole
    "#);
}

#[test]
fn limits_are_steps_and_are_reported() {
    let source = program("n", "let x: [n]f32 = map(|e| e * 2.0, a) let r: [n]f32 = map(|e| e + 1.0, x)");
    let stop = |config: Config| fuse(&parsed(&source), &config).map(|(_, report)| report.stop);
    use fusebox_fusion::Stop;
    assert_eq!(stop(Config::default()).ok(), Some(Stop::Saturated));
    assert_eq!(stop(Config { max_iterations: 1, ..Config::default() }).ok(), Some(Stop::Iterations));
    assert_eq!(stop(Config { max_nodes: 1, ..Config::default() }).ok(), Some(Stop::Nodes));
    assert_eq!(stop(Config { max_steps: 0, ..Config::default() }).ok(), Some(Stop::Steps));
    let (after, report) =
        fuse(&parsed(&source), &Config { max_instructions: 1, ..Config::default() }).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(after, parsed(&source));
    assert!(report.refusals[0].reason.contains("more than 1 instructions"), "{report:?}");
}

#[test]
fn bodies_in_bodies_do_not_become_too_many() {
    let nested = |depth: usize, of: &str, inside: &str| {
        let ifs: String = (0..depth).map(|i| format!("if {of} > {i} {{ ")).collect();
        let ends: String = (0..depth).map(|i| format!(" }} else {{ {i}.5 }}")).collect();
        format!("{ifs}{inside}{ends}")
    };
    // The second would have the first where it reads it, inside of all its branches.
    let source = |depth: usize| {
        let first = nested(depth, "i", "0.25");
        let second = nested(depth, "j", "x[j]");
        let body = format!("let x: [n]f32 = generate([n], |i| {first}) let r: [n]f32 = generate([n], |j| {second})");
        program("n", &body)
    };
    let fused = |depth: usize| fuse(&parsed(&source(depth)), &Config::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(fused(20).1.refusals.iter().all(|refusal| refusal.consumer != "r"));
    // Of 70 each, both are valid as they are.
    let (after, report) = fused(70);
    assert_eq!(after, parsed(&source(70)));
    assert!(report.refusals.iter().any(|refusal| refusal.reason.contains("nested more than 64 deep")), "{report:?}");
}

#[test]
fn the_result_is_the_same_each_time() {
    let source = parsed(&program("n", "let x: [n]f32 = map(|e| e * 2.0, a) let y: [n]f32 = map(|e| e + 1.0, x) let z: [n]f32 = scanl1(|u, v| max(u, v), x)
        let r: [n]f32 = map(|e, g| e * g, y, z)"));
    let first = fuse(&source, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..5 {
        let again = fuse(&source, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.0.to_string(), first.0.to_string());
        assert_eq!(again.1, first.1);
    }
}

#[test]
fn a_chain_of_diamonds_is_one_map() {
    let mut body = "let x0: [n]f32 = map(|e| e * 0.5, a) ".to_owned();
    for i in 0..20 {
        body += &format!(
            "let y{i}: [n]f32 = map(|e| e + 1.0, x{i}) let z{i}: [n]f32 = map(|e| e - 1.0, x{i}) let x{}: [n]f32 = map(|e, g| e * g * 0.1, y{i}, z{i}) ",
            i + 1
        );
    }
    let (after, _) = fuse_checked(&program("n", &format!("{body} let r: [n]f32 = map(|e| e, x20)")));
    assert_eq!(after.body.bindings.len(), 1, "{after}");
    let fusebox_ir::ArrayOp::Map { f, .. } = &after.body.bindings[0].op else { panic!("a map") };
    assert_eq!(f.instructions.len(), 1 + 20 * 4, "each instruction once");
}
