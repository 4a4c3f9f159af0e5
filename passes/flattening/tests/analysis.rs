//! What the analysis says of small programs, one for each thing that it has to get right.

use crate::common::{check, vector};
use fusebox_flattening::{
    Config, Flattening,
    analysis::{explain, regularity, shapes},
    flatten,
};
use fusebox_ir::{Array, ArrayId, ArrayOp, Block, Nested, Program, Value, text};

fn parsed(source: &str) -> Program {
    text::parse(source).unwrap_or_else(|error| panic!("{error}"))
}

fn named(program: &Program, wanted: &str) -> ArrayId {
    let mut found = None;
    program.body.for_each_definition(&mut |var| {
        if var.name.0 == wanted {
            found = Some(var.id);
        }
    });
    found.unwrap_or_else(|| panic!("nothing is called {wanted}"))
}

/// Whether two values of a program are known to have equal shapes.
fn equal(source: &str, a: &str, b: &str) -> bool {
    let program = parsed(source);
    shapes(&program).equal(named(&program, a), named(&program, b))
}

/// How each value inside of a nest is held, and why.
fn held(source: &str) -> String {
    explain(&parsed(source)).iter().map(|line| format!("{line}\n")).collect()
}

/// How one is.
fn is(source: &str, value: &str) -> String {
    let lines = explain(&parsed(source));
    let line = lines.iter().find(|line| line.name == value).unwrap_or_else(|| panic!("nothing is said of {value}"));
    line.representation.to_string()
}

const PLUS_ONE: &str = "fn f(xss: [n][?]i64) -> [n][?]i64 {
  let yss: [n][?]i64 = nest([n], |i| {
    let k: i64, xs: [k]i64 = element(xss, i)
    let ys: [k]i64 = map(|x| x + 1, xs)
    return ys })
  return yss }";

#[test]
fn what_is_made_of_each_array_has_the_shape_of_that() {
    assert!(equal(PLUS_ONE, "xss", "yss"));
    assert_eq!(is(PLUS_ONE, "yss"), "irregular");
    let regular =
        PLUS_ONE.replace("xss: [n][?]i64", "xss: [n][m]i64").replace("let k: i64, xs: [k]i64", "let xs: [m]i64");
    let regular =
        regular.replace("[k]", "[m]").replace("-> [n][?]i64", "-> [n][m]i64").replace("yss: [n][?]", "yss: [n][m]");
    assert!(equal(&regular, "xss", "yss"));
    assert_eq!(is(&regular, "yss"), "regular");
}

#[test]
fn a_shape_known_by_another_name_is_found() {
    // Of a nest over arrays of one extent the result is regular though its type does not say which extent that is.
    let source = "fn f(xss: [n][m]i64) -> [n][?]i64 {
      let yss: [n][?]i64 = nest([n], |i| { let xs: [m]i64 = element(xss, i); return xs })
      let s: [n]i64 = nest([n], |i| { let k: i64, ys: [k]i64 = element(yss, i); let t: i64 = fold(|a, b| a + b, 0, ys); return t })
      let zss: [n][?]i64 = nest([n], |i| { let q = max(s[i], 0) + m; let zs: [q]i64 = generate([q], |j| j); return zs })
      return zss }";
    assert!(equal(source, "xss", "yss"));
    assert_eq!(is(source, "yss"), "regular");
    assert_eq!(is(source, "ys"), "regular");
    assert_eq!(is(source, "zss"), "irregular");
}

#[test]
fn an_array_that_does_not_depend_on_the_lane_is_avoided() {
    let source = "fn f(xs: [n]i64) -> [10][n]i64 {
      let r: [10][n]i64 = nest([10], |i| { let ys: [n]i64 = map(|x| x + 1, xs); return ys })
      return r }";
    insta::assert_snapshot!(held(source), @r"
    line 2: map `ys` is avoided: it is the same in all lanes
    line 2: nest `r` is regular: all lanes have the same extents
    ");
}

#[test]
fn an_extent_that_depends_on_the_lane_makes_irregular() {
    let source = "fn f(n: i64) -> [n][?]i64 {
      let r: [n][?]i64 = nest([n], |i| {
        let h = i / 2
        let ys: [h]i64 = generate([h], |j| i * j)
        return ys })
      return r }";
    insta::assert_snapshot!(held(source), @r"
    line 3: unit `h` is regular: one scalar for each lane
    line 4: generate `ys` is irregular: the extent `h` (line 3) depends on the lane
    line 2: nest `r` is irregular: its arrays have extents of their own
    ");
}

/// Rows, given one after the other.
fn rows(rows: &[&[i64]]) -> Value {
    let array = |list: &[i64]| Array::new(&[list.len()], list).unwrap_or_else(|error| panic!("{error}"));
    let extents: Vec<i64> = rows.iter().map(|row| row.len() as i64).collect();
    Value::Nested(Nested { extents: array(&extents), values: array(&rows.concat()) })
}

/// Flattens a program in each way, and runs it and the flat ones on these inputs: all give the same.
fn runs(source: &str, inputs: &[&[Value]]) {
    let program = parsed(source);
    for way in [Flattening::Regular, Flattening::Irregular, Flattening::Alone] {
        for inputs in inputs {
            check(&program, inputs, &Config::of(way)).unwrap_or_else(|message| panic!("{way:?}: {message}"));
        }
    }
}

/// How many arrays of offsets the flat program makes, none of them in a turn of a loop.
fn descriptors(source: &str, inputs: &[&[Value]]) -> usize {
    runs(source, inputs);
    let (flat, report) = flatten(&parsed(source), &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    let all = flat.body.blocks().flat_map(|block| &block.bindings);
    for step in all.filter(|binding| matches!(binding.op, ArrayOp::While { .. })) {
        let mut inside = step.op.bodies().flat_map(Block::blocks).flat_map(|block| &block.bindings);
        assert!(!inside.any(|binding| binding.results.iter().any(|var| var.name.0.starts_with("offsets"))), "{flat}");
    }
    report.descriptors
}

const BRANCHES: &str = "fn f(xss: [n][m]i64) -> [n][m]i64 {
      let yss: [n][m]i64 = nest([n], |i| {
        let t: [m]i64 = element(xss, i)
        let c = t[0] > 10
        let e: [m]i64 = map(|x| x + 1, t)
        let r: [m]i64 = cond(c, || { return t }, || { return e })
        return r })
      return yss }";

#[test]
fn branches_of_the_same_shape_are_regular_and_share_it() {
    assert_eq!(descriptors(BRANCHES, &[&[rows(&[&[1, 2], &[20, 3]])], &[rows(&[])], &[rows(&[&[11]])]]), 0);
    insta::assert_snapshot!(held(BRANCHES), @r"
    line 3: element `t` is regular: all lanes have the same extents
    line 4: unit `c` is regular: one scalar for each lane
    line 5: map `e` is regular: all lanes have the same extents
    line 6: cond `r` is regular: whichever branch a lane takes, the extents are the same
    line 2: nest `yss` is regular: all lanes have the same extents
    ");
}

#[test]
fn sizes_that_branches_agree_on_are_known() {
    // The type does not name the extent; both branches give it.
    let source = "fn f(xss: [n][m]i64) -> [n][?]i64 {
      let yss: [n][?]i64 = nest([n], |i| {
        let t: [m]i64 = element(xss, i)
        let c = t[0] > 10
        let k: i64, r: [k]i64 = cond(c, || { let q = m + 0; let u: [q]i64 = map(|x| x, t); return q, u }, || { let q = m * 1; let u: [q]i64 = map(|x| 2 * x, t); return q, u })
        return r })
      return yss }";
    assert_eq!(is(source, "r"), "regular");
    assert!(equal(source, "t", "r"));
}

#[test]
fn branches_of_different_lengths_are_regular_if_all_lanes_take_the_same() {
    let source = |c: &str| {
        format!(
            "fn f(xss: [n][m]i64, all: bool) -> [n][?]i64 {{
      let yss: [n][?]i64 = nest([n], |i| {{
        let t: [m]i64 = element(xss, i)
        let c = {c}
        let k: i64, r: [k]i64 = cond(c, || {{ let q = m + 0; return q, t }}, || {{ let q = m / 2; let u: [q]i64 = map(|x| x, t); return q, u }})
        return r }})
      return yss }}"
        )
    };
    assert_eq!(is(&source("all"), "r"), "regular");
    assert_eq!(is(&source("t[0] > 10"), "r"), "irregular");
    assert!(!equal(&source("t[0] > 10"), "t", "r"));
}

#[test]
fn an_index_of_another_nest_is_not_the_own_one() {
    // The array at the index of the outer nest is the same for all of the inner one: its extents are not those of the array at each.
    let source = "fn f(xs: [n]i64, ys: [n][?]i64) -> [n][n]i64 {
      let r: [n][n]i64 = nest([n], |sh| {
        let zs: [n][?]i64 = nest([n], |v| { let k: i64, z: [k]i64 = element(ys, sh); return z })
        let us: [n][?]i64 = nest([n], |v| { let k: i64, z: [k]i64 = element(ys, v); return z })
        let s: [n]i64 = nest([n], |v| {
          let k: i64, z: [k]i64 = element(zs, v)
          let j: i64, u: [j]i64 = element(us, v)
          let a: i64 = fold(|a, b| a + b, 0, z)
          let b: i64 = fold(|a, b| a + b, 0, u)
          let c = a + b
          return c })
        return s })
      return r }";
    assert!(!equal(source, "ys", "zs"));
    assert!(equal(source, "ys", "us"));
    assert_eq!(is(source, "zs"), "irregular");
}

const SORT_ROWS: &str = "fn f(xss: INPUT) -> [n][?]i64 {
  let yss: [n][?]i64 = nest([n], |i| {
    let START = element(xss, i)
    let swaps0: i64 = fold(|a, b| a + b, 0, xs)
    let ys: [k]i64, swaps: i64 = while(|v: [k]i64, s: i64| { let go = s > 0; return go }, |v: [k]i64, s: i64| {
      let w: [k]i64 = map(|x| x / 2, v)
      let t: i64 = fold(|a, b| a + b, 0, w)
      return w, t }, xs, swaps0)
    return ys })
  return yss }";

#[test]
fn a_loop_that_keeps_the_shape_is_regular_however_many_turns_lanes_take() {
    let regular = SORT_ROWS.replace("INPUT", "[n][k]i64").replace("START", "xs: [k]i64");
    assert_eq!(is(&regular, "ys"), "regular");
    let ragged = SORT_ROWS.replace("INPUT", "[n][?]i64").replace("START", "k: i64, xs: [k]i64");
    assert_eq!(is(&ragged, "ys"), "irregular");
    assert!(equal(&ragged, "xss", "yss"));
    assert!(equal(&ragged, "xs", "ys"));
    // A regular one needs no offsets, a ragged one those of its input: none is made in a turn.
    let inputs: [&[Value]; 2] = [&[rows(&[&[8, 1, 5], &[0, 0, 0], &[-1, 1, 0]])], &[rows(&[])]];
    assert_eq!((descriptors(&regular, &inputs), descriptors(&ragged, &inputs)), (0, 1));
}

#[test]
fn lanes_that_take_no_turn_and_rows_without_elements() {
    let ragged = SORT_ROWS.replace("INPUT", "[n][?]i64").replace("START", "k: i64, xs: [k]i64");
    let regular = SORT_ROWS.replace("INPUT", "[n][k]i64").replace("START", "xs: [k]i64");
    // All have ended before the first turn; some have no element; there are no lanes.
    let ended = rows(&[&[-1, 0], &[], &[-3], &[]]);
    let mixed = rows(&[&[], &[9, 0, -5], &[], &[-1], &[4]]);
    runs(&ragged, &[&[ended], &[mixed], &[rows(&[&[], &[]])], &[rows(&[])]]);
    runs(&regular, &[&[rows(&[&[-1, 0], &[0, -3]])], &[rows(&[&[], &[]])], &[rows(&[])]]);
    // A state that grows, and one that is a scalar, too.
    runs(
        &doubling("sum < 64 && sum > 0"),
        &[&[rows(&[&[0, 0], &[-1, 0]])], &[rows(&[&[0, 1], &[70, 0]])], &[rows(&[])]],
    );
    let scalars = "fn f(xs: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let row: [2]i64 = generate([2], |j| xs[i])
        let s: i64 = fold(|a, b| a + b, 0, row)
        let a: i64, b: i64 = while(|a: i64, b: i64| { let go = a > 0; return go }, |a: i64, b: i64| { let c = a / 2; let d = b + 1; return c, d }, s, 0i64)
        return b })
      return r }";
    assert_eq!(descriptors(scalars, &[&[vector(&[0, -1, 0])], &[vector(&[0, 5, 1])], &[vector(&[])]]), 0);
}

/// Each golden program that has nothing irregular has no offsets, whatever it does in lanes: sorts, transforms, loops, scans.
#[test]
fn golden_programs_of_which_all_is_regular_have_no_descriptor() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/programs");
    let mut regular = Vec::new();
    let paths = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}")).flatten().map(|entry| entry.path());
    for path in paths.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("nested_")))
    {
        let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}"));
        let (flat, report) = flatten(&parsed(&source), &Config::default()).unwrap_or_else(|error| panic!("{error}"));
        if report.irregular == 0 {
            assert_eq!(report.descriptors, 0, "{flat}");
            let results = flat.body.blocks().flat_map(|block| &block.bindings).flat_map(|binding| &binding.results);
            let mut names = results.map(|var| var.name.0.as_str());
            assert!(!names.any(|name| name.starts_with("offsets")), "{flat}");
            regular.push(flat.name);
        }
    }
    regular.sort();
    insta::assert_snapshot!(regular.join(" "), @"nested_fft nested_fft_rows nested_mandelbrot nested_matmul nested_nearest nested_softmax nested_volatility");
}

fn doubling(condition: &str) -> String {
    format!(
        "fn f(xss: [n][m]i64) -> [n][?]i64 {{
      let yss: [n][?]i64 = nest([n], |i| {{
        let xs: [m]i64 = element(xss, i)
        let k: i64, ys: [k]i64 = while(|k: i64, v: [k]i64| {{
            let sum: i64 = fold(|a, b| a + b, 0, v)
            let go = {condition}
            return go }}, |k: i64, v: [k]i64| {{
          let q = 2 * k
          let w: [q]i64 = concat(v, v)
          return q, w }}, m, xs)
        return ys }})
      return yss }}"
    )
}

#[test]
fn a_loop_that_changes_the_shape_is_regular_if_all_lanes_take_as_many_turns() {
    let inputs: [&[Value]; 3] = [&[rows(&[&[1, 2], &[5, -1]])], &[rows(&[&[3]])], &[rows(&[])]];
    assert_eq!(descriptors(&doubling("k < 64 && k > 0"), &inputs), 0);
    assert_eq!(is(&doubling("k < 64"), "ys"), "regular");
    assert_eq!(is(&doubling("sum < 64"), "ys"), "irregular");
}

#[test]
fn a_state_that_rotates_depends_on_the_lane_after_some_turns() {
    // In the first turns the condition is the same in all lanes; then it is not.
    let source = "fn f(xs: [n]i64, m: i64) -> [n]i64, [n][?]i64 {
      let r: [n]i64, yss: [n][?]i64 = nest([n], |i| {
        let x = xs[i]
        let e: [0]i64 = generate([0], |j| j)
        let a: i64, b: i64, c: i64, k: i64, ys: [k]i64 = while(|a: i64, b: i64, c: i64, k: i64, v: [k]i64| { let go = a > 0; return go },
          |a: i64, b: i64, c: i64, k: i64, v: [k]i64| {
            let q = k + 1
            let w: [q]i64 = generate([q], |j| j)
            return b, c, x, q, w }, m, m, m, 0i64, e)
        return a, ys })
      return r, yss }";
    assert_eq!(is(source, "ys"), "irregular");
    let program = parsed(source);
    let found = regularity(&program, &shapes(&program));
    assert!(!found.lanes(named(&program, "a")).is_none());
}

#[test]
fn a_growing_state_does_not_have_the_shape_it_began_with() {
    // As many turns in all lanes; but after the first `v` is longer than `xs`, and lanes that take it grow faster.
    let source = "fn f(xss: [n][m]i64, cs: [n]bool, turns: i64) -> [n][?]i64 {
      let yss: [n][?]i64 = nest([n], |i| {
        let xs: [m]i64 = element(xss, i)
        let c = cs[i]
        let k: i64, ys: [k]i64, t: i64 = while(|k: i64, v: [k]i64, t: i64| { let go = t < turns; return go }, |k: i64, v: [k]i64, t: i64| {
          let h: i64, w: [h]i64 = cond(c, || { let q = k + 0; return q, v }, || { let q = m + 0; return q, xs })
          let q = h + h
          let z: [q]i64 = concat(w, w)
          let u = t + 1
          return q, z, u }, m, xs, 0i64)
        return ys })
      return yss }";
    assert_eq!(is(source, "w"), "irregular");
    assert_eq!(is(source, "ys"), "irregular");
    assert!(!equal(source, "v", "xs"));
    // The number of turns is the same in all lanes all the same.
    assert_eq!(is(source, "u"), "avoided");
}

#[test]
fn one_part_of_a_state_may_keep_its_shape_where_another_does_not() {
    let source = "fn f(xss: [n][m]i64) -> [n][?]i64, [n][m]i64 {
      let yss: [n][?]i64, zss: [n][m]i64 = nest([n], |i| {
        let xs: [m]i64 = element(xss, i)
        let k: i64, ys: [k]i64, zs: [m]i64 = while(|k: i64, v: [k]i64, z: [m]i64| { let go = z[0] > 0; return go },
          |k: i64, v: [k]i64, z: [m]i64| {
            let q = k + 1
            let w: [q]i64 = generate([q], |j| j)
            let y: [m]i64 = map(|x| x - 1, z)
            return q, w, y }, m, xs, xs)
        return ys, zs })
      return yss, zss }";
    assert_eq!((is(source, "ys").as_str(), is(source, "zs").as_str()), ("irregular", "regular"));
    // Each part is right, whichever way it is held.
    let inputs: [&[Value]; 3] = [&[rows(&[&[2, 1], &[0, 5], &[3, 3]])], &[rows(&[&[0], &[-1]])], &[rows(&[])]];
    runs(source, &inputs);
}

#[test]
fn tuples_have_a_representation_for_each_component() {
    let source = "fn f(xs: [n]i64) -> [n][n]i64, [n][?]i64 {
      let a: [n][n]i64, b: [n][?]i64 = nest([n], |i| {
        let x = xs[i]
        let r: [x]i64 = generate([x], |j| x)
        return xs, r })
      return a, b }";
    assert_eq!((is(source, "a").as_str(), is(source, "b").as_str()), ("regular", "irregular"));
}

#[test]
fn no_lanes_no_elements_and_scalars_have_shapes_too() {
    let source = "fn f(xss: [0][?]i64) -> [0][?]i64, [2][0]i64, i64 {
      let a: [0][?]i64 = nest([0], |i| { let k: i64, x: [k]i64 = element(xss, i); return x })
      let e: [2][0]i64 = nest([2], |i| { let z: [0]i64 = generate([0], |j| i); return z })
      let s: i64 = nest([], || { let q = 7i64; return q })
      return a, e, s }";
    assert!(equal(source, "a", "xss"));
    assert_eq!(is(source, "e"), "regular");
    assert_eq!(is(source, "q"), "avoided");
}
