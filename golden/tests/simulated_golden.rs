//! Golden programs as PTX on the simulator: those that are flat, and those that are made so. Results have the bits of the interpreter of kernels,
//! and are what is expected.

use fusebox::{Fusion, Options, pipeline_of, run_passes};
use fusebox_golden::{Golden, load, names};
use fusebox_interp::run_plan;
use fusebox_ir::{Array, FlatInterface, Plan, Value};
use fusebox_ptx::{
    PtxBackend,
    sim::{Options as Machine, Simulator},
};
use fusebox_schedule::Target;

fn plan(golden: &Golden, fusion: Fusion) -> Option<Plan> {
    let passes = pipeline_of(&golden.program, &Options { fusion, ..Options::default() });
    let stages = run_passes(&golden.program, &passes, false).unwrap_or_else(|error| panic!("{}: {error}", golden.name));
    stages.last()?.plan().cloned()
}

/// Equal but for sign and payload of NaN, which are no part of a result.
fn same_bits(left: &Array, right: &Array) -> bool {
    left.element() == right.element()
        && left.extents() == right.extents()
        && left.constants().zip(right.constants()).all(|(left, right)| {
            left == right || matches!((left.as_f64(), right.as_f64()), (Some(a), Some(b)) if a.is_nan() && b.is_nan())
        })
}

/// What is wrong with a program.
fn wrong(golden: &Golden, fusion: Fusion, seed: u64) -> Option<String> {
    let plan = plan(golden, fusion)?;
    let inputs = golden.flat_arrays();
    let values: Vec<Value> = inputs.iter().cloned().map(Value::Array).collect();
    let expected = run_plan(&plan, &values).unwrap_or_else(|error| panic!("{}: {error}", golden.name)).0;
    let target = Target::named(["sm_70", "sm_80", "sm_90"][seed as usize % 3])?;
    let backend = PtxBackend::new(Simulator::new(Machine { seed, ..Machine::default() }), target);
    let run = backend
        .compile_plan(&plan)
        .and_then(|compiled| compiled.load_plan())
        .and_then(|loaded| loaded.run_plan(&inputs));
    let results = match run {
        Ok(results) => results,
        Err(error) => return Some(error.to_string()),
    };
    for (position, (result, expected)) in results.iter().zip(&expected).enumerate() {
        let Value::Array(expected) = expected else { return Some(format!("result {position} is no array")) };
        if !same_bits(result, expected) {
            return Some(format!("result {position} has other bits"));
        }
    }
    let results = FlatInterface::of(&golden.program).values(results).unwrap_or_else(|error| panic!("{error}"));
    golden.check(&results).err().map(|mismatch| mismatch.to_string())
}

#[test]
fn they_run_on_the_simulator() {
    let only = std::env::var("ONLY").ok();
    let mut faults = Vec::new();
    let (mut flat, mut nested) = (0, 0);
    for (seed, name) in names().into_iter().enumerate() {
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let golden = load(&name);
        for fusion in [Fusion::Optimal, Fusion::None] {
            if let Some(fault) = wrong(&golden, fusion, seed as u64) {
                faults.push(format!("{name} with fusion {fusion}: {fault}"));
            }
        }
        let is_flat = fusebox_ir::validate(&golden.program, &[fusebox_ir::Property::Flat]).is_ok();
        *(if is_flat { &mut flat } else { &mut nested }) += 1;
    }
    assert!(faults.is_empty(), "{} programs\n{}", faults.len(), faults.join("\n"));
    assert!(only.is_some() || (flat >= 60 && nested >= 10), "{flat} flat programs, {nested} nested ones");
}
