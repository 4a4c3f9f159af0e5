//! Wide code for each set of features: random block functions by both code generators leave the same memory, but for NaNs' signs and
//! payloads; kernels of golden programs have wide code, and their plans the bits of the interpreter.
//!
//! The machine at hand plays no part in what is made: code for every set is made and decoded anywhere, and run where it can be.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_FUNCTIONS=N` that many.

#[path = "../../wide/tests/decoded/mod.rs"]
mod decoded;

use crate::common;
use crate::functions::{function, run};
use decoded::decoded;
use fusebox_cranelift::{Block, Config, Cranelift, Features, vector::Function};
use fusebox_ir::{Array, Plan, Value};
use fusebox_wide::{Code, Refusal, compile};

/// What became of the functions for one set of features.
#[derive(Default)]
struct Tally {
    /// Machine code was made of them, and decoded.
    made: usize,
    /// It was run, and did what Cranelift's did.
    compared: usize,
    /// Runs that ended at a failure.
    failed: usize,
}

/// The code of a function for a set; none if something has no wide code, whatever the set.
fn made(function: &Function, features: Features) -> Option<Code> {
    match compile(function, features) {
        Ok(code) => {
            decoded(&code, features).unwrap_or_else(|error| panic!("for {features}: {error}\n{function}"));
            Some(code)
        }
        Err(Refusal::Lacks(_)) => None,
        Err(error) => panic!("{error}\n{function}"),
    }
}

/// Of `least` percent of the functions there is code for each set; where it can be run, it does what Cranelift's does.
fn check(seeds: std::ops::Range<u64>, instructions: u64, least: usize) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match (number("FUSEBOX_SEED"), number("FUSEBOX_FUNCTIONS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(count)) => seeds.start..seeds.start + count,
        (None, None) => seeds,
    };
    let count = (seeds.end - seeds.start) as usize;
    let mut tallies = Features::NAMED.map(|_| Tally::default());
    for seed in seeds {
        let function = function(seed, instructions);
        let codes = Features::NAMED.map(|(_, features)| made(&function, features));
        let refused = codes.iter().filter(|code| code.is_none()).count();
        assert!(refused == 0 || refused == codes.len(), "seed {seed}: what is refused hangs on features\n{function}");
        let mut expected = None;
        let mut ran: Vec<(Vec<u8>, i64)> = Vec::new();
        for (((name, features), tally), code) in Features::NAMED.iter().zip(&mut tallies).zip(codes) {
            let Some(code) = code else { continue };
            tally.made += 1;
            if !features.run_here() {
                continue;
            }
            let given = match ran.iter().find(|(bytes, _)| *bytes == code.bytes) {
                Some(&(_, given)) => given,
                None => {
                    let expected = expected.get_or_insert_with(|| {
                        let narrow = Block::through_cranelift(&function).unwrap();
                        run(&narrow, &function, seed)
                    });
                    let bytes = code.bytes.clone();
                    let wide = Block::from_code(&function, code).unwrap();
                    let got = run(&wide, &function, seed);
                    assert_same(&format!("seed {seed}, {name}"), &function, expected, &got);
                    ran.push((bytes, got.0));
                    got.0
                }
            };
            tally.compared += 1;
            tally.failed += usize::from(given != 0);
        }
    }
    for ((name, features), Tally { made, compared, failed }) in Features::NAMED.iter().zip(tallies) {
        let ran = if features.run_here() {
            format!("{compared} run and compared, {failed} of them left at a failure")
        } else {
            "none run: this machine cannot".to_owned()
        };
        println!("{name} ({features}): code of {made} of {count} functions made and decoded; {ran}");
        assert!(count == 1 || made * 100 >= count * least, "{name}: {made} of {count}");
        assert_eq!(compared, if features.run_here() { made } else { 0 });
    }
}

/// What two code generators' functions give, and what memory holds afterwards.
fn assert_same(what: &str, function: &Function, expected: &(i64, Vec<Vec<u64>>), got: &(i64, Vec<Vec<u64>>)) {
    if expected == got {
        return;
    }
    let differ: Vec<(usize, usize, u64, u64)> = (expected.1.iter().zip(&got.1).enumerate())
        .flat_map(|(array, (a, b))| a.iter().zip(b).enumerate().map(move |(at, (a, b))| (array, at, *a, *b)))
        .filter(|(_, _, a, b)| a != b)
        .take(6)
        .collect();
    panic!("{what}: {} and {}; (array, word, expected, got): {differ:x?}\n{function}", expected.0, got.0);
}

#[test]
fn short_functions() {
    check(0..600, 25, 95);
}

/// With many more values alive than there are registers.
#[test]
fn long_functions() {
    check(10_000..10_100, 250, 95);
}

/// Beyond the length up to which registers are allocated with care.
#[test]
fn very_long_functions() {
    let first = made(&function(20_000, 12_000), Features::AVX2).unwrap();
    // Instructions of gangs have four bytes and more: these are more than are allocated with care.
    assert!(first.instructions > 12 * 32_000, "{} bytes", first.instructions);
    check(20_000..20_002, 12_000, 50);
}

/// The plan of a golden program; none if it has none.
fn golden_plan(name: &str) -> Option<Plan> {
    let program = fusebox_golden::load(name).program;
    common::lowered(&program).ok()
}

/// No kernel of golden programs is in gangs and has yet no wide code.
#[test]
fn kernels_in_gangs_are_wide() {
    let backend = Cranelift::new(Config { threads: 1, ..Config::default() }).unwrap();
    let mut wide = Features::NAMED.map(|_| 0);
    let mut not = Features::NAMED.map(|_| Vec::new());
    for name in fusebox_golden::names() {
        let Some(plan) = golden_plan(&name) else { continue };
        let compiled = common::compiled(&backend, &plan).unwrap();
        for (set, (_, features)) in Features::NAMED.into_iter().enumerate() {
            let codes = compiled.wide_code(features).unwrap();
            for ((kernel, compiled), code) in plan.kernels.iter().zip(compiled.kernels().unwrap()).zip(codes) {
                match (compiled.gang, code) {
                    (_, Some(code)) => {
                        wide[set] += 1;
                        for code in code.codes.iter().flatten() {
                            let fault = |error| panic!("{name}, {} for {features}: {error}", kernel.name.0);
                            decoded(code, features).unwrap_or_else(fault);
                        }
                    }
                    (Some(_), None) => not[set].push(format!("{name}: {}", kernel.name.0)),
                    (None, None) => {}
                }
            }
        }
    }
    for ((name, features), (wide, not)) in Features::NAMED.into_iter().zip(wide.into_iter().zip(not)) {
        println!("{name} ({features}): {wide} kernels are wide, their code made and decoded; {} are not", not.len());
        assert!(wide >= 300, "{name}: only {wide} kernels");
        assert_eq!(not, [""; 0], "{name}");
    }
}

/// Programs whose kernels count bits, append narrow lanes, move bytes between lanes, or compute in `f16`.
const NARROW: [&str; 9] = [
    "run_length",
    "sieve",
    "thin",
    "integer_functions",
    "word_count",
    "filter",
    "radix_sort",
    "half_precision",
    "conversions",
];

/// Conversions of `f16` for each set: every `f16`, and numbers around the middles between neighbours, which are rounded once.
#[test]
fn halves_are_converted_and_rounded_once() {
    let program = fusebox_ir::text::parse(
        "fn f(x: [n]f16, y: [m]f64, z: [k]f32) -> [n]f32, [n]f64, [m]f16, [k]f16 {
          let a: [n]f32 = map(|v| f32(v), x)
          let b: [n]f64 = map(|v| f64(v), x)
          let c: [m]f16 = map(|v| f16(v), y)
          let d: [k]f16 = map(|v| f16(v), z)
          return a, b, c, d }",
    );
    let plan = common::lowered(&program.unwrap()).unwrap();
    let halves: Vec<half::f16> = (0..=u16::MAX).map(half::f16::from_bits).collect();
    let mut doubles =
        vec![f64::MAX, f64::MIN_POSITIVE, 1e-300, f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001), 65519.999999999];
    for pair in halves.windows(2) {
        let (low, high) = (pair[0].to_f64(), pair[1].to_f64());
        let middle = low + (high - low) / 2.0;
        doubles.extend([
            middle,
            f64::from_bits(middle.to_bits() + 1),
            f64::from_bits(middle.to_bits().wrapping_sub(1)),
        ]);
    }
    let singles: Vec<f32> = doubles.iter().map(|&x| x as f32).collect();
    let inputs = [
        Array::new(&[halves.len()], &halves).unwrap(),
        Array::new(&[doubles.len()], &doubles).unwrap(),
        Array::new(&[singles.len()], &singles).unwrap(),
    ];
    let values: Vec<Value> = inputs.iter().cloned().map(Value::Array).collect();
    let (expected, _) = fusebox_interp::run_plan(&plan, &values).unwrap();
    for (set, features) in Features::NAMED.into_iter().filter(|(_, features)| features.run_here()) {
        let config = Config { threads: 1, features: Some(features), ..Config::default() };
        let compiled = common::compiled(&Cranelift::new(config).unwrap(), &plan).unwrap();
        let loaded = compiled.load_plan().unwrap();
        // In vectors of 16 bytes they are scalar code.
        assert!(loaded.wide_kernels().into_iter().all(|wide| wide), "{set}");
        for (result, expected) in loaded.run_plan(&inputs).unwrap().iter().zip(&expected) {
            let Value::Array(expected) = expected else { panic!("{expected:?}") };
            assert!(common::same_bits(result, expected), "{set}: {result:?}");
        }
    }
}

#[test]
fn plans_have_the_bits_of_the_interpreter_for_each_set() {
    for (set, features) in Features::NAMED {
        if !features.run_here() {
            println!("{set} ({features}): not run, this machine cannot");
            continue;
        }
        for name in NARROW {
            let plan = golden_plan(name).unwrap();
            let golden = fusebox_golden::load(name);
            let array = |input: &Value| if let Value::Array(array) = input { Some(array.clone()) } else { None };
            let inputs: Vec<Array> = golden.inputs.iter().filter_map(array).collect();
            let (expected, _) = fusebox_interp::run_plan(&plan, &golden.inputs).unwrap();
            for threads in [1, 2] {
                let config = Config { threads, features: Some(features), share_from_ns: 1, ..Config::default() };
                let compiled = common::compiled(&Cranelift::new(config).unwrap(), &plan).unwrap();
                let loaded = compiled.load_plan().unwrap();
                for (wide, kernel) in loaded.wide_kernels().into_iter().zip(compiled.kernels().unwrap()) {
                    assert!(wide || kernel.gang.is_none(), "{name} for {set}");
                }
                let results = loaded.run_plan(&inputs).unwrap();
                for (result, expected) in results.iter().zip(&expected) {
                    let Value::Array(expected) = expected else { panic!("{name}: {expected:?}") };
                    assert!(common::same_bits(result, expected), "{name}, {set}, {threads} threads: {result:?}");
                }
            }
        }
        println!("{set} ({features}): {} programs run", NARROW.len());
    }
}

/// A backend says so, and runs nothing, where its features are not those of the machine.
#[test]
fn features_that_a_machine_lacks_are_refused() {
    for (_, features) in Features::NAMED {
        let backend = Cranelift::new(Config { threads: 1, features: Some(features), ..Config::default() });
        match backend {
            Ok(_) => assert!(features.run_here()),
            Err(error) => {
                assert!(!features.run_here());
                assert!(error.to_string().contains(&features.to_string()), "{error}");
            }
        }
    }
}
