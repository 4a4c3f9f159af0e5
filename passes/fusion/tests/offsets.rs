//! Lookups by the row of each element that go by the offsets of the rows instead, and those that stay.

use fusebox_fusion::{Config, fuse};
use fusebox_interp::run;
use fusebox_ir::{Array, Program, Value, text, validate};

/// Rows of `x` of lengths `e`: where they begin (`o`), and in which row each element stands (`r`). `y` has an element for each row.
fn ragged(types: &str, body: &str, results: &str) -> Program {
    let source = format!(
        "fn f(x: [m]i64, e: [n]i64, y: [n]i64) -> {types} {{
          let p = n + 1
          let o: [p]i64 = scanl(|a, b| a + b, 0, e)
          let i: [n]i64 = generate([n], |x| x)
          let k: i64, r: [k]i64 = expand(|size, at| size, |size, at, j| at, e, i)
          {body}
          return {results} }}"
    );
    text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// Elements and lengths of rows, right ones and wrong ones: no rows, no elements, too few, too many, lengths below 0 and beyond all numbers.
fn inputs() -> Vec<Vec<Value>> {
    let all: [(i64, &[i64]); 14] = [
        (0, &[]),
        (0, &[0]),
        (0, &[0, 0, 0]),
        (1, &[1]),
        (5, &[2, 0, 3]),
        (70, &[0, 66, 1, 3, 0]),
        (200, &[0, 0, 200]),
        (5, &[2, 0, 2]),
        (5, &[2, 0, 4]),
        (5, &[]),
        (0, &[2]),
        (0, &[1, -1]),
        (4, &[3, -2, 3]),
        (4, &[i64::MAX, i64::MAX, 6]),
    ];
    let vector =
        |list: Vec<i64>| Value::Array(Array::new(&[list.len()], &list).unwrap_or_else(|error| panic!("{error}")));
    let of = |&(count, lengths): &(i64, &[i64])| {
        let elements = (0..count).map(|at| at * 7 % 11 - 4).collect();
        let rows = (0..lengths.len() as i64).map(|at| at * 5 % 3 - 1).collect();
        vec![vector(elements), vector(lengths.to_vec()), vector(rows)]
    };
    all.iter().map(of).collect()
}

/// Fuses, and compares: what ran gives the same.
fn fused(before: &Program) -> String {
    validate(before, &[]).unwrap_or_else(|errors| panic!("{errors}\n{before}"));
    let (after, _) = fuse(before, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    validate(&after, &[]).unwrap_or_else(|errors| panic!("{errors}\n{after}"));
    let mut ran = 0;
    for inputs in inputs() {
        if let Ok(expected) = run(before, &inputs) {
            ran += 1;
            let found = run(&after, &inputs).unwrap_or_else(|error| panic!("{error}\n{inputs:?}\n{after}"));
            assert_eq!(expected, found, "{inputs:?}\n{after}");
        }
    }
    assert!(ran >= 2, "{ran} runs");
    after.to_string()
}

fn applies(program: &Program) {
    let after = fused(program);
    assert!(after.contains("replicate_seg([m]") && !after.contains("r["), "{after}");
}

fn stays(program: &Program) {
    let after = fused(program);
    assert!(after.contains("r[") && !after.contains("replicate_seg"), "{after}");
}

#[test]
fn what_rows_were_folded_to_is_repeated_by_their_offsets() {
    let program = ragged(
        "[m]i64",
        "let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
         let w: [m]i64 = backpermute([m], |j| r[j], s)
         let z: [m]i64 = map(|a, b| a - b, x, w)",
        "z",
    );
    insta::assert_snapshot!(fused(&program), @r"
    fn f(x: [m]i64, e: [n]i64, y: [n]i64) -> [m]i64 {
      let p = n + 1
      let o: [p]i64 = scanl(|a, b| a + b, 0, e)
      let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
      let w: [m]i64 = replicate_seg([m], s, offsets: o)
      let z: [m]i64 = map(|a, b| a - b, x, w)
      return z }
    ");
}

#[test]
fn so_is_what_is_made_of_folds() {
    // Of elements, of other folds, and of what is repeated itself.
    applies(&ragged(
        "[m]i64",
        "let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
         let t: [n]i64 = map(|a, b| a * b + 1, s, y)
         let w: [m]i64 = backpermute([m], |j| r[j], t)
         let d: [m]i64 = map(|a, b| a - b, x, w)
         let v: [n]i64 = fold_seg(|a, b| max(a, b), 0, d, offsets: o)
         let u: [m]i64 = backpermute([m], |j| r[j], v)
         let z: [m]i64 = map(|a, b, c| a - b * c, x, w, u)",
        "z",
    ));
    // Two at once.
    applies(&ragged(
        "[m]i64, [m]i64",
        "let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
         let t: [n]i64 = map(|a, b| a * b, s, y)
         let w: [m]i64, v: [m]i64 = backpermute([m], |j| r[j], s, t)",
        "w, v",
    ));
}

#[test]
fn a_transform_is_a_map_of_what_is_repeated() {
    let program = ragged(
        "[m]i64",
        "let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
         let z: [m]i64 = transform([m], |j| r[j], |a, b| a - b, s, y)",
        "z",
    );
    insta::assert_snapshot!(fused(&program), @r"
    fn f(x: [m]i64, e: [n]i64, y: [n]i64) -> [m]i64 {
      let p = n + 1
      let o: [p]i64 = scanl(|a, b| a + b, 0, e)
      let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
      let z1: [m]i64, z2: [m]i64 = replicate_seg([m], s, y, offsets: o)
      let z: [m]i64 = map(|a, b| a - b, z1, z2)
      return z }
    ");
}

#[test]
fn what_no_fold_of_these_rows_is_needed_for_stays() {
    // Nothing says that there are as many elements as the lengths say.
    stays(&ragged("[m]i64", "let w: [m]i64 = backpermute([m], |j| r[j], y)", "w"));
    // A fold of other elements, by the same offsets.
    stays(&ragged(
        "[?]i64",
        "let q = m / 2
         let h: [q]i64 = generate([q], |j| j)
         let s: [n]i64 = fold_seg(|a, b| a + b, 0, h, offsets: o)
         let w: [m]i64 = backpermute([m], |j| r[j], s)",
        "w",
    ));
    // One that the other branch needs.
    stays(&ragged(
        "[m]i64",
        "let c = m == n
         let t: [n]i64 = cond(c, || {
           let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
           return s }, || { return y })
         let w: [m]i64 = backpermute([m], |j| r[j], t)",
        "w",
    ));
    // Results of one lookup are needed each by itself.
    stays(&ragged(
        "[m]i64, [m]i64",
        "let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
         let w: [m]i64, v: [m]i64 = backpermute([m], |j| r[j], s, y)",
        "w, v",
    ));
}

#[test]
fn other_offsets_say_nothing_of_these_rows() {
    stays(&ragged(
        "[m]i64",
        "let f: [n]i64 = map(|a| max(a, 1), e)
         let q: [p]i64 = scanl(|a, b| a + b, 0, f)
         let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: q)
         let w: [m]i64 = backpermute([m], |j| r[j], s)",
        "w",
    ));
}

#[test]
fn where_the_rows_are_needed_anyway_they_are_read() {
    let by_rows = "let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
         let w: [m]i64 = backpermute([m], |j| r[j], s)";
    stays(&ragged("[m]i64, [?]i64", by_rows, "w, r"));
    stays(&ragged("[m]i64, i64", &format!("{by_rows} let last: i64 = fold(|a, b| max(a, b), 0, r)"), "w, last"));
    // Another lookup that goes nowhere near the row.
    stays(&ragged(
        "[m]i64, [m]i64",
        &format!("{by_rows} let v: [m]i64 = backpermute([m], |j| n - 1 - r[j], s)"),
        "w, v",
    ));
}

#[test]
fn rows_of_rows_are_repeated_step_by_step() {
    // Each element over the sum of its group of rows.
    let source = "fn f(x: [m]i64, e: [n]i64, h: [g]i64) -> [m]i64 {
          let p = n + 1
          let o: [p]i64 = scanl(|a, b| a + b, 0, e)
          let i: [n]i64 = generate([n], |x| x)
          let k: i64, r: [k]i64 = expand(|size, at| size, |size, at, j| at, e, i)
          let p1 = g + 1
          let o1: [p1]i64 = scanl(|a, b| a + b, 0, h)
          let i1: [g]i64 = generate([g], |x| x)
          let k1: i64, r1: [k1]i64 = expand(|size, at| size, |size, at, j| at, h, i1)
          let s: [n]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
          let t: [g]i64 = fold_seg(|a, b| a + b, 0, s, offsets: o1)
          let u: [n]i64 = backpermute([n], |j| r1[j], t)
          let w: [m]i64 = backpermute([m], |j| r[j], u)
          let z: [m]i64 = map(|a, b| a - b, x, w)
          return z }";
    let before = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let (after, _) = fuse(&before, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    validate(&after, &[]).unwrap_or_else(|errors| panic!("{errors}\n{after}"));
    let vector = |list: &[i64]| Value::Array(Array::new(&[list.len()], list).unwrap_or_else(|error| panic!("{error}")));
    for (x, e, h) in [
        (&[][..], &[][..], &[][..]),
        (&[], &[], &[0, 0]),
        (&[], &[0, 0], &[1, 1]),
        (&[3, 1, 4, 1, 5], &[2, 0, 3], &[1, 2]),
        (&[3, 1, 4, 1, 5], &[2, 0, 3], &[0, 3, 0]),
        (&[3, 1, 4], &[2, 0, 1], &[1, 1]),
        (&[3, 1, 4], &[2, 0, 1], &[4]),
    ] {
        let inputs = [vector(x), vector(e), vector(h)];
        if let Ok(expected) = run(&before, &inputs) {
            assert_eq!(run(&after, &inputs).ok(), Some(expected), "{inputs:?}\n{after}");
        }
    }
    let text = after.to_string();
    assert!(!text.contains("r[") && !text.contains("r1["), "{text}");
    assert_eq!(text.matches("replicate_seg").count(), 2, "{text}");
}
