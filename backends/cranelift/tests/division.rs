//! Many divided by one: the bits of a division, whatever the numbers.

mod common;

use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::Array;

/// All exponents, both signs, mantissas at their ends and between; then what anything may be.
fn numbers() -> Vec<f32> {
    let mut state = 0x9e37_79b9u32;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let mut numbers = vec![0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, f32::MAX];
    for exponent in 0..=255u32 {
        for mantissa in [0, 1, 2, 0x3f_ffff, 0x40_0000, 0x40_0001, 0x7f_fffe, 0x7f_ffff] {
            numbers.push(f32::from_bits(exponent << 23 | mantissa));
            numbers.push(-f32::from_bits(exponent << 23 | mantissa | random() & 0x7f_f000));
        }
    }
    numbers.extend((0..60_000).map(|_| f32::from_bits(random())));
    // Quotients by 3, 5, 2^20 that are subnormal numbers, or in the middle between two.
    numbers.extend((0..20_000).map(|i| f32::from_bits(i * 7 + 1)));
    numbers.extend((0..20_000).map(|i| f32::from_bits((110 + i % 30) << 23 | random() & 0x7f_ffff)));
    numbers
}

/// Multiples of a divisor of few bits that are the middle between two subnormal numbers, or such a number, times it.
fn ties(y: f32) -> impl Iterator<Item = f32> {
    (1..4096u16).map(move |k| (f64::from(k) * f64::from(y) * 2f64.powi(-150)) as f32)
}

#[test]
fn quotients_are_those_of_division() {
    let plan = common::plan("fn f(xs: [n]f32, y: f32) -> [n]f32 { let r: [n]f32 = map(|x| x / y, xs) return r }");
    let numbers = numbers();
    let mut divisors = vec![
        1.0,
        -1.0,
        2.0,
        3.0,
        5.0,
        7.0,
        0.1,
        1.0 / 3.0,
        -1.5,
        1.999_999_9,
        1.000_000_1,
        16_777_215.0,
        1_048_576.0,
        1e-20,
        -1e20,
        1e38,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x7f_ffff),
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    divisors.extend((2049..4096u16).step_by(50).map(|y| f32::from(y) * 2f32.powi(60)));
    for wide in [false, true] {
        let backend = Cranelift::new(Config { threads: 1, wide, ..Config::default() }).unwrap();
        let loaded = backend.compile_plan(&plan).unwrap().load_plan().unwrap();
        for &y in &divisors {
            let xs: Vec<f32> = numbers.iter().copied().chain(ties(y)).collect();
            let inputs = [Array::new(&[xs.len()], &xs).unwrap(), Array::scalar(y)];
            let results = loaded.run_plan(&inputs).unwrap();
            let found: &[f32] = results[0].as_slice().unwrap();
            for (&x, &found) in xs.iter().zip(found) {
                let expected = x / y;
                let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                assert!(same, "wide {wide}: {x:e} / {y:e} = {expected:e}, not {found:e}");
            }
        }
    }
}
