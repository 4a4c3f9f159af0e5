//! Every expanded function against correctly rounded results: at most 2 ulp, everywhere.
//!
//! `cargo test --release -p fusebox-kernels --test math_accuracy -- --nocapture table` prints the table of README.md. All 2^32
//! arguments of every `f32` function of one operand, in half an hour or so of two cores (a list of names as `FUNCTIONS` takes fewer):
//! `FUNCTIONS=exp,log RUSTFLAGS="-C target-cpu=native" cargo test --release -p fusebox-kernels --test math_accuracy -- --ignored --nocapture`

mod math_lanes;

use std::fmt::Write as _;

use core_math as exact;
use fusebox_ir::{Binary, ElementType, Unary};
use math_lanes::{LANES, Machine, binary, unary};

/// A function, its correctly rounded self, and where most of its arguments should be taken from.
struct Case {
    function: Unary,
    exact: fn(f64) -> f64,
    from: f64,
    to: f64,
}

const fn case(function: Unary, exact: fn(f64) -> f64, from: f64, to: f64) -> Case {
    Case { function, exact, from, to }
}

const CASES: &[Case] = &[
    case(Unary::Exp, exact::exp, -750.0, 712.0),
    case(Unary::Log, exact::log, 0.0, 4.0),
    case(Unary::Sin, exact::sin, -200.0, 200.0),
    case(Unary::Cos, exact::cos, -200.0, 200.0),
    case(Unary::Tan, exact::tan, -200.0, 200.0),
    case(Unary::Tanh, exact::tanh, -20.0, 20.0),
    case(Unary::Exp2, exact::exp2, -1100.0, 1026.0),
    case(Unary::Expm1, exact::expm1, -40.0, 712.0),
    case(Unary::Log2, exact::log2, 0.0, 4.0),
    case(Unary::Log10, exact::log10, 0.0, 4.0),
    case(Unary::Log1p, exact::log1p, -1.0, 4.0),
    case(Unary::Asin, exact::asin, -1.0, 1.0),
    case(Unary::Acos, exact::acos, -1.0, 1.0),
    case(Unary::Atan, exact::atan, -5.0, 5.0),
    case(Unary::Sinh, exact::sinh, -720.0, 720.0),
    case(Unary::Cosh, exact::cosh, -720.0, 720.0),
    case(Unary::Asinh, exact::asinh, -5.0, 5.0),
    case(Unary::Acosh, exact::acosh, 1.0, 5.0),
    case(Unary::Atanh, exact::atanh, -1.0, 1.0),
    case(Unary::Erf, exact::erf, -6.0, 6.0),
    case(Unary::Erfc, exact::erfc, -6.0, 27.5),
    case(Unary::Cbrt, exact::cbrt, -10.0, 10.0),
];

/// As [`Case`], of two operands.
struct Pair {
    function: Binary,
    exact: fn(f64, f64) -> f64,
    /// Where the operands are taken from.
    from: [f64; 2],
    to: [f64; 2],
}

const PAIRS: &[Pair] = &[
    Pair { function: Binary::Pow, exact: exact::pow, from: [0.0, -100.0], to: [10.0, 100.0] },
    Pair { function: Binary::Atan2, exact: exact::atan2, from: [-5.0, -5.0], to: [5.0, 5.0] },
    Pair { function: Binary::Hypot, exact: exact::hypot, from: [-5.0, -5.0], to: [5.0, 5.0] },
    Pair { function: Binary::Rem, exact: |x, y| x % y, from: [-500.0, -5.0], to: [500.0, 5.0] },
];

/// Deterministic noise (splitmix64).
struct Noise(u64);

impl Noise {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The largest error found, and where.
#[derive(Clone, Copy, Debug, Default)]
struct Worst {
    /// In units in the last place; in steps from number to number where the exact result is rounded too.
    ulp: f64,
    at: [f64; 2],
    got: f64,
    exact: f64,
}

impl std::fmt::Display for Worst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ulp, at, got, exact } = self;
        write!(f, "{ulp:.3} ulp at {at:?}: {got:e} for {exact:e}")
    }
}

impl Worst {
    fn meet(&mut self, ulp: f64, at: [f64; 2], got: f64, exact: f64) {
        if ulp > self.ulp {
            *self = Self { ulp, at, got, exact };
        }
    }

    fn or(self, other: Self) -> Self {
        if other.ulp > self.ulp { other } else { self }
    }
}

/// The error of an `f32` result in units in the last place, against the result in `f64`.
fn ulp_f32(got: f32, exact: f64) -> f64 {
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let rounded = exact as f32;
    if got.to_bits() == rounded.to_bits() && (got == 0.0 || got.is_infinite()) {
        return 0.0;
    }
    if got == 0.0 && rounded == 0.0 {
        return f64::INFINITY; // the wrong zero
    }
    // An infinity counts as the number after the largest.
    let value = if got.is_infinite() { 2f64.powi(128).copysign(got.into()) } else { f64::from(got) };
    let exact = if exact.is_infinite() { 2f64.powi(128).copysign(exact) } else { exact };
    let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).clamp(-126, 127);
    (value - exact).abs() / 2f64.powi(exponent - 23)
}

/// How many `f64` lie between a result and the correctly rounded one.
fn ulp_f64(got: f64, exact: f64) -> f64 {
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == 0.0 && exact == 0.0 && got.to_bits() != exact.to_bits() {
        return f64::INFINITY; // the wrong zero
    }
    let order = |x: f64| if x.to_bits() >> 63 == 0 { x.to_bits() as i64 } else { -((x.to_bits() << 1 >> 1) as i64) };
    order(got).abs_diff(order(exact)) as f64
}

/// Arguments where functions are hard: next to zeros, poles and ends, and to the seams of the methods used here.
fn hard() -> Vec<f64> {
    let mut points = Vec::new();
    // Multiples of a quarter turn come closest to a zero or pole, here those of all magnitudes; the last two are the worst there are.
    for k in 0..2_000 {
        let multiple = std::f64::consts::FRAC_PI_2 * f64::from(k) * 2f64.powi(k / 2 - 4);
        points.extend([std::f64::consts::FRAC_PI_4 * f64::from(k), multiple]);
    }
    points.extend([6381956970095103.0 * 2f64.powi(797), 6134899525417045.0]);
    for seam in [
        0.375,
        0.4142,
        0.5,
        0.625,
        2.0 / 3.0,
        0.75,
        1.0,
        4.0 / 3.0,
        1.5,
        2.0,
        4.0,
        6.0,
        9.0,
        10.0,
        17.4,
        20.0,
        26.5,
        28.0,
        36.8,
        40.0,
        87.4,
        88.73,
        89.0,
        90.0,
        103.98,
        126.0,
        128.0,
        149.0,
        150.0,
        708.5,
        709.8,
        710.5,
        711.0,
        745.2,
        746.0,
        1022.0,
        1024.0,
        1074.0,
        1075.0,
        1e-4,
        1e-8,
        131_072.0,
        1_073_741_824.0,
        16384.0,
        536_870_912.0,
        std::f64::consts::FRAC_1_SQRT_2,
        std::f64::consts::SQRT_2,
        std::f64::consts::LN_2 / 2.0,
        std::f64::consts::LN_2 * 1.5,
        f64::from(f32::MIN_POSITIVE),
        f64::from(f32::MAX),
        f64::MIN_POSITIVE,
        f64::MAX,
    ] {
        for near in -40..=40 {
            points.push(f64::from_bits(seam.to_bits().wrapping_add_signed(near)));
            // Neighbours in f32, and a bit farther off.
            points.push(f64::from(f32::from_bits((seam as f32).to_bits().wrapping_add_signed(near as i32))));
            points.push(seam * (1.0 + near as f64 * 1e-4));
        }
    }
    let mirrored: Vec<f64> = points.iter().map(|x| -x).collect();
    points.extend(mirrored);
    points
}

/// `count` arguments: half of any bits, half in the range; uniform, and by magnitude.
fn arguments(case: &Case, count: usize, limit: f64) -> Vec<f64> {
    let mut noise = Noise(1);
    let from = case.from.max(-limit);
    let to = case.to.min(limit);
    (0..count)
        .map(|at| match at % 4 {
            0 | 1 => f64::from_bits(noise.bits()),
            2 => from + (to - from) * noise.unit(),
            _ => {
                let end = if noise.bits() & 1 == 0 { from } else { to };
                end * (-40.0 * noise.unit() * noise.unit()).exp2()
            }
        })
        .collect()
}

/// What is done to code before it runs.
type Change = fn(Machine) -> Machine;

fn f32_worst(case: &Case, count: usize, change: Change) -> Worst {
    let mut worst = Worst::default();
    let mut machine = change(unary(case.function, ElementType::F32));
    let mut noise = Noise(2);
    // Steps through all exponents; the range, from the same list as f64.
    let mut points: Vec<f32> = (0..count / 2)
        .map(|at| f32::from_bits(((at as u64 * (1 << 33)) / count as u64 + noise.bits() % 8192) as u32))
        .collect();
    points.extend(
        arguments(case, count, 1e4).into_iter().enumerate().filter(|(at, _)| at % 4 > 1).map(|(_, x)| x as f32),
    );
    points.extend(hard().into_iter().map(|x| x as f32));
    points.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, f32::MIN_POSITIVE]);
    for (&x, got) in points.iter().zip(machine.all(&[&points])) {
        let exact = (case.exact)(x.into());
        worst.meet(ulp_f32(got, exact), [x.into(), 0.0], got.into(), exact);
    }
    worst
}

fn f64_worst(case: &Case, count: usize, change: Change) -> Worst {
    let mut worst = Worst::default();
    let mut machine = change(unary(case.function, ElementType::F64));
    let mut points = arguments(case, count, f64::INFINITY);
    points.extend(hard());
    for (&x, got) in points.iter().zip(machine.all(&[&points])) {
        let exact = (case.exact)(x);
        worst.meet(ulp_f64(got, exact), [x, 0.0], got, exact);
    }
    worst
}

/// `count` pairs: of any bits; of like magnitude; in the range.
fn pairs(pair: &Pair, count: usize) -> [Vec<f64>; 2] {
    let mut noise = Noise(3);
    let within = |at: usize, noise: &mut Noise| pair.from[at] + (pair.to[at] - pair.from[at]) * noise.unit();
    let points = (0..count).map(|at| match at % 4 {
        0 => (f64::from_bits(noise.bits()), f64::from_bits(noise.bits())),
        1 => {
            let x = f64::from_bits(noise.bits());
            (x, x * (noise.unit() * 60.0 - 30.0).exp2())
        }
        2 => (within(0, &mut noise), within(1, &mut noise)),
        // For powers: near 1 to large ones, of moderate results.
        _ => {
            let log = (-30.0 * noise.unit()).exp2() * 700.0;
            let y = (noise.unit() - 0.5) * 2.0 * 700.0 / log;
            ((log * (noise.unit() - 0.5) * 2.0).exp(), y)
        }
    });
    let (x, y) = points.unzip();
    [x, y]
}

fn pair_worst(pair: &Pair, count: usize, change: Change) -> [Worst; 2] {
    let mut worst = [Worst::default(); 2];
    let [x, y] = pairs(pair, count);
    for (at, got) in change(binary(pair.function, ElementType::F64)).all(&[&x, &y]).into_iter().enumerate() {
        let exact = (pair.exact)(x[at], y[at]);
        worst[1].meet(ulp_f64(got, exact), [x[at], y[at]], got, exact);
    }
    // Magnitudes of f64 into those of f32.
    let narrow = |x: &Vec<f64>| -> Vec<f32> {
        x.iter()
            .map(|&x| if x.abs() < 1e30 && x.abs() > 1e-30 { x as f32 } else { x.abs().powf(0.14).copysign(x) as f32 })
            .collect()
    };
    let (x, y) = (narrow(&x), narrow(&y));
    for (at, got) in change(binary(pair.function, ElementType::F32)).all(&[&x, &y]).into_iter().enumerate() {
        let exact = (pair.exact)(x[at].into(), y[at].into());
        worst[0].meet(ulp_f32(got, exact), [x[at].into(), y[at].into()], got.into(), exact);
    }
    worst
}

#[test]
fn table_of_the_largest_errors() {
    let given = std::env::var("POINTS").ok().and_then(|points| points.parse().ok());
    let count = given.unwrap_or(if cfg!(debug_assertions) { 200_000 } else { 2_000_000 });
    let mut table = String::from("| function | f32 ulp | f64 steps | f32 code | f64 code |\n|---|---|---|---|---|\n");
    let mut failures = String::new();
    let mut row = |name: &str, single: Worst, double: Worst, sizes: [(usize, usize); 2]| {
        let [a, b] = sizes.map(|(out, body)| if body == 0 { out.to_string() } else { format!("{out} + {body}") });
        let _ = writeln!(table, "| {name} | {:.2} | {} | {a} | {b} |", single.ulp, double.ulp);
        for worst in [single, double] {
            if worst.ulp > 2.0 {
                let _ = writeln!(failures, "{name}: {worst}");
            }
        }
    };
    for case in CASES {
        let sizes = [ElementType::F32, ElementType::F64].map(|ty| unary(case.function, ty).size());
        row(case.function.text(), f32_worst(case, count, |code| code), f64_worst(case, count, |code| code), sizes);
    }
    for pair in PAIRS {
        let sizes = [ElementType::F32, ElementType::F64].map(|ty| binary(pair.function, ty).size());
        let [single, double] = pair_worst(pair, count, |code| code);
        row(pair.function.text(), single, double, sizes);
    }
    println!("{table}{failures}");
    assert!(failures.is_empty(), "more than 2 ulp:\n{failures}");
}

/// `--contract` turns sums of products into `fma`: that must not undo what the formulas take care of.
#[test]
fn contraction_keeps_the_bound() {
    let change: Change = Machine::contracted;
    let mut changed = 0;
    for ty in [ElementType::F32, ElementType::F64] {
        changed += CASES
            .iter()
            .filter(|case| unary(case.function, ty).lambda != change(unary(case.function, ty)).lambda)
            .count();
    }
    assert!(changed > 10, "the formulas have sums of products: {changed}");
    let mut failures = String::new();
    let mut judge = |name: &str, worst: Worst| {
        if worst.ulp > 2.0 {
            let _ = writeln!(failures, "{name}: {worst}");
        }
    };
    for case in CASES {
        judge(case.function.text(), f32_worst(case, 50_000, change));
        judge(case.function.text(), f64_worst(case, 50_000, change));
    }
    for pair in PAIRS {
        for worst in pair_worst(pair, 50_000, change) {
            judge(pair.function.text(), worst);
        }
    }
    assert!(failures.is_empty(), "more than 2 ulp:\n{failures}");
}

/// Minutes per function: see the top of this file.
#[test]
#[ignore = "takes minutes per function; the top of the file says how to run it"]
fn every_f32() {
    let wanted = std::env::var("FUNCTIONS").unwrap_or_default();
    for case in CASES {
        if !wanted.is_empty() && !wanted.split(',').any(|name| name == case.function.text()) {
            continue;
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let piece = |thread: u64| {
            let mut machine = unary(case.function, ElementType::F32);
            let mut worst = Worst::default();
            let blocks = (1u64 << 32) / LANES as u64;
            for block in (thread..blocks).step_by(threads as usize) {
                let points: Vec<f32> =
                    (0..LANES as u64).map(|lane| f32::from_bits((block * LANES as u64 + lane) as u32)).collect();
                for (&x, got) in points.iter().zip(machine.run(&[&points])) {
                    let exact = (case.exact)(x.into());
                    worst.meet(ulp_f32(got, exact), [x.into(), 0.0], got.into(), exact);
                }
            }
            worst
        };
        let worst = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..threads).map(|thread| scope.spawn(move || piece(thread))).collect();
            runs.into_iter().map(|run| run.join().expect("no panic")).fold(Worst::default(), Worst::or)
        });
        println!("{}: {worst}", case.function.text());
        assert!(worst.ulp <= 2.0, "{}: {worst}", case.function.text());
    }
}
