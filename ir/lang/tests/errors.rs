//! Mistakes that Rust's types let pass are errors with their places.

use fusebox_lang::*;

fn mistakes<P, R>(built: Result<Built<P, R>, BuildError>) -> Vec<Mistake> {
    match built {
        Ok(_) => Vec::new(),
        Err(error) => error.problems.into_iter().map(|problem| problem.mistake).collect(),
    }
}

#[test]
fn a_handle_of_another_program() {
    let mut leaked = None;
    build("first", |x: Exp<f32>| {
        leaked = Some(x);
        x
    })
    .unwrap();
    let leaked = leaked.unwrap();
    let built = build("second", |y: Exp<f32>| y + leaked);
    let line = line!() - 1;
    let error = built.unwrap_err();
    assert_eq!(error.problems[0].mistake, Mistake::HandleOfAnother);
    assert_eq!(error.problems[0].place.line, line);
    assert!(error.to_string().contains("errors.rs"), "{error}");
}

#[test]
fn an_array_of_another_program() {
    let mut leaked = None;
    build("first", |xs: Acc<Matrix<(f32, i64)>>| {
        leaked = Some(xs);
        xs
    })
    .unwrap();
    let leaked = leaked.unwrap();
    let built = build("second", |_: Exp<f32>| sum(leaked.map(|x| x.fst())));
    assert_eq!(mistakes(built)[0], Mistake::HandleOfAnother);
}

#[test]
fn a_handle_of_no_program() {
    let outside = constant(1.0f32) + 2.0;
    assert_eq!(mistakes(build("f", |x: Exp<f32>| x + outside))[0], Mistake::HandleOfNone);
}

#[test]
fn programs_inside_programs_are_their_own() {
    let outer = build("outer", |x: Exp<f32>| {
        let inner = build("inner", |y: Exp<f32>| y * 2.0);
        assert!(inner.is_ok());
        assert_eq!(mistakes(build("mixed", |y: Exp<f32>| y * x))[0], Mistake::HandleOfAnother);
        x + 1.0
    });
    assert!(outer.is_ok());
}

#[test]
fn a_panic_while_building_leaves_no_program_behind() {
    let caught = std::panic::catch_unwind(|| build("f", |_: Exp<f32>| -> Exp<f32> { panic!("of the user") }));
    assert!(caught.is_err());
    let outside = constant(1.0f32);
    assert_eq!(mistakes(build("f", |x: Exp<f32>| x + outside))[0], Mistake::HandleOfNone);
}

#[test]
fn names() {
    let f = |x: Exp<f32>, y: Exp<f32>| (x + y, x - y);
    assert_eq!(
        mistakes(program("f", f).inputs(["x"]).build()),
        [Mistake::NameCount { what: "inputs", given: 1, wanted: 2 }]
    );
    assert_eq!(
        mistakes(program("f", f).inputs(["x", "x"]).build()),
        [Mistake::Duplicate { what: "inputs", name: "x".into() }]
    );
    assert_eq!(
        mistakes(program("f", f).results(["let", "z.flat"]).build()),
        [Mistake::Name { name: "let".into() }, Mistake::Name { name: "z.flat".into() }]
    );
    assert_eq!(mistakes(program("no name", f).build()), [Mistake::Name { name: "no name".into() }]);
    assert!(program("f", f).inputs(["z.re", "_1"]).results(["p", "q"]).build().is_ok());
}

#[test]
fn extents_and_dimensions() {
    assert_eq!(mistakes(build("f", || fill(-3, 0i64))), [Mistake::NegativeExtent { extent: -3 }]);
    assert_eq!(
        mistakes(build("f", |m: Acc<Matrix<f32>>| take_on(2, 1, m))),
        [Mistake::Dimension { dimension: 2, rank: 2 }]
    );
    assert_eq!(
        mistakes(build("f", |m: Acc<Matrix<f32>>| concat_all_on(5, &[m, m]))),
        [Mistake::Dimension { dimension: 5, rank: 2 }]
    );
    assert_eq!(
        mistakes(build("f", |_: Exp<i64>| concat_all_on::<Ix1, f32>(0, &[]))),
        [Mistake::Empty { operation: "concat", what: "array" }]
    );
    assert_eq!(
        mistakes(build("f", |v: Acc<Vector<f32>>| replicate((Any, All, All, 3), v))),
        [Mistake::Kept { kept: 2, rank: 1 }]
    );
}

#[test]
fn streams_are_no_values() {
    let built = build("f", |s: Acc<Stream<Ix1, f32>>, c: Exp<bool>| acond(c, s, s));
    assert_eq!(mistakes(built)[0], Mistake::Stream);
}

#[test]
fn every_mistake_is_told() {
    let built = build("f", |m: Acc<Matrix<f32>>| (take_on(2, 1, m), fill(-1, 0i64)));
    assert_eq!(mistakes(built).len(), 2);
}
