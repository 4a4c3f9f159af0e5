//! Arrays of arrays through branches and loops, and out of arrays of arrays of arrays.

use crate::common::{self, check, flat, vector};
use fusebox_flattening::{Config, Flattening, flatten};
use fusebox_interp::run;
use fusebox_ir::{Array, Nested, Value, text};

/// An array of vectors.
fn rows(extents: &[i64]) -> Value {
    let total = extents.iter().sum::<i64>();
    let values: Vec<i64> = (0..total).map(|at| at * 7 % 11).collect();
    let array = |list: &[i64]| Array::new(&[list.len()], list).unwrap_or_else(|error| panic!("{error}"));
    Value::Nested(Nested { extents: array(extents), values: array(&values) })
}

/// Checks a program on these inputs in both ways; how many descriptors it makes.
fn descriptors(source: &str, inputs: &[&[Value]]) -> usize {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    for given in inputs {
        for way in [Flattening::Regular, Flattening::Irregular] {
            match check(&program, given, &Config::of(way)) {
                Ok(checked) => assert!(checked.lifted && checked.ran, "{source}"),
                Err(message) => panic!("{message}"),
            }
        }
    }
    flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}")).1.descriptors
}

#[test]
fn a_branch_of_arrays_of_arrays_gives_extents_and_values() {
    let source = "fn f(a: [n][?]i64, b: [n][?]i64, c: bool) -> [n][?]i64 {
      let r: [n][?]i64 = cond(c, || { return a }, || { return b })
      return r }";
    for c in [true, false] {
        let given = [rows(&[2, 0, 3]), rows(&[1, 1, 0]), Array::scalar(c).into()];
        insta::allow_duplicates!(insta::assert_snapshot!(flat(source, &given), @r"
        fn f(a.extents: [n]i64, a.values: [a.total]i64, b.extents: [n]i64, b.values: [b.total]i64, c: bool) -> [n]i64, [?]i64 {
          let more = n + 1
          let offsets: [more]i64 = scanl(|x, y| x + y, 0, a.extents)
          let more1 = n + 1
          let offsets1: [more1]i64 = scanl(|x, y| x + y, 0, b.extents)
          let extents: [n]i64, total: i64, r.values: [total]i64 = cond(c, || { return a.extents, a.total, a.values }, || { return b.extents, b.total, b.values })
          let more2 = n + 1
          let offsets2: [more2]i64 = scanl(|x, y| x + y, 0, extents)
          let r.extents: [n]i64 = generate([n], |x| extents[x])
          return r.extents, r.values }
        "));
    }
}

#[test]
fn extents_that_stay_go_through_no_loop() {
    // The rows are mapped, so their extents are those from before the loop.
    let source = "fn f(a: [n][?]i64, t: i64) -> [n][?]i64 {
      let r: [n][?]i64, k: i64 = while(|r: [n][?]i64, k: i64| { let more = k < t; return more }, |r: [n][?]i64, k: i64| {
        let s: [n][?]i64 = nest([n], |i| {
          let w: i64, row: [w]i64 = element(r, i)
          let next: [w]i64 = map(|x| x * 2 + k, row)
          return next })
        let j = k + 1
        return s, j }, a, 0i64)
      return r }";
    insta::assert_snapshot!(flat(source, &[rows(&[2, 0, 3]), Array::scalar(3i64).into()]), @r"
    fn f(a.extents: [n]i64, a.values: [a.total]i64, t: i64) -> [n]i64, [?]i64 {
      let more = n + 1
      let offsets: [more]i64 = scanl(|x, y| x + y, 0, a.extents)
      let a7 = 0i64
      let total2: i64, r.values: [total2]i64, k2: i64 = while(|total: i64, r: [total]i64, k: i64| {
        let more1 = k < t
        return more1 }, |total1: i64, r1: [total1]i64, k1: i64| {
        let next: [a.total]i64 = map(|x| x * 2 + k1, r1)
        let j = k1 + 1
        return a.total, next, j }, a.total, a.values, a7)
      let r.extents: [n]i64 = generate([n], |x| a.extents[x])
      return r.extents, r.values }
    ");
}

#[test]
fn extents_that_change_go_through_a_loop() {
    let source = "fn f(a: [n][?]i64, t: i64) -> [n][?]i64 {
      let r: [n][?]i64, k: i64 = while(|r: [n][?]i64, k: i64| { let more = k < t; return more }, |r: [n][?]i64, k: i64| {
        let s: [n][?]i64 = nest([n], |i| {
          let w: i64, row: [w]i64 = element(r, i)
          let v: i64, next: [v]i64 = filter(|x| x % (k + 2) != 0, row)
          return next })
        let j = k + 1
        return s, j }, a, 0i64)
      return r }";
    let one = |turns: i64| [rows(&[5, 0, 9]), Array::scalar(turns).into()];
    assert!(descriptors(source, &[&one(0), &one(1), &one(3)]) > 0);
}

#[test]
fn filters_of_tables_in_lanes() {
    // Of ragged rows, of rows of one length, and in lanes of which a branch leaves some out.
    let source = "fn f(a: [n][?]i64, b: [p, m]i64) -> [n][?]i64, [n]i64, [p][?]i64, [p][?]i64 {
      let r: [n][?]i64, c: [n]i64 = nest([n], |i| {
        let w: i64, row: [w]i64 = element(a, i)
        let table: [3, w]i64 = generate([3, w], |j, l| row[l] * (j + i))
        let k: i64, d: [k]i64 = filter(|x| x % 2 == 0, table)
        return d, k })
      let s: [p][?]i64 = nest([p], |i| {
        let row: [m]i64 = slice([i, _], b)
        let rows: [4, m]i64 = replicate([4, _], row)
        let own: [4, m]bool = generate([4, m], |j, l| row[l] % 4 == j)
        let k: i64, d: [k]i64, e: [k]bool = filter(|x, y| y, rows, own)
        return d })
      let t: [p][?]i64 = nest([p], |i| {
        let odd = i % 2 == 1
        let k: i64, d: [k]i64 = cond(odd, || {
          let table: [2, m]i64 = generate([2, m], |j, l| b[i, l] + j)
          let g: i64, e: [g]i64 = filter(|x| x > i, table)
          return g, e }, || { let e: [1]i64 = generate([1], |j| i); return 1, e })
        return d })
      return r, c, s, t }";
    let table = |extents: &[usize]| {
        let values: Vec<i64> = (0..extents.iter().product()).map(|at: usize| (at * 37 % 11) as i64).collect();
        Value::from(Array::new(extents, &values).unwrap())
    };
    descriptors(
        source,
        &[&[rows(&[2, 0, 3, 7, 1]), table(&[5, 7])], &[rows(&[]), table(&[0, 3])], &[rows(&[0]), table(&[3, 0])]],
    );
}

#[test]
fn each_lane_decides_what_array_of_arrays_it_has() {
    // A branch, and a loop of as many turns as the lane says, of arrays of arrays of the lane.
    let source = "fn f(a: [n][?]i64) -> [n]i64, [n]i64 {
      let p: [n]i64, q: [n]i64 = nest([n], |i| {
        let w: i64, row: [w]i64 = element(a, i)
        let odd = w % 2 == 1
        let t: [w][?]i64 = nest([w], |j| { let x = row[j]; let e: [x]i64 = generate([x], |l| l + i); return e })
        let u: [w][?]i64 = cond(odd, || {
          let v: [w][?]i64 = nest([w], |j| { let e: [j]i64 = generate([j], |l| l * 3); return e })
          return v }, || { return t })
        let z: [w][?]i64, k: i64 = while(|z: [w][?]i64, k: i64| { let more = k < w; return more }, |z: [w][?]i64, k: i64| {
          let y: [w][?]i64 = nest([w], |j| {
            let m: i64, e: [m]i64 = element(z, j)
            let g: i64, d: [g]i64 = filter(|x| x % 3 != k % 3, e)
            return d })
          let j = k + 1
          return y, j }, u, i)
        let sums: [w]i64 = nest([w], |j| { let m: i64, e: [m]i64 = element(u, j); let s: i64 = fold(|x, y| x + y, 0, e); return s })
        let lens: [w]i64 = nest([w], |j| { let m: i64, e: [m]i64 = element(z, j); let s = m; return s })
        let s: i64 = fold(|x, y| x + y, 0, sums)
        let l: i64 = fold(|x, y| x + 2 * y, 0, lens)
        return s, l })
      return p, q }";
    descriptors(source, &[&[rows(&[2, 0, 3, 7, 1])], &[rows(&[])], &[rows(&[0])]]);
}

#[test]
fn arrays_of_arrays_come_out_of_a_third_level_at_any_index() {
    let source = "fn f(n: i64, at: [n]i64) -> [n]i64 {
      let t: [n][?][?]i64 = nest([n], |i| {
        let u: [i][?]i64 = nest([i], |j| { let m = j + i; let v: [m]i64 = generate([m], |l| l + i); return v })
        return u })
      let r: [n]i64 = nest([n], |i| {
        let p = at[i]
        let k: i64, u: [k][?]i64 = element(t, p)
        let s: [k]i64 = nest([k], |j| { let m: i64, v: [m]i64 = element(u, j); let x: i64 = fold(|x, y| x + y, 0, v); return x })
        let x: i64 = fold(|x, y| x * 3 + y, 0, s)
        return x })
      return r }";
    let numbers = vector(&[3, 1, 0, 2]);
    descriptors(source, &[&[Array::scalar(4i64).into(), numbers], &[Array::scalar(0i64).into(), vector(&[])]]);
    // An index outside fails, as it does in the nest.
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let (flat, _) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    let outside = [Array::scalar(4i64).into(), vector(&[3, 1, 0, 4])];
    assert!(run(&program, &outside).is_err() && run(&flat, &outside).is_err());
}

#[test]
fn rows_of_two_arrays_are_taken_as_they_are_if_they_are_as_long() {
    let source = "fn f(a: [n][?]i64, b: [n][?]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let k: i64, x: [k]i64 = element(a, i)
        let l: i64, y: [l]i64 = element(b, i)
        let z: [k]i64 = map(|p, q| p * q, x, y)
        let s: i64 = fold(|p, q| p + q, 0, z)
        return s })
      return r }";
    // As long, longer, none at all; as many in all is not enough.
    let pairs: [[&[i64]; 2]; 3] = [[&[2, 0, 3], &[2, 0, 3]], [&[2, 0, 3], &[4, 1, 3]], [&[], &[]]];
    for [a, b] in pairs {
        descriptors(source, &[&[rows(a), rows(b)]]);
    }
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let (flat, _) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    let given = [rows(&[3, 2]), rows(&[2, 3])];
    assert!(run(&program, &given).is_err());
    let error = run(&flat, &common::flat_inputs(&given)).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(
        error,
        "5:25: backpermute `y`: assertion failed: index [2] is outside of `y`, whose extents are [2], in lane 0"
    );
    // Lookups stand in the branch of rows that differ alone.
    let text = flat.to_string();
    let (before, after) = text.split_once("cond(equal").unwrap_or_else(|| panic!("{text}"));
    assert!(!before.contains("expand(") && after.contains("expand("), "{text}");
}
