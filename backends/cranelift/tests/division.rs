//! Divisions by one number: of floats by powers of two and others, known before and not; of indices, in lanes beside each other, with divisors below and above the lanes of a gang, at the ends of
//! `i64`, and by zero.

use crate::common::{Random, check};
use fusebox_ir::{Array, ElementType};

/// All divisions of `index` by `d`, beside each other.
fn source(index: &str) -> String {
    format!(
        "fn f(a: [n]f64, d: i64, c: i64) -> [n]i64, [n]i64, [n]i64, [n]i64, [n]f64 {{
        let q: [n]i64, r: [n]i64, p: [n]i64, m: [n]i64, s: [n]f64 = generate([n], |i| {{
            let x = {index}
            return x / d, x % d, div(x, d), mod(x, d), a[i] * f64(x % d) }})
        return q, r, p, m, s }}"
    )
}

#[test]
fn indices_divided_by_one_number() {
    let divisors = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 1 << 40, i64::MAX, -1, -3, -64, i64::MIN, 0];
    let starts = [0, 5, -40, i64::MAX - 70, i64::MIN, 1 << 62, (1 << 62) - 9];
    for index in ["i", "i + c", "i - c", "c - i"] {
        let mut inputs = Vec::new();
        for d in divisors {
            for c in starts {
                let a = Random(3).array(ElementType::F64, &[100]);
                inputs.push(vec![a, Array::scalar(d), Array::scalar(c)]);
            }
        }
        check(&source(index), &inputs);
    }
}

/// Of all bits: subnormal numbers, infinities and NaN among them.
#[test]
fn floats_divided_by_constants() {
    let powers = [1.0, -2.0, 16.0, 0.5, 2f64.powi(-126), 2f64.powi(126), 2f64.powi(127), 3.0, 1e-30, -5.0, 0.0, -0.0];
    for (bits, float) in [(ElementType::U32, ElementType::F32), (ElementType::U64, ElementType::F64)] {
        let a = Random(5).array(bits, &[2000]);
        for by in powers {
            let source = format!(
                "fn f(a: [n]{bits}) -> [n]{float} {{ let b: [n]{float} = map(|x| bits_{float}(x) / {by:e}, a) return b }}"
            );
            check(&source, &[vec![a.clone()]]);
        }
    }
}

/// Of all bits, of numbers of which none overflows, and of such among zeros: by numbers that have an exact reciprocal and others, near the ends of those by which
/// products divide, and beyond.
#[test]
fn floats_divided_by_a_number() {
    let apart = |power: i32| [2f64.powi(power), 2f64.powi(power) * 1.1, 2f64.powi(power) * 0.9, -(2f64.powi(power))];
    let others = [
        0.0,
        -0.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        3.0,
        -3.0,
        0.1,
        16_777_215.0,
        8_388_609.0,
        5e-324,
        1e308,
    ];
    let divisors: Vec<f64> =
        [0, 60, -60, 126, -126, 480, -480, 1022, -1022].into_iter().flat_map(apart).chain(others).collect();
    for (bits, float) in [(ElementType::U32, ElementType::F32), (ElementType::U64, ElementType::F64)] {
        let (exponents, shift, one) = if float == ElementType::F32 { (118, 23, 67) } else { (940, 52, 550) };
        let source = format!(
            "fn f(a: [n]{bits}, zeros: [n]{float}, d: f64) -> [n]{float}, [n]{float}, [n]{float}, [n]{float} {{
            let by = {float}(d)
            let b: [n]{float} = map(|x| bits_{float}(x) / by, a)
            let c: [n]{float} = map(|x| bits_{float}((((x >> ({shift} + 1)) % {exponents} + {one}) << {shift}) | (x & ((1 << {shift}) - 1))) / by, a)
            let e: [n]{float} = map(|x| (if x % 3 == 0 {{ 0{float} }} else if x % 1000 == 1 {{ -0{float} }} else {{ {float}(x % 1000) }}) / by, a)
            let g: [n]{float} = map(|x| x / by, zeros)
            return b, c, e, g }}"
        );
        let inputs: Vec<Vec<Array>> = divisors
            .iter()
            .enumerate()
            .flat_map(|(number, &by)| {
                [5, 3000].map(|length| {
                    let (random, zeros) =
                        (Random(number as u64).array(bits, &[length]), Array::zeros(float, &[length]));
                    vec![random, zeros.expect("memory"), Array::scalar(by)]
                })
            })
            .collect();
        check(&source, &inputs);
    }
}
