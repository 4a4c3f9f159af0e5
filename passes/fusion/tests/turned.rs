//! Arrays that are made in the order of dimensions in which they are read, and those that stay.

use fusebox_fusion::{Config, Report, fuse};
use fusebox_interp::run;
use fusebox_ir::{Program, generate, text, validate};

/// Fuses, and compares what both programs give.
fn fused(source: &str) -> (Program, Report) {
    let before = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    validate(&before, &[]).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    let (after, report) = fuse(&before, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    validate(&after, &[]).unwrap_or_else(|errors| panic!("{errors}\n{after}"));
    for seed in 0..20 {
        let inputs = generate::inputs(&before, seed, &generate::Config::default());
        match (run(&before, &inputs), run(&after, &inputs)) {
            (Ok(expected), Ok(found)) => assert_eq!(expected, found, "{after}"),
            // What does not fit in memory says its extents in the order in which it is made.
            (Err(_), Err(_)) => {}
            (expected, found) => panic!("{found:?} instead of {expected:?}\n{before}\n{after}"),
        }
    }
    (after, report)
}

fn is_turned(report: &Report) -> bool {
    report.choices.iter().any(|choice| choice.laws.contains(&"made-as-it-is-read"))
}

fn turned(source: &str) -> String {
    let (after, report) = fused(source);
    assert!(is_turned(&report), "{after}");
    after.to_string()
}

fn stays(source: &str) {
    let (after, report) = fused(source);
    assert!(!is_turned(&report), "{after}");
    assert!(after.to_string().contains("backpermute"), "{after}");
}

#[test]
fn what_is_transposed_is_made_transposed() {
    insta::assert_snapshot!(turned("fn f(a: [p]f32, q: i64) -> [?, p]f32 {
      let x: [p, q]f32 = generate([p, q], |i, j| a[i] + f32(j))
      let y: [p, q]f32 = compute(x)
      let r: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, y)
      return r }"), @r"
    fn f(a: [p]f32, q: i64) -> [?, p]f32 {
      let x: [q, p]f32 = generate([q, p], |j, i| a[i] + f32(j))
      let r: [q, p]f32 = compute(x)
      return r }
    ");
}

#[test]
fn joined_dimensions_move_together() {
    insta::assert_snapshot!(turned("fn f(a: [p]f32) -> [32, p]f32 {
      let x: [p, 4, 8]f32, z: [p, 4, 8]f32 = generate([p, 4, 8], |i, j, k| { return a[i] + f32(j), a[i] * f32(k) })
      let y: [p, 4, 8]f32 = compute(x)
      let v: [p, 32]f32 = reshape([p, 32], y)
      let s: [32, p]f32 = backpermute([32, p], |i, j| { return j, i }, v)
      let u: [p, 4, 8]f32 = compute(z)
      let w: [p, 32]f32 = reshape([p, 32], u)
      let t: [32, p]f32 = backpermute([32, p], |i, j| { return j, i }, w)
      let c: [32, p]f32 = compute(s)
      let r: [32, p]f32 = scanl1(|e, g| max(e, g), t)
      let l: [32, p]f32 = map(|e, g| e + g, c, r)
      return l }"), @r"
    fn f(a: [p]f32) -> [32, p]f32 {
      let x: [4, 8, p]f32, z: [4, 8, p]f32 = generate([4, 8, p], |j, k, i| { return a[i] + f32(j), a[i] * f32(k) })
      let y: [4, 8, p]f32 = compute(x)
      let v: [32, p]f32 = reshape([32, p], y)
      let u: [4, 8, p]f32 = compute(z)
      let w: [32, p]f32 = reshape([32, p], u)
      let c: [32, p]f32 = compute(v)
      let r: [32, p]f32 = scanl1(|e, g| max(e, g), w)
      let l: [32, p]f32 = map(|e, g| e + g, c, r)
      return l }
    ");
}

#[test]
fn what_it_reads_is_made_in_another_order_too() {
    insta::assert_snapshot!(turned("fn f(m: [8, p]f32) -> [8, p]f32 {
      let h: [p, 8]f32 = generate([p, 8], |i, j| exp(m[j, i]) * exp(m[j, i] + 1.0))
      let x: [p, 8]f32 = generate([p, 8], |i, j| h[i, j] + h[i, 7 - j] * h[i, 3])
      let y: [p, 8]f32 = compute(x)
      let r: [8, p]f32 = backpermute([8, p], |i, j| { return j, i }, y)
      return r }"), @r"
    fn f(m: [8, p]f32) -> [8, p]f32 {
      let h: [8, p]f32 = generate([8, p], |j, i| exp(m[j, i]) * exp(m[j, i] + 1.0))
      let x: [8, p]f32 = generate([8, p], |j, i| h[j, i] + h[7 - j, i] * h[3, i])
      let r: [8, p]f32 = compute(x)
      return r }
    ");
}

#[test]
fn every_order_of_three_dimensions() {
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for joined in [false, true] {
            let (names, extents) = (["i", "j", "k"], ["p", "q", if joined { "12" } else { "9" }]);
            let result = order.map(|dim| extents[dim]);
            let mut index = ["", "", ""];
            (0..3).for_each(|at| index[order[at]] = names[at]);
            let made = match joined {
                true => {
                    "let x: [p, q, 3, 4]f32 = generate([p, q, 3, 4], |i, j, k, l| a[i] * f32(j + 2 * k - 3 * l))
                    let c: [p, q, 3, 4]f32 = compute(x) let y: [p, q, 12]f32 = reshape([p, q, 12], c)"
                }
                false => {
                    "let x: [p, q, 9]f32 = generate([p, q, 9], |i, j, k| a[i] * f32(j + 2 * k))
                    let y: [p, q, 9]f32 = compute(x)"
                }
            };
            let (result, index) = (result.join(", "), index.join(", "));
            let typed = result.replace('q', "?");
            let source = format!(
                "fn f(a: [p]f32, q: i64) -> [{typed}]f32 {{ {made}
                 let r: [{result}]f32 = backpermute([{result}], |i, j, k| {{ return {index} }}, y) return r }}"
            );
            let (after, report) = fused(&source);
            assert!(is_turned(&report), "{source}\n{after}");
        }
    }
}

#[test]
fn what_would_read_across_rows_stays() {
    stays(
        "fn f(m: [p, q]f32) -> [q, p]f32 {
          let x: [p, q]f32 = generate([p, q], |i, j| m[i, j] * f32(i))
          let y: [p, q]f32 = compute(x)
          let r: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, y)
          return r }",
    );
}

#[test]
fn what_others_read_too_stays() {
    stays(
        "fn f(a: [p]f32, q: i64) -> [?, p]f32, [p, ?]f32 {
          let x: [p, q]f32 = generate([p, q], |i, j| a[i] + f32(j))
          let y: [p, q]f32 = compute(x)
          let r: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, y)
          return r, y }",
    );
}

#[test]
fn what_may_fail_stays_in_its_order() {
    stays(
        "fn f(a: [p]f32, q: i64) -> [?, p]f32 {
          let x: [p, q]f32 = generate([p, q], |i, j| a[i + j])
          let y: [p, q]f32 = compute(x)
          let r: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, y)
          return r }",
    );
}

#[test]
fn a_part_of_it_stays() {
    stays(
        "fn f(a: [8]f32, q: i64) -> [?, 4]f32 {
          let x: [8, q]f32 = generate([8, q], |i, j| a[i] + f32(j))
          let y: [8, q]f32 = compute(x)
          let r: [q, 4]f32 = backpermute([q, 4], |i, j| { return j, i }, y)
          return r }",
    );
}

#[test]
fn what_would_have_short_rows_stays() {
    stays(
        "fn f(a: [p]f32) -> [p, 3]f32 {
          let x: [3, p]f32 = generate([3, p], |i, j| exp(a[j] * f32(i)))
          let y: [3, p]f32 = compute(x)
          let r: [p, 3]f32 = backpermute([p, 3], |i, j| { return j, i }, y)
          return r }",
    );
}
