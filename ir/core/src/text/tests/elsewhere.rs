//! Names known from elsewhere: what their users are told, and that it is right.

use super::{
    super::{elsewhere::*, reference::EXAMPLE_INPUTS},
    parse,
};
use crate::{Unary, validate};

fn tables() -> impl Iterator<Item = &'static Elsewhere> {
    [CALLS, FUNCTIONS, LABELS, WORDS, VALUES, SIGNS].into_iter().flatten()
}

pub(super) fn framed(statements: &str) -> String {
    if statements.starts_with("fn ") {
        return statements.to_owned();
    }
    // A comment in an example ends with its line.
    format!("fn f({EXAMPLE_INPUTS}) -> [n]f32 {{\n{statements}\nreturn xs }}")
}

#[test]
fn every_example_is_a_program() {
    let mut count = 0;
    for known in tables() {
        let text = framed(known.example);
        let program = parse(&text).unwrap_or_else(|error| panic!("{:?}\n{error}", known.names));
        if let Err(errors) = validate(&program, &[]) {
            panic!("{:?}\n{text}\n{errors}", known.names);
        }
        count += 1;
    }
    assert!(count > 70, "{count}");
}

#[test]
fn no_name_has_a_meaning_here_or_two_there() {
    for table in [CALLS, FUNCTIONS, LABELS, WORDS, VALUES, SIGNS] {
        let mut seen = std::collections::BTreeSet::new();
        for name in table.iter().flat_map(|known| known.names) {
            assert!(seen.insert(name), "`{name}` is there twice");
        }
    }
    for name in CALLS.iter().flat_map(|known| known.names) {
        assert!(!super::super::reference::is_operation(name), "`{name}` is an operation");
        assert!(!Unary::ALL.iter().any(|f| f.text() == *name), "`{name}` is a function");
    }
    for (names, ty) in TYPES {
        assert!(crate::ElementType::from_name(ty).is_some());
        assert!(names.iter().all(|name| crate::ElementType::from_name(name).is_none()));
    }
}

#[track_caller]
fn helped(statements: &str, wanted: &str) {
    let error = parse(&framed(statements)).unwrap_err();
    let help = error.help().unwrap_or_default();
    assert!(help.contains(wanted), "{statements}\nshould say: {wanted}\nbut says\n{error}");
}

#[test]
fn every_name_that_is_called_is_answered() {
    for known in CALLS {
        for name in known.names.iter().filter(|name| crate::is_name(name)) {
            for name in [(*name).to_owned(), format!("np.{name}")] {
                helped(&format!("let s = {name}(xs)"), &format!("`{name}` {}", known.says));
            }
        }
    }
}

#[test]
fn what_people_write_is_answered() {
    for (statements, wanted) in [
        (
            "let s: f32 = reduce(|x, y| x + y, 0.0, xs)",
            "`reduce` is written `fold`: `let s: f32 = fold(|x, y| x + y, 0.0, xs)`",
        ),
        ("let s = np.sum(xs)", "`np.sum` is written as a `fold`"),
        ("let s = np.exp(xs[0])", "`np.exp` is written `exp`: functions have no `np.` before them"),
        ("let s: [n]f32 = xs.map(|x| x)", "`xs.map` is written `map`: an operation is no method"),
        ("let k = n // 2", "`//` is written `div`"),
        ("let k = xs[0] ** 2.0", "`**` is written `pow`"),
        ("let y: [n]f32 = map(x -> x + 1.0, xs)", "`->` makes no function"),
        ("let y: [n]f32 = map(x => x + 1.0, xs)", "`=>` makes no function"),
        ("let y: [n]f32 = map(\\x -> x + 1.0, xs)", "`\\` makes no function"),
        ("let y: [n]f32 = map(lambda x: x + 1.0, xs)", "`lambda` is written with bars"),
        ("def g(x) = x", "`def` is written `fn`"),
        ("let y = xs[0] in y", "`in` is not needed"),
        ("for i in xs { }", "`for` is written `map` or `fold`"),
        ("let k := 3", "`:=` is written `let` and `=`"),
        ("k := 3", "`let k = …` names a value"),
        ("k = 3", "`let k = …` names a value"),
        ("var k = 3", "`var` is written `let`"),
        ("let y = if n > 2 then 1.0 else 2.0", "`then` is not needed"),
        ("let y = n > 2 ? 1.0 : 2.0", "`?` is written `if`"),
        ("let t = n > 2 and n < 3", "`and` is written `&&`"),
        ("let k = xs.len", "`xs.len` is not needed"),
        ("let t = True", "`True` is written `true`"),
        ("let t: [n]float = map(|x| x, xs)", "`float` is written `f32`"),
        ("let c = a @ b", "`@` is written as a `fold`"),
        ("let y: [n]i64 = map(|x| x, 0..n)", "`..` makes no range"),
        ("let k = n // 2 # no comment", "`//` is written `div`"),
        ("let y: [n]f32 = xs + ys", "`map(|x, y| x + y, xs, ys)` adds two"),
        ("let y: [2]f32 = [1.0, 2.0]", "`constant([1.0, 2.0])`"),
        ("let y: [n]f32 = map(|x| { x + 1.0 }, xs)", "by `return`: `|x| { return x + 1.0 }`"),
        ("let mut y = 2.0", "`mut` is written `let`; a value never changes"),
        ("let y: [n]i64 = map(|x| x as i64, xs)", "`as` is written as the name of the type"),
        ("let y: [n]f32 = map(|x| x if x > 0.0 else 0.0, xs)", "`if` stands first"),
        ("let y: [n]f32 = map(|x| x ^ 2.0, xs)", "a power is written `pow(x, 2.0)`"),
        ("let s: f32 = fold(+, 0.0, xs)", "a function has parameters"),
        ("let y = xs[1:]", "a part of an array is made by `backpermute`"),
        ("let y = xs[0:3]", "a part of an array is made by `backpermute`"),
        ("let y = xs[n - 1:n]", "a part of an array is made by `backpermute`"),
        ("let y = xs[..n]", "no part of an array"),
        ("let t: [q]f32 = fold(|x, y| x + y, 0.0, a, dim: 0)", "another one is made the last"),
        ("let s: [n]f32 = sort(xs, descending: true)", "keys go up"),
        ("let s: [n]f32 = sort(|x, y| x < y, xs)", "`sort` compares no elements by a function"),
        ("let s: [n]f32 = permute(|x, y| x + y, xs, ys, at: |i| i)", "targets as arrays"),
        ("let y: f32[n] = map(|x| x, xs)", "the extents of an array stand before its elements"),
        ("let y: [f32; n] = map(|x| x, xs)", "an array is `[n, 3]f32`"),
        ("let z: [n]complex64 = map(|x| x, xs)", "`complex64` is written as two arrays"),
        ("let y = 2.0 y = y + 1.0", "another one has another name"),
        ("let k: i64 = while(|k: i64| k < n, |k: i64| { return k + 1 }, 0i64)", "`{ return k < n }`"),
    ] {
        helped(statements, wanted);
    }
}

#[test]
fn comments_of_other_languages_are_answered() {
    for sign in ["//", "--", "/*", ";"] {
        let error = parse(&format!("{sign} adds\nfn f(x: f32) -> f32 {{ return x }}")).unwrap_err();
        assert!(error.help().is_some_and(|help| help.contains("begins no comment: `#` does")), "{sign}: {error}");
    }
}

/// An arrow before the types of results is in its place.
#[test]
fn what_is_in_its_place_is_not_explained() {
    let error = parse("fn f(x: f32 -> f32 { return x }").unwrap_err();
    assert_eq!((error.message(), error.help()), ("expected `,` or `)`, found `->`", None));
    let error = parse("fn f(sum: f32) -> f32 { return smu }").unwrap_err();
    assert_eq!(error.help(), Some("did you mean `sum`?"));
}
