//! What is copied and moved has limits: beyond, what cannot fail stays, and what can is an error.

use fusebox_ir::{Program, Property, text, validate};
use fusebox_strictness::{Config, Error, make_strict};

/// `turns` conds, each needed by one branch of the next alone; `make` is how an array is made of the one before.
fn chain(turns: usize, make: &str) -> Program {
    let mut source = "fn f(c: bool, a: [n]i64) -> [n]i64 {\n let r0: [n]i64 = map(|x| x + 1, a)\n".to_owned();
    for turn in 1..=turns {
        let (before, made) = (format!("r{}", turn - 1), make.replace("BEFORE", &format!("r{}", turn - 1)));
        assert!(made.contains(&before));
        source +=
            &format!(" let r{turn}: [n]i64 = cond(c, || {{ let u: [n]i64 = {made} return u }}, || {{ return a }})\n");
    }
    source += &format!(" return r{turns} }}");
    text::parse(&source).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_cannot_fail_is_not_moved_into_ever_deeper_blocks() {
    let program = chain(300, "map(|x| x * 2, BEFORE)");
    let (strict, report) = make_strict(&program, &Config::default()).unwrap();
    assert!(report.limit_reached, "{report:?}");
    validate(&strict, &[Property::Flat, Property::Strict]).unwrap();
}

#[test]
fn what_may_fail_is_refused_where_it_would_be_moved_too_deep() {
    let program = chain(300, "map(|x| 10 / x, BEFORE)");
    let error = make_strict(&program, &Config::default()).unwrap_err();
    assert!(matches!(&error, Error::Depth { .. }), "{error}");
    // Not so deep it is moved.
    let (strict, report) = make_strict(&chain(20, "map(|x| 10 / x, BEFORE)"), &Config::default()).unwrap();
    assert!(!report.limit_reached && report.moved > 0, "{report:?}");
    validate(&strict, &[Property::Flat, Property::Strict]).unwrap();
}

#[test]
fn a_loop_that_needs_what_may_fail_runs_under_its_own_condition() {
    let source = "fn f(k: i64, a: [n]i64) -> [n]i64 {
      let table: [n]i64 = map(|x| 10 / x, a)
      let t: i64, b: [n]i64 = while(|t: i64, s: [n]i64| { let go = t < k return go },
        |t: i64, s: [n]i64| { let u = t + 1 let v: [n]i64 = map(|x, y| x + y, s, table) return u, v }, 0, a)
      return b }";
    let program = text::parse(source).unwrap();
    let errors = validate(&program, &[Property::Strict]).unwrap_err().to_string();
    assert!(errors.contains("may fail, and is not needed whenever its block is run"), "{errors}");
    let (strict, report) = make_strict(&program, &Config::default()).unwrap();
    assert_eq!((report.guarded, report.moved), (1, 1), "{strict}");
    let text = strict.to_string();
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in {text}"));
    assert!(at("cond(") < at("10 / x") && at("10 / x") < at("while("), "{text}");
    // Made strict again it stays as it is.
    let (again, report) = make_strict(&strict, &Config::default()).unwrap();
    assert_eq!((again.to_string(), report.guarded), (text, 0));
}
