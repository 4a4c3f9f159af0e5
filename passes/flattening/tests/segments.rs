//! Laws of descriptors: what offsets, lanes and indices are, against lists of lists.

use crate::common::{self, vector};
use fusebox_flattening::{Config, Flattening, flatten};
use fusebox_interp::run;
use fusebox_ir::{Value, text};

/// Lists of sizes: corners, and random ones with empty lanes and one that is much longer.
fn all_sizes() -> Vec<Vec<i64>> {
    let mut lists = vec![
        vec![],
        vec![0],
        vec![0, 0, 0],
        vec![4, 3, 0, 1],
        vec![0, 0, 2],
        vec![2, 0, 0],
        vec![1],
        vec![0, 50, 0, 1],
    ];
    let mut state = 12_345u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..60 {
        let lanes = next(9);
        lists.push((0..lanes).map(|_| if next(8) == 0 { 40 } else { (next(6) as i64 - 1).max(0) }).collect());
    }
    lists
}

fn results(source: &str, inputs: &[Value], way: Flattening) -> Vec<Vec<i64>> {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let (flat, _) = flatten(&program, &Config::of(way)).unwrap_or_else(|error| panic!("{error}"));
    let results = run(&flat, &common::flat_inputs(inputs)).unwrap_or_else(|error| panic!("{error}\n{flat}"));
    let numbers = |value: &Value| match value {
        Value::Array(array) => array.as_slice::<i64>().unwrap_or_default().to_vec(),
        _ => panic!("a flat program gives arrays"),
    };
    results.iter().map(numbers).collect()
}

const WAYS: [Flattening; 2] = [Flattening::Regular, Flattening::Irregular];

#[test]
fn lanes_and_indices_are_counted_in_order() {
    let source = "fn f(sizes: [n]i64) -> [n][?]i64 {
      let r: [n][?]i64 = nest([n], |i| { let k = sizes[i]; let row: [k]i64 = generate([k], |j| 1000 * i + j); return row })
      return r }";
    for sizes in all_sizes() {
        let model: Vec<i64> =
            sizes.iter().enumerate().flat_map(|(i, &k)| (0..k).map(move |j| 1000 * i as i64 + j)).collect();
        for way in WAYS {
            assert_eq!(results(source, &[vector(&sizes)], way), [sizes.clone(), model.clone()]);
        }
    }
}

#[test]
fn a_level_below_a_level_is_a_chain() {
    let source = "fn f(sizes: [n]i64) -> [n][?]i64, [n]i64 {
      let counts: [n][?]i64, sums: [n]i64 = nest([n], |i| {
        let k = sizes[i]
        let inner: [k]i64 = nest([k], |j| {
          let l = (i + j) % 4
          let row: [l]i64 = generate([l], |p| 10000 * i + 100 * j + p)
          let s: i64 = fold(|a, b| a + b, 0, row)
          return s })
        let total: i64 = fold(|a, b| a + b, 0, inner)
        return inner, total })
      return counts, sums }";
    for sizes in all_sizes() {
        let row = |i: i64, j: i64| -> i64 { (0..(i + j) % 4).map(|p| 10000 * i + 100 * j + p).sum() };
        let lanes: Vec<Vec<i64>> = sizes.iter().zip(0..).map(|(&k, i)| (0..k).map(|j| row(i, j)).collect()).collect();
        let sums: Vec<i64> = lanes.iter().map(|lane| lane.iter().sum()).collect();
        for way in WAYS {
            assert_eq!(results(source, &[vector(&sizes)], way), [sizes.clone(), lanes.concat(), sums.clone()]);
        }
    }
}

#[test]
fn rows_are_folded_and_scanned_each_by_itself() {
    // A function that does not commute, with a seed that is not neutral.
    let source = "fn f(sizes: [n]i64) -> [n]i64, [n][?]i64, [n][?]i64, [n][?]i64 {
      let folds: [n]i64, ones: [n][?]i64, befores: [n][?]i64, backs: [n][?]i64 = nest([n], |i| {
        let k = sizes[i]
        let row: [k]i64 = generate([k], |j| i + j + 1)
        let s: i64 = fold(|a, b| a + b, 7, row)
        let one: [k]i64 = scanl1(|a, b| if b > 0 { b } else { a }, row)
        let more = k + 1
        let before: [more]i64 = scanl(|a, b| a + b, i, row)
        let back: [k]i64 = scanr1(|a, b| a + b, row)
        return s, one, before, back })
      return folds, ones, befores, backs }";
    for sizes in all_sizes() {
        let lanes: Vec<Vec<i64>> = sizes.iter().zip(0..).map(|(&k, i)| (0..k).map(|j| i + j + 1).collect()).collect();
        let running = |seed: i64, lane: &[i64]| -> Vec<i64> {
            lane.iter().fold(vec![seed], |mut all, x| {
                all.push(all[all.len() - 1] + x);
                all
            })
        };
        let more: Vec<i64> = sizes.iter().map(|k| k + 1).collect();
        let model = [
            lanes.iter().map(|lane| 7 + lane.iter().sum::<i64>()).collect(),
            sizes.clone(),
            lanes.concat(),
            more,
            lanes.iter().zip(0..).flat_map(|(lane, i)| running(i, lane)).collect::<Vec<_>>(),
            sizes.clone(),
            lanes
                .iter()
                .flat_map(|lane| (0..lane.len()).map(|at| lane[at..].iter().sum()).collect::<Vec<_>>())
                .collect(),
        ];
        for way in WAYS {
            assert_eq!(results(source, &[vector(&sizes)], way), model);
        }
    }
}

#[test]
fn rows_of_arrays_of_rank_two_stay_rows() {
    // Lanes of extents 2 x 3 and 1 x 2: the rows of each are folded.
    let source = "fn f(rows: [n]i64, columns: [n]i64) -> [n][?]i64 {
      let r: [n][?]i64 = nest([n], |i| {
        let p = rows[i]
        let q = columns[i]
        let a: [p, q]i64 = generate([p, q], |j, l| 1 + j * q + l + 6 * i)
        let s: [p]i64 = fold(|a, b| a + b, 0, a)
        return s })
      return r }";
    for way in WAYS {
        assert_eq!(results(source, &[vector(&[2, 1]), vector(&[3, 2])], way), [vec![2, 1], vec![6, 15, 15]]);
        assert_eq!(results(source, &[vector(&[0, 2, 3]), vector(&[3, 0, 1])], way)[0], [0, 2, 3]);
    }
}

#[test]
fn segments_of_a_lane_are_segments_of_its_row() {
    let source = "fn f(sizes: [n]i64) -> [n][?]i64 {
      let r: [n][?]i64 = nest([n], |i| {
        let k = sizes[i]
        let row: [k]i64 = generate([k], |j| j + 1)
        let offsets: [3]i64 = generate([3], |s| if s == 0 { 0 } else { if s == 1 { k / 2 } else { k } })
        let halves: [2]i64 = fold_seg(|a, b| a + b, 0, row, offsets: offsets)
        let scanned: [k]i64 = scanl1_seg(|a, b| a + b, row, offsets: offsets)
        let last: [2]i64 = map(|h| h * 1, halves)
        let all: [2]i64 = map(|h| h + (if k > 0 { scanned[k - 1] } else { 0 }), last)
        return all })
      return r }";
    for sizes in all_sizes() {
        let model: Vec<i64> = sizes
            .iter()
            .flat_map(|&k| {
                let sum = |from: i64, to: i64| (from..to).map(|j| j + 1).sum::<i64>();
                let last = if k > 0 { sum(k / 2, k) } else { 0 };
                [sum(0, k / 2) + last, sum(k / 2, k) + last]
            })
            .collect();
        for way in WAYS {
            let found = results(source, &[vector(&sizes)], way);
            assert_eq!(found[1], model, "{sizes:?}");
        }
    }
}

#[test]
fn wrong_offsets_in_a_lane_are_an_error() {
    let source = "fn f(ends: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let row: [4]i64 = generate([4], |j| j)
        let e = ends[i]
        let offsets: [3]i64 = generate([3], |s| if s == 0 { 0 } else { if s == 1 { e } else { 4 } })
        let halves: [2]i64 = fold_seg(|a, b| a + b, 0, row, offsets: offsets)
        let s: i64 = fold(|a, b| a + b, 0, halves)
        return s })
      return r }";
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let (flat, _) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(run(&flat, &[vector(&[0, 4, 2])]).is_ok());
    let error = run(&flat, &[vector(&[2, 5])]).map(drop).map_err(|error| error.to_string());
    assert!(error.as_ref().is_err_and(|error| error.contains("offsets")), "{error:?}");
}
