//! Errors in lanes: compiled code says what the interpreter says of the nested program, with the line and the lane, however lanes run.

use std::num::NonZeroUsize;

use fusebox::{Backend, Flattening, Options, compile_program};
use fusebox_flattening::{Config, flatten, in_words_of_lanes, streams_in_memory};
use fusebox_ir::{Array, Fault, FlatInterface, Nested, Program, RunError, Value, text};

fn parsed(source: &str) -> Program {
    text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

fn said(error: fusebox::Error) -> RunError {
    match error {
        fusebox::Error::Run(error) => error,
        other => panic!("{other}"),
    }
}

fn run(program: &Program, inputs: &[Value], options: &Options) -> Option<RunError> {
    let compiled = compile_program(program, options).unwrap_or_else(|error| panic!("{error}\n{program}"));
    compiled.run(inputs).err().map(said)
}

/// The program with the lanes of every outermost nest one at a time.
fn run_alone(program: &Program, inputs: &[Value], options: &Options) -> Option<RunError> {
    let mut config = Config::of(Flattening::Alone);
    config.every_alone = true;
    let flat = flatten(program, &config).and_then(|(flat, _)| streams_in_memory(&flat));
    let flat = flat.unwrap_or_else(|error| panic!("{error}"));
    let given = FlatInterface::of(program).flat(inputs).unwrap_or_else(|error| panic!("{error}"));
    let given: Vec<Value> = given.into_iter().map(Value::Array).collect();
    run(&flat, &given, options).map(|error| in_words_of_lanes(program, error))
}

/// The place and what happened, as the interpreter says of the nested program, and on one thread and on two whatever way lanes run.
fn fails(source: &str, inputs: &[Value]) -> String {
    fails_as(source, inputs, &|said| said.to_owned())
}

/// The same of what is true in all lanes: where they run together, no lane is said.
fn fails_in_all(source: &str, inputs: &[Value]) -> String {
    fails_as(source, inputs, &|said| said.split(", in lane ").next().unwrap_or_default().to_owned())
}

fn fails_as(source: &str, inputs: &[Value], together: &dyn Fn(&str) -> String) -> String {
    let program = parsed(source);
    let text =
        |error: Option<RunError>| error.map(|error| format!("{}: {}", error.place, error.fault)).unwrap_or_default();
    let expected = text(run(&program, inputs, &Options::on(Backend::Interp)));
    for threads in [1, 2] {
        let options = Options { threads: NonZeroUsize::new(threads), ..Options::default() };
        for flattening in [Flattening::Alone, Flattening::Regular, Flattening::Irregular] {
            let found = text(run(&program, inputs, &Options { flattening, ..options.clone() }));
            assert_eq!(found, together(&expected), "{flattening:?}, {threads} threads\n{source}");
        }
        assert_eq!(text(run_alone(&program, inputs, &options)), expected, "one at a time, {threads} threads\n{source}");
    }
    expected
}

fn vector(list: &[i64]) -> Array {
    Array::new(&[list.len()], list).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn errors_name_the_numbers_and_the_lane_in_the_words_of_the_interpreter() {
    let rows = Nested { extents: vector(&[2, 3, 1]), values: vector(&[1, 2, 3, 4, 5, 6]) };
    let index = "fn f(rows: [n][?]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let m: i64, row: [m]i64 = element(rows, i)
        let k = at[i]
        let x = row[k]
        return x })
      return r }";
    let said = fails(index, &[Value::Nested(rows), vector(&[0, 3, 0]).into()]);
    assert_eq!(said, "5:17: index [3] is outside of `row`, whose extents are [3], in lane 1");
    let regular = "fn f(at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let row: [2]i64 = generate([2], |j| at[i] + j)
        let sorted: [2]i64 = sort(row)
        let k = at[i]
        let x = sorted[k]
        return x })
      return r }";
    let said = fails(regular, &[vector(&[0, 1, 2]).into()]);
    assert_eq!(said, "6:17: index [2] is outside of `sorted`, whose extents are [2], in lane 2");
    // Of rows of an array outside the index is that in the row, and the lane stands apart.
    let matrix: Value = Array::new(&[3, 4], &[5i64; 12]).unwrap_or_else(|error| panic!("{error}")).into();
    let row = "fn f(a: [n, m]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let row: [m]i64 = slice([i, _], a)
        let k = at[i]
        let x = row[k]
        return x })
      return r }";
    let said = fails(row, &[matrix.clone(), vector(&[0, 7, 0]).into()]);
    assert_eq!(said, "5:17: index [7] is outside of `row`, whose extents are [4], in lane 1");
    let moved = "fn f(a: [n, m]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let row: [m]i64 = slice([i, _], a)
        let k = at[i]
        let moved: [2]i64 = backpermute([2], |j| j + k, row)
        let s: i64 = fold(|a, b| a + b, 0, moved)
        return s })
      return r }";
    let said = fails(moved, &[matrix, vector(&[0, 1, -1]).into()]);
    assert_eq!(said, "5:29: index [-1] is outside of `row`, whose extents are [4], in lane 2");
    let division = "fn f(a: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let x = a[i]
        let row: [3]i64 = generate([3], |j| j)
        let quotients: [3]i64 = map(|y| y / x, row)
        let s: i64 = fold(|a, b| a + b, 0, quotients)
        return s })
      return r }";
    assert_eq!(fails(division, &[vector(&[1, 0, 2]).into()]), "5:43: division by zero, in lane 1");
    // Functions that combine carry the lane along where they may fail.
    for (name, combining) in [
        ("fold", "let s: i64 = fold(|a, b| a / b, 7, row)"),
        ("fold1", "let s: i64 = fold1(|a, b| a / b, row)"),
        ("scanl1", "let t: [2]i64 = scanl1(|a, b| a / b, row)\n let s = t[1]"),
        ("permute", "let t: [2]i64 = permute(|new, old| old / new, row, row, at: same)\n let s = t[1]"),
    ] {
        let source = format!(
            "fn f(a: [n]i64) -> [n]i64 {{
      let r: [n]i64 = nest([n], |i| {{
        let same: [2]i64 = generate([2], |j| j)
        let row: [2]i64 = generate([2], |j| a[i] - j)
        {combining}
        return s }})
      return r }}"
        );
        let said = fails(&source, &[vector(&[3, 2, 1]).into()]);
        assert!(said.ends_with("division by zero, in lane 2"), "{name}: {said}");
    }
    let nested = "fn f(a: [n]i64) -> [n][2]i64 {
      let r: [n][2]i64 = nest([n], |i| {
        let row: [2]i64 = nest([2], |j| {
          let x = a[i] - j
          let q = 12 % x
          return q })
        return row })
      return r }";
    assert_eq!(fails(nested, &[vector(&[3, 1, 2]).into()]), "5:22: division by zero, in lane [1, 1]");
    let asserted = "fn f(a: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let x = assert(a[i] > 0, \"{} is not positive\", a[i], a[i])
        return x })
      return r }";
    assert_eq!(fails(asserted, &[vector(&[3, -1, 2]).into()]), "3:17: assertion failed: -1 is not positive, in lane 1");
}

/// An index that the program writes into an array from outside of the nest is shown as it is written. Where lanes run together nothing more is
/// known of it.
#[test]
fn an_index_into_an_array_from_outside_is_shown_as_it_is_written() {
    let matrix: Value = Array::new(&[3, 4], &[5i64; 12]).unwrap_or_else(|error| panic!("{error}")).into();
    let whole = parsed(
        "fn f(a: [n, m]i64, at: [n]i64) -> [n]i64 {
      let r: [n]i64 = nest([n], |i| {
        let row: [m]i64 = slice([i, _], a)
        let k = at[i]
        let x = a[i, k] + row[0]
        return x })
      return r }",
    );
    let inputs = [matrix, vector(&[0, 0, 4]).into()];
    let fault = |error: Option<RunError>| error.map(|error| error.fault.to_string()).unwrap_or_default();
    let together = "index [2, 4] is outside of `a`, whose extents are [3, 4]";
    for flattening in [Flattening::Alone, Flattening::Regular, Flattening::Irregular] {
        assert_eq!(fault(run(&whole, &inputs, &Options { flattening, ..Options::default() })), together);
    }
    let in_lane = format!("{together}, in lane 2");
    assert_eq!(fault(run(&whole, &inputs, &Options::on(Backend::Interp))), in_lane);
    assert_eq!(fault(run_alone(&whole, &inputs, &Options::default())), in_lane);
}

#[test]
fn a_negative_extent_is_that_of_the_array() {
    let of = |size: &str| {
        format!(
            "fn f(a: [n]i64, d: i64) -> [n]i64 {{
      let r: [n]i64 = nest([n], |i| {{
        let k = {size}
        let row: [k]i64 = generate([k], |j| i + j)
        let s: i64 = fold(|a, b| a + b, 0, row)
        return s }})
      return r }}"
        )
    };
    let inputs = [vector(&[2, -3, 0]).into(), Array::scalar(-3i64).into()];
    assert_eq!(fails(&of("a[i]"), &inputs), "4:27: extent -3 of `row` is negative, in lane 1");
    assert_eq!(fails_in_all(&of("d - 1"), &inputs), "4:27: extent -4 of `row` is negative, in lane 0");
}

/// Each operation is told extents that are those of what it is made of, but in one lane. Compiled code finds it in that lane, and says what was
/// to be equal; with the lanes together, a sum that is right in all of them does not hide it.
#[test]
fn extents_that_disagree() {
    let cases = [
        ("let s: [k]i64 = map(|x, y| x + y, row, own)", "index [3] is outside of `own`, whose extents are [3]"),
        ("let s: [k]i64 = scanl1(|x, y| x + y, own)", "extent 5 of `s` and extent 3 of `own` should be equal"),
        ("let s: [k]i64 = scanl(|x, y| x + y, 0, less)", "extent 5 of `s` and extent 3 of `less` should be equal"),
        ("let s: [k]i64 = sort(own)", "extent 5 of `s` and extent 3 of `own` should be equal"),
        ("let s: [k]i64 = fold(|x, y| x + y, 0, table)", "extent 5 of `s` and extent 3 of `table` should be equal"),
        ("let s: [k]i64 = slice([_, 0], table)", "extent 5 of `s` and extent 3 of `table` should be equal"),
        (
            "let t: [k, 2]i64 = replicate([_, 2], own)\n let s: [k]i64 = slice([_, 0], t)",
            "extent 5 of `t` and extent 3 of `own` should be equal",
        ),
        ("let s: [k]i64 = concat(one, less)", "extent 5 of `s` and extent 3 of `one, less` should be equal"),
        (
            "let s: [k]i64 = permute(|x, y| x + y, own, own, at: zeros)",
            "extent 5 of `s` and extent 3 of `own` should be equal",
        ),
        ("let s: [k]i64 = reshape([k], own)", "extent 5 of `s` and extent 3 of `own` should be equal"),
        (
            "let c = a[i] > 0\n let s: [k]i64 = cond(c, || { let t: [m]i64 = map(|x| x, own) return t }, || { return row })",
            "extent 3 of `s` and extent 5 of `k` should be equal",
        ),
        (
            "let c = a[i] > 0\n let s: [k]i64, n: bool = while(|v: [k]i64, go: bool| { return go }, |v: [k]i64, go: bool| { let t: [m]i64 = map(|x| x, own) let no = !go return t, no }, row, c)",
            "extent 3 of `v` and extent 5 of `k` should be equal",
        ),
    ];
    for (made, says) in cases {
        let source = format!(
            "fn f(a: [n]i64) -> [n]i64 {{
      let r: [n]i64 = nest([n], |i| {{
        let k = a[i]
        let m = if a[i] == 5 {{ 3 }} else {{ a[i] }}
        let l = m - 1
        let row: [k]i64 = generate([k], |j| i + j)
        let own: [m]i64 = generate([m], |j| i * j)
        let less: [l]i64 = generate([l], |j| i * j)
        let one: [1]i64 = generate([1], |j| i * j)
        let zeros: [m]i64 = generate([m], |j| 0 * i)
        let table: [m, 2]i64 = generate([m, 2], |j, l| i + j + l)
        {made}
        let total: i64 = fold(|a, b| a + b, 0, s)
        return total }})
      return r }}"
        );
        let program = parsed(&source);
        let ways = [Flattening::Regular, Flattening::Irregular];
        let fault = |list: &[i64], options: &Options| {
            let error = run(&program, &[vector(list).into()], options);
            error.map(|error| error.fault.to_string()).unwrap_or_default()
        };
        let interp = Options::on(Backend::Interp);
        let lane = |said: &str| said.split_once(", in lane ").map(|(_, lane)| lane.to_owned());
        for list in [&[3, 2, 5][..], &[3, 2, 1], &[5], &[]] {
            let expected = fault(list, &interp);
            for flattening in ways {
                let found = fault(list, &Options { flattening, ..Options::default() });
                assert_eq!(lane(&found), lane(&expected), "{found} {expected}\n{source}");
            }
            let alone = run_alone(&program, &[vector(list).into()], &Options::default());
            let alone = alone.map(|error| error.fault.to_string()).unwrap_or_default();
            assert_eq!(lane(&alone), lane(&expected), "{alone} {expected}\n{source}");
        }
        let said = fault(&[3, 2, 5], &Options { flattening: Flattening::Regular, ..Options::default() });
        assert_eq!(said.trim_start_matches("assertion failed: "), format!("{says}, in lane 2"), "{source}");
    }
}

/// Where extents are the same in all lanes, the arrays of all lanes are asked.
#[test]
fn extents_that_disagree_in_all_lanes() {
    for made in [
        "scanl1(|x, y| x + y, own)",
        "sort(own)",
        "slice([_], own)",
        "map(|x, y| x + y, own, other)",
        "scanl(|x, y| x + y, 0, less)",
    ] {
        let source = format!(
            "fn f(a: [n]i64, d: i64, e: i64) -> [n]i64 {{
      let l = e - 1
      let r: [n]i64 = nest([n], |i| {{
        let own: [e]i64 = generate([e], |j| i * j)
        let other: [e]i64 = generate([e], |j| i + j)
        let less: [l]i64 = generate([l], |j| i * j)
        let s: [d]i64 = {made}
        let total: i64 = fold(|a, b| a + b, 0, s)
        return total }})
      return r }}"
        );
        let program = parsed(&source);
        for (list, d, e) in [(&[3, 2][..], 2i64, 2i64), (&[3, 2], 2, 3), (&[3, 2], 3, 2), (&[], 2, 2)] {
            let inputs = [vector(list).into(), Array::scalar(d).into(), Array::scalar(e).into()];
            let fails = run(&program, &inputs, &Options::on(Backend::Interp)).is_some();
            for flattening in [Flattening::Regular, Flattening::Irregular] {
                let found = run(&program, &inputs, &Options { flattening, ..Options::default() });
                assert_eq!(found.is_some(), fails, "{flattening:?} {list:?} {d} {e}: {found:?}\n{source}");
            }
            assert_eq!(
                run_alone(&program, &inputs, &Options::default()).is_some(),
                fails,
                "{list:?} {d} {e}\n{source}"
            );
        }
    }
}

/// Messages of a program are its own, whatever they look like.
#[test]
fn an_assertion_is_never_taken_for_another_fault() {
    for message in [
        "division by zero",
        "division by zero, in lane 3",
        "index [1] is outside of `a`, whose extents are [1]",
        "boom, in lane 7",
    ] {
        let source = format!(
            "fn f(a: [n]i64) -> [n]i64 {{
      let r: [n]i64 = nest([n], |i| {{
        let x = assert(a[i] > 0, \"{message}\", a[i])
        return x }})
      return r }}"
        );
        let program = parsed(&source);
        let inputs = [vector(&[3, -1, 2]).into()];
        let expected = Fault::Assertion { message: message.to_owned() }.in_lane(vec![1]);
        let faults = [
            run(&program, &inputs, &Options::on(Backend::Interp)),
            run(&program, &inputs, &Options::default()),
            run_alone(&program, &inputs, &Options::default()),
        ];
        assert_eq!(faults.map(|error| error.map(|error| error.fault)), [(); 3].map(|()| Some(expected.clone())));
        // Outside of the nest too.
        let outside = format!(
            "fn f(a: [n]i64) -> [n]i64 {{
      let least: i64 = fold(|x, y| min(x, y), 1, a)
      let q = assert(least > 0, \"{message}\", least)
      let r: [n]i64 = nest([n], |i| {{
        let row: [2]i64 = generate([2], |j| a[i] + j + q)
        let s: i64 = fold(|x, y| x + y, 0, row)
        return s }})
      return r }}"
        );
        let program = parsed(&outside);
        for options in [Options::on(Backend::Interp), Options::default()] {
            let found = run(&program, &inputs, &options).map(|error| error.fault);
            // Need is of a lane: which lane, if any, is not said by all.
            let found = found.map(|fault| if let Fault::InLane { fault, .. } = fault { *fault } else { fault });
            assert_eq!(found, Some(Fault::Assertion { message: message.to_owned() }));
        }
    }
}
