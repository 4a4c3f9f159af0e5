//! Traversals in lanes and of arrays of arrays: each sink, over elements of equal extents and of others, against the interpreter.

use crate::common::{check, flat, flat_inputs, vector};
use fusebox_flattening::{Config, Flattening, flatten};
use fusebox_ir::{Array, Nested, Program, Value, text};

fn parsed(source: &str) -> Program {
    text::parse(source).unwrap_or_else(|error| panic!("{error}"))
}

fn array(list: &[i64]) -> Array {
    Array::new(&[list.len()], list).unwrap_or_else(|error| panic!("{error}"))
}

fn matrix(rows: usize, columns: usize) -> Value {
    let values: Vec<i64> = (0..rows * columns).map(|at| (at as i64 * 7919) % 101 - 50).collect();
    Array::new(&[rows, columns], &values).unwrap_or_else(|error| panic!("{error}")).into()
}

fn ragged(sizes: &[i64]) -> Value {
    let all: i64 = sizes.iter().sum();
    let values: Vec<i64> = (0..all).map(|at| (at * 31) % 17 - 5).collect();
    Value::Nested(Nested { extents: array(sizes), values: array(&values) })
}

const WAYS: [Flattening; 2] = [Flattening::Regular, Flattening::Irregular];

/// Sizes of rows: none, empty ones, one, very unequal ones.
const SIZES: [&[i64]; 7] = [&[], &[0], &[3], &[0, 0, 2], &[4, 3, 0, 1], &[2, 2, 2], &[0, 90, 0, 1]];

fn checked(source: &str, inputs: &[Value]) {
    let program = parsed(source);
    for way in WAYS {
        match check(&program, inputs, &Config::of(way)) {
            Ok(done) => assert!(done.lifted && done.ran, "{source}\n{inputs:?}: the nested program does not run"),
            Err(message) => panic!("{source}\n{message}"),
        }
    }
}

/// What a lane does with its row: text that defines `r`, and the type of `r` in a lane.
const SINKS: [(&str, &str); 9] = [
    (
        "let z: i64, v: [z]i64 = consume(|j, x: i64| { let y = x * j; yield elements(y) }, row)\n let r: i64 = fold(|a, b| a + 2 * b, 0, v)",
        "",
    ),
    (
        "let z: i64, r: [z]i64 = consume(|j, x: i64| { let p = x & 3; let y: [p]i64 = generate([p], |l| l + x + i); yield elements(y) }, row)",
        "[?]",
    ),
    (
        "let z: i64, v: [z]i64, w: [z]i64 = consume(|j, x: i64| { let y: [4]i64 = generate([4], |l| l * x); let u: [4]i64 = map(|a| a + j, y); yield elements(y, u) }, row)\n let r: [z]i64 = map(|a, b| a - b, v, w)",
        "[?]",
    ),
    ("let z: i64, r: [z]i64 = consume(|j, x: i64| { yield tabulate(x) }, row)", "[?]"),
    (
        "let z: i64, q: i64, v: [z, q]i64 = consume(|j, x: i64| { let p = x & 3; let y: [p]i64 = generate([p], |l| l + x); yield tabulate(y) }, row)\n let s: [z]i64 = fold(|a, b| a + b, 0, v)\n let r: i64 = fold(|a, b| a + b, q, s)",
        "",
    ),
    (
        "let z: i64, q: i64, v: [z, q]i64 = consume(|j, x: i64| { let y: [3]i64 = generate([3], |l| l + x); yield tabulate(y) }, row)\n let s: [z]i64 = fold(|a, b| a + b, 0, v)\n let r: i64 = fold(|a, b| a + b, q, s)",
        "",
    ),
    (
        "let r: i64 = consume(|j, x: i64| { let p = x & 3; let y: [p]i64 = generate([p], |l| l + x); yield accumulate(|state: i64, e: [c]i64, v: [w]i64| { let s: i64 = fold(|a, b| a + b, state, v); return s }, 7i64, y) }, row)",
        "",
    ),
    (
        "let m1: i64, r: i64 = consume(|j, x: i64| { yield accumulate(|m: i64, state: i64, v: [w]i64| { let s: i64 = fold(|a, b| a + b, state, v); let n: i64 = fold(|a, b| max(a, b), m, v); return n, s }, 1i64, i, x) }, row)",
        "",
    ),
    (
        "let t: stream [?]i64 = consume(|j, x: i64| { let p = x & 3; let y: [p]i64 = generate([p], |l| l + x); yield stream_out(y) }, row)\n let z: i64, r: [z]i64 = consume(|j, y: [p]i64| { let s: i64 = fold(|a, b| a + b, 0, y); yield elements(s) }, t)",
        "[?]",
    ),
];

#[test]
fn every_sink_in_lanes_of_equal_extents() {
    for (body, inner) in SINKS {
        let source = format!(
            "fn f(a: [n, m]i64) -> [n]{inner}i64 {{ let r: [n]{inner}i64 = nest([n], |i| {{\n let row: [m]i64 = slice([i, _], a)\n {body}\n return r }})\n return r }}"
        );
        for (rows, columns) in [(0, 3), (3, 0), (1, 1), (4, 5)] {
            checked(&source, &[matrix(rows, columns)]);
        }
    }
}

#[test]
fn every_sink_in_lanes_of_other_extents() {
    for (body, inner) in SINKS {
        let source = format!(
            "fn f(a: [n][?]i64) -> [n]{inner}i64 {{ let r: [n]{inner}i64 = nest([n], |i| {{\n let m: i64, row: [m]i64 = element(a, i)\n {body}\n return r }})\n return r }}"
        );
        for sizes in SIZES {
            checked(&source, &[ragged(sizes)]);
        }
    }
}

#[test]
fn arrays_of_arrays_as_streams() {
    let sources = [
        "fn f(a: [n][?]i64) -> i64, [?]i64 { let z: i64, s: [z]i64 = consume(|j, row: [k]i64| { let t: i64 = fold(|a, b| a + b, j, row); yield elements(t) }, a); return z, s }",
        "fn f(a: [n][?]i64) -> i64, [?]i64 { let z: i64, s: [z]i64 = consume(|j, row: [k]i64| { let t: [k]i64 = map(|x| x * j, row); yield elements(t) }, a); return z, s }",
        // With a limit, and an array beside it.
        "fn f(a: [n][?]i64) -> i64, [?]i64 { let b: [n]i64 = generate([n], |i| i); let z: i64, s: [z]i64 = consume([2i64], |j, row: [k]i64, x: i64| { let t: [k]i64 = map(|y| y * x, row); yield elements(t) }, a, b); return z, s }",
        // Two of them, each with extents of its own.
        "fn f(a: [n][?]i64) -> i64 { let s: i64 = consume(|j, p: [k]i64, q: [l]i64| { let t: i64 = fold(|a, b| a + b, k, p); let u: i64 = fold(|a, b| a + b, t, q); yield accumulate(|state: i64, v: [w]i64| { let s: i64 = fold(|a, b| a + b, state, v); return s }, 0i64, u) }, a, a); return s }",
        // Their elements go out as a stream.
        "fn f(a: [n][?]i64) -> stream [?]i64 { let s: stream [?]i64 = consume(|j, row: [k]i64| { let t: [k]i64 = map(|x| x * j, row); yield stream_out(t) }, a); return s }",
        // Of a nest.
        "fn f(a: [n][?]i64) -> i64, [?]i64 { let b: [n][3]i64 = nest([n], |i| { let x: [3]i64 = generate([3], |j| i * j); return x }); let z: i64, s: [z]i64 = consume(|j, row: [3]i64, other: [l]i64| { let t: [3]i64 = map(|x| x + l, row); yield elements(t) }, b, a); return z, s }",
    ];
    for source in sources {
        for sizes in SIZES {
            checked(source, &[ragged(sizes)]);
        }
    }
}

#[test]
fn a_stream_and_an_array_of_arrays_are_read_side_by_side() {
    let source = "fn f(t: stream [?]i64, a: [n][?]i64) -> i64, [?]i64 {
      let z: i64, s: [z]i64 = consume(|j, x: [k]i64, row: [l]i64| { let u: i64 = fold(|a, b| a + b, j, row); let y: [k]i64 = map(|v| v + u + l, x); yield elements(y) }, t, a)
      return z, s }";
    let stream = Value::Stream(vec![array(&[1, 2]), array(&[]), array(&[3])]);
    for sizes in SIZES {
        checked(source, &[stream.clone(), ragged(sizes)]);
    }
}

#[test]
fn an_array_of_arrays_of_several_dimensions_has_arrays_of_arrays_for_elements() {
    let source = "fn f(a: [n, m]i64) -> i64, [?]i64 {
      let b: [n, m][?]i64 = nest([n, m], |i, j| { let x = a[i, j] & 3; let y: [x]i64 = generate([x], |l| l + i + j); return y })
      let z: i64, s: [z]i64 = consume(|j, rows: [m][?]i64| {
        let sums: [m]i64 = nest([m], |l| { let k: i64, row: [k]i64 = element(rows, l); let s: i64 = fold(|a, b| a + b, k, row); return s })
        yield elements(sums) }, b)
      return z, s }";
    for (rows, columns) in [(0, 3), (3, 0), (1, 1), (4, 5)] {
        checked(source, &[matrix(rows, columns)]);
    }
}

#[test]
fn traversals_in_traversals_and_nests_in_nests() {
    let source = "fn f(a: [n, m]i64, top: i64) -> [n]i64, i64 {
      let r: [n]i64 = nest([n], |i| {
        let inner: [m]i64 = nest([m], |l| {
          let x = a[i, l]
          let count = x & 3
          let z: i64, v: [z]i64 = consume([count], |j| {
            let k: i64, w: [k]i64 = consume([j], |p| { let y = p + x; yield elements(y) })
            yield elements(w) })
          let s: i64 = fold(|a, b| a + b, z, v)
          return s })
        let s: i64 = fold(|a, b| a + b, 0, inner)
        return s })
      let t: i64 = consume([top], |j| {
        let z: i64, w: [z]i64 = consume(|p, row: [m]i64| { let y: i64 = fold(|a, b| a + b, p + j, row); yield elements(y) }, a)
        let s: i64 = fold(|a, b| a + b, 0, w)
        yield accumulate(|state: i64, v: [q]i64| { let s: i64 = fold(|a, b| a + b, state, v); return s }, 0i64, s) })
      return r, t }";
    for (rows, columns, top) in [(0, 3, 2), (3, 0, 2), (2, 3, 0), (4, 5, 3), (2, 2, -1)] {
        checked(source, &[matrix(rows, columns), Array::scalar(top as i64).into()]);
    }
}

#[test]
fn a_size_that_is_known_may_go_to_a_sink() {
    let source = "fn f(a: [n, 3]i64) -> i64, [?]i64, [n]i64 {
      let b: [n][3]i64 = nest([n], |i| { let x: [3]i64 = slice([i, _], a); return x })
      let z: i64, s: [z]i64 = consume(|j, row: [k]i64| { yield elements(k) }, b)
      let r: [n]i64 = nest([n], |i| {
        let q: i64, t: [q]i64 = consume(|j, row: [k]i64| { yield elements(k) }, a)
        let u: i64 = fold(|a, b| a + b, i, t)
        return u })
      return z, s, r }";
    for rows in [0, 1, 4] {
        checked(source, &[matrix(rows, 3)]);
    }
}

#[test]
fn bodies_that_take_chunks_may_be_in_lanes_too() {
    let source = "fn f(a: [n, m]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let row: [m]i64 = slice([i, _], a)
        let z: i64, v: [z]i64 = consume(|first: i64, count: i64, x: [c]i64| { let y: [c]i64 = map(|x| x * 2, x); yield elements(y) }, row, chunks: true)
        let s: i64 = fold(|a, b| a + b, z, v)
        return s })
      return r }";
    for (rows, columns) in [(0, 3), (3, 0), (1, 1), (4, 5)] {
        checked(source, &[matrix(rows, columns)]);
    }
}

#[test]
fn regular_traversals_make_no_descriptor() {
    let source = "fn f(a: [n, m]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let row: [m]i64 = slice([i, _], a)
        let z: i64, v: [z]i64 = consume(|j, x: i64| { let y: [4]i64 = generate([4], |l| l * x); yield elements(y) }, row)
        let s: i64 = fold(|a, b| a + b, 0, v)
        return s })
      return r }";
    insta::assert_snapshot!(flat(source, &[matrix(3, 4)]), @r"
    fn f(a: [n, m]i64) -> [n]i64 {
      let index: [n, m, 4]i64 = generate([n, m, 4], |x1, x2, x3| x3)
      let x: [n, m, 4]i64 = replicate([_, _, 4], a)
      let y: [n, m, 4]i64 = map(|l, x1| l * x1, index, x)
      let lanes = m * 4
      let y1: [n, lanes]i64 = reshape([n, lanes], y)
      let r: [n]i64 = fold(|a1, b| a1 + b, 0, y1)
      return r }
    ");
    let (_, report) = flatten(&parsed(source), &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.descriptors, 0);
}

#[test]
fn ragged_traversals_share_the_descriptor_of_what_they_read() {
    let source = "fn f(a: [n][?]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let m: i64, row: [m]i64 = element(a, i)
        let z: i64, v: [z]i64 = consume(|j, x: i64| { let y = j * x; yield elements(y) }, row)
        let s: i64 = fold(|a, b| a + b, 0, v)
        return s })
      return r }";
    insta::assert_snapshot!(flat(source, &[ragged(&[3, 0, 4])]), @r"
    fn f(a.extents: [n]i64, a.values: [a.total]i64) -> [n]i64 {
      let more = n + 1
      let offsets: [more]i64 = scanl(|x, y1| x + y1, 0, a.extents)
      let index: [n]i64 = generate([n], |x| x)
      let total: i64, lane: [total]i64, index1: [total]i64 = expand(|size, lane1| size, |size, lane1, index3| { return lane1, index3 }, a.extents, index)
      let index2: [a.total]i64 = generate([a.total], |x| x)
      let y: [a.total]i64 = map(|x, x1| index1[x1] * x, a.values, index2)
      let r: [n]i64 = fold_seg(|a, b| a + b, 0, y, offsets: offsets)
      return r }
    ");
    let (_, report) = flatten(&parsed(source), &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.descriptors, 1);
}

#[test]
fn elements_that_do_not_have_the_declared_extents_are_errors() {
    let source = "fn f(a: [n][?]i64, k: i64) -> i64, [?]i64 {
      let b: [k]i64 = generate([k], |i| i)
      let z: i64, s: [z]i64 = consume(|j, row: [k]i64| { let t: [k]i64 = map(|x, y| x + y, row, b); yield elements(t) }, a)
      return z, s }";
    let program = parsed(source);
    let run = |inputs: &[Value]| {
        let (flat, _) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
        fusebox_interp::run(&flat, &flat_inputs(inputs)).map(|_| ()).map_err(|error| error.to_string())
    };
    checked(source, &[ragged(&[2, 2]), Array::scalar(2i64).into()]);
    let inputs = [ragged(&[2, 3]), Array::scalar(2i64).into()];
    assert!(fusebox_interp::run(&program, &inputs).is_err(), "the nested program fails");
    insta::assert_snapshot!(run(&inputs).err().unwrap_or_default(), @"3:31: backpermute `row`: assertion failed: an element of `row` has an extent of 3, not 2, in lane 1");
    // So do arrays that a sink takes together.
    let source = "fn f(a: [n][?]i64) -> i64, [?]i64, [?]i64 {
      let z: i64, s: [z]i64, t: [z]i64 = consume(|j, row: [k]i64| { let p = min(k, 2); let x: [p]i64 = generate([p], |l| l); yield elements(row, x) }, a)
      return z, s, t }";
    let program = parsed(source);
    checked(source, &[ragged(&[2, 0, 1])]);
    let inputs = [ragged(&[2, 3]), vector(&[])];
    assert!(fusebox_interp::run(&program, &inputs[..1]).is_err(), "the nested program fails");
    let (flat, _) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(fusebox_interp::run(&flat, &flat_inputs(&inputs[..1])).is_err(), "the flat program fails\n{flat}");
}

#[test]
fn a_name_for_an_extent_inside_of_elements_is_refused() {
    let source = "fn f(b: [n, m][?]i64) -> i64, [?]i64 {
      let z: i64, s: [z]i64 = consume(|j, rows: [l][k]i64| { let y = k; yield elements(y) }, b)
      return z, s }";
    let error = flatten(&parsed(source), &Config::default()).err().map(|error| error.to_string()).unwrap_or_default();
    insta::assert_snapshot!(error, @"2:31: consume `z` is not flattened: the elements `rows` that it reads of `b` are arrays of arrays, and `k` is an extent inside of them; write `?` there, and get it by `element`");
}

#[test]
fn elements_that_go_out_as_they_come() {
    let numbers = |length: i64| Value::from(array(&(0..length).collect::<Vec<_>>()));
    // Of sources of different lengths the shortest ends the traversal, and elements of streams are of no array.
    let cases = [
        ("a: [n]i64, b: [m]i64", "p: i64, q: i64", "p, q", vec![numbers(10), numbers(5)]),
        ("a: [n, c]i64, b: [m, c]i64", "p: [d]i64, q: [d]i64", "p, q", vec![matrix(3, 4), matrix(5, 4)]),
        ("a: [n][?]i64, b: [m][?]i64", "p: [d]i64, q: [d]i64", "p, q", vec![ragged(&[2, 0, 3]), ragged(&[2, 0])]),
    ];
    for (inputs, params, given, values) in cases {
        let results = "[?]i64, [?]i64";
        checked(
            &format!(
                "fn f({inputs}) -> i64, {results} {{ let k: i64, v: [k]i64, w: [k]i64 = consume(|i, {params}| {{ yield elements({given}) }}, a, b) return k, v, w }}"
            ),
            &values,
        );
    }
    for (inputs, param, values) in [
        ("a: stream [?]i64", "p: [d]i64", Value::Stream(vec![array(&[1, 2]), array(&[3]), array(&[])])),
        ("a: stream i64", "p: i64", Value::Stream((0..4i64).map(Array::scalar).collect())),
    ] {
        checked(
            &format!(
                "fn f({inputs}) -> i64, [?]i64 {{ let k: i64, v: [k]i64 = consume(|i, {param}| {{ yield elements(p) }}, a) return k, v }}"
            ),
            &[values],
        );
    }
}

/// What is the same for all elements, and may fail, is of no extent where there are none: arrays of it have no elements then.
#[test]
fn a_size_of_all_elements_is_of_no_use_where_there_are_none() {
    let source = "fn f(a: [n]i64, v: [m]i64) -> [?]i64, [?]i64 {
      let z: i64, x: [z]i64, y: [z]i64 = consume(|i, e: i64| {
        let c: i64, b: [c]i64 = expand(|s| s, |s, j| s + j, v)
        yield elements(b, b) }, a)
      return x, y }";
    for a in [&[][..], &[4], &[1, 2, 3]] {
        for v in [&[][..], &[0], &[3, 0, 2]] {
            checked(source, &[array(a).into(), array(v).into()]);
        }
    }
}
