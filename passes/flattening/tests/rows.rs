//! Arrays of arrays of arrays that code reads at any index: they are read where they lie.

use crate::common::{check, flat, flat_inputs, vector};
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

/// Checks a program on these inputs in all ways.
fn checked(source: &str, inputs: &[&[Value]]) {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    for given in inputs {
        for way in [Flattening::Alone, Flattening::Regular, Flattening::Irregular] {
            match check(&program, given, &Config::of(way)) {
                Ok(checked) => assert!(checked.lifted && checked.ran, "{source}"),
                Err(message) => panic!("{message}"),
            }
        }
    }
}

/// What the nested and the flat program say that fails.
fn errors(source: &str, inputs: &[Value]) -> [String; 2] {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let (flat, _) = flatten(&program, &Config::of(Flattening::Regular)).unwrap_or_else(|error| panic!("{error}"));
    [run(&program, inputs), run(&flat, &flat_inputs(inputs))]
        .map(|ran| ran.err().map(|error| error.to_string()).unwrap_or_default())
}

/// For each number, how far a row that it names agrees with the lane's own.
const AGREEING: &str = "fn f(a: [n][?]i64, at: [n]i64) -> [n]i64 {
  let r: [n]i64 = nest([n], |i| {
    let k: i64, x: [k]i64 = element(a, i)
    let l: i64, y: [l]i64 = element(a, at[i])
    let t, same = (while(|t: i64, same: bool| same & (t < k) & (t < l), |t: i64, same: bool| {
      let next = x[t] == y[t]
      return if next { t + 1 } else { t }, next }, 0, true))
    return t })
  return r }";

#[test]
fn rows_of_the_lane_and_of_others() {
    checked(
        AGREEING,
        &[
            &[rows(&[3, 0, 5, 11, 14]), vector(&[2, 1, 4, 3, 0])],
            &[rows(&[11, 11, 0]), vector(&[1, 0, 1])],
            &[rows(&[0]), vector(&[0])],
            &[rows(&[]), vector(&[])],
        ],
    );
    let given = [rows(&[3, 0, 5]), vector(&[2, 1, 0])];
    let flat = flat(AGREEING, &given);
    let reads = ["a.values[", "y["].map(|read| flat.matches(read).count());
    assert_eq!(reads, [2, 0], "both rows are read where they lie:\n{flat}");
}

#[test]
fn what_is_used_as_a_whole_too_is_an_array_of_its_own() {
    let source = "fn f(a: [n][?]i64, at: [n]i64) -> [n]i64, [n][?]i64 {
      let r: [n]i64, s: [n][?]i64 = nest([n], |i| {
        let l: i64, y: [l]i64 = element(a, at[i])
        let last = if l > 0 { y[l - 1] } else { -1 }
        let z: [l]i64 = map(|v| v - last, y)
        let m: i64, w: [m]i64 = element(a, i)
        let first = if m > 0 { w.flat[0] } else { -2 }
        return first * 100 + last, z })
      return r, s }";
    checked(source, &[&[rows(&[3, 0, 5, 2]), vector(&[2, 1, 3, 0])], &[rows(&[]), vector(&[])]]);
}

#[test]
fn nests_in_nests_and_lanes_that_some_leave() {
    let source = "fn f(a: [n][?]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let k: i64, x: [k]i64 = element(a, i)
        let odd = k % 2 == 1
        let sums: [k]i64 = cond(odd, || {
          let s: [k]i64 = nest([k], |p| {
            let l: i64, y: [l]i64 = element(a, (x[p] + p) % n)
            let t, sum = (while(|t: i64, sum: i64| t < l, |t: i64, sum: i64| {
              return t + 1, sum * 3 + y[t] + x[p] }, 0, 0))
            return sum })
          return s }, || {
          let s: [k]i64 = generate([k], |p| p)
          return s })
        let total: i64 = fold(|x, y| x * 5 + y, 1, sums)
        return total })
      return r }";
    checked(source, &[&[rows(&[3, 0, 5, 1, 4])], &[rows(&[1])], &[rows(&[0, 2])], &[rows(&[])]]);
}

#[test]
fn arrays_of_lanes_are_rows_too() {
    let source = "fn f(n: i64) -> [n]i64 {
      let t: [n][?]i64 = nest([n], |i| { let m = i * i % 4; let e: [m]i64 = generate([m], |j| i * 10 + j); return e })
      let r: [n]i64 = nest([n], |i| {
        let k: i64, x: [k]i64 = element(t, n - 1 - i)
        let c = if k > 0 { x[i % k] + x[0] } else { -1 }
        return c })
      return r }";
    checked(source, &[&[Array::scalar(7i64).into()], &[Array::scalar(1i64).into()], &[Array::scalar(0i64).into()]]);
}

#[test]
fn indices_outside() {
    // Of the arrays: also where the lane reads nothing of it, as it asks how long it is.
    let given = [rows(&[3, 0, 5]), vector(&[2, 3, 0])];
    let [nested, flat] = errors(AGREEING, &given);
    assert!(nested.contains("index [3] is outside of `a`"), "{nested}");
    assert!(flat.contains("index [3] is outside of `a`, whose extents are [3]"), "{flat}");
    // Inside of all values, and outside of the row.
    let source = "fn f(a: [n][?]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let l: i64, y: [l]i64 = element(a, at[i])
        return y[at[i]] + l })
      return r }";
    checked(source, &[&[rows(&[1, 2, 3]), vector(&[2, 0, 1])]]);
    for (extents, index) in [([2, 1, 3], 1), ([0, 2, 3], 0)] {
        let [nested, flat] = errors(source, &[rows(&extents), vector(&[2, index, 2])]);
        let said = format!("index [{index}] is outside of `y`, whose extents are [{}]", extents[index as usize]);
        assert!(nested.contains(&said), "{nested}");
        assert!(flat.contains(&said) && flat.contains("in lane 1"), "{flat}");
    }
}

#[test]
fn lanes_that_need_no_row_ask_for_none() {
    let source = "fn f(a: [n][?]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let j = at[i]
        let c: i64 = cond(j >= 0, || {
          let l: i64, y: [l]i64 = element(a, j)
          let t, sum = (while(|t: i64, sum: i64| t < l, |t: i64, sum: i64| { return t + 1, sum * 2 + y[t] }, 0, 0))
          return sum }, || { return j })
        return c })
      return r }";
    checked(source, &[&[rows(&[3, 0, 5]), vector(&[2, -1, 0])], &[rows(&[3, 0]), vector(&[-2, -1])]]);
}

/// What one branch needs of an array is not there in the other, nor behind both.
#[test]
fn branches_that_need_the_same_row() {
    let source = "fn f(a: [n][?]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let j = at[i]
        let l: i64, y: [l]i64 = element(a, j)
        let c: i64 = cond(j > 1, || {
          let s: [2]i64 = generate([2], |p| y[p % l] + p)
          let t: i64 = fold(|x, y| x + y, 0, s)
          return t }, || {
          let c: i64 = cond(j == 1, || {
            let s: [3]i64 = generate([3], |p| y[p % l] * p)
            let t: i64 = fold(|x, y| x + y, 0, s)
            return t }, || { return 7 })
          return c })
        let again = if j >= 0 { y[0] } else { 5 }
        return c * 100 + again })
      return r }";
    checked(
        source,
        &[
            &[rows(&[3, 1, 5, 2]), vector(&[2, 1, 3, 0])],
            &[rows(&[3, 1, 5, 2]), vector(&[0, 0, 1, 1])],
            &[rows(&[4]), vector(&[0])],
            &[rows(&[]), vector(&[])],
        ],
    );
    let [nested, flat] = errors(source, &[rows(&[3, 1, 5]), vector(&[2, 4, 0])]);
    assert!(nested.contains("index [4] is outside of `a`") && flat.contains("index [4] is outside of `a`"), "{flat}");
}
