//! Scalar code wherever a scalar value may stand.

use super::{parse, same};
use crate::validate;

/// Both are the same program, and both print as the second.
#[track_caller]
fn means(statements: &str, printed: &str) {
    let frame = |statements: &str| {
        format!("fn f(xs: [n]f32, a: [p, q]f32, x: f32, b: bool) -> [n]f32 {{\n{statements}\nreturn xs }}")
    };
    let program = same(&frame(statements));
    assert_eq!(program, same(&frame(printed)), "{program}");
    validate(&program, &[]).unwrap_or_else(|errors| panic!("{program}\n{errors}"));
    assert_eq!(program.clone().renumbered(), program);
}

#[test]
fn scalar_code_is_bound_before_the_operation() {
    for (statements, printed) in [
        ("let s: f32 = fold(|x, y| x + y, x * 2.0, xs)", "let v = x * 2.0 let s: f32 = fold(|x, y| x + y, v, xs)"),
        (
            "let s: f32 = cond(n > 5, || { return x }, || { let y = x + 1.0 return y })",
            "let c = n > 5 let s: f32 = cond(c, || { return x }, || { let y = x + 1.0 return y })",
        ),
        (
            "let s: f32 = cond(!b && (n > 5 || x < 0.0), || { return x }, || { return x })",
            "let c = !b && (n > 5 || x < 0.0) let s: f32 = cond(c, || { return x }, || { return x })",
        ),
        (
            "let k = n / 2 let s: [k]f32 = replicate([n / 2], x)",
            "let k = n / 2 let h = n / 2 let s: [k]f32 = replicate([h], x)",
        ),
        (
            "let k = n / 2 let s: [k]f32 = generate([n / 2], |i| f32(i))",
            "let k = n / 2 let h = n / 2 let s: [k]f32 = generate([h], |i| f32(i))",
        ),
        ("let s: [p]f32 = slice([_, q - 1], a)", "let j = q - 1 let s: [p]f32 = slice([_, j], a)"),
        (
            "let k = p * q let s: [k]f32 = reshape([p * q], a)",
            "let k = p * q let l = p * q let s: [k]f32 = reshape([l], a)",
        ),
        (
            "let s: [n]f32 = stencil(|l, r| l + r, xs[-1], xs[1], xs: constant(x + 1.0))",
            "let o = x + 1.0 let s: [n]f32 = stencil(|l, r| l + r, xs[-1], xs[1], xs: constant(o))",
        ),
        (
            "let s: f32, k: i64 = fold(|x, i, y, j| { return x + y, i + j }, xs[0], n - 1, xs, is)",
            "let v = xs[0] let w = n - 1 let s: f32, k: i64 = fold(|x, i, y, j| { return x + y, i + j }, v, w, xs, is)",
        ),
        (
            "let s: f32 = fold(|x, y| x + y, (x + 1.0) * 2.0, xs)",
            "let v = (x + 1.0) * 2.0 let s: f32 = fold(|x, y| x + y, v, xs)",
        ),
        ("let s: f32 = fold(|x, y| x + y, -x, xs)", "let v = -x let s: f32 = fold(|x, y| x + y, v, xs)"),
        (
            "let s: f32 = fold(|x, y| x + y, if b { x } else { 1.0 }, xs)",
            "let v = if b { x } else { 1.0 } let s: f32 = fold(|x, y| x + y, v, xs)",
        ),
        ("let s: f32 = fold(|x, y| x + y, (-1.5), xs)", "let s: f32 = fold(|x, y| x + y, -1.5, xs)"),
    ] {
        let is = if statements.contains("is)") { "let is: [n]i64 = generate([n], |i| i) " } else { "" };
        means(&format!("{is}{statements}"), &format!("{is}{printed}"));
    }
}

/// Blocks of an operation are read before its starts, and stand behind what these are.
#[test]
fn starts_of_loops_and_arguments_of_foreign_operations() {
    let states =
        "|v: f32, k: i64| { let c = k < 10 return c }, |v: f32, k: i64| { let w = v * 2.0 let j = k + 1 return w, j }";
    means(
        &format!("let v: f32, k: i64 = while({states}, x + 1.0, n / 2)"),
        &format!("let s = x + 1.0 let t = n / 2 let v: f32, k: i64 = while({states}, s, t)"),
    );
    let fallback = "|y: f32| { let z = y + 1.0 return z }";
    means(
        &format!("let v: f32 = foreign(\"g\", {fallback}, x * 3.0)"),
        &format!("let s = x * 3.0 let v: f32 = foreign(\"g\", {fallback}, s)"),
    );
}

#[test]
fn it_is_bound_in_the_block_of_the_operation() {
    means(
        "let s: [n]f32 = generate([n], |i| { let t: f32 = fold(|x, y| x + y, f32(i), xs) return t })",
        "let s: [n]f32 = generate([n], |i| { let v = f32(i) let t: f32 = fold(|x, y| x + y, v, xs) return t })",
    );
    means(
        "let s: f32 = cond(b, || { let t: f32 = fold(|x, y| x + y, x + 1.0, xs) return t }, || { return x })",
        "let s: f32 = cond(b, || { let v = x + 1.0 let t: f32 = fold(|x, y| x + y, v, xs) return t }, || { return x })",
    );
}

#[test]
fn streams() {
    let text = |limit: &str, seed: &str, before: &str| {
        format!(
            "fn f(s: stream f32, n: i64, x: f32) -> f32 {{ {before} let t: f32 = consume([{limit}], |i, y: f32| {{ \
             yield accumulate(|st: f32, z: [c]f32| {{ let u: f32 = fold(|a, b| a + b, st, z) return u }}, {seed}, y) }}, s) return t }}"
        )
    };
    let program = same(&text("n / 2", "x * 2.0", ""));
    assert_eq!(program, same(&text("h", "v", "let h = n / 2 let v = x * 2.0")));
}

#[test]
fn scalar_code_is_returned() {
    for (statements, printed) in [
        (
            "let s: f32 = cond(b, || { return x * 2.0 }, || { return 0.0 })",
            "let s: f32 = cond(b, || { let v = x * 2.0 return v }, || { let w = 0.0f32 return w })",
        ),
        (
            "let s: f32, i: i64 = while(|s: f32, i: i64| { return i < n }, |s: f32, i: i64| { return s / 2.0, i + 1 }, x, 0)",
            "let s: f32, i: i64 = while(|s: f32, i: i64| { let c = i < n return c }, |s: f32, i: i64| { let t = s / 2.0 let j = i + 1 return t, j }, x, 0)",
        ),
        (
            "let t: [p]f32 = nest([p], |i| { let r: f32 = fold(|x, y| x + y, 0.0, xs) return r + f32(i) })",
            "let t: [p]f32 = nest([p], |i| { let r: f32 = fold(|x, y| x + y, 0.0, xs) let q = r + f32(i) return q })",
        ),
    ] {
        means(statements, printed);
    }
    let program = same("fn f(x: f32, n: i64) -> f32, i64 { return twice: x * 2.0, one: 1 }");
    assert_eq!(
        program,
        same("fn f(x: f32, n: i64) -> f32, i64 { let twice = x * 2.0 let one = 1i64 return twice: twice, one: one }")
    );
    for (text, wanted) in [
        ("fn f(x: f32) -> f32 { return x * 2.0 }", "this result has no name"),
        ("fn f(x: f32) -> f32 { return y: x * 2 }", "`2` is a whole number, and `f32` is expected"),
        ("fn f(x: f32) -> i64 { return y: x }", "result `y` is declared as i64, and is f32"),
    ] {
        let message = match parse(text) {
            Err(error) => error.message().to_owned(),
            Ok(program) => validate(&program, &[]).unwrap_err().to_string(),
        };
        assert!(message.contains(wanted), "{text}: {message}");
    }
}

#[test]
fn where_a_name_is_wanted_a_name_stands() {
    for (text, wanted) in [
        // Arrays are no scalars.
        ("let s: f32 = fold(|x, y| x + y, xs, xs)", "a scalar of `f32` is expected, and `xs` is an array of rank 1"),
        ("let s: f32 = fold(|x, y| x + y, 0.0, x + 1.0)", "expected the name of a value"),
        ("let s: f32 = fold(|x, y| x + y, n + 1, xs)", "expected `f32`, found `i64`"),
        ("let s: f32 = cond(n + 1, || { return x }, || { return x })", "expected `bool`, found `i64`"),
        ("let s: [3]f32 = constant([x, x + 1.0, x])", "expected a name or a literal"),
        // A binding in a cluster has a mark.
        (
            "let s: f32 = cluster(|| { last s: f32 = fold(|x, y| x + y, x + 1.0, xs) return s })",
            "expected a name or a literal",
        ),
        ("let s: [n + 1]f32 = replicate([n + 1], x)", "expected `,` or `]`, found `+`"),
    ] {
        let error = parse(&format!("fn f(xs: [n]f32, x: f32) -> f32 {{ {text} return s }}")).unwrap_err();
        assert_eq!(error.message(), wanted, "{text}");
    }
}
