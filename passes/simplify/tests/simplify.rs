//! What is simplified, and what must stay as it is.

use fusebox_interp::run;
use fusebox_ir::{Array, Program, Value, text, validate};
use fusebox_simplify::{Config, simplify};

fn parsed(source: &str) -> Program {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    program
}

/// The only place that touches the API.
fn simplified(source: &str) -> String {
    let (after, report) = simplify(&parsed(source), &Config::default());
    validate(&after, &[]).unwrap_or_else(|errors| panic!("{errors}\n{after}"));
    assert!(!report.unfinished, "three rounds are enough");
    after.to_string()
}

/// The function of a map over one vector `x`, simplified.
fn function(element: &str, body: &str) -> String {
    let text = simplified(&format!(
        "fn f(a: [n]{element}, b: [n]{element}) -> [n]{element} {{ let r: [n]{element} = map(|x, y| {body}, a, b) return r }}"
    ));
    let line = text.lines().find(|line| line.contains("map(")).unwrap_or(&text);
    line.split_once("map(").map_or(line, |(_, rest)| rest).trim().to_owned()
}

#[test]
fn laws_of_integers() {
    for (body, expected) in [
        ("x + 0", "fn"),
        ("0 * y + x", "fn"),
        ("(x + 2) + 3", "|x| x + 5, a)"),
        ("(x - 2) + 1", "|x| x - 1, a)"),
        ("(x * 3) * 5", "|x| x * 15, a)"),
        ("x - x + y", "fn"),
        ("(x ^ x) | y", "fn"),
        ("x / 1 + y % 1", "fn"),
        ("- - x", "fn"),
        ("min(x, x)", "fn"),
        ("x + y * (3 - 2)", "|x, y| x + y, a, b)"),
        ("if x == x { x } else { y }", "fn"),
    ] {
        let found = function("i32", body);
        assert!(found.starts_with(expected), "{body} became {found}");
    }
}

#[test]
fn laws_that_ieee_754_does_not_allow_are_not_applied() {
    for body in [
        "x * 0.0 + y",
        "x - x + y",
        "x + 0.0 * y",
        "x + 0.0 + y",
        "(x + 2.0) + 3.0 + y",
        "if x == x { x } else { y }",
        "if !(x < y) { x } else { y }",
    ] {
        let source =
            format!("fn f(x: [n]f32, y: [n]f32) -> [n]f32 {{ let r: [n]f32 = map(|x, y| {body}, x, y) return r }}");
        let (after, _) = simplify(&parsed(&source), &Config::default());
        assert_eq!(after, parsed(&source), "{body}");
    }
}

#[test]
fn laws_of_floats_that_are_exact() {
    for (body, expected) in [
        ("x * 1.0", "fn"),
        ("x / 1.0", "fn"),
        ("x + -0.0", "fn"),
        ("x - 0.0", "fn"),
        ("- - x", "fn"),
        ("x + (1.5 + 2.0)", "|x| x + 3.5, a)"),
    ] {
        let found = function("f32", body);
        assert!(found.starts_with(expected), "{body} became {found}");
    }
}

#[test]
fn division_by_a_constant_zero_stays_an_error() {
    let text = function("i32", "1 / 0 + x");
    assert!(text.contains("1 / 0"), "{text}");
}

#[test]
fn equal_terms_are_computed_once_and_unused_ones_not_at_all() {
    insta::assert_snapshot!(simplified("fn f(a: [n]f32) -> [n]f32 {
        let r: [n]f32 = map(|x| { let unused = exp(x) let y = sqrt(x) + 1.0 let z = 1.0 + sqrt(x) return y * z }, a) return r }"), @r"
    fn f(a: [n]f32) -> [n]f32 {
      let r: [n]f32 = map(|x| { let y = sqrt(x) + 1.0; return y * y }, a)
      return r }
    ");
}

#[test]
fn a_decided_branch_is_spliced_in() {
    insta::assert_snapshot!(simplified("fn f(a: [n]i32) -> [n]i32 {
        let r: [n]i32 = map(|x| { let l, h = if 1i32 < 2 { return x + 1, 7i32 } else { return x, 8 } return l * h }, a) return r }"), @r"
    fn f(a: [n]i32) -> [n]i32 {
      let r: [n]i32 = map(|x| (x + 1) * 7, a)
      return r }
    ");
}

#[test]
fn what_both_branches_give_needs_no_branch() {
    insta::assert_snapshot!(simplified("fn f(a: [n]i32) -> [n]i32 {
        let r: [n]i32 = map(|x| { let y = x * x let l, h = if x < 0 { return y, x + 1 } else { return y, x - 1 } return l + h }, a) return r }"), @r"
    fn f(a: [n]i32) -> [n]i32 {
      let r: [n]i32 = map(|x| x * x + (if x < 0 { x + 1 } else { x - 1 }), a)
      return r }
    ");
}

#[test]
fn state_that_is_only_handed_on_leaves_the_loop() {
    insta::assert_snapshot!(simplified("fn f(a: [n]i32) -> [n]i32 {
        let r: [n]i32 = map(|x| { let k, s = while(|k: i32, s: i32| k < 100, |k: i32, s: i32| { return k * s, s }, 1, x + 2) return k + s }, a) return r }"), @r"
    fn f(a: [n]i32) -> [n]i32 {
      let r: [n]i32 = map(|x| { let x1 = x + 2; return (while(|k: i32| k < 100, |k1: i32| k1 * x1, 1i32)) + x1 }, a)
      return r }
    ");
}

#[test]
fn sizes_have_one_name_in_types_too() {
    insta::assert_snapshot!(simplified("fn f(a: [n]f32, b: [n]f32) -> [?]f32 {
        let m = min(n, n) let k = m + 1 let j = 1 + n
        let s: [k]f32 = scanl(|x, y| x + y, 0.0, a) let t: [j]f32 = scanl(|x, y| x + y, 0.0, b)
        let l = min(k, j) let r: [l]f32 = map(|x, y| x * y, s, t) return r }"), @r"
    fn f(a: [n]f32, b: [n]f32) -> [?]f32 {
      let k = n + 1
      let s: [k]f32 = scanl(|x, y| x + y, 0.0, a)
      let t: [k]f32 = scanl(|x, y| x + y, 0.0, b)
      let r: [k]f32 = map(|x, y| x * y, s, t)
      return r }
    ");
}

#[test]
fn operations_that_stand_twice_run_once_and_zip_costs_nothing() {
    insta::assert_snapshot!(simplified("fn f(a: [n]f32, b: [n]f32) -> [n]f32, [n]f32, f32 {
        let x: [n]f32, y: [n]f32 = map(|p, q| { return q, p }, a, b)
        let u: [n]f32 = map(|p| p * 2.0, y) let v: [n]f32 = map(|p| p * 2.0, a)
        let s: f32 = fold(|p, q| p + q, 0.0, v) return x, u, s }"), @r"
    fn f(a: [n]f32, b: [n]f32) -> [n]f32, [n]f32, f32 {
      let u: [n]f32 = map(|p| p * 2.0, a)
      let s: f32 = fold(|p, q| p + q, 0.0, u)
      return x: b, u, s }
    ");
}

#[test]
fn a_map_that_stops_short_is_not_its_source() {
    let source =
        "fn f(a: [n]f32, b: [m]f32) -> [?]f32 { let k = min(n, m) let r: [k]f32 = map(|x, y| x, a, b) return r }";
    insta::assert_snapshot!(simplified(source), @r"
    fn f(a: [n]f32, b: [m]f32) -> [?]f32 {
      let k = min(n, m)
      let r: [k]f32 = map(|x| x, a)
      return r }
    ");
}

#[test]
fn a_decided_conditional_is_its_branch() {
    insta::assert_snapshot!(simplified("fn f(a: [n]f32) -> [n]f32 {
        let c = 2i32 > 1 let r: [n]f32 = cond(c, || { let t: [n]f32 = map(|x| x + 1.0, a) return t }, || { return a }) return r }"), @r"
    fn f(a: [n]f32) -> [n]f32 {
      let r: [n]f32 = map(|x| x + 1.0, a)
      return r }
    ");
}

#[test]
fn a_filter_that_stands_twice_gives_one_size() {
    insta::assert_snapshot!(simplified("fn f(a: [n]i32) -> [?]i32 {
        let k: i64, x: [k]i32 = filter(|v| v > 0, a) let j: i64, y: [j]i32 = filter(|v| v > 0, a)
        let m = min(k, j) let r: [m]i32 = map(|p, q| p * q, x, y) return r }"), @r"
    fn f(a: [n]i32) -> [?]i32 {
      let k: i64, x: [k]i32 = filter(|v| v > 0, a)
      let r: [k]i32 = map(|p, q| p * q, x, x)
      return r }
    ");
}

/// A map whose function the host has unrolled `turns` times: Mandelbrot's iteration on a pair, with a count.
fn unrolled(turns: usize) -> String {
    let mut text = String::from(
        "fn mandelbrot(cx: [n]f32, cy: [n]f32) -> [n]i32 {\n  let r: [n]i32 = map(|cx, cy| {\n    let x0 = cx let y0 = cy let n0 = 0i32\n",
    );
    for turn in 0..turns {
        let next = turn + 1;
        text += &format!(
            "let p{next} = x{turn} * x{turn} - y{turn} * y{turn} + cx let q{next} = 2.0 * x{turn} * y{turn} + cy
             let far{next} = p{next} * p{next} + q{next} * q{next} > 4.0
             let x{next} = if far{next} {{ x{turn} }} else {{ p{next} }} let y{next} = if far{next} {{ y{turn} }} else {{ q{next} }}
             let n{next} = if far{next} {{ n{turn} }} else {{ n{turn} + 1 }}\n"
        );
    }
    text + &format!("return n{turns} }}, cx, cy)\n  return r }}")
}

#[test]
fn an_unrolled_iteration_becomes_a_loop_whose_size_does_not_depend_on_the_turns() {
    let (short, long) = (simplified(&unrolled(20)), simplified(&unrolled(255)));
    assert!(long.contains("while("), "{long}");
    assert_eq!(short.lines().count(), long.lines().count(), "{short}\n{long}");
    insta::assert_snapshot!(long, @r"
    fn mandelbrot(cx: [n]f32, cy: [n]f32) -> [n]i32 {
      let r: [n]i32 = map(|cx1, cy1| {
        let p1 = cx1 * cx1 - cy1 * cy1 + cx1
        let q1 = 2.0 * cx1 * cy1 + cy1
        let far1 = p1 * p1 + q1 * q1 > 4.0
        let turns, x2, y2, n2 = while(|turn: i64, x254: f32, y254: f32, n254: i32| turn < 253, |turn1: i64, x1: f32, y1: f32, n1: i32| {
          let p3 = x1 * x1 - y1 * y1 + cx1
          let q3 = 2.0 * x1 * y1 + cy1
          let far3 = p3 * p3 + q3 * q3 > 4.0
          let x3 = if far3 { x1 } else { p3 }
          let y3 = if far3 { y1 } else { q3 }
          let n3 = if far3 { n1 } else { n1 + 1 }
          return turn1 + 1, x3, y3, n3 }, 0i64, if far1 { cx1 } else { p1 }, if far1 { cy1 } else { q1 }, if far1 { 0i32 } else { 1i32 })
        let p255 = x2 * x2 - y2 * y2 + cx1
        let q255 = 2.0 * x2 * y2 + cy1
        return if p255 * p255 + q255 * q255 > 4.0 { n2 } else { n2 + 1 } }, cx, cy)
      return r }
    ");

    let grid = |at: usize| (-1.5 + at as f32 * 0.01, -1.0 + at as f32 * 0.007);
    let inputs: Vec<Value> = [0, 1]
        .map(|part| {
            let of = |at| if part == 0 { grid(at).0 } else { grid(at).1 };
            Value::Array(Array::new(&[300], &(0..300).map(of).collect::<Vec<f32>>()).unwrap())
        })
        .to_vec();
    let before = parsed(&unrolled(255));
    let (after, _) = simplify(&before, &Config::default());
    assert_eq!(run(&before, &inputs).unwrap(), run(&after, &inputs).unwrap());
}

#[test]
fn an_iteration_whose_turns_differ_is_not_rolled() {
    // Each turn multiplies by another constant.
    let mut text = String::from("fn f(a: [n]f32) -> [n]f32 { let r: [n]f32 = map(|x| { let x0 = x\n");
    for turn in 0..20 {
        text += &format!("let x{} = x{turn} * x{turn} + {turn}.5\n", turn + 1);
    }
    text += "return x20 }, a) return r }";
    assert!(!simplified(&text).contains("while("));
}

#[test]
fn without_sharing_equal_terms_stay_apart() {
    let source = "fn f(a: [n]f32) -> [n]f32 { let r: [n]f32 = map(|x| sqrt(x) * sqrt(x), a) return r }";
    let config = Config { share: false, ..Config::default() };
    assert_eq!(simplify(&parsed(source), &config).0, parsed(source));
    assert_ne!(simplify(&parsed(source), &Config::default()).0, parsed(source));
}

#[test]
fn a_cluster_keeps_its_bindings_and_marks() {
    let text = simplified(
        "fn p(a: i64, b: i64) -> f16 { let k: i64, f: f16 = cluster(|| { vertical u: u64 = generate([], || 1u64 + 1)
        last v: i64, w: f16 = map(|i, i1, x| { return 0, 8.0 }, a, u, b) return v, w }) return f }",
    );
    assert!(text.contains("vertical u: u64 = generate([], || 2)"), "{text}");
}

#[test]
fn a_constant_that_stands_twice_is_still_the_result_of_its_block() {
    let text = simplified(
        "fn p(n: i64) -> i64 { let x: i64 = while(|x: i64| { let p = false let q = false return q }, |x: i64| { let y = x + 1 return y }, n) return x }",
    );
    assert!(text.contains("= false"), "{text}");
}

#[test]
fn a_read_in_a_cluster_stays_even_if_nothing_needs_it() {
    let source = "fn p(x: [n]i32) -> [n]i32 { let r: [n]i32 = cluster(|| { vertical u: [n]i32 = map(|v| v + 1, x)
        last w: [n]i32 = generate([n], |i| { let unused = u[i] return 7 }) return w }) return r }";
    assert!(simplified(source).contains("u[i]"));
}

#[test]
fn two_tapped_arrays_that_are_one_keep_their_boundaries() {
    insta::assert_snapshot!(simplified("fn p(u: [n]f32) -> [n]f32 { let a: [n]f32 = slice([_], u)
        let b: [n]f32 = stencil(|x, y| x + y, a[1], u[-1], a: constant(1.0), u: wrap) return b }"), @r"
    fn p(u: [n]f32) -> [n]f32 {
      let a2: [n]f32 = compute(u)
      let b: [n]f32 = stencil(|x, y| x + y, u[1], a2[-1], u: constant(1.0), a2: wrap)
      return b }
    ");
}

/// The language lets compiled code lose the error of a source that it drops. A law makes of `x - x` a function that does not need its
/// source, and nobody reads the elements that would have failed any more. Within one function a law drops nothing that may fail
/// (`division_by_a_constant_zero_stays_an_error`), and what an operation checks of extents stays.
#[test]
fn a_source_that_a_law_drops_may_take_its_error_with_it() {
    insta::assert_snapshot!(simplified("fn f(a: [n]i32) -> [n]i32 {
        let r: [n]i32 = map(|x| 1 / x, a) let s: [n]i32 = map(|x| x - x, r) return s }"), @r"
    fn f(a: [n]i32) -> [n]i32 {
      let s: [n]i32 = generate([n], |x| 0)
      return s }
    ");
    insta::assert_snapshot!(simplified("fn f(a: [n]i32) -> [n]i32 {
        let s: [n]i32 = map(|x| { let y = 1 / x return y - y }, a) return s }"), @r"
    fn f(a: [n]i32) -> [n]i32 {
      let s: [n]i32 = map(|x| { let y = 1 / x; return y - y }, a)
      return s }
    ");
}

#[test]
fn what_is_made_of_equal_constants_is_made_once() {
    insta::assert_snapshot!(simplified("fn f(n: i64) -> [?]f32, [?]f32 {
        let c = 1.5f32 let d = 1.0f32 + 0.5
        let r: [n]f32 = replicate([n], c) let s: [n]f32 = replicate([n], d)
        let t: [n]f32 = map(|x| sqrt(x), r) let u: [n]f32 = map(|x| sqrt(x), s) return t, u }"), @r"
    fn f(n: i64) -> [?]f32, [?]f32 {
      let c = 1.5f32
      let r: [n]f32 = replicate([n], c)
      let t: [n]f32 = map(|x| sqrt(x), r)
      return t, u: t }
    ");
    // Constants that are not equal.
    let source = "fn f(n: i64) -> [?]f32, [?]f32 { let c = 0.0f32 let d = -0.0f32
        let r: [n]f32 = replicate([n], c) let s: [n]f32 = replicate([n], d) return r, s }";
    assert_eq!(simplified(source).matches("replicate(").count(), 2);
}

#[test]
fn a_result_that_stands_before_is_not_made_again_with_its_siblings() {
    insta::assert_snapshot!(simplified("fn f(a: [n]f32, b: [n]f32) -> [n, 3]f32, [n, 3]f32, [n, 3]f32, [n, 3]f32 {
        let r: [n, 3]f32 = replicate([_, 3], a) let s: [n, 3]f32, t: [n, 3]f32, u: [n, 3]f32 = replicate([_, 3], b, a, b)
        return r, s, t, u }"), @r"
    fn f(a: [n]f32, b: [n]f32) -> [n, 3]f32, [n, 3]f32, [n, 3]f32, [n, 3]f32 {
      let r: [n, 3]f32 = replicate([_, 3], a)
      let s: [n, 3]f32 = replicate([_, 3], b)
      return r, s, t: r, u: s }
    ");
    // Of another extent, or along another dimension.
    let source = "fn f(a: [n]f32, k: i64) -> [n, 3]f32, [n, ?]f32, [3, n]f32 {
        let r: [n, 3]f32 = replicate([_, 3], a) let s: [n, k]f32 = replicate([_, k], a) let t: [3, n]f32 = replicate([3, _], a)
        return r, s, t }";
    assert_eq!(simplified(source).matches("replicate(").count(), 3);
}

#[test]
fn a_function_that_gives_a_result_twice_fills_one_array() {
    insta::assert_snapshot!(simplified("fn f(a: [n]f32) -> [n]f32, [n]f32, [n]f32 {
        let x: [n]f32, y: [n]f32, z: [n]f32 = map(|p| { return p * p, sqrt(p), p * p }, a) return x, y, z }"), @r"
    fn f(a: [n]f32) -> [n]f32, [n]f32, [n]f32 {
      let x: [n]f32, y: [n]f32 = map(|p| { return p * p, sqrt(p) }, a)
      return x, y, z: x }
    ");
}

#[test]
fn without_sharing_results_stay_apart_too() {
    let source = "fn f(a: [n]f32) -> [n]f32, [n]f32, [n, 2]f32, [n, 2]f32 {
        let x: [n]f32, y: [n]f32 = map(|p| { let q = p * p return q, q }, a) let r: [n, 2]f32, s: [n, 2]f32 = replicate([_, 2], a, a)
        return x, y, r, s }";
    let config = Config { share: false, ..Config::default() };
    assert_eq!(simplify(&parsed(source), &config).0, parsed(source));
}

#[test]
fn a_stencil_that_gives_the_middle_is_its_source() {
    let of = |taps: &str| {
        simplified(&format!(
            "fn f(a: [n]i64) -> [n]i64 {{
              let s: [n]i64 = stencil(|l, x| x + 0 * l, {taps}, a: clamp)
              let r: [n]i64 = map(|x| x + 1, s)
              return r }}"
        ))
    };
    assert!(!of("a[-1], a[0]").contains("stencil"), "{}", of("a[-1], a[0]"));
    assert!(of("a[0], a[-1]").contains("stencil"), "{}", of("a[0], a[-1]"));
}

#[test]
fn what_is_counted_has_the_count_as_extent() {
    let source = "fn f(d: [n]i64, e: [n]i64) -> [3]i64, [?]i64, i64 {
        let k: i64, y: [3]i64, z: [k]i64 = filter(|v, w| v > w, d, e) return y, z, k }";
    insta::assert_snapshot!(simplified(source), @r"
    fn f(d: [n]i64, e: [n]i64) -> [3]i64, [?]i64, i64 {
      let k: i64, y.given: [k]i64, z: [k]i64 = filter(|v, w| v > w, d, e)
      let y: [3]i64 = reshape([3], y.given)
      return y, z, k }
    ");
}
