//! What conditions say of integers changes no value: random conditions and choices, evaluated on the least, the greatest and other numbers.

use fusebox_ir::{Binary, Constant, primitive};
use fusebox_vector::{Builder, Op, Value};

/// Numbers from a seed (a linear congruence, of which the high bits are taken).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

const NUMBERS: [i64; 5] = [i64::MIN, -1, 0, 1, i64::MAX];
const COMPARISONS: [Binary; 6] = [Binary::Lt, Binary::Le, Binary::Gt, Binary::Ge, Binary::Eq, Binary::Ne];

/// A value, and what it is for each pair of parameters.
type Known = (Value, Vec<Constant>);

fn pairs() -> impl Iterator<Item = (i64, i64)> {
    NUMBERS.into_iter().flat_map(|a| NUMBERS.map(|b| (a, b)))
}

fn binary(b: &mut Builder, function: Binary, left: &Known, right: &Known) -> Known {
    let made = b.binary(function, left.0, right.0);
    let of = |(&x, &y): (&Constant, &Constant)| primitive::binary(function, x, y).unwrap().unwrap();
    (made, left.1.iter().zip(&right.1).map(of).collect())
}

fn select(b: &mut Builder, condition: &Known, left: &Known, right: &Known) -> Known {
    let made = b.select(condition.0, left.0, right.0);
    let choose = |at: usize| if condition.1[at].as_bool() == Some(true) { left.1[at] } else { right.1[at] };
    (made, (0..left.1.len()).map(choose).collect())
}

/// Parameters, and the least and the greatest number and 0.
fn leaves(b: &mut Builder) -> Vec<Known> {
    let mut leaves: Vec<Known> = [i64::MIN, i64::MAX, 0]
        .map(|number| (b.int(number), vec![Constant::from(number); NUMBERS.len() * NUMBERS.len()]))
        .into();
    leaves.push((b.parameter(0), pairs().map(|(a, _)| Constant::from(a)).collect()));
    leaves.push((b.parameter(1), pairs().map(|(_, b)| Constant::from(b)).collect()));
    leaves
}

/// What a value of a function without regions is, for two parameters.
fn evaluated(insts: &[fusebox_vector::Inst], (a, b): (i64, i64), value: Value) -> Constant {
    let inst = insts.iter().find(|inst| inst.results.contains(&value)).unwrap();
    let of = |value: &Value| evaluated(insts, (a, b), *value);
    match &inst.op {
        Op::Constant(constant) => *constant,
        Op::Parameter(0) => a.into(),
        Op::Parameter(_) => b.into(),
        Op::Binary(function, x, y) => primitive::binary(*function, of(x), of(y)).unwrap().unwrap(),
        Op::Select(condition, x, y) => {
            if of(condition).as_bool() == Some(true) {
                of(x)
            } else {
                of(y)
            }
        }
        op => panic!("{op:?}"),
    }
}

#[test]
fn random_conditions_and_choices_keep_their_values() {
    let mut random = Random(7);
    let mut shorter = 0;
    for number in 0..3_000 {
        let mut b = Builder::new();
        let mut values = leaves(&mut b);
        let mut conditions = Vec::new();
        for _ in 0..6 {
            let mut one = |values: &[Known]| values[random.below(values.len())].clone();
            let (x, y) = (one(&values), one(&values));
            conditions.push(binary(&mut b, COMPARISONS[random.below(6)], &x, &y));
            let mut one = |values: &[Known]| values[random.below(values.len())].clone();
            let (p, q) = (one(&conditions), one(&conditions));
            let function = [Binary::And, Binary::Or, Binary::LogicalAnd, Binary::LogicalOr][random.below(4)];
            conditions.push(binary(&mut b, function, &p, &q));
            let mut one = |values: &[Known]| values[random.below(values.len())].clone();
            let (condition, x, y) = (one(&conditions), one(&values), one(&values));
            values.push(select(&mut b, &condition, &x, &y));
            let mut one = |values: &[Known]| values[random.below(values.len())].clone();
            let (condition, p, q) = (one(&conditions), one(&conditions), one(&conditions));
            conditions.push(select(&mut b, &condition, &p, &q));
        }
        let function = b.finish("f".to_owned());
        shorter += usize::from(function.body.0.len() < 5 + 24);
        for (value, expected) in values.iter().chain(&conditions) {
            for (pair, expected) in pairs().zip(expected) {
                assert_eq!(
                    evaluated(&function.body.0, pair, *value),
                    *expected,
                    "{number}: {value} of {pair:?}\n{function}"
                );
            }
        }
    }
    assert!(shorter > 500, "{shorter}");
}

#[test]
fn the_lesser_of_a_pair_and_the_greatest_pair_is_the_pair() {
    let mut b = Builder::new();
    let (key, name) = (b.parameter(0), b.parameter(1));
    let greatest = b.int(i64::MAX);
    let less = b.binary(Binary::Lt, key, greatest);
    let equal = b.binary(Binary::Eq, key, greatest);
    let before = b.binary(Binary::Lt, name, greatest);
    let tied = b.binary(Binary::And, equal, before);
    let first = b.binary(Binary::Or, less, tied);
    assert_eq!(b.select(first, key, greatest), key);
    assert_eq!(b.select(first, name, greatest), name);
    assert_eq!(b.select(first, greatest, key), greatest);
    // Nothing is known of another.
    let other = b.parameter(0);
    assert_ne!(b.select(first, other, greatest), other);
}

#[test]
fn an_accumulator_of_conditions_takes_one_more_where_a_mask_holds() {
    let mut b = Builder::new();
    let (x, y, zero) = (b.parameter(0), b.parameter(1), b.int(0));
    let mask = b.binary(Binary::Lt, x, zero);
    let all = b.binary(Binary::Lt, y, zero);
    let new = b.binary(Binary::Lt, x, y);
    for (left, right) in [(all, new), (new, all)] {
        let either = b.binary(Binary::Or, left, right);
        b.select(mask, either, all);
    }
    // Of another than the accumulator nothing is known.
    let either = b.binary(Binary::Or, all, new);
    b.select(mask, either, mask);
    let function = b.finish("f".to_owned());
    let selects = function.body.0.iter().filter(|inst| matches!(inst.op, Op::Select(..))).count();
    assert_eq!(selects, 1, "{function}");
}
