//! Random numbers: known answers, the same bits on every backend, and the distributions that they promise.

use fusebox::{Backend, Options, compile, prelude::*};

const BACKENDS: [Backend; 3] = [Backend::Interp, Backend::Cpu, Backend::Sim];

#[test]
fn philox_gives_the_known_answers() {
    // Random123's own, of Philox4x32 with 10 rounds.
    type Words = (u32, u32, u32, u32);
    let known: [(Words, (u32, u32), Words); 3] = [
        ((0, 0, 0, 0), (0, 0), (0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8)),
        (
            (u32::MAX, u32::MAX, u32::MAX, u32::MAX),
            (u32::MAX, u32::MAX),
            (0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd),
        ),
        (
            (0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344),
            (0xa409_3822, 0x299f_31d0),
            (0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1),
        ),
    ];
    for backend in BACKENDS {
        let f = |counters: Acc<Vector<Words>>, keys: Acc<Vector<(u32, u32)>>| zip_with(philox, counters, keys);
        let compiled = compile(f, &Options::on(backend)).unwrap();
        let counters = Vector::new(3, &known.map(|(counter, ..)| counter)).unwrap();
        let keys = Vector::new(3, &known.map(|(_, key, _)| key)).unwrap();
        assert_eq!(compiled.run(&counters, &keys).unwrap().to_vec(), known.map(|(.., words)| words), "{backend}");
    }
}

#[test]
fn every_backend_gives_the_same_bits() {
    let f = |seed: Exp<u64>| {
        let source = random(seed);
        (
            (source.uniform::<f16, _>(300), source.uniform::<f32, _>((20, 15)), source.uniform::<f64, _>(300)),
            (source.normal::<f16, _>(300), source.normal::<f32, _>((20, 15)), source.normal::<f64, _>(300)),
            (source.integers(300, -5i8, 100), source.stream(3).integers(300, 0u64, u64::MAX)),
        )
    };
    let all = BACKENDS.map(|backend| compile(f, &Options::on(backend)).unwrap().run(&0x1234_5678_9abc_def0).unwrap());
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
}

/// The sum of `f` of all, divided by how many there are.
fn mean(xs: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    xs.iter().map(|&x| f(x)).sum::<f64>() / xs.len() as f64
}

#[test]
fn distributions_have_their_moments() {
    const N: i64 = 200_000;
    let f = || (random(5).uniform::<f64, _>(N), random(5).normal::<f32, _>(N), random(6).normal::<f64, _>(N));
    let (uniform, normal32, normal64) = compile(f, &Options::default()).unwrap().run().unwrap();
    let uniform = uniform.to_vec();
    // Four standard deviations of each of these means.
    let near = |value: f64, wanted: f64, deviation: f64| {
        assert!((value - wanted).abs() < 4.0 * deviation / (N as f64).sqrt(), "{value}, not {wanted}");
    };
    near(mean(&uniform, |x| x), 0.5, (1.0f64 / 12.0).sqrt());
    near(mean(&uniform, |x| x * x), 1.0 / 3.0, (4.0f64 / 45.0).sqrt());
    for i in 0..10 {
        let low = f64::from(i) / 10.0;
        near(mean(&uniform, |x| f64::from(u8::from((low..low + 0.1).contains(&x)))), 0.1, 0.3);
    }
    let normal32: Vec<f64> = normal32.to_vec().into_iter().map(f64::from).collect();
    for normal in [normal32, normal64.to_vec()] {
        near(mean(&normal, |x| x), 0.0, 1.0);
        near(mean(&normal, |x| x * x), 1.0, 2f64.sqrt());
        near(mean(&normal, |x| x.powi(3)), 0.0, 15f64.sqrt());
        near(mean(&normal, |x| x.powi(4)), 3.0, 96f64.sqrt());
        // The share beyond one and two standard deviations.
        near(mean(&normal, |x| f64::from(u8::from(x.abs() > 1.0))), 0.317_310_5, 0.47);
        near(mean(&normal, |x| f64::from(u8::from(x.abs() > 2.0))), 0.045_500_3, 0.21);
        // Neighbours do not depend on each other.
        near(normal.windows(2).map(|two| two[0] * two[1]).sum::<f64>() / N as f64, 0.0, 1.0);
    }
}

#[test]
fn normal_numbers_are_box_and_mullers() {
    let f = |seed: Exp<u64>| {
        let source = random(seed);
        let words = generate(2000, |i| lift::<(u32, u32, u32, u32)>(source.words(i)));
        (words, source.normal::<f64, _>(2000), source.normal::<f32, _>(2000))
    };
    let (words, doubles, singles) = compile(f, &Options::default()).unwrap().run(&99).unwrap();
    let join = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    for ((&(w0, w1, w2, w3), &double), &single) in words.to_vec().iter().zip(doubles.as_slice()).zip(singles.as_slice())
    {
        let normal = |part: f64, turn: f64| (-2.0 * part.ln()).sqrt() * (std::f64::consts::TAU * turn).cos();
        let wide = normal(((join(w0, w1) >> 11) + 1) as f64 / 2f64.powi(53), join(w2, w3) as f64 / 2f64.powi(64));
        assert!((wide - double).abs() < 1e-14, "{wide} {double}");
        let narrow = normal((f64::from(w0) + 1.0) / 2f64.powi(32), f64::from(w2) / 2f64.powi(32));
        assert!((narrow - f64::from(single)).abs() < 2e-6, "{narrow} {single}");
    }
}

#[test]
fn integers_reach_both_ends_and_no_further() {
    let f = || {
        let source = random(3);
        (source.integers(5000, -3i64, 4), source.integers(4000, i8::MIN, i8::MAX), source.integers(10, 7u32, 8))
    };
    for backend in [Backend::Interp, Backend::Cpu] {
        let (small, bytes, one) = compile(f, &Options::on(backend)).unwrap().run().unwrap();
        for wanted in -3..4 {
            let count = small.to_vec().iter().filter(|&&x| x == wanted).count();
            assert!((600..830).contains(&count), "{wanted}: {count} of 5000");
        }
        assert!(small.to_vec().iter().all(|x| (-3..4).contains(x)));
        let bytes = bytes.to_vec();
        assert_eq!((bytes.iter().min(), bytes.iter().max()), (Some(&i8::MIN), Some(&(i8::MAX - 1))));
        assert_eq!(one.to_vec(), [7; 10]);
    }
}
