//! Folds that choose an element and say where it is: of equal elements the first or the last one, whatever the accumulators are.

use crate::errors::{check, given, runs};
use fusebox::{Backend, Options, ir, pipeline_of, run_passes};
use ir::{Array, Made, Value, text};

/// The greatest element and its place; `right` says when the right one of two elements `x` and `y` is taken.
fn choice(right: &str, start: &str, ty: &str) -> String {
    format!(
        "fn f(a: [n]{ty}) -> {ty}, i64 {{
        let at: [n]i64 = generate([n], |i| i)
        let v: {ty}, k: i64 = {start}|x, i, y, j| {{
          let right = {right}
          return if right {{ y }} else {{ x }}, if right {{ j }} else {{ i }} }}, {}a, at)
        return v, k }}",
        if start.starts_with("fold1") { "" } else { "SEEDS" }
    )
}

fn of_first(ty: &str) -> String {
    choice("y > x", "fold1(", ty)
}

/// The kernels of a program.
fn kernels(source: &str) -> String {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    let options = Options { cache: false, ..Options::on(Backend::Cpu) };
    let stages =
        run_passes(&program, &pipeline_of(&program, &options), false).unwrap_or_else(|error| panic!("{error}"));
    let plan =
        stages.into_iter().rev().find_map(|stage| if let Made::Plan(plan) = stage.made { Some(plan) } else { None });
    plan.expect("the last stage is a plan").kernels.iter().map(ToString::to_string).collect()
}

/// Few numbers many times, so that the greatest is met often; lengths around gangs, lanes and blocks.
fn inputs() -> Vec<Vec<i64>> {
    let lengths = [1, 2, 3, 31, 33, 100, 1_000, 4_095, 9_000];
    let numbers = |n: i64, of: i64| (0..n).map(|i| i * i * 7 % of).collect();
    lengths.into_iter().flat_map(|n| [numbers(n, 5), vec![3; n as usize], (0..n).collect()]).collect()
}

fn leaked(source: String) -> &'static str {
    Box::leak(source.into_boxed_str())
}

#[test]
fn the_first_or_the_last_of_equal_elements_is_left() {
    for right in ["y > x", "y >= x", "y < x", "!(x <= y)"] {
        let program = leaked(choice(right, "fold1(", "i64"));
        assert!(kernels(program).contains("reduce(to 0, L 32"), "{program}");
        check(&inputs().iter().map(|input| runs(program, vec![given(input)])).collect::<Vec<_>>());
    }
}

#[test]
fn seeds_are_before_all_elements() {
    let seeded = |seeds: &str| leaked(choice("y > x", "fold(", "i64").replace("SEEDS", seeds));
    for (seeds, lanes) in [("4, -1, ", true), ("3, 0, ", true), ("4, 7, ", false)] {
        let program = seeded(seeds);
        assert_eq!(kernels(program).contains("reduce(to 0, L 32"), lanes, "{program}");
        let mut rows: Vec<_> = inputs().iter().map(|input| runs(program, vec![given(input)])).collect();
        rows.push(runs(program, vec![given(&[])]));
        check(&rows);
    }
}

/// A function that compares positions itself may have a seed behind all elements, which is before them where it decides nothing.
#[test]
fn ties_that_positions_decide() {
    let vector = |elements: &[f32]| -> Value { Array::new(&[elements.len()], elements).expect("as many").into() };
    let tied = |seeds: &str| leaked(choice("y < x || (y == x && j < i)", "fold(", "f32").replace("SEEDS", seeds));
    for (seeds, lanes) in [
        ("inf_f32, 9223372036854775807, ", true),
        ("2.0, 9223372036854775807, ", true),
        ("inf_f32, -1, ", true),
        ("inf_f32, 1000, ", false),
    ] {
        let program = tied(seeds);
        assert_eq!(kernels(program).contains("reduce(to 0, L 32"), lanes, "{program}");
        let mut rows: Vec<_> = inputs()
            .iter()
            .map(|input| runs(program, vec![vector(&input.iter().map(|&x| x as f32).collect::<Vec<_>>())]))
            .collect();
        let inf = f32::INFINITY;
        for special in [vec![], vec![f32::NAN], vec![inf], vec![inf; 5_000], vec![-0.0, 0.0, -0.0]] {
            rows.push(runs(program, vec![vector(&special)]));
        }
        check(&rows);
    }
}

#[test]
fn rows_of_a_matrix() {
    let program = "fn f(x: [n, m]i64) -> [n]i64, [n]i64 {
        let at: [n, m]i64 = generate([n, m], |i, j| j)
        let v: [n]i64, k: [n]i64 = fold(|x, i, y, j| {
          return if y > x { y } else { x }, if y > x { j } else { i } }, -1, -1, x, at)
        return v, k }";
    let kernels = kernels(program);
    assert!(kernels.contains("reduce(to 1, L 32"), "{kernels}");
    let of = |extents: [usize; 2]| {
        let numbers: Vec<i64> = (0..(extents[0] * extents[1]) as i64).map(|i| i * i * 7 % 5).collect();
        runs(program, vec![Array::new(&extents, &numbers).expect("as many").into()])
    };
    check(&[[0, 4], [2, 0], [300, 1], [300, 7], [40, 100], [1, 9_000]].map(of));
}

#[test]
fn floats_and_the_first_nan() {
    let vector = |elements: &[f32]| -> Value { Array::new(&[elements.len()], elements).expect("as many").into() };
    let with_nan = leaked(choice("x == x && (y > x || y != y)", "fold1(", "f32"));
    let plain = leaked(of_first("f32"));
    assert!(kernels(with_nan).contains("reduce(to 0, L 32"));
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let floats: Vec<Vec<f32>> = inputs().iter().map(|input| input.iter().map(|&x| x as f32 - 2.0).collect()).collect();
    let mut rows: Vec<_> =
        floats.iter().flat_map(|a| [runs(plain, vec![vector(a)]), runs(with_nan, vec![vector(a)])]).collect();
    for special in [vec![-inf], vec![-inf; 100], vec![inf; 5_000], vec![-0.0, 0.0, -0.0]] {
        rows.extend([runs(plain, vec![vector(&special)]), runs(with_nan, vec![vector(&special)])]);
    }
    for at in [0, 1, 40, 4_099] {
        let mut elements: Vec<f32> = (0..5_000).map(|i| (i % 100) as f32).collect();
        elements[at] = nan;
        elements[4_500] = nan;
        // The place of the first NaN; a NaN itself is equal to none.
        let place = leaked(with_nan.replace("-> f32, i64", "-> i64").replace("return v, k }", "return k }"));
        rows.push(runs(place, vec![vector(&elements)]));
    }
    check(&rows);
}

#[test]
fn what_else_is_carried_comes_along() {
    let program = "fn f(a: [n]i64) -> i64, i64, i64 {
        let b: [n]i64 = map(|x| x * 3 - n, a)
        let at: [n]i64 = generate([n], |i| i)
        let v: i64, w: i64, k: i64 = fold1(|x, p, i, y, q, j| {
          let left = x >= y
          return if left { x } else { y }, if left { p } else { q }, if left { i } else { j } }, a, b, at)
        return v, w, k }";
    let rows = "fn f(a: [n]i64) -> [n]i64 {
        let k: [n]i64 = nest([n], |q| {
          let m = a[q] + 1
          let at: [m]i64 = generate([m], |i| i)
          let c: [m]i64 = map(|i| i * q % 7, at)
          let v: i64, k: i64 = fold1(|x, i, y, j| { return if y > x { y } else { x }, if y > x { j } else { i } }, c, at)
          return k })
        return k }";
    assert!(kernels(program).contains("reduce(to 0, L 32"));
    check(&inputs().iter().map(|input| runs(program, vec![given(input)])).collect::<Vec<_>>());
    let lengths = [&[0i64, 3, 40][..], &[96; 3], &[5_000, 0, 1]];
    check(&lengths.map(|input| runs(rows, vec![given(input)])));
}
