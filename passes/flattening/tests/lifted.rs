//! What small programs become: flat text, and how many descriptors it has.

use crate::common::{self, check, flat, vector};
use fusebox_flattening::{Config, Flattening, flatten};
use fusebox_ir::{Array, ArrayOp, Block, Nested, Part, Program, Value, text};

fn parsed(source: &str) -> Program {
    text::parse(source).unwrap_or_else(|error| panic!("{error}"))
}

fn matrix(rows: usize, columns: usize) -> Value {
    let values: Vec<i64> = (0..(rows * columns) as i64).map(|i| (i * 37 + 11) % 23).collect();
    Array::new(&[rows, columns], &values).unwrap_or_else(|error| panic!("{error}")).into()
}

fn ragged(sizes: &[i64]) -> Value {
    let total: i64 = sizes.iter().sum();
    let values: Vec<i64> = (0..total).map(|i| (i * 29 + 5) % 17 - 4).collect();
    let array = |values: &[i64]| Array::new(&[values.len()], values).unwrap_or_else(|error| panic!("{error}"));
    Value::Nested(Nested { extents: array(sizes), values: array(&values) })
}

/// How many arrays of offsets a flat program has: scans with seeds that run over sizes, and segmented operations.
fn segmented(program: &Program) -> usize {
    fn of(block: &Block) -> usize {
        block
            .bindings
            .iter()
            .map(|binding| {
                let own = match &binding.op {
                    ArrayOp::Fold { offsets, .. } | ArrayOp::Scan { offsets, .. } => usize::from(offsets.is_some()),
                    ArrayOp::Expand { .. } => 1,
                    _ => 0,
                };
                let inside =
                    binding.op.parts().into_iter().map(|part| if let Part::Body(body) = part { of(body) } else { 0 });
                own + inside.sum::<usize>()
            })
            .sum()
    }
    of(&program.body)
}

const MATMUL: &str = "fn matmul(a: [n, k]i64, b: [k, m]i64) -> [n, m]i64 {
  let c: [n, m]i64 = nest([n, m], |i, j| {
    let row: [k]i64 = slice([i, _], a)
    let column: [k]i64 = slice([_, j], b)
    let products: [k]i64 = map(|x, y| x * y, row, column)
    let s: i64 = fold(|x, y| x + y, 0, products)
    return s })
  return c }";

#[test]
fn a_nest_of_dot_products_is_a_product_of_matrices() {
    insta::assert_snapshot!(flat(MATMUL, &[matrix(2, 3), matrix(3, 4)]), @r"
    fn matmul(a: [n, k]i64, b: [k, m]i64) -> [n, m]i64 {
      let column: [n, m, k]i64 = backpermute([n, m, k], |x, x1, x2| { return x2, x1 }, b)
      let row: [n, m, k]i64 = replicate([_, m, _], a)
      let products: [n, m, k]i64 = map(|x, y| x * y, row, column)
      let c: [n, m]i64 = fold(|x, y| x + y, 0, products)
      return c }
    ");
}

const AVERAGES: &str = "fn averages(xss: [n][?]i64) -> [n]i64, [n][?]i64 {
  let means: [n]i64, rest: [n][?]i64 = nest([n], |i| {
    let k: i64, xs: [k]i64 = element(xss, i)
    let sum: i64 = fold(|a, b| a + b, 0, xs)
    let mean = sum / max(k, 1)
    let ys: [k]i64 = map(|x| x - mean, xs)
    let zs: [k]i64 = scanl1(|a, b| a + b, ys)
    return mean, zs })
  return means, rest }";

#[test]
fn rows_of_their_own_extents_are_segments_of_one_descriptor() {
    insta::assert_snapshot!(flat(AVERAGES, &[ragged(&[4, 3, 0, 1])]), @r"
    fn averages(xss.extents: [n]i64, xss.values: [xss.total]i64) -> [n]i64, [n]i64, [?]i64 {
      let more = n + 1
      let offsets: [more]i64 = scanl(|x, y| x + y, 0, xss.extents)
      let sum: [n]i64 = fold_seg(|a, b| a + b, 0, xss.values, offsets: offsets)
      let means: [n]i64 = map(|x, x1| x1 / max(x, 1), xss.extents, sum)
      let index: [n]i64 = generate([n], |x| x)
      let total: i64, lane: [total]i64, index1: [total]i64 = expand(|size, lane1| size, |size, lane1, index2| { return lane1, index2 }, xss.extents, index)
      let mean: [xss.total]i64 = backpermute([xss.total], |x| lane[x], means)
      let ys: [xss.total]i64 = map(|x, x1| x - x1, xss.values, mean)
      let rest.values: [xss.total]i64 = scanl1_seg(|a, b| a + b, ys, offsets: offsets)
      let rest.extents: [n]i64 = generate([n], |x| xss.extents[x])
      return means, rest.extents, rest.values }
    ");
    let (_, report) = flatten(&parsed(AVERAGES), &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.descriptors, 1);
}

#[test]
fn a_size_that_may_fail_is_computed_only_if_there_are_lanes() {
    let source = "fn f(n: i64, m: i64, z: i64) -> [n]i64, i64 {
      let r: [n]i64 = nest([n], |i| {
        let inner: [m]i64 = nest([m], |j| {
          let k = 100 / z
          let row: [k]i64 = generate([k], |l| i * j + l)
          let s: i64 = fold(|a, b| a + b, 0, row)
          return s })
        let s: i64 = fold(|a, b| a + b, 0, inner)
        return s })
      let all: i64 = fold(|a, b| a + b, 0, r)
      return r, all }";
    // No lanes outside, none inside, and lanes that need it.
    for (n, m, z) in [(0i64, 3i64, 0i64), (2, 0, 0), (2, 3, 40)] {
        flat(source, &[n, m, z].map(|number| Array::scalar(number).into()));
    }
    let program = parsed(source);
    let (flat, _) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    let inputs = [2i64, 3, 0].map(|number| Array::scalar(number).into());
    assert!(fusebox_interp::run(&program, &inputs).is_err() && fusebox_interp::run(&flat, &inputs).is_err());
}

#[test]
fn a_size_that_is_the_same_sum_in_all_lanes_is_computed_once() {
    // By its code it depends on the lane; the rows that have it are regular.
    let source = "fn f(n: i64, m: i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let before = m * 0 + i
        let k = before + 2 * m - i + 3
        let row: [k]i64 = generate([k], |j| i * j)
        let s: i64 = fold(|a, b| a + b, 0, row)
        return s })
      return r }";
    let numbers = |n: i64, m: i64| [Array::scalar(n).into(), Array::scalar(m).into()];
    insta::assert_snapshot!(flat(source, &numbers(3, 2)), @r"
    fn f(n: i64, m: i64) -> [n]i64 {
      let before: [n]i64 = generate([n], |x| m * 0 + x)
      let k = 3 + m * 2
      let k1: i64 = unit(|| { let x = n > 0; let x1 = max(k, 0); return if x { k } else { x1 } })
      let row: [n, k1]i64 = generate([n, k1], |x, x1| x * x1)
      let r: [n]i64 = fold(|a, b| a + b, 0, row)
      return r }
    ");
    let (_, report) = flatten(&parsed(source), &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.descriptors, 0);
    flat(source, &numbers(0, -1));
}

#[test]
fn the_triangle_of_products() {
    // 45 positions: the inner extents depend on the lane.
    let source = "fn triangle(n: i64) -> [n][?]i64, i64 {
      let rows: [n][?]i64 = nest([n], |i| { let row: [i]i64 = nest([i], |j| { let p = i * j; return p }); return row })
      let sums: [n]i64 = nest([n], |i| { let k: i64, row: [k]i64 = element(rows, i); let s: i64 = fold(|a, b| a + b, 0, row); return s })
      let all: i64 = fold(|a, b| a + b, 0, sums)
      return rows, all }";
    let (flat, _) = flatten(&parsed(source), &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    let results = fusebox_interp::run(&flat, &[Array::scalar(10i64).into()]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(results[0], vector(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    let Value::Array(values) = &results[1] else { panic!("values") };
    assert_eq!((values.len(), &values.as_slice::<i64>().unwrap_or_default()[3..6]), (45, &[0, 3, 6][..]));
    assert_eq!(results[2], Array::scalar(870i64).into());
}

#[test]
fn what_does_not_depend_on_the_lane_is_computed_once_and_repeated() {
    let source = "fn f(xs: [n]i64) -> [10][n]i64 {
      let r: [10][n]i64 = nest([10], |i| { let ys: [n]i64 = map(|x| x + 1, xs); return ys })
      return r }";
    insta::assert_snapshot!(flat(source, &[vector(&[1, 2, 3])]), @r"
    fn f(xs: [n]i64) -> [10]i64, [?]i64 {
      let ys: [n]i64 = map(|x| x + 1, xs)
      let ys1: [10, n]i64 = replicate([10, _], ys)
      let r.extents: [10]i64 = generate([10], |x| n)
      let lanes = 10 * n
      let r.values: [lanes]i64 = reshape([lanes], ys1)
      return r.extents, r.values }
    ");
}

/// Quicksort of each row, by a loop in the row: all segments of a row are parted at once.
const QUICKSORT_ROWS: &str = include_str!("quicksort_rows.fbx");

#[test]
fn quicksort_of_rows_is_regular() {
    let program = parsed(QUICKSORT_ROWS);
    for (rows, columns) in [(0, 5), (3, 0), (1, 1), (4, 9), (7, 16)] {
        if let Err(message) = check(&program, &[matrix(rows, columns)], &Config::default()) {
            panic!("{message}");
        }
    }
    let (flat, report) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((report.irregular, report.descriptors, segmented(&flat)), (0, 0, 0), "{flat}");
    // Held as irregular, everything has one.
    let (flat, report) =
        flatten(&program, &Config::of(Flattening::Irregular)).unwrap_or_else(|error| panic!("{error}"));
    assert!(report.descriptors > 1 && segmented(&flat) > 3, "{flat}");
    if let Err(message) = check(&program, &[matrix(4, 9)], &Config::of(Flattening::Irregular)) {
        panic!("{message}");
    }
}

#[test]
fn regular_programs_have_no_descriptors() {
    for source in [MATMUL, QUICKSORT_ROWS] {
        let (flat, report) = flatten(&parsed(source), &Config::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((report.descriptors, segmented(&flat)), (0, 0), "{flat}");
    }
}

#[test]
fn a_flat_program_stays_as_it_is() {
    let program = parsed(
        "fn f(xs: [n]i64) -> i64 { let unused: [n]i64 = map(|x| x, xs); let s: i64 = fold(|a, b| a + b, 0, xs); return s }",
    );
    let (flat, report) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((flat, report.lifted), (program, 0));
}

#[test]
fn errors_in_lanes_name_the_operation_and_its_place() {
    let fails = |source: &str, inputs: &[Value]| {
        let program = parsed(source);
        assert!(fusebox_interp::run(&program, inputs).is_err(), "the nested program fails");
        let (flat, _) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
        match fusebox_interp::run(&flat, &common::flat_inputs(inputs)) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("it does not fail\n{flat}"),
        }
    };
    let regular = "fn f(a: [n, m]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let row: [m]i64 = slice([i, _], a)
        let k = at[i]
        let x = row[k]
        return x })
      return r }";
    insta::assert_snapshot!(fails(regular, &[matrix(2, 3), vector(&[1, 7])]), @"5:17: map `x`: index [1, 7] is outside of `a`, whose extents are [2, 3]");
    let irregular = "fn f(rows: [n][?]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let m: i64, row: [m]i64 = element(rows, i)
        let k = at[i]
        let x = row[k]
        return x })
      return r }";
    insta::assert_snapshot!(fails(irregular, &[ragged(&[2, 3]), vector(&[2, 0])]), @"5:17: map `x`: assertion failed: index [2] is outside of `row`, whose extents are [2], in lane 0");
    let division = "fn f(a: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let x = a[i]
        let q = 100 / x
        return q })
      return r }";
    insta::assert_snapshot!(fails(division, &[vector(&[1, 0])]), @"4:21: map `q`: assertion failed: division by zero, in lane 1");
    let negative = "fn f(a: [n]i64) -> [n][?]i64 {
      let r: [n][?]i64 = nest([n], |i| {
        let k = a[i]
        let x: [k]i64 = generate([k], |j| j)
        return x })
      return r }";
    insta::assert_snapshot!(fails(negative, &[vector(&[1, -1])]), @"4:25: map `k`: assertion failed: extent -1 of `k` is negative, in lane 1");
}

#[test]
fn what_a_lane_does_not_reach_cannot_fail() {
    // Scalar code, a branch, a loop, and a lane inside of none.
    let source = "fn f(a: [n]i64, b: [m]i64) -> [n]i64, [n]i64, [n]i64, [n][?]i64 {
      let r: [n]i64, s: [n]i64, t: [n]i64, u: [n][?]i64 = nest([n], |i| {
        let x = a[i]
        let q = 100 / x
        let safe = if x != 0 { q } else { 0 - 1 }
        let c = x != 0
        let chosen = cond(c, || { let z = b[x]; let y = q + z; return y }, || { let y = 7i64; return y })
        let looped: i64, k: i64 = while(|v: i64, k: i64| { let go = k < x; return go }, |v: i64, k: i64| { let w = v + b[k]; let l = k + 1; return w, l }, 0i64, 0i64)
        let inner: [x]i64 = nest([x], |j| { let p = q + j; return p })
        return safe, chosen, looped, inner })
      return r, s, t, u }";
    flat(
        &source.replace("let chosen = cond", "let chosen: i64 = cond"),
        &[vector(&[2, 0, 1, 0, 5]), vector(&[1, 2, 3, 4, 5, 6])],
    );
}
