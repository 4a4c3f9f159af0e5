use super::*;
use crate::{Binary, LambdaBuilder, ProgramBuilder, ScalarValue};

/// A program of sizes `n` and `m`, and units over them; their ids.
fn sizes(build: impl FnOnce(&mut LambdaBuilder, ScalarValue, ScalarValue) -> Vec<ScalarValue>) -> (Sizes, Vec<Extent>) {
    let mut p = ProgramBuilder::new("f");
    let (n, m) = (p.size("n"), p.size("m"));
    p.input("a", ElementType::F32, &[n.into(), m.into()]);
    let mut f = LambdaBuilder::new();
    let results = build(&mut f, p.scalar(n), p.scalar(m));
    let count = results.len();
    let op = ArrayOp::Unit { f: f.finish(&results) };
    p.bind(count, op, |_| vec![("u", Type::scalar(ElementType::I64)); count]);
    let program = p.finish().expect("a valid program");
    let ids = [ArrayId(0), ArrayId(1)].into_iter().chain(program.body.bindings[0].results.iter().map(|var| var.id));
    (Sizes::of_program(&program), ids.map(Extent::Value).collect())
}

#[test]
fn sums_and_products_have_normal_forms() {
    let (sizes, ids) = sizes(|f, n, m| {
        let (a, b) = (f.add(n, 1i64), f.add(m, 1i64));
        let product = f.mul(a, b);
        let (nm, sum) = (f.mul(m, n), f.add(m, n));
        let other = f.add(nm, sum);
        let more = f.add(other, 1i64);
        vec![product, other, more]
    });
    assert_eq!(sizes.equal(ids[2], ids[4]), Answer::Proved, "(n + 1)(m + 1) = nm + m + n + 1");
    assert_eq!(sizes.equal(ids[2], ids[3]), Answer::Refuted);
    assert_eq!(sizes.equal(ids[0], ids[1]), Answer::Unknown);
    assert_eq!(sizes.at_most(ids[3], ids[4]), Answer::Proved);
    assert_eq!(sizes.at_most(ids[4], ids[3]), Answer::Refuted);
}

#[test]
fn degrees_tell_products_from_sums() {
    let (sizes, ids) = sizes(|f, n, m| {
        let product = f.mul(n, m);
        let sum = f.add(n, m);
        let (least, most) = (f.binary(Binary::Min, product, n), f.binary(Binary::Max, product, n));
        let (quotient, square) = (f.binary(Binary::Div, product, m), f.mul(product, product));
        vec![product, sum, least, most, quotient, square]
    });
    let degree = |extent: &Extent| sizes.degree(&sizes.extent(*extent).expect("a size"));
    assert_eq!(ids.iter().map(degree).collect::<Vec<_>>(), [1, 1, 2, 1, 1, 2, 1, 4]);
    assert_eq!(sizes.degree(&Size::constant(7)), 0);
}

#[test]
fn minima_quotients_and_constants_have_bounds() {
    let (sizes, ids) = sizes(|f, n, m| {
        let least = f.binary(Binary::Min, n, m);
        let half = f.binary(Binary::Div, n, 2i64);
        let same = f.binary(Binary::Max, n, 0i64);
        let negative = f.sub(2i64, 5i64);
        let remainder = f.binary(Binary::Rem, n, 4i64);
        vec![least, half, same, negative, remainder]
    });
    assert_eq!(sizes.at_most(ids[2], ids[0]), Answer::Proved);
    assert_eq!(sizes.at_most(ids[2], ids[1]), Answer::Proved);
    assert_eq!(sizes.at_most(ids[0], ids[2]), Answer::Unknown);
    assert_eq!(sizes.at_most(ids[3], ids[0]), Answer::Proved);
    assert_eq!(sizes.equal(ids[4], ids[0]), Answer::Proved, "an extent is not negative");
    assert_eq!(sizes.not_negative(ids[5]), Answer::Refuted);
    assert_eq!(sizes.equal(ids[5], Extent::Constant(-3)), Answer::Proved);
    assert_eq!(sizes.at_most(ids[6], Extent::Constant(3)), Answer::Proved);
    assert_eq!(sizes.equal(ids[6], Extent::Constant(4)), Answer::Refuted);
    assert_eq!(sizes.not_negative(ids[3]), Answer::Proved);
}

#[test]
fn overflow_proves_nothing() {
    let (sizes, ids) = sizes(|f, n, _| {
        let more = f.add(n, 1i64);
        let huge = f.mul(n, i64::MAX);
        let twice = f.add(huge, n); // n · 2⁶³
        let least = f.binary(Binary::Min, n, more);
        vec![more, huge, twice, least]
    });
    assert_eq!(sizes.not_negative(ids[2]), Answer::Unknown, "n + 1 may wrap");
    assert_eq!(sizes.not_negative(ids[3]), Answer::Unknown);
    assert_eq!(sizes.equal(ids[4], Extent::Constant(0)), Answer::Unknown, "0 of an even n alone");
    assert_eq!(sizes.equal(ids[5], ids[0]), Answer::Unknown, "n + 1 may be the smaller");
}

#[test]
fn what_is_at_least_zero_is_not_negative() {
    let (sizes, ids) = sizes(|f, n, m| {
        let difference = f.sub(n, m);
        let more = f.add(difference, 1i64);
        let least = f.binary(Binary::Max, more, 0i64);
        let other = f.binary(Binary::Max, 0i64, difference);
        vec![least, other, difference]
    });
    assert_eq!(sizes.not_negative(ids[2]), Answer::Proved);
    assert_eq!(sizes.not_negative(ids[3]), Answer::Proved);
    assert_eq!(sizes.not_negative(ids[4]), Answer::Unknown);
}
