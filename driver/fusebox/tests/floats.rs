//! Floats taken apart and put together, against Rust's own, on every backend.

use fusebox::{Backend, Options, compile, prelude::*};

const BACKENDS: [Backend; 2] = [Backend::Interp, Backend::Cpu];

/// Numbers of every kind: whole range, both zeros, subnormal ones, those beside powers of two.
fn numbers() -> Vec<f32> {
    let kinds = [0.0, -0.0, 1.0, -1.5, 0.1, 3e38, f32::MIN_POSITIVE, f32::MAX, f32::MIN, 1e-40, -1e-45];
    let beside = (0..=254u32).step_by(6).flat_map(|e| [e << 23, (e << 23) + 1, ((e + 1) << 23) - 1]);
    kinds.into_iter().chain(beside.map(f32::from_bits)).chain([f32::INFINITY, f32::NEG_INFINITY, f32::NAN]).collect()
}

#[test]
fn numbers_are_their_mantissa_and_exponent() {
    let numbers = numbers();
    let f = |xs: Acc<Vector<f32>>| {
        let decoded = xs.map(|x| lift::<(i64, i64)>(x.decode()));
        let wide = xs.cast::<f64>();
        (
            (decoded, decoded.map(|both| encode_float::<f32>(both.fst(), both.snd()))),
            (xs.map(|x| x.exponent()), xs.map(|x| x.significand())),
            wide.map(|x| lift::<(i64, i64)>(x.decode())),
            (xs.map(|x| x.is_negative_zero()), xs.map(|x| x.is_subnormal()), xs.map(|x| x.is_finite())),
        )
    };
    for backend in BACKENDS {
        let r = compile(f, &Options::on(backend)).unwrap().run(&Vector::from_slice(&numbers).unwrap()).unwrap();
        for (i, &x) in numbers.iter().enumerate() {
            let (mantissa, exponent) = r.0.0.get(i).unwrap();
            assert_eq!(r.3.0.get(i), Some(x == 0.0 && x.is_sign_negative()), "{x} {backend}");
            assert_eq!(r.3.1.get(i), Some(x.is_subnormal()), "{x} {backend}");
            assert_eq!(r.3.2.get(i), Some(x.is_finite()), "{x} {backend}");
            if !x.is_finite() {
                continue;
            }
            let value = |(mantissa, exponent): (i64, i64)| mantissa as f64 * 2f64.powi(exponent as i32);
            assert_eq!(value((mantissa, exponent)), f64::from(x), "{x} {backend}");
            assert!(x == 0.0 || (1 << 23..1 << 24).contains(&mantissa.abs()), "{x}: {mantissa}");
            assert_eq!(r.0.1.get(i).unwrap(), x, "{backend}");
            assert_eq!(value(r.2.get(i).unwrap()), f64::from(x));
            let (power, part) = (r.1.0.get(i).unwrap(), r.1.1.get(i).unwrap());
            assert_eq!(value((1, power)) * f64::from(part), f64::from(x));
            assert!(x == 0.0 && part == 0.0 || (0.5..1.0).contains(&part.abs()), "{x}: {part}");
        }
    }
}

#[test]
fn scaling_rounds_once() {
    let powers = [-400i64, -277, -160, -150, -149, -127, -126, -30, -1, 0, 1, 90, 127, 128, 200, 280, 400];
    let f = |xs: Acc<Vector<f32>>, powers: Acc<Vector<i64>>| {
        let all = generate((xs.length(), powers.length()), |(i, j)| xs.at(i).scale(powers.at(j)));
        let halves = xs.cast::<f16>();
        let narrow = generate((xs.length(), powers.length()), |(i, j)| halves.at(i).scale(powers.at(j) / 8));
        (all, narrow)
    };
    let numbers = numbers();
    let (xs, ps) = (Vector::from_slice(&numbers).unwrap(), Vector::from_slice(&powers).unwrap());
    for backend in BACKENDS {
        let (all, narrow) = compile(f, &Options::on(backend)).unwrap().run(&xs, &ps).unwrap();
        for (i, &x) in numbers.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            for (j, &power) in powers.iter().enumerate() {
                // All of it is exact in f64, so that this rounds once too.
                let exact = f64::from(x) * 2f64.powi(power as i32);
                assert_eq!(all[[i, j]].to_bits(), (exact as f32).to_bits(), "{x} * 2^{power} {backend}");
                let exact = f16::from_f32(x).to_f64() * 2f64.powi((power / 8) as i32);
                assert_eq!(narrow[[i, j]], f16::from_f64(exact), "{x} * 2^{power} {backend}");
            }
        }
    }
}

#[test]
fn comparisons_are_elements() {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let xs = [1.0, 2.0, f64::NAN, -0.0];
    let f = |xs: Acc<Vector<f64>>| {
        let n = xs.length();
        let all = generate((n, n), |(i, j)| xs.at(i).compare(xs.at(j)));
        (
            all,
            all.map(|o| o.reverse()),
            all.map(|o| o.cases(-1i64, 0, 1)),
            all.map(|o| lift::<(bool, bool, bool)>((o.is_le(), o.is_eq(), o.is_ge()))),
        )
    };
    let wanted = [
        [Equal, Less, Less, Greater],
        [Greater, Equal, Less, Greater],
        [Greater, Greater, Equal, Greater],
        [Less, Less, Less, Equal],
    ]
    .concat();
    for backend in BACKENDS {
        let r = compile(f, &Options::on(backend)).unwrap().run(&Vector::from_slice(&xs).unwrap()).unwrap();
        assert_eq!(r.0.to_vec(), wanted, "{backend}");
        assert_eq!(r.1.to_vec(), wanted.iter().map(|o| o.reverse()).collect::<Vec<_>>());
        assert_eq!(r.2.to_vec(), wanted.iter().map(|&o| o as i64).collect::<Vec<_>>());
        let tests = |o: &std::cmp::Ordering| (o.is_le(), o.is_eq(), o.is_ge());
        assert_eq!(r.3.to_vec(), wanted.iter().map(tests).collect::<Vec<_>>());
    }
}
