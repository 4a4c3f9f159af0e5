//! Plans for tests.
#![allow(dead_code)] // each test file uses its share

#[path = "../../../cranelift/tests/common/kernels/mod.rs"]
pub mod kernels;

use fusebox_backend::BackendError;
use fusebox_ir::{Array, Constant, ElementType, Plan, Program, Property, ProvedPlan, Value, text, validate};

/// The plans of all golden programs that are flat.
pub fn golden_plans() -> Vec<(String, Plan)> {
    let mut plans = Vec::new();
    for name in fusebox_golden::names() {
        let golden = fusebox_golden::load(&name);
        if validate(&golden.program, &[Property::Flat]).is_err() {
            continue;
        }
        if let Ok(plan) = lowered(&golden.program) {
            plans.push((name, plan));
        }
    }
    plans
}

/// The plan of a program, which is made strict first; why there is none, if there is none.
pub fn lowered(program: &Program) -> Result<Plan, fusebox_kernels::Error> {
    let strict = match fusebox_strictness::make_strict(program, &fusebox_strictness::Config::default()) {
        Ok((strict, _)) => strict,
        // What is not flat has no plan either.
        Err(fusebox_strictness::Error::Invalid(_)) => program.clone(),
        Err(error) => panic!("{error}\n{program}"),
    };
    Ok(fusebox_kernels::lower(&strict, &fusebox_kernels::Config::default())?.0)
}

/// The plan of a program in text.
pub fn plan(source: &str) -> Plan {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    lowered(&program).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// A simulated machine; the seed decides the order of blocks and warps.
pub fn simulator(target: &str, seed: u64) -> fusebox_ptx::PtxBackend<fusebox_ptx::sim::Simulator> {
    let options = fusebox_ptx::sim::Options { seed, ..Default::default() };
    let target = fusebox_schedule::Target::named(target).unwrap();
    fusebox_ptx::PtxBackend::new(fusebox_ptx::sim::Simulator::new(options), target)
}

/// Equal but for sign and payload of NaN, which are no part of a result.
pub fn same_bits(left: &Array, right: &Array) -> bool {
    left.element() == right.element()
        && left.extents() == right.extents()
        && left.constants().zip(right.constants()).all(|(left, right)| {
            left == right || matches!((left.as_f64(), right.as_f64()), (Some(a), Some(b)) if a.is_nan() && b.is_nan())
        })
}

/// A plan as lowering made it, without guards.
#[allow(unsafe_code)]
pub fn proved(plan: &Plan) -> ProvedPlan {
    // SAFETY: tests compile what lowering has proved.
    unsafe { ProvedPlan::new(plan.clone()) }
}

/// What the interpreter of kernels gives: results, or the error as text.
pub fn interpreted(plan: &Plan, inputs: &[Array]) -> Result<Vec<Array>, String> {
    let inputs: Vec<Value> = inputs.iter().cloned().map(Value::Array).collect();
    let (results, _) = fusebox_interp::run_plan(plan, &inputs).map_err(|error| error.to_string())?;
    let array = |value| if let Value::Array(array) = value { array } else { panic!("{value:?}") };
    Ok(results.into_iter().map(array).collect())
}

/// What the simulator gives.
pub fn run(plan: &Plan, inputs: &[Array], target: &str, seed: u64) -> Result<Vec<Array>, BackendError> {
    simulator(target, seed).compile_proved_plan(&proved(plan))?.load_plan()?.run_plan(inputs)
}

/// Runs a program on each of the inputs, for machines with and without some instructions; panics where results, or whether there are any, differ
/// from the interpreter's.
pub fn check(source: &str, all_inputs: &[Vec<Array>]) {
    check_plan(&plan(source), source, all_inputs);
}

/// The same of a plan.
pub fn check_plan(plan: &Plan, source: &str, all_inputs: &[Vec<Array>]) {
    for (seed, inputs) in all_inputs.iter().enumerate() {
        let expected = interpreted(plan, inputs);
        for target in ["sm_70", "sm_90"] {
            let extents: Vec<&[usize]> = inputs.iter().map(Array::extents).collect();
            match (run(plan, inputs, target, seed as u64), &expected) {
                (Ok(results), Ok(expected)) => {
                    for (position, (result, expected)) in results.iter().zip(expected).enumerate() {
                        if !same_bits(result, expected) {
                            let at = result.constants().zip(expected.constants()).position(|(a, b)| a != b);
                            let pair = at.map(|at| (result.get(at), expected.get(at)));
                            panic!(
                                "{target}, inputs of {extents:?}: result {position} differs at {at:?}: {pair:?}\n{source}"
                            );
                        }
                    }
                }
                // Of several failures any may be the one; the tests that care have one.
                (Err(BackendError::Run(_)), Err(_)) => {}
                (result, expected) => {
                    panic!("{target}, inputs of {extents:?}: {result:?} instead of {expected:?}\n{source}")
                }
            }
        }
    }
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
