//! Which quotients become products, and that these are the quotients.

use fusebox_ir::{Binary, Constant, ElementType, ElementType::F32};
use fusebox_vector::{Builder, Function, Memory, Op, Value, number, reciprocals, verify};

/// A loop over gangs that stores what is made of an element of a gang, and of a number in front of the loop.
fn map(lanes: u32, make: impl FnOnce(&mut Builder, Value, Value) -> Value) -> Function {
    let mut b = Builder::new();
    let (from, to) = (b.parameter(0), b.parameter(1));
    let (x, y, zero) = (b.argument(0), b.argument(1), b.int(0));
    let by = b.load(F32, 1, y, zero, Memory::Input);
    let steps = b.begin_loop(from, to, lanes.into(), &[]);
    let a = b.load(F32, lanes, x, steps.index, Memory::Input);
    let result = make(&mut b, a, by);
    b.store(y, steps.index, result, None);
    b.end_loop(steps, Vec::new());
    number(&b.finish("map".to_owned()))
}

/// Whether quotients become products.
fn becomes(function: &Function) -> bool {
    assert_eq!(verify(function), Ok(()));
    let Some(made) = reciprocals(function).map(|made| number(&made)) else { return false };
    assert_eq!(verify(&made), Ok(()), "{made}");
    // The reciprocal is made once, in front of the loop.
    let outside = made.body.0.iter().filter(|inst| matches!(inst.op, Op::Binary(Binary::Div, ..))).count();
    assert!(outside <= 1, "{made}");
    assert!(made.instructions().iter().any(|inst| matches!(inst.op, Op::Fma(..))), "{made}");
    true
}

#[test]
fn quotients_by_what_stays_the_same_become_products() {
    assert!(becomes(&map(16, |b, x, by| b.binary(Binary::Div, x, by))));
    assert!(becomes(&map(64, |b, x, by| b.binary(Binary::Div, x, by))));
    let by = |number: f32| {
        becomes(&map(16, |b, x, _| {
            let number = b.constant(Constant::from(number));
            b.binary(Binary::Div, x, number)
        }))
    };
    assert!(by(3.0));
    // No reciprocal, or one that is subnormal or not positive.
    assert!([0.0, -3.0, f32::INFINITY, f32::NAN, 1e38, 1e-38].into_iter().all(|number| !by(number)));
}

#[test]
fn others_stay() {
    // A short gang, a quotient of two numbers that go by, one the other way round, and an integer.
    assert!(!becomes(&map(8, |b, x, by| b.binary(Binary::Div, x, by))));
    assert!(!becomes(&map(16, |b, x, _| b.binary(Binary::Div, x, x))));
    assert!(!becomes(&map(16, |b, x, by| b.binary(Binary::Div, by, x))));
    assert!(!becomes(&map(16, |b, x, by| {
        let [x, by] = [x, by].map(|value| b.convert(ElementType::I32, value));
        b.binary(Binary::Div, x, by)
    })));
    // What works beside the unit that divides takes longer.
    assert!(!becomes(&map(16, |b, x, by| {
        let other = (0..20).fold(x, |sum, _| b.fma(sum, x, sum));
        let quotient = b.binary(Binary::Div, x, by);
        b.binary(Binary::Add, other, quotient)
    })));
}

/// A product that is a quotient, and how it is made.
fn product(x: f32, y: f32) -> f32 {
    let reciprocal = 1.0 / y;
    let near = x * reciprocal;
    near.mul_add(-y, x).mul_add(reciprocal, near)
}

/// What is nearest to the middle between two numbers is what could be rounded to the wrong one: x · 2^s = m · y + j, where m, of one bit more, is such a middle
/// and j is small. The error of the product is less than that of j = 8. One y of 61 is tried; all were once.
#[test]
fn quotients_near_the_middle_of_two_numbers_are_right() {
    let mut tried = 0;
    for y in (1u64 << 23..1 << 24).step_by(61) {
        let twos = y.trailing_zeros();
        let odd = y >> twos;
        // Newton's iteration for the inverse in the integers modulo 2^64.
        let inverse = (0..6).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))));
        for shift in [24, 25] {
            for j in (-8i64..=8).filter(|&j| j != 0 && j & ((1 << twos) - 1) == 0) {
                let modulus = 1u64 << (shift - twos);
                let first = (-(j >> twos) as u64).wrapping_mul(inverse) & (modulus - 1);
                for m in (first..1 << 25).step_by(modulus as usize).filter(|m| m % 2 == 1 && *m >= 1 << 24) {
                    let x = ((m * y) as i64 + j) >> shift;
                    if (1 << 23..1 << 24).contains(&x) {
                        let (x, y) = (x as f32, y as f32);
                        assert_eq!(product(x, y).to_bits(), (x / y).to_bits(), "{x} / {y}");
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(tried > 500_000, "{tried}");
}
