//! Plans for tests.
#![allow(dead_code)] // each test file uses its share

use fusebox_ir::{Array, Plan, Program, Property, ProvedPlan, text, validate};

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
