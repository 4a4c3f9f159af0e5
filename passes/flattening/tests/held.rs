//! What a report says of how values are held: what is so by the configuration, and why.

use fusebox_flattening::{Config, Flattening, Report, analysis::explain, flatten, is_flat};
use fusebox_ir::{Program, text};

fn parsed(source: &str) -> Program {
    text::parse(source).unwrap_or_else(|error| panic!("{error}"))
}

/// How each value is held by a program that was flattened in a way, and why.
fn held_by(source: &str, way: Flattening) -> (String, Report) {
    let (flat, report) = flatten(&parsed(source), &Config::of(way)).unwrap_or_else(|error| panic!("{error}"));
    // Lanes that run one at a time are an operation that no other way makes.
    assert_eq!(report.alone > 0, is_flat(&flat, Flattening::Alone) && !is_flat(&flat, Flattening::Regular));
    (report.held.iter().map(|line| format!("{line}\n")).collect(), report)
}

/// The function of a loop is as long as each lane likes; beside it something that is the same in all lanes, and a nest in each.
const LOOPS: &str = "fn f(xss: [n][m]i64, d: i64) -> [n][m]i64, [n][m]i64 {
  let yss: [n][m]i64, zss: [n][m]i64 = nest([n], |i| {
    let xs: [m]i64 = element(xss, i)
    let c = 2 * d
    let ys: [m]i64 = while(|v: [m]i64| { let go = v[0] > 0; return go }, |v: [m]i64| {
      let w: [m]i64 = map(|x| x - c, v)
      return w }, xs)
    let zs: [m]i64 = nest([m], |j| {
      let k = j + 1
      let own: [k]i64 = generate([k], |l| l * i)
      let s: i64 = fold(|a, b| a + b, 0, own)
      return s })
    return ys, zs })
  return yss, zss }";

#[test]
fn lanes_that_run_one_at_a_time_are_said_to() {
    let (said, report) = held_by(LOOPS, Flattening::Alone);
    insta::assert_snapshot!(said, @r"
    line 3: element `xs` is alone: lanes run one at a time: `ys` (line 5) loops as long as each lane likes
    line 4: unit `c` is alone: lanes run one at a time: `ys` (line 5) loops as long as each lane likes
    line 5: unit `go` is alone: lanes run one at a time: `ys` (line 5) loops as long as each lane likes
    line 6: map `w` is alone: lanes run one at a time: `ys` (line 5) loops as long as each lane likes
    line 5: while `ys` is alone: lanes run one at a time: `ys` (line 5) loops as long as each lane likes
    line 9: unit `k` is regular: in a lane that runs alone, one scalar for each lane
    line 10: generate `own` is irregular: in a lane that runs alone, the extent `k` (line 9) depends on the lane
    line 11: fold `s` is regular: in a lane that runs alone, one scalar for each lane
    line 8: nest `zs` is alone: lanes run one at a time: `ys` (line 5) loops as long as each lane likes
    line 2: nest `yss` is regular: all lanes have the same extents
    line 2: nest `zss` is regular: all lanes have the same extents
    ");
    assert_eq!((report.of_one_lane, report.alone), (6, 1));
    let (together, report) = held_by(LOOPS, Flattening::Regular);
    let analysed: String = explain(&parsed(LOOPS)).iter().map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(together, @r"
    line 3: element `xs` is regular: all lanes have the same extents
    line 4: unit `c` is avoided: it is the same in all lanes
    line 5: unit `go` is regular: one scalar for each lane
    line 6: map `w` is regular: all lanes have the same extents
    line 5: while `ys` is regular: however many turns a lane takes, the extents are the same
    line 9: unit `k` is regular: one scalar for each lane
    line 10: generate `own` is irregular: the extent `k` (line 9) depends on the lane
    line 11: fold `s` is regular: one scalar for each lane
    line 8: nest `zs` is regular: all lanes have the same extents
    line 2: nest `yss` is regular: all lanes have the same extents
    line 2: nest `zss` is regular: all lanes have the same extents
    ");
    assert_eq!((report.of_one_lane, report.alone, together), (0, 0, analysed));
}

#[test]
fn where_rows_decide_both_ways_are_said() {
    let source = "fn f(xss: [n][?]i64) -> [n][?]i64 {
  let yss: [n][?]i64 = nest([n], |i| {
    let k: i64, xs: [k]i64 = element(xss, i)
    let ys: [k]i64 = sort(xs)
    return ys })
  return yss }";
    let (said, report) = held_by(source, Flattening::Alone);
    insta::assert_snapshot!(said, @r"
    line 3: element `k` is regular: one scalar for each lane; where rows are long and many, lanes run one at a time: `ys` (line 4) moves elements of rows of different lengths
    line 3: element `xs` is irregular: the extent `k` (line 3) depends on the lane; where rows are long and many, lanes run one at a time: `ys` (line 4) moves elements of rows of different lengths
    line 4: sort `ys` is irregular: the extent `k` (line 3) depends on the lane; where rows are long and many, lanes run one at a time: `ys` (line 4) moves elements of rows of different lengths
    line 2: nest `yss` is irregular: its arrays have extents of their own
    ");
    assert_eq!((report.of_one_lane, report.alone, report.irregular), (0, 1, 3));
}

#[test]
fn what_is_held_with_offsets_in_any_case_is_said_to() {
    let source = "fn f(xss: [n][m]i64, d: i64) -> [n][m]i64 {
  let yss: [n][m]i64 = nest([n], |i| {
    let xs: [m]i64 = element(xss, i)
    let s: i64 = fold(|a, b| a + b, 0, xs)
    let c: [m]i64 = generate([m], |j| j * d)
    let ys: [m]i64 = map(|x, c| x * s + c, xs, c)
    return ys })
  return yss }";
    let (said, report) = held_by(source, Flattening::Irregular);
    insta::assert_snapshot!(said, @r"
    line 3: element `xs` is irregular: everything in lanes is held so, though all lanes have the same extents
    line 4: fold `s` is regular: one scalar for each lane
    line 5: generate `c` is avoided: it is the same in all lanes
    line 6: map `ys` is irregular: everything in lanes is held so, though all lanes have the same extents
    line 2: nest `yss` is irregular: everything in lanes is held so, though all lanes have the same extents
    ");
    assert!(report.descriptors > 0 && report.irregular == 3, "{report:?}");
    let (_, report) = held_by(source, Flattening::Regular);
    assert_eq!((report.descriptors, report.irregular), (0, 0), "{report:?}");
}
