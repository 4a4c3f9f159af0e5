//! Clusters: one kernel each, that means what its operations mean.

use crate::strict::lower;
use fusebox_interp::{Counts, run, run_plan};
use fusebox_ir::{Array, Plan, Program, Property, Value, text, validate, validate_plan};
use fusebox_kernels::{Config, Error};

fn parsed(source: &str) -> Program {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    validate(&program, &[Property::Flat, Property::Clustered]).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    program
}

fn plan(program: &Program) -> Plan {
    let (plan, _) = lower(program, &Config::default()).unwrap_or_else(|error| panic!("{error}\n{program}"));
    validate_plan(&plan).unwrap_or_else(|errors| panic!("{errors}\n{plan}"));
    plan
}

/// The kernels of a program, as text; it means what the plan gives, on these inputs.
fn kernels(source: &str, inputs: &[Vec<Value>]) -> String {
    let program = parsed(source);
    let plan = plan(&program);
    for inputs in inputs {
        let expected = run(&program, inputs).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let (found, _) = run_plan(&plan, inputs).unwrap_or_else(|error| panic!("{error}\n{plan}"));
        assert_eq!(found, expected, "{plan}");
    }
    plan.kernels.iter().map(|kernel| format!("{kernel}\n")).collect()
}

fn fails(source: &str, inputs: &[Value]) -> String {
    let program = parsed(source);
    let expected = run(&program, inputs).map(|_| ()).expect_err(source);
    let found = run_plan(&plan(&program), inputs).map(|_| ()).expect_err(source);
    assert_eq!(found.to_string(), expected.to_string(), "{source}");
    found.to_string()
}

fn ints(elements: &[i64]) -> Value {
    Value::Array(Array::new(&[elements.len()], elements).unwrap())
}

fn int(number: i64) -> Value {
    Value::Array(Array::new(&[], &[number]).unwrap())
}

fn matrix(rows: usize, columns: usize) -> Value {
    let elements: Vec<i64> = (0..(rows * columns) as i64).map(|x| x * 7 % 11 - 4).collect();
    Value::Array(Array::new(&[rows, columns], &elements).unwrap())
}

const NORMALISE: &str = "fn normalise2(xs: [n]i64) -> [n]i64, [n]i64 {
  let sum1: i64, sum2: i64 = cluster(|| {
    horizontal sum1: i64 = fold(|a, b| a + b, 0, xs)
    vertical scn: [n]i64 = scanl1(|a, b| a + b, xs)
    last sum2: i64 = fold(|a, b| a + b, 0, scn)
    return sum1, sum2 })
  let ys1: [n]i64, ys2: [n]i64 = cluster(|| {
    horizontal ys1: [n]i64 = map(|x| x * sum1, xs)
    last ys2: [n]i64 = map(|x| x * sum2, xs)
    return ys1, ys2 })
  return ys1, ys2 }";

/// What a run on n elements takes.
fn counts(source: &str, n: usize) -> Counts {
    let program = text::parse(source).unwrap();
    let (plan, _) = lower(&program, &Config::default()).unwrap();
    let xs: Vec<i64> = (0..n as i64).collect();
    run_plan(&plan, &[ints(&xs)]).unwrap().1
}

/// The clusters' bindings by themselves.
fn unfused(source: &str) -> String {
    let mut text = String::new();
    for line in source.lines() {
        let line = line.trim();
        let marks = ["horizontal ", "vertical ", "diagonal ", "last "];
        if line.ends_with("cluster(|| {") || line.ends_with("})") {
            continue;
        }
        let bare = marks.iter().find_map(|mark| line.strip_prefix(mark));
        text += &bare.map_or_else(|| line.to_owned(), |bare| format!("let {bare}"));
        text.push('\n');
    }
    text
}

#[test]
fn normalise2_counts_as_in_the_thesis() {
    let n = 50u64;
    let found = counts(NORMALISE, n as usize);
    assert_eq!((found.loops, found.reads, found.writes), (2, 2 * n + 2, 2 * n + 2));
    let apart = counts(&unfused(NORMALISE), n as usize);
    assert_eq!((apart.loops, apart.reads, apart.writes), (5, 5 * n + 2, 3 * n + 2));
    let expanded = NORMALISE
        .replace("xs: [n]i64)", "zs: [n]i64)")
        .replace("let sum1: i64, sum2: i64", "let xs: [n]i64, sum1: i64, sum2: i64")
        .replace("horizontal sum1", "diagonal xs: [n]i64 = map(|x| x * 3, zs)\n horizontal sum1")
        .replace("return sum1, sum2", "return xs, sum1, sum2");
    let found = counts(&expanded, n as usize);
    assert_eq!((found.loops, found.reads, found.writes), (2, 2 * n + 2, 3 * n + 2));
    let apart = counts(&unfused(&expanded), n as usize);
    assert_eq!((apart.loops, apart.reads, apart.writes), (6, 6 * n + 2, 4 * n + 2));
}

#[test]
fn normalise2_is_two_kernels() {
    insta::assert_snapshot!(kernels(NORMALISE, &[vec![ints(&[3, 1, 4, 1, 5])], vec![ints(&[])]]), @r"
    kernel cluster `sum1` (n) reads xs: [n]i64 writes sum1: i64, sum2: i64 over x < n up {
      1: x1 = load xs[x]
      1: x2 = reduce(to 0, L 32, +, 0i64, x1)
      1: x3 = scan(tiles 8, totals L 32, +, x1)
      1: x4 = reduce(to 0, L 32, +, 0i64, x3)
      0: store sum1 = x2
      0: store sum2 = x4 }
    kernel cluster `ys1` (n) reads xs: [n]i64, sum1: i64, sum2: i64 writes ys1: [n]i64, ys2: [n]i64 over x < n {
      0: x1 = load sum1
      0: x2 = load sum2
      1: x3 = load xs[x]
      1: x4 = x3 * x1
      1: store ys1[x] = x4
      1: x5 = x3 * x2
      1: store ys2[x] = x5 }
    ");
}

#[test]
fn scans_of_equally_long_rows_by_costly_functions_are_in_order() {
    // Products of matrices of two rows, kept near 1; and sums.
    let costly =
        "|a, b, c, d| { let x = a * c + b * d let y = a * d - b * c let s = 1.0 / max(1.0, max(abs(x), abs(y)))
        return x * s, y * s }";
    let association = |extents: &str, function: &str| {
        let source = format!(
            "fn f(a: {extents}f64, b: {extents}f64) -> {extents}f64, {extents}f64 {{
             let r: {extents}f64, s: {extents}f64 = cluster(|| {{
               last r: {extents}f64, s: {extents}f64 = scanl1({function}, a, b)
               return r, s }})
             return r, s }}"
        );
        let text = kernels(&source, &[]);
        let (_, scan) = text.split_once("scan(").unwrap();
        scan.split(", |").next().unwrap().to_owned()
    };
    assert_eq!(association("[n, m]", costly), "L 1");
    assert_eq!(association("[k, n, m]", costly), "L 1");
    // One row alone is scanned in gangs, and so are rows by what costs less than their loads.
    assert_eq!(association("[m]", costly), "tiles 8, running totals");
    assert_eq!(association("[n, m]", "|a, b, c, d| { return c + d * a, b * d }"), "tiles 8, running totals");
}

#[test]
fn what_levels_over_segments_say_is_not_loaded() {
    // For each element what its segment weighs, and where in its segment it is; segments have `lengths`, and `counted` others.
    let source = |counted: &str, number: &str| {
        format!(
            "fn f(lengths: [n]i64, others: [n]i64, w: [n]i64, v: [m]i64) -> [n]i64, [m]i64 {{
             let more = n + 1
             let o: [more]i64 = cluster(|| {{ last o: [more]i64 = scanl(|x, y| x + y, 0, {counted}) return o }})
             let i: [n]i64 = cluster(|| {{ last j: [n]i64 = generate([n], |x| {number}) return j }})
             let t: i64, lane: [t]i64, place: [t]i64 = cluster(|| {{
               last t: i64, lane: [t]i64, place: [t]i64 = expand(|k, e| k, |k, e, p| {{ return e, p }}, lengths, i)
               return t, lane, place }})
             let s: [n]i64, r: [m]i64 = cluster(|| {{
               vertical i: [m]i64 = generate([m], |x| x)
               vertical d: [m]i64 = map(|x, y| x * w[lane[y]] + 10 * place[y], v, i)
               horizontal s: [n]i64 = fold_seg(|x, y| x + y, 0, d, offsets: o)
               last r: [m]i64 = scanr1_seg(|x, y| x + y, d, offsets: o)
               return s, r }})
             return s, r }}"
        )
    };
    let inputs = |lengths: &[i64], others: &[i64]| {
        let m: i64 = lengths.iter().sum();
        let weights: Vec<i64> = (0..lengths.len() as i64).map(|at| at + 2).collect();
        let values: Vec<i64> = (0..m).map(|at| at * at % 7).collect();
        vec![ints(lengths), ints(others), ints(&weights), ints(&values)]
    };
    let alike = [inputs(&[2, 0, 3, 1], &[2, 0, 3, 1]), inputs(&[0, 0], &[0, 0]), inputs(&[], &[]), inputs(&[5], &[5])];
    let loads = |text: &str, array: &str| text.matches(&format!("load {array}[")).count();
    let text = kernels(&source("lengths", "x"), &alike);
    assert_eq!((loads(&text, "lane"), loads(&text, "place")), (0, 0), "{text}");
    // Segments of other lengths, and numbers that are not those of the segments.
    let text = kernels(&source("others", "x"), &alike);
    assert_eq!((loads(&text, "lane"), loads(&text, "place")), (1, 1), "{text}");
    let text = kernels(&source("lengths", "n - 1 - x"), &alike);
    assert_eq!((loads(&text, "lane"), loads(&text, "place")), (1, 0), "{text}");
    // Lengths that are not those of the elements fail, wherever that is seen first.
    let program = parsed(&source("lengths", "x"));
    for lengths in [[2, 2], [7, -2], [-1, 6]] {
        let mut wrong = inputs(&[2, 3], &[2, 3]);
        wrong[0] = ints(&lengths);
        assert!(run(&program, &wrong).is_err() && run_plan(&plan(&program), &wrong).is_err(), "{lengths:?}");
    }
}

#[test]
fn rows_before_and_after_what_is_deeper() {
    let source = "fn f(x: [n]i64, a: [n, m]i64) -> [n]i64, i64 { let g: [n]i64, h: i64 = cluster(|| {
      vertical v: [n]i64 = map(|x| x + 1, x)
      vertical r: [n, m]i64 = replicate([_, m], v)
      vertical w: [n, m]i64 = map(|a, b| a * b, r, a)
      vertical s: [n]i64 = fold(|a, b| a + b, 1, w)
      diagonal g: [n]i64 = map(|a, b| a - b, s, v)
      last h: i64 = fold(|a, b| a + b, 0, g)
      return g, h }) return g, h }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, 1, 4]), matrix(3, 4)], vec![ints(&[3, 1]), matrix(2, 0)], vec![ints(&[]), matrix(0, 4)]]), @r"
    kernel cluster `g` (n, m) reads x: [n]i64, a: [n, m]i64 writes g: [n]i64, h: i64 over x1 < n up, x2 < m up {
      1: x3 = load x[x1]
      1: x4 = x3 + 1
      2: x5 = load a[x1, x2]
      2: x6 = x4 * x5
      2: x7 = reduce(to 1, L 32, +, 1i64, x6)
      1: x8 = x7 - x4
      1: store g[x1] = x8
      1: x9 = reduce(to 0, L 32, +, 0i64, x8)
      0: store h = x9 }
    ");
}

#[test]
fn a_scanl_and_what_runs_beside_it() {
    let source = "fn f(x: [n]i64) -> [?]i64, [n]i64, i64, i64 { let p = n + 1
      let e: [p]i64, b: [n]i64, s: i64, t: i64 = cluster(|| {
      vertical c: [p]i64 = scanl(|a, b| a + b, 3, x)
      horizontal e: [p]i64 = map(|a| a * 2, c)
      horizontal b: [n]i64 = map(|a| 12 / (a + 10), x)
      horizontal s: i64 = fold(|a, b| a + b, 0, x)
      last t: i64 = fold(|a, b| max(a, b), 0, c)
      return e, b, s, t }) return e, b, s, t }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, -1, 4, 1, -5])], vec![ints(&[])]]), @r"
    kernel unit `p` (n) writes p: i64 {
      0: x = n + 1
      0: store p = x }
    kernel cluster `e` (p, n) reads x: [n]i64 writes e: [p]i64, b: [n]i64, s: i64, t: i64 over x1 < p up {
      1: x2 = x1 < n
      1: x3 = load x[x1] outside || 0
      1: x4 = scan(before, tiles 8, totals L 32, +, 3i64, x3) when x2
      1: x5 = x4 * 2
      1: store e[x1] = x5
      1: x6 = x3 + 10
      1: x7 = if x2 { 12 / x6 } else { 0 } in map `b`
      1: store b[x1] = x7 when x2
      1: x8 = reduce(to 0, L 32, +, 0i64, x3) when x2
      1: x9 = reduce(to 0, L 32, max, 0i64, x4)
      0: store s = x8
      0: store t = x9 }
    ");
}

#[test]
fn a_scanr_runs_down() {
    let source = "fn f(x: [n]i64) -> [?]i64, [n]i64 { let p = n + 1
      let e: [p]i64, b: [n]i64 = cluster(|| {
      vertical c: [p]i64 = scanr(|a, b| a + b, 7, x)
      horizontal e: [p]i64 = map(|a| a * 2, c)
      last b: [n]i64 = map(|a| a + 10, x)
      return e, b }) return e, b }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, -1, 4, 1, -5])], vec![ints(&[])]]), @r"
    kernel unit `p` (n) writes p: i64 {
      0: x = n + 1
      0: store p = x }
    kernel cluster `e` (p, n) reads x: [n]i64 writes e: [p]i64, b: [n]i64 over x1 < p down {
      1: x2 = x1 < n
      1: x3 = load x[x1] outside || 0
      1: x4 = scan(tiles 8, totals L 32, +, 7i64, x3) when x2
      1: x5 = x4 * 2
      1: store e[x1] = x5
      1: x6 = x3 + 10
      1: store b[x1] = x6 when x2 }
    ");
}

#[test]
fn a_backpermute_reads_what_is_made_in_its_order() {
    let source = "fn f(x: [n]i64, y: [m]i64) -> [m]i64 { let b: [m]i64 = cluster(|| {
      vertical e: [n]i64 = map(|a| a * a, x)
      last b: [m]i64 = backpermute([m], |i| y[i], e)
      return b }) return b }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, 1, 4]), ints(&[2, 2, 0, 1])], vec![ints(&[]), ints(&[])]]), @r"
    kernel cluster `b` (m, n) reads y: [m]i64, x: [n]i64 writes b: [m]i64 over x1 < m {
      1: x2 = load y[x1]
      1: x3 = 0 <= x2
      1: x4 = x2 < n
      1: x5 = x3 & x4
      1: check x5 else index [x2] outside of e [n] in backpermute `b`
      1: x6 = load x[x2]
      1: x7 = x6 * x6
      1: store b[x1] = x7 }
    ");
}

#[test]
fn columns_of_what_is_made() {
    let source = "fn f(a: [n, m]i64) -> [n]i64 { let s: [n]i64 = cluster(|| {
      vertical e: [n, m]i64 = map(|a| a * a, a)
      last s: [n]i64 = slice([_, 0], e)
      return s }) return s }";
    insta::assert_snapshot!(kernels(source, &[vec![matrix(3, 2)], vec![matrix(0, 0)]]), @r"
    kernel cluster `s` (n, m) reads a: [n, m]i64 writes s: [n]i64 over x < n {
      0: x1 = 0 < m
      1: check x1 else index [x, 0] outside of e [n, m] in slice `s`
      1: x2 = load a[x, 0]
      1: x3 = x2 * x2
      1: store s[x] = x3 }
    ");
}

#[test]
fn segments_and_what_is_made_of_them() {
    let source = "fn f(x: [n]i64, y: [n]i64, o: [s]i64) -> [?]i64, [n]i64, i64, i64 { let q = s - 1
      let c: [q]i64, g: [n]i64, h: i64, j: i64 = cluster(|| {
      vertical e: [n]i64 = map(|a, b| a * b, x, y)
      vertical b: [q]i64 = fold_seg(|a, b| a + b, 0, e, offsets: o)
      diagonal c: [q]i64 = map(|a| a + 1, b)
      horizontal g: [n]i64 = scanl1_seg(|a, b| a + b, e, offsets: o)
      horizontal h: i64 = fold(|a, b| a + b, 0, c)
      last j: i64 = fold(|a, b| max(a, b), 0, e)
      return c, g, h, j }) return c, g, h, j }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, 1, 4, 5]), ints(&[1, 2, -3, 4]), ints(&[0, 1, 1, 4])], vec![ints(&[]), ints(&[]), ints(&[0])]]), @r"
    kernel unit `q` (s) writes q: i64 {
      0: x = s - 1
      0: store q = x }
    kernel cluster `c` (s, n, q) reads o: [s]i64, x: [n]i64, y: [n]i64 writes c: [q]i64, g: [n]i64, h: i64, j: i64 over x1 < x3 up, x2 in x9..x10 up {
      0: x3 = s - 1
      0: x4 = load o[0]
      0: x5 = load o[s - 1]
      0: x6 = x4 == 0
      0: check x6 else offset 0 of o is x4, extent n in fold_seg `b`
      0: x7 = x5 == n
      0: check x7 else offset x3 of o is x5, extent n in fold_seg `b`
      1: x8 = x1 + 1
      1: x9 = load o[x1]
      1: x10 = load o[x1 + 1]
      1: x11 = 0 <= x9
      1: check x11 else offset x1 of o is x9, extent n in fold_seg `b`
      1: x12 = x9 <= x10
      1: x13 = x10 <= n
      1: x14 = x12 & x13
      1: check x14 else offset x8 of o is x10, extent n in fold_seg `b`
      2: x15 = load x[x2]
      2: x16 = load y[x2]
      2: x17 = x15 * x16
      2: x18 = reduce(to 1, L 32, +, 0i64, x17)
      2: x19 = scan(tiles 8, totals L 32, +, x17)
      2: store g[x2] = x19
      2: x20 = reduce(to 1, L 32, max, -9223372036854775808i64, x17)
      1: x21 = x18 + 1
      1: store c[x1] = x21
      1: x22 = reduce(to 0, L 32, +, 0i64, x21)
      1: x23 = reduce(to 0, L 32, max, 0i64, x20)
      0: store h = x22
      0: store j = x23 }
    ");
}

#[test]
fn what_a_filter_keeps() {
    let source = "fn f(x: [n]i64) -> i64, [?]i64, [?]i64, i64 { let k: i64, v: [k]i64, w: [k]i64, s: i64 = cluster(|| {
      diagonal k: i64, v: [k]i64 = filter(|a| a > 0, x)
      diagonal w: [k]i64 = map(|a| 12 / a, v)
      last s: i64 = fold(|a, b| a + b, 0, w)
      return k, v, w, s }) return k, v, w, s }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, 0, 4, 1, -5])], vec![ints(&[0])], vec![ints(&[])]]), @r"
    kernel cluster `k` (n) reads x: [n]i64 writes s: i64, v: [n]i64, w: [n]i64, k: i64 over x1 < n up {
      1: x2 = load x[x1]
      1: x3 = x2 > 0
      1: x4 = if x3 { 12 / x2 } else { 0 } in map `w`
      1: x5 = reduce(to 0, L 32, +, 0i64, x4) when x3
      1: append v, w = x2, x4 counting k when x3
      0: store s = x5 }
    ");
}

/// Levels for all dimensions, and room for as many elements as there are points.
#[test]
fn a_filter_of_a_matrix() {
    let source = "fn f(x: [n]i64, low: [m]i64) -> i64, [?]i64, [?]i64 { let k: i64, v: [k]i64, w: [k]i64 = cluster(|| {
      vertical a: [m, n]i64 = replicate([m, _], x)
      vertical b: [m, n]i64 = replicate([_, n], low)
      diagonal k: i64, v: [k]i64, l: [k]i64 = filter(|a, b| a > b, a, b)
      last w: [k]i64 = map(|a, b| a - b, v, l)
      return k, v, w }) return k, v, w }";
    let inputs =
        [vec![ints(&[3, 0, 4, 1, -5]), ints(&[2, 0])], vec![ints(&[0]), ints(&[])], vec![ints(&[]), ints(&[1])]];
    insta::assert_snapshot!(kernels(source, &inputs), @r"
    kernel cluster `k` (m, n) reads x: [n]i64, low: [m]i64 writes v: [m, n]i64, w: [m, n]i64, k: i64 over x1 < m, x2 < n {
      1: x3 = load low[x1]
      2: x4 = load x[x2]
      2: x5 = x4 > x3
      2: x6 = x4 - x3
      2: append v, w = x4, x6 counting k when x5 }
    ");
}

#[test]
fn a_filter_of_a_filter_and_how_many() {
    let source = "fn f(x: [n]i64, d: [m]i64) -> i64, [m]i64 { let k: i64, p: [m]i64 = cluster(|| {
      vertical j: i64, v: [j]i64 = filter(|a| a > 0, x)
      diagonal k: i64, w: [k]i64 = filter(|a| 10 / a > 2, v)
      vertical t: [k]i64 = map(|a| a % 2, w)
      last p: [m]i64 = permute(|a, b| a + b, d, w, at: t)
      return k, p }) return k, p }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, 0, 4, 1, -5]), ints(&[100, 200])], vec![ints(&[]), ints(&[100, 200])]]), @r"
    kernel cluster `k` (n, m) reads x: [n]i64 writes k: i64 updates p: [m]i64 over x1 < n {
      1: x2 = load x[x1]
      1: x3 = x2 > 0
      1: x4, x5 = if x3 { return x2, 10 / x2 > 2 } else { return 0, false } in filter `k`
      1: x6 = x3 & x5
      1: x7 = reduce(to 0, L 32, +, 0i64, 1i64) when x6
      1: x8 = x4 % 2
      1: scatter p[x8] checked with(any order, +, x4) when x6 in permute `p`
      0: store k = x7 }
    ");
}

#[test]
fn elements_of_elements_are_a_level_inside() {
    let source = "fn f(x: [n]i64) -> i64, i64 { let s: i64, t: i64 = cluster(|| {
      vertical k: i64, v: [k]i64 = expand(|a| a, |a, j| a - j, x)
      vertical l: i64, w: [l]i64 = expand(|a| a % 4, |a, j| a * 10 + j, v)
      vertical z: [l]i64 = map(|a| a * 2, w)
      horizontal s: i64 = fold(|a, b| a + b, 5, z)
      last t: i64 = fold(|a, b| if a < 0 { b } else { a }, 0, w)
      return s, t }) return s, t }";
    let text = kernels(source, &[vec![ints(&[3, 0, -4, 7, 1])], vec![ints(&[-3])], vec![ints(&[])], vec![ints(&[9])]]);
    // One nest, and nothing of either expansion is stored.
    assert_eq!(text.matches("kernel ").count(), 1, "{text}");
    assert!(text.contains("reads x: [n]i64 writes s: i64, t: i64 over x1 < n up, x2 < "), "{text}");
}

#[test]
fn elements_of_kept_elements_are_a_level_inside() {
    let source = "fn f(x: [n]i64, d: [m]i64) -> [m]i64, i64 { let p: [m]i64, s: i64 = cluster(|| {
      vertical k: i64, v: [k]i64 = filter(|a| a > 1, x)
      vertical l: i64, w: [l]i64 = expand(|a| 12 / a, |a, j| a + j, v)
      vertical one: [l]i64 = generate([l], |i| n)
      vertical at: [l]i64 = map(|a| mod(a, 4), w)
      horizontal p: [m]i64 = permute(|a, b| a + b, d, one, at: at)
      last s: i64 = fold(|a, b| a + b, 0, w)
      return p, s }) return p, s }";
    let d = ints(&[0, 10, 20, 30]);
    let inputs = [&[3, 0, -4, 7, 1, 2][..], &[-3], &[], &[9, 12]].map(|x| vec![ints(x), d.clone()]);
    let text = kernels(source, &inputs);
    assert_eq!(text.matches("kernel ").count(), 1, "{text}");
}

#[test]
fn an_expand_that_is_folded() {
    let source = "fn f(x: [n]i64) -> i64, i64 { let s: i64, t: i64 = cluster(|| {
      vertical u: [n]i64 = map(|a| a + 1, x)
      vertical k: i64, v: [k]i64 = expand(|a| a, |a, j| a * 10 + j, u)
      vertical w: [k]i64 = map(|a| a * 2, v)
      horizontal s: i64 = fold(|a, b| a + b, 5, w)
      last t: i64 = fold(|a, b| if a < 0 { b } else { a }, 0, v)
      return s, t }) return s, t }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, 0, -4, 1])], vec![ints(&[-3])], vec![ints(&[])]]), @r"
    kernel cluster `s` (n) reads x: [n]i64 writes s: i64, t: i64 over x1 < n up, x2 < x4 up {
      1: x3 = load x[x1]
      1: x4 = x3 + 1
      1: x5 = x4 < 140737488355328
      1: check x5 else v [x4] too large in expand `k`
      1: x6 = x4 * 10
      2: x7 = x6 + x2
      2: x8 = x7 * 2
      2: x9 = reduce(to 1, L 32, +, 0i64, x8)
      2: x10 = reduce(to 1, L 256, |, false, true)
      2: x11 = reduce(to 1, runs 32, |a, b| if a < 0 { b } else { a }, x7)
      1: x12 = reduce(to 0, L 32, +, 5i64, x9)
      1: x13 = reduce(to 0, runs 32, |a1, b1| if a1 < 0 { b1 } else { a1 }, 0i64, x11) when x10
      0: store s = x12
      0: store t = x13 }
    ");
}

#[test]
fn an_expand_that_is_stored() {
    let source = "fn f(x: [n]i64) -> i64, [?]i64, i64 { let k: i64, w: [k]i64, s: i64 = cluster(|| {
      diagonal k: i64, v: [k]i64 = expand(|a| a, |a, j| a * 10 + j, x)
      diagonal w: [k]i64 = map(|a| a * 2, v)
      last s: i64 = fold(|a, b| a + b, 5, w)
      return k, w, s }) return k, w, s }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, 0, -4, 1])], vec![ints(&[-3])], vec![ints(&[])]]), @r"
    kernel expand `k` (n) writes offsets: i64 {
      0: x = 1 + n
      0: store offsets = x }
    kernel expand `k` (n, offsets1) reads x: [n]i64 writes offsets: [offsets1]i64, k: i64 over x1 < n up {
      1: x2 = load x[x1]
      1: x3 = max(x2, 0)
      1: x4, x5 = scan(before, tiles 8, totals L 32, +, 0i64, x3)
      1: x6 = x4 + x3
      1: x7 = 0 <= x6
      1: check x7 else v [x6] too large in expand `k`
      1: store offsets[x1] = x4
      0: store offsets[n] = x5
      0: store k = x5 }
    kernel cluster `k` (n, offsets1, k) reads offsets: [offsets1]i64, x: [n]i64 writes w: [k]i64, s: i64 over x1 < n up, x2 < x5 up {
      1: x3 = load offsets[x1]
      1: x4 = load offsets[x1 + 1]
      1: x5 = x4 - x3
      1: x6 = load x[x1]
      1: x7 = x6 * 10
      2: x8 = x7 + x2
      2: x9 = x8 * 2
      2: store w[x2 + x3] = x9
      2: x10 = reduce(to 1, L 32, +, 0i64, x9)
      1: x11 = reduce(to 0, L 32, +, 5i64, x10)
      0: store s = x11 }
    ");
}

#[test]
fn scalar_code_at_the_end_is_part_of_the_kernel() {
    let source = "fn f(x: [n]i64) -> i64, i64, [?]i64 { let s: i64, t: i64 = cluster(|| {
      horizontal s: i64 = fold(|a, b| a + b, 0, x)
      last t: i64 = fold(|a, b| max(a, b), 0, x)
      return s, t })
      let c = n + 1
      let mean = s / c
      let d = mean + t
      let b: [d]i64 = cluster(|| { last b: [d]i64 = generate([d], |i| i * mean) return b })
      return s, c, b }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, 0, 4, 1])], vec![ints(&[])]]), @r"
    kernel cluster `s` (n) reads x: [n]i64 writes s: i64, c: i64, mean: i64, d: i64 over x1 < n up {
      0: x2 = n + 1
      1: x3 = load x[x1]
      1: x4 = reduce(to 0, L 32, +, 0i64, x3)
      1: x5 = reduce(to 0, L 32, max, 0i64, x3)
      0: store s = x4
      0: x6 = x4 / x2 in unit `mean`
      0: x7 = x6 + x5
      0: store c = x2
      0: store mean = x6
      0: store d = x7 }
    kernel generate `b` (d) reads mean: i64 writes b: [d]i64 over x < d {
      0: x1 = load mean
      1: x2 = x * x1
      1: store b[x] = x2 }
    ");
}

/// Scalar code that needs nothing of a kernel is no kernel of its own behind it, unless it may fail: then it stays behind what stands before it.
#[test]
fn scalar_code_behind_a_kernel_is_part_of_it_if_it_cannot_fail() {
    let source = "fn f(x: [n]i64, d: i64, t: i64) -> i64, [n]i64, i64, i64 {
      let s: i64 = cluster(|| { last s: i64 = fold(|a, b| a + b, 0, x) return s })
      let y: [n]i64 = cluster(|| { last y: [n]i64 = map(|a| 6 / a, x) return y })
      let next = t + 1
      let q = 12 / d
      return s, y, next, q }";
    let all = kernels(source, &[vec![ints(&[3, 1, -4]), int(5), int(7)], vec![ints(&[]), int(1), int(0)]]);
    let heads: Vec<&str> = all.lines().filter(|line| line.contains("kernel ")).collect();
    assert_eq!(heads.len(), 3, "{all}");
    assert!(heads[0].contains("writes s: i64, next: i64") && heads[2].contains("unit `q`"), "{all}");
    let failure = fails(source, &[ints(&[3, 0]), int(0), int(7)]);
    assert!(failure.contains("`y`"), "{failure}");
}

/// A scan has something outside of its levels to do too, what makes elements alone has not.
#[test]
fn scalar_code_behind_a_scan_and_behind_elements() {
    let source = |op: &str| {
        format!(
            "fn f(x: [n]i64, w: [p]i64, t: i64) -> [p]i64, i64 {{
          let y: [p]i64 = cluster(|| {{ last y: [p]i64 = {op} return y }})
          let next = t * 3
          return y, next }}"
        )
    };
    let inputs = [vec![ints(&[3, 1, -4]), ints(&[0; 4]), int(5)], vec![ints(&[]), ints(&[1]), int(7)]];
    let scan = kernels(&source("scanl(|a, b| a + b, 2, x)"), &inputs);
    assert!(scan.contains("writes y: [p]i64, next: i64"), "{scan}");
    let elements = kernels(&source("generate([p], |i| i * t)"), &inputs);
    assert!(elements.contains("writes y: [p]i64 "), "{elements}");
}

#[test]
fn all_pairs_without_a_matrix() {
    let source = "fn f(p: [n]i64, m: [n]i64) -> [n]i64 { let f: [n]i64 = cluster(|| {
      vertical a: [n, n]i64 = replicate([_, n], p)
      vertical b: [n, n]i64 = replicate([n, _], p)
      vertical c: [n, n]i64 = replicate([n, _], m)
      vertical d: [n, n]i64 = map(|x, y, m| (x - y) * m, a, b, c)
      last f: [n]i64 = fold(|x, y| x + y, 0, d)
      return f }) return f }";
    insta::assert_snapshot!(kernels(source, &[vec![ints(&[3, 0, 4, 1]), ints(&[1, 2, 3, 4])], vec![ints(&[]), ints(&[])]]), @r"
    kernel cluster `f` (n) reads p: [n]i64, m: [n]i64 writes f: [n]i64 over x < n, x1 < n up {
      1: x2 = load p[x]
      2: x3 = load p[x1]
      2: x4 = load m[x1]
      2: x5 = x2 - x3
      2: x6 = x5 * x4
      2: x7 = reduce(to 1, L 1, +, 0i64, x6)
      1: store f[x] = x7 }
    ");
}

#[test]
fn errors_say_the_operation_they_come_from() {
    let a = ints(&[4, 0, 2]);
    let source = "fn f(x: [n]i64) -> [n]i64, [n]i64 { let b: [n]i64, c: [n]i64 = cluster(|| {
      horizontal b: [n]i64 = map(|a| a + 1, x)
      last c: [n]i64 = map(|a| 8 / a, x)
      return b, c }) return b, c }";
    assert!(fails(source, std::slice::from_ref(&a)).contains("map `c`"));
    let source = "fn f(x: [n]i64) -> [n]i64, [n]i64 { let b: [n]i64, c: [n]i64 = cluster(|| {
      horizontal b: [n]i64 = map(|a| a + 1, x)
      last c: [n]i64 = generate([n], |i| x[i + 1])
      return b, c }) return b, c }";
    assert!(fails(source, std::slice::from_ref(&a)).contains("generate `c`"));
    let source = "fn f(x: [n]i64) -> [n]i64 { let b: [n]i64 = cluster(|| {
      vertical c: [n]i64 = map(|a| a + 1, x)
      last b: [n]i64 = backpermute([n], |i| i + 1, c)
      return b }) return b }";
    assert!(fails(source, std::slice::from_ref(&a)).contains("backpermute `b`"));
    let source = "fn f(x: [n]i64) -> i64 { let s: i64 = cluster(|| {
      vertical k: i64, v: [k]i64 = filter(|a| a > 9, x)
      last s: i64 = fold1(|a, b| a + b, v)
      return s }) return s }";
    assert!(fails(source, std::slice::from_ref(&a)).contains("fold1 `s`"));
}

#[test]
fn what_nobody_needs_of_a_cluster_does_not_fail() {
    let source = "fn f(x: [n]i64) -> [n]i64 { let b: [n]i64, c: [n]i64 = cluster(|| {
      horizontal b: [n]i64 = map(|a| a + 1, x)
      last c: [n]i64 = map(|a| 8 / a, x)
      return b, c }) return b }";
    let text = kernels(source, &[vec![ints(&[4, 0, 2])]]);
    assert!(!text.contains('/'), "{text}");
}

#[test]
fn a_cluster_that_is_no_nest_is_an_error() {
    let source = "fn f(x: [n]i64) -> [n]i64 { let c: [n]i64 = cluster(|| {
      vertical b: [n]i64 = map(|a| a + 1, x)
      last c: [n]i64 = generate([n], |i| b[i])
      return c }) return c }";
    let program = text::parse(source).unwrap();
    assert!(validate(&program, &[]).is_ok());
    let errors = validate(&program, &[Property::Clustered]).unwrap_err().to_string();
    assert!(errors.contains("`b` and `c` are in one cluster and cannot share a nest"), "{errors}");
    let error = lower(&program, &Config::default()).unwrap_err();
    assert!(matches!(&error, Error::Conflict { first, second, .. } if first == "b" && second == "c"), "{error}");
}
