//! Which accumulators look for NaN beside them.

use fusebox_ir::{Binary, Constant, ElementType, ElementType::F32};
use fusebox_vector::{Builder, Function, Memory, Op, Value, extremes, number, verify};

const LANES: u32 = 16;

/// A loop whose accumulators start with these, take something of an element, and are stored one after the other, combined if there are two.
fn fold(
    element: ElementType,
    starts: impl FnOnce(&mut Builder, Value) -> Vec<Value>,
    take: impl FnOnce(&mut Builder, &[Value], Value) -> Vec<Value>,
    behind: impl FnOnce(&mut Builder, Vec<Value>) -> Vec<Value>,
) -> Function {
    let mut b = Builder::new();
    let (from, to) = (b.parameter(0), b.parameter(1));
    let (x, y, zero) = (b.argument(0), b.argument(1), b.int(0));
    let loaded = b.load(element, LANES, y, zero, Memory::Input);
    let starts = starts(&mut b, loaded);
    let steps = b.begin_loop(from, to, LANES.into(), &starts);
    let taken = b.load(element, LANES, x, steps.index, Memory::Input);
    let carried = steps.carried.clone();
    let next = take(&mut b, &carried, taken);
    let results = b.end_loop(steps, next);
    for result in behind(&mut b, results) {
        b.store(y, zero, result, None);
    }
    number(&b.finish("fold".to_owned()))
}

fn infinity(b: &mut Builder) -> Value {
    let infinity = b.constant(Constant::from(f32::INFINITY));
    b.splat(infinity, LANES)
}

/// How many functions take numbers alone, and how often it is asked whether two values are numbers; none of a function that stays.
fn apart(function: &Function) -> Option<(usize, usize)> {
    assert_eq!(verify(function), Ok(()));
    let made = number(&extremes(function)?);
    assert_eq!(verify(&made), Ok(()), "{made}");
    let count = |is: &dyn Fn(&Op) -> bool| made.instructions().iter().filter(|inst| is(&inst.op)).count();
    assert!(
        !made.instructions().iter().any(|inst| matches!(inst.op, Op::Binary(Binary::Min | Binary::Max, ..))),
        "{made}"
    );
    Some((count(&|op| matches!(op, Op::OfNumbers(..))), count(&|op| matches!(op, Op::AreNumbers(..)))))
}

#[test]
fn one_mask_is_enough_for_all_that_take_the_same() {
    let one = fold(F32, |b, _| vec![infinity(b)], |b, own, x| vec![b.binary(Binary::Min, own[0], x)], |_, all| all);
    assert_eq!(apart(&one), Some((1, 1)));
    let turned = fold(F32, |b, _| vec![infinity(b)], |b, own, x| vec![b.binary(Binary::Min, x, own[0])], |_, all| all);
    assert_eq!(apart(&turned), Some((1, 1)));
    let two = fold(
        F32,
        |b, _| vec![infinity(b), infinity(b)],
        |b, own, x| vec![b.binary(Binary::Min, own[0], x), b.binary(Binary::Max, own[1], x)],
        |_, all| all,
    );
    assert_eq!(apart(&two), Some((2, 1)));
    // Two elements in a turn, for two accumulators that are combined behind the loop.
    let combined = fold(
        F32,
        |b, _| vec![infinity(b), infinity(b)],
        |b, own, x| {
            let y = b.binary(Binary::Mul, x, x);
            vec![b.binary(Binary::Min, own[0], x), b.binary(Binary::Min, own[1], y)]
        },
        |b, all| vec![b.binary(Binary::Min, all[0], all[1])],
    );
    assert_eq!(apart(&combined), Some((3, 1)));
}

#[test]
fn a_first_value_may_be_nan() {
    let from = |starts: fn(&mut Builder, Value) -> Vec<Value>| {
        apart(&fold(F32, starts, |b, own, x| vec![b.binary(Binary::Max, own[0], x)], |_, all| all))
    };
    assert_eq!(from(|_, loaded| vec![loaded]), Some((1, 2)));
    let nan = |b: &mut Builder, _| {
        let nan = b.constant(Constant::from(f32::NAN));
        vec![b.splat(nan, LANES)]
    };
    assert_eq!(from(nan), Some((1, 2)));
}

#[test]
fn others_stay() {
    // Integers, which are never NaN.
    let integers = fold(
        ElementType::I32,
        |_, loaded| vec![loaded],
        |b, own, x| vec![b.binary(Binary::Min, own[0], x)],
        |_, all| all,
    );
    assert_eq!(apart_of(&integers), None);
    // What others see in every turn: NaN has to be there.
    let seen = fold(
        F32,
        |b, _| vec![infinity(b), infinity(b)],
        |b, own, x| {
            let least = b.binary(Binary::Min, own[0], x);
            vec![least, b.binary(Binary::Add, own[1], least)]
        },
        |_, all| all,
    );
    assert_eq!(apart_of(&seen), None);
    // The least of a sum that goes on.
    let sums = fold(
        F32,
        |b, _| vec![infinity(b)],
        |b, own, x| {
            let sum = b.binary(Binary::Add, own[0], x);
            vec![b.binary(Binary::Min, sum, x)]
        },
        |_, all| all,
    );
    assert_eq!(apart_of(&sums), None);
    // The least of what is the greatest so far.
    let mixed = fold(
        F32,
        |b, _| vec![infinity(b)],
        |b, own, x| {
            let greatest = b.binary(Binary::Max, own[0], x);
            vec![b.binary(Binary::Min, greatest, x)]
        },
        |_, all| all,
    );
    assert_eq!(apart_of(&mixed), None);
}

fn apart_of(function: &Function) -> Option<String> {
    assert_eq!(verify(function), Ok(()));
    extremes(function).map(|made| made.to_string())
}
