//! What a branch gives and only functions name is computed where one of them has an element to run for.

use fusebox_interp::{run, run_in_order};
use fusebox_ir::{Array, Program, Property, Value, text, validate};
use fusebox_strictness::{Config, Report, make_strict};

fn parsed(source: &str) -> Program {
    text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// The strict program, which means the same for these numbers also if all bindings are computed in order.
fn strict(source: &str, inputs: &[&[i64]]) -> (Program, Report) {
    let program = parsed(source);
    let (strict, report) = make_strict(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    validate(&strict, &[Property::Flat, Property::Strict]).unwrap_or_else(|errors| panic!("{errors}\n{strict}"));
    for numbers in inputs {
        let inputs: Vec<Value> = numbers.iter().map(|&number| Array::scalar(number).into()).collect();
        let (expected, found) = (run(&program, &inputs), run_in_order(&strict, &inputs));
        assert_eq!(expected.is_ok(), found.is_ok(), "{numbers:?}: {expected:?} and {found:?}\n{strict}");
        if let (Ok(expected), Ok(found)) = (expected, found) {
            assert_eq!(expected, found, "{numbers:?}\n{strict}");
        }
    }
    // Made strict again it stays as it is.
    let (again, _) = make_strict(&strict, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.to_string(), strict.to_string());
    (strict, report)
}

const BRANCH: &str = "let x: i64 = cond(c, || { let a = z + 1 return a }, || { let b: i64 = unit(|| assert(z > 5, \"boom\", z)) return b })";

#[test]
fn a_branch_that_only_functions_need_is_computed_where_they_have_elements() {
    let source = format!(
        "fn f(n: i64, z: i64) -> [n]i64 {{
      let c = z > 0
      {BRANCH}
      let r: [n]i64 = generate([n], |i| i + x)
      return r }}"
    );
    let (strict, report) = strict(&source, &[&[0, 0], &[1, 0], &[0, 3], &[2, 3]]);
    assert_eq!(report.asked, 1);
    insta::assert_snapshot!(strict);
}

#[test]
fn what_the_branch_needs_waits_with_it() {
    // Its condition may fail, and so may an array that one side reads.
    let source = "fn f(n: i64, z: i64) -> [n]i64 {
      let c = 10 / z > 1
      let a: [2]i64 = generate([2], |i| 10 / (z - i))
      let x: i64 = cond(c, || { let s: i64 = fold(|a, b| a + b, 0, a) return s }, || { return z })
      let r: [n]i64 = generate([n], |i| i + x)
      return r }";
    let (_, report) = strict(source, &[&[0, 0], &[0, 1], &[1, 0], &[1, 1], &[0, 3], &[2, 3], &[2, 9]]);
    assert_eq!(report.asked, 1);
}

#[test]
fn one_operation_with_elements_is_enough() {
    // The second has its extent after the first; code between them names the scalar too.
    let source = format!(
        "fn f(n: i64, z: i64) -> [n]i64, [?]i64 {{
      let c = z > 0
      {BRANCH}
      let q = 100 / x
      let r: [n]i64 = generate([n], |i| i + q)
      let m = max(n - 2, 0)
      let s: [m]i64 = generate([m], |i| i * x)
      return r, s }}"
    );
    let (_, report) = strict(&source, &[&[1, 0], &[2, 3], &[3, 3], &[3, 0]]);
    assert_eq!(report.asked, 0, "the second extent is not known where the first function runs");
    let source = source.replace("let m = max(n - 2, 0)\n", "").replace("let q =", "let m = max(n - 2, 0)\n let q =");
    let (_, report) = strict(&source, &[&[0, 0], &[1, 0], &[2, 3], &[3, 3], &[3, 0]]);
    assert_eq!(report.asked, 1);
}

#[test]
fn what_more_than_functions_need_is_computed_in_any_case() {
    for (needed, what) in [("return r, x", "a result"), ("let y = x + 1\n return r, y", "a number that is a result")] {
        let source = format!(
            "fn f(n: i64, z: i64) -> [n]i64, i64 {{
      let c = z > 0
      {BRANCH}
      let r: [n]i64 = generate([n], |i| i + x)
      {needed} }}"
        );
        let (_, report) = strict(&source, &[&[0, 0], &[1, 0], &[0, 3], &[2, 3]]);
        assert_eq!(report.asked, 0, "{what}");
    }
    // One that cannot fail is of no concern.
    let source = "fn f(n: i64, z: i64) -> [n]i64 {
      let c = z > 0
      let x: i64 = cond(c, || { let a = z + 1 return a }, || { return z })
      let r: [n]i64 = generate([n], |i| i + x)
      return r }";
    assert_eq!(strict(source, &[&[0, 0], &[1, 0], &[2, 3]]).1.asked, 0);
    // Nor is one that elements need which are there for certain.
    let source = format!(
        "fn f(z: i64) -> [3]i64 {{\n let c = z > 0\n {BRANCH}\n let r: [3]i64 = generate([3], |i| i + x)\n return r }}"
    );
    assert_eq!(strict(&source, &[&[0], &[3]]).1.asked, 0);
}

#[test]
fn it_is_so_in_blocks_inside_and_for_functions_of_all_kinds() {
    for operation in [
        "let a: [n]i64 = generate([n], |i| i)\n let r: [n]i64 = map(|v| v + x, a)",
        "let a: [n]i64 = generate([n], |i| i)\n let r: [n]i64 = backpermute([n], |i| (i + x) % n, a)",
        "let a: [n]i64 = generate([n], |i| i)\n let r: [n]i64 = scanl1(|v, w| v + w * x, a)",
        "let a: [n]i64 = generate([n], |i| i)\n let s: i64 = fold(|v, w| v + w * x, 0, a)\n let r: [n]i64 = generate([n], |i| s)",
        "let a: [n]i64 = generate([n], |i| i)\n let k: i64, b: [k]i64 = filter(|v| v > x, a)\n let s: i64 = fold(|v, w| v + w, k, b)\n let r: [n]i64 = generate([n], |i| s)",
    ] {
        let source = format!(
            "fn f(n: i64, z: i64, w: i64) -> [n]i64 {{
      let d = w > 0
      let r: [n]i64 = cond(d, || {{
        let c = z > 0
        {BRANCH}
        {operation}
        return r }}, || {{
        let r: [n]i64 = generate([n], |i| i)
        return r }})
      return r }}"
        );
        let (_, report) = strict(&source, &[&[0, 0, 1], &[2, 0, 0], &[2, 0, 1], &[0, 3, 1], &[4, 3, 1]]);
        assert_eq!(report.asked, 1, "{operation}");
    }
}
