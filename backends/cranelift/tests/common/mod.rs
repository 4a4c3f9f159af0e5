//! Programs as text, run on the CPU in every way and compared to the bit with the interpreter of kernels.
#![allow(dead_code)] // each test file uses its share

pub mod by_hand;
pub mod kernels;

use std::sync::{Arc, OnceLock};

use fusebox_backend::BackendError;
use fusebox_cranelift::{CompiledPlan, Config, Cranelift, Features};
use fusebox_ir::{Array, Constant, ElementType, Plan, Program, ProvedPlan, Value, text};
use fusebox_schedule::{Book, Target, alternatives};

/// Threads and gangs that every program is run with.
pub fn backends() -> &'static [(String, Cranelift)] {
    static BACKENDS: OnceLock<Vec<(String, Cranelift)>> = OnceLock::new();
    BACKENDS.get_or_init(|| {
        [(1, false, false), (1, true, false), (2, true, false), (7, true, false), (2, true, true), (7, true, true)]
            .into_iter()
            .map(|(threads, vectors, wide)| {
                // Small kernels are shared too, so that sharing is tested.
                let config = Config {
                    threads,
                    vectors,
                    wide,
                    // Vectors of 32 bytes are tested wherever they are there, also beside those of 64.
                    features: (threads == 2 && Features::AVX2.run_here()).then_some(Features::AVX2),
                    share_from_ns: if threads == 2 { 2_000 } else { 1 },
                    // And some go over memory as if no cache held it.
                    out_of_cache_bytes: if threads == 7 { 0 } else { usize::MAX },
                    ..Config::default()
                };
                (format!("{threads} threads, vectors {vectors}, wide {wide}"), Cranelift::new(config).unwrap())
            })
            .collect()
    })
}

/// Whether two backends make the same code of a kernel.
pub fn same_code(left: &Config, right: &Config) -> bool {
    left.vectors == right.vectors && left.wide == right.wide && (!left.wide || left.features == right.features)
}

/// Equal but for sign and payload of NaN, which are no part of a result.
pub fn same_bits(left: &Array, right: &Array) -> bool {
    left.element() == right.element()
        && left.extents() == right.extents()
        && left.constants().zip(right.constants()).all(|(left, right)| {
            left == right || matches!((left.as_f64(), right.as_f64()), (Some(a), Some(b)) if a.is_nan() && b.is_nan())
        })
}

/// The plan of a program in text.
pub fn plan(source: &str) -> Plan {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    lowered(&program).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// The plan of a program, which is made strict first; why there is none, if there is none.
#[allow(dead_code)]
pub fn lowered(program: &Program) -> Result<Plan, fusebox_kernels::Error> {
    let strict = match fusebox_strictness::make_strict(program, &fusebox_strictness::Config::default()) {
        Ok((strict, _)) => strict,
        // What is not flat has no plan either.
        Err(fusebox_strictness::Error::Invalid(_)) => program.clone(),
        Err(error) => panic!("{error}\n{program}"),
    };
    Ok(fusebox_kernels::lower(&strict, &fusebox_kernels::Config::default())?.0)
}

/// What the interpreter of kernels gives: results, or the error as text.
pub fn interpreted(plan: &Plan, inputs: &[Array]) -> Result<Vec<Array>, String> {
    let inputs: Vec<Value> = inputs.iter().cloned().map(Value::Array).collect();
    let (results, _) = fusebox_interp::run_plan(plan, &inputs).map_err(|error| error.to_string())?;
    Ok(results
        .into_iter()
        .map(|result| match result {
            Value::Array(array) => array,
            other => panic!("{other:?}"),
        })
        .collect())
}

/// A plan as lowering made it, or a test by hand, without guards.
#[allow(unsafe_code)]
pub fn compiled(backend: &Cranelift, plan: &Plan) -> Result<CompiledPlan, BackendError> {
    // SAFETY: tests compile what lowering has proved, or accesses that are inside by the way they are written.
    let plan = unsafe { ProvedPlan::new(plan.clone()) };
    backend.compile_proved_plan(&plan)
}

/// What the CPU gives.
pub fn run(backend: &Cranelift, plan: &Plan, inputs: &[Array]) -> Result<Vec<Array>, BackendError> {
    compiled(backend, plan)?.load_plan()?.run_plan(inputs)
}

/// Runs a program on each of the inputs with every backend; panics where results, or errors, differ from the interpreter's.
pub fn check(source: &str, all_inputs: &[Vec<Array>]) {
    check_plan(&plan(source), source, all_inputs);
}

/// The same of a plan.
pub fn check_plan(plan: &Plan, source: &str, all_inputs: &[Vec<Array>]) {
    let expected: Vec<_> = all_inputs.iter().map(|inputs| interpreted(plan, inputs)).collect();
    for (what, backend) in backends() {
        let compiled = compiled(backend, plan).unwrap_or_else(|error| panic!("{what}: {error}\n{source}"));
        let loaded = compiled.load_plan().unwrap_or_else(|error| panic!("{what}: {error}\n{source}"));
        for (inputs, expected) in all_inputs.iter().zip(&expected) {
            let extents: Vec<&[usize]> = inputs.iter().map(Array::extents).collect();
            match (loaded.run_plan(inputs), expected) {
                (Ok(results), Ok(expected)) => {
                    for (position, (result, expected)) in results.iter().zip(expected).enumerate() {
                        if !same_bits(result, expected) {
                            let at = result.constants().zip(expected.constants()).position(|(a, b)| a != b);
                            let pair = at.map(|at| (result.get(at), expected.get(at)));
                            panic!(
                                "{what}, inputs of {extents:?}: result {position} differs at {at:?}: {pair:?}, extents {:?} and {:?}\n{source}",
                                result.extents(),
                                expected.extents()
                            );
                        }
                    }
                }
                // Of several failures any may be the one; the tests that care have one.
                (Err(BackendError::Run(_)), Err(_)) => {}
                (result, expected) => {
                    panic!("{what}, inputs of {extents:?}: {result:?} instead of {expected:?}\n{source}")
                }
            }
        }
    }
}

/// Runs a program by every schedule that its last kernel could have, on every target whose code this machine runs, on 1, 2 and 7 threads by turns; gives
/// how many schedules have each form in their text.
pub fn every_schedule(source: &str, inputs: &[Vec<Array>], forms: &[&str]) -> Vec<usize> {
    let plan = plan(source);
    let kernel = plan.kernels.last().unwrap();
    let expected: Vec<_> = inputs.iter().map(|inputs| interpreted(&plan, inputs)).collect();
    let mut counts = vec![0; forms.len()];
    let mut threads = [1, 2, 7].into_iter().cycle();
    for (name, features) in [("sse", None), ("avx2", Some(Features::AVX2)), ("avx512", Some(Features::BASE))] {
        if features.is_some_and(|features| !features.run_here()) {
            continue;
        }
        for schedule in alternatives(kernel, &Target::named(name).unwrap()) {
            let text = schedule.to_text(kernel);
            for (count, form) in counts.iter_mut().zip(forms) {
                *count += usize::from(text.contains(form));
            }
            let mut book = Book::default();
            book.insert(kernel, schedule);
            let (threads, schedules) = (threads.next().unwrap_or(1), Arc::new(book));
            let config = Config { threads, share_from_ns: 1, schedules, features, ..Config::default() };
            let backend = Cranelift::new(config).unwrap();
            let loaded = compiled(&backend, &plan).unwrap().load_plan().unwrap();
            for (inputs, expected) in inputs.iter().zip(&expected) {
                match (loaded.run_plan(inputs), expected) {
                    (Ok(results), Ok(expected)) => {
                        let same = results.iter().zip(expected).all(|(own, other)| same_bits(own, other));
                        assert!(same, "{threads} threads\n{text}\n{source}");
                    }
                    (result, expected) => assert_eq!(result.is_ok(), expected.is_ok(), "{text}\n{source}"),
                }
            }
        }
    }
    counts
}

/// Pseudo-random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ self.0 >> 33;
        x.wrapping_mul(0xff51afd7ed558ccd) ^ x >> 29
    }

    /// Numbers of a type: floats between -4 and 4, integers of any bits.
    pub fn array(&mut self, element: ElementType, extents: &[usize]) -> Array {
        let count = extents.iter().product();
        let elements: Vec<Constant> = (0..count)
            .map(|_| {
                let bits = self.next();
                let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
                match element {
                    ElementType::F16 => Constant::from(half::f16::from_f64(unit * 8.0 - 4.0)),
                    ElementType::F32 => Constant::from((unit * 8.0 - 4.0) as f32),
                    ElementType::F64 => Constant::from(unit * 8.0 - 4.0),
                    other => Constant::from_bits(other, bits),
                }
            })
            .collect();
        Array::from_constants(element, extents, &elements).unwrap()
    }

    /// Whole numbers in `low..high`.
    pub fn ints(&mut self, element: ElementType, extents: &[usize], low: i64, high: i64) -> Array {
        let count = extents.iter().product();
        let elements: Vec<Constant> = (0..count)
            .map(|_| Constant::from_i64(element, low + (self.next() % (high - low).max(1) as u64) as i64))
            .collect();
        Array::from_constants(element, extents, &elements).unwrap()
    }
}

/// Sizes around gangs, blocks and tiles.
pub const SIZES: [usize; 8] = [0, 1, 3, 31, 200, 4096, 4099, 66_001];
