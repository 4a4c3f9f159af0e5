//! Names known from elsewhere: what their users are told, and that it is right.

use super::{
    super::{elsewhere::*, reference::EXAMPLE_INPUTS},
    parse,
};
use crate::{Unary, validate};

fn tables() -> impl Iterator<Item = &'static Elsewhere> {
    [CALLS, WORDS, VALUES, SIGNS].into_iter().flatten()
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
    for table in [CALLS, WORDS, VALUES, SIGNS] {
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
        ("let k = xs.len", "`xs.len` is the name in the type"),
        ("let t = True", "`True` is written `true`"),
        ("let t: [n]float = map(|x| x, xs)", "`float` is written `f32`"),
        ("let c = a @ b", "`@` is written as a `fold`"),
        ("let y: [n]i64 = map(|x| x, 0..n)", "`..` makes no range"),
        ("let k = n // 2 # no comment", "`//` is written `div`"),
    ] {
        helped(statements, wanted);
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
