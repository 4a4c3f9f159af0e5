//! Deep and long programs are lifted in time that grows as they do; what is not lifted is refused in words.

use std::{fmt::Write, time::Instant};

use crate::common::check;
use fusebox_flattening::{Config, Error, flatten, streams_in_memory};
use fusebox_ir::{Array, Program, Value, text, validate};

fn parsed(source: &str) -> Program {
    text::parse(source).unwrap_or_else(|error| panic!("{error}"))
}

/// A sum over nests, one inside the other.
fn deep(depth: usize, extent: &str) -> String {
    let mut source = String::from("fn deep(n: i64) -> i64 {\n");
    for level in 0..depth {
        let extent = extent.replace("LEVEL", &format!("{}", level.max(1) - 1));
        let extent = if level == 0 { "n".to_owned() } else { extent };
        let _ =
            write!(source, "let e{level} = {extent}\n let a{level}: [e{level}]i64 = nest([e{level}], |x{level}| {{\n");
    }
    let last = depth - 1;
    let _ = write!(source, "let s{last} = x{last} * x0 + 1\n return s{last} }})\n");
    for level in (1..depth).rev() {
        let _ =
            write!(source, "let s{}: i64 = fold(|a, b| a + b, 0, a{level})\n return s{} }})\n", level - 1, level - 1);
    }
    source.push_str("let s: i64 = fold(|a, b| a + b, 0, a0)\n return s }");
    source
}

fn timed(program: &Program) -> f64 {
    let begin = Instant::now();
    flatten(program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    begin.elapsed().as_secs_f64()
}

#[test]
fn nests_of_twenty_levels() {
    // More dimensions than an array may have, and extents that depend on each index.
    for extent in ["2i64", "1 + xLEVEL % 2"] {
        let program = parsed(&deep(20, extent));
        let seconds = timed(&program);
        assert!(seconds < 1.0, "{seconds} s");
    }
    for (depth, extent) in [(9, "2i64"), (12, "1i64"), (5, "1 + xLEVEL"), (6, "xLEVEL")] {
        let program = parsed(&deep(depth, extent));
        for n in [0, 1, 3] {
            if let Err(message) = check(&program, &[Array::scalar(n as i64).into()], &Config::default()) {
                panic!("{message}");
            }
        }
    }
}

#[test]
fn two_thousand_operations() {
    let mut body = String::new();
    for at in 0..1_000 {
        let before = if at == 0 { "row".to_owned() } else { format!("b{}", at - 1) };
        let _ = write!(body, "let x{at} = i + {at}\n let b{at}: [m]i64 = map(|v| v + x{at}, {before})\n");
    }
    let source = format!(
        "fn long(a: [n, m]i64) -> [n][m]i64 {{ let r: [n][m]i64 = nest([n], |i| {{ let row: [m]i64 = slice([i, _], a)\n {body} return b999 }}); return r }}"
    );
    let program = parsed(&source);
    let seconds = timed(&program);
    assert!(seconds < 1.0, "{seconds} s");
    // Code that may fail, each of what was before.
    let mut body = String::new();
    for at in 0..1_000 {
        let before = if at == 0 { "x".to_owned() } else { format!("b{}", at - 1) };
        let _ = writeln!(body, "let b{at} = 7 / (1 + {before} * {before})");
    }
    let source = format!(
        "fn long(a: [n]i64, c: bool) -> [n]i64 {{ let r: [n]i64 = nest([n], |i| {{ let x = a[i]\n {body} let y = if c {{ b999 }} else {{ x }}\n return y }}); return r }}"
    );
    let seconds = timed(&parsed(&source));
    assert!(seconds < 1.0, "{seconds} s");
}

fn refused(source: &str) -> String {
    match flatten(&parsed(source), &Config::default()) {
        Err(error) => error.to_string(),
        Ok((flat, _)) => panic!("it is lifted\n{flat}"),
    }
}

#[test]
fn what_is_refused_says_what_to_write() {
    insta::assert_snapshot!(refused("fn f(a: [n][?]i64, a.values: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| { let k: i64, x: [k]i64 = element(a, i); let s = k; return s })
      return r }"), @"`a` becomes `a.extents` and `a.values`, and there is another `a.values`: rename one of them");
    // Of a result it is known where it is made.
    insta::assert_snapshot!(refused("fn f(n: i64) -> [n][?]i64, [n]i64 {
      let r: [n][?]i64, r.extents: [n]i64 = nest([n], |i| { let row: [i]i64 = generate([i], |j| j) return row, i })
      return r, r.extents }"), @"2:45: `r` becomes `r.extents` and `r.values`, and there is another `r.extents`: rename one of them");
    insta::assert_snapshot!(refused("fn f(t: [n][?][?]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| { let k: i64, x: [k][?]i64 = element(t, i); let s = k; return s })
      return r }"), @"`t` is an array of arrays of arrays, which programs neither take nor give: take or give the arrays one after the other, and how many there are of each");
    insta::assert_snapshot!(refused("fn f(n: i64) -> [n][?][?]i64 {
      let r: [n][?][?]i64 = nest([n], |i| {
        let rows: [n][?]i64 = nest([n], |j| { let k = i + j; let row: [k]i64 = generate([k], |l| l); return row })
        return rows })
      return r }"), @"2:29: `r` is an array of arrays of arrays, which programs neither take nor give: take or give the arrays one after the other, and how many there are of each");
    // Of a traversal both places are.
    let named = "fn f(n: i64) -> i64, [?]i64 {
      let t: [n][?][?]i64 = nest([n], |i| {
        let rows: [n][?]i64 = nest([n], |j| { let k = i + j; let row: [k]i64 = generate([k], |l| l); return row })
        return rows })
      let z: i64, s: [z]i64 = consume(|i, rows: [l][k]i64| { let y = k yield elements(y) }, t)
      return z, s }";
    insta::assert_snapshot!(refused(named), @"5:31: consume `z` is not flattened: the elements `rows` that it reads of `t` (line 2) are arrays of arrays, and `k` is an extent inside of them; write `?` there, and get it by `element`");
}

#[test]
fn arrays_of_arrays_of_arrays_stay_inside() {
    let given = "fn f(t: [n][?][?]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| { let k: i64, x: [k][?]i64 = element(t, i); let s = k; return s })
      return r }";
    let taken = "fn f(n: i64) -> [n][?][?]i64 {
      let r: [n][?][?]i64 = nest([n], |i| {
        let rows: [n][?]i64 = nest([n], |j| { let k = i + j; let row: [k]i64 = generate([k], |l| l); return row })
        return rows })
      return r }";
    for (source, of, line) in [(given, "t", 0), (taken, "r", 2)] {
        let refused = flatten(&parsed(source), &Config::default()).map(|(flat, _)| flat.to_string());
        assert!(
            matches!(&refused, Err(Error::Deep { name, place }) if name == of && place.line == line),
            "{refused:?}"
        );
    }
    // What is inside may be as deep as it likes.
    let inside = "fn f(n: i64) -> [n]i64 {
      let r: [n][?][?]i64 = nest([n], |i| {
        let rows: [n][?]i64 = nest([n], |j| { let k = i + j; let row: [k]i64 = generate([k], |l| l + i); return row })
        return rows })
      let s: [n]i64 = nest([n], |i| {
        let k: i64, rows: [k][?]i64 = element(r, i)
        let sums: [k]i64 = nest([k], |j| { let l: i64, row: [l]i64 = element(rows, j); let t: i64 = fold(|a, b| a + b, 0, row); return t })
        let all: i64 = fold(|a, b| a + b, 0, sums)
        return all })
      return s }";
    if let Err(message) = check(&parsed(inside), &[Value::from(Array::scalar(4i64))], &Config::default()) {
        panic!("{message}");
    }
}

#[test]
fn a_nest_without_dimensions_is_one_lane() {
    let program = parsed("fn f(x: i64) -> i64 { let r: i64 = nest([], || { let y = x + 1; return y }); return r }");
    if let Err(message) = check(&program, &[Value::from(Array::scalar(4i64))], &Config::default()) {
        panic!("{message}");
    }
}

/// A size that only elements of a stream have is known when they are there.
#[test]
fn sizes_of_streams_are_not_asked_for() {
    let unused = "fn f(k: i64, a: stream [m, m]i64) -> i64 { return k }";
    let held = streams_in_memory(&parsed(unused)).unwrap_or_else(|error| panic!("{error}"));
    validate(&held, &[]).unwrap_or_else(|errors| panic!("{errors}\n{held}"));
    let said = "size `m` is known only when elements of the stream `a` are there: take it as an input, or write `?`";
    for (used, place) in [
        ("fn f(k: i64, a: stream [m, m]i64) -> i64 { return m }", ""),
        ("fn f(a: stream [m]i64) -> [m]i64 {\n let r: [m]i64 = generate([m], |i| i)\n return r }", "2:18: "),
    ] {
        let error = streams_in_memory(&parsed(used)).unwrap_err();
        assert_eq!(error.to_string(), format!("{place}{said}"), "{used}");
    }
    let both = "fn f(w: [m]i64, a: stream [m]i64) -> i64 { return m }";
    assert!(streams_in_memory(&parsed(both)).is_ok());
}
