//! Kernels count themselves: polynomials in the sizes say of every plan what running it counts.

use std::collections::HashMap;

use fusebox::{Fusion, Options, pass, pipeline, run_passes};
use fusebox_golden::{Golden, load, names};
use fusebox_interp::{Counts, run_plan};
use fusebox_ir::{
    Extent, Made, Plan, Property, Value,
    analysis::counts::{PlanTraffic, Polynomial, Traffic, plan_traffic},
    validate,
};

/// Sizes and scalar inputs, by name.
fn given(plan: &Plan, inputs: &[Value]) -> HashMap<String, i64> {
    let mut given = HashMap::new();
    for (&id, input) in plan.inputs.iter().zip(inputs) {
        let declared = &plan.values[id.index()];
        let Value::Array(array) = input else { panic!("plans take arrays") };
        for (extent, &n) in declared.ty.extents.iter().zip(array.extents()) {
            if let Extent::Value(size) = extent {
                given.insert(plan.values[size.index()].name.clone(), n as i64);
            }
        }
        if declared.ty.is_scalar()
            && let Some(value) = array.get(0).as_i64()
        {
            given.insert(declared.name.clone(), value);
        }
    }
    given
}

fn plan(golden: &Golden, fusion: Fusion) -> Option<Plan> {
    validate(&golden.program, &[Property::Flat]).ok()?;
    let options = Options { fusion, ..Options::default() };
    let mut stages = run_passes(&golden.program, &pipeline(&options), false)
        .unwrap_or_else(|error| panic!("{} with fusion {fusion}: {error}", golden.name));
    match stages.pop()?.made {
        Made::Plan(plan) => Some(*plan),
        Made::Program(_) => None,
    }
}

fn evaluated(traffic: &Traffic, given: &HashMap<String, i64>) -> Option<[i64; 5]> {
    let value = |polynomial: &Polynomial| polynomial.evaluate(&|name| given.get(name).copied());
    let Traffic { loops, reads, writes, bytes_read, bytes_written, flops: _, exact: _ } = traffic;
    Some([*loops as i64, value(reads)?, value(writes)?, value(bytes_read)?, value(bytes_written)?])
}

fn counted(counts: &Counts) -> [i64; 5] {
    let Counts { launches: _, loops, reads, writes, bytes_read, bytes_written, peak_bytes: _ } = counts;
    [loops, reads, writes, bytes_read, bytes_written].map(|&count| count as i64)
}

fn polynomials_are_what_runs_count(fusion: Fusion) {
    let (mut plans, mut exact, mut known) = (0, 0, 0);
    let mut failures = String::new();
    for name in names() {
        let golden = load(&name);
        let Some(plan) = plan(&golden, fusion) else { continue };
        let (_, counts) = run_plan(&plan, &golden.inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let PlanTraffic { total, .. } = plan_traffic(&plan);
        plans += 1;
        if !total.exact {
            continue;
        }
        exact += 1;
        let Some(evaluated) = evaluated(&total, &given(&plan, &golden.inputs)) else {
            println!("{name}: reads {}, writes {}", total.reads, total.writes);
            continue;
        };
        known += 1;
        if evaluated != counted(&counts) {
            let (said, counted) = (evaluated, counted(&counts));
            failures += &format!(
                "{name}: loops, reads, writes, bytes should be {counted:?}, but are said to be {said:?}: {}, {}\n",
                total.reads, total.writes
            );
        }
    }
    println!("{plans} plans, {exact} without control that depends on data, of which {known} in sizes of inputs alone");
    assert!(failures.is_empty(), "{failures}");
    // Most programs: the others loop, branch, or make arrays whose extents the data decide.
    assert!(exact * 3 >= plans * 2, "{exact} of {plans}");
    assert!(known * 5 > plans * 3, "{known} of {plans}");
}

#[test]
fn polynomials_are_what_runs_count_unfused() {
    polynomials_are_what_runs_count(Fusion::None);
}

#[test]
fn polynomials_are_what_runs_count_fused() {
    polynomials_are_what_runs_count(Fusion::Optimal);
}

/// Loops, reads, writes: as published, where the scan is one without its seed.
#[test]
fn normalise2_takes_what_it_should() {
    let table = |name: &str, passes: &[&str]| {
        let passes: Vec<_> = passes.iter().map(|name| pass(name).expect("there is such a pass")).collect();
        let stages = run_passes(&load(name).program, &passes, true).unwrap_or_else(|error| panic!("{error}"));
        let plan = stages.last().and_then(|stage| stage.plan()).expect("the last pass makes a plan");
        let total = plan_traffic(plan).total;
        assert!(total.exact);
        format!("{} {}, {}", total.loops, total.reads, total.writes)
    };
    let (unfused, clustered) =
        (["simplify", "strictness", "kernels"], ["simplify", "strictness", "clustering", "kernels"]);
    assert_eq!(table("normalise2", &unfused), "5 5n + 2, 3n + 2");
    assert_eq!(table("normalise2", &clustered), "2 2n + 2, 2n + 2");
    assert_eq!(table("normalise2_expanded", &unfused), "6 6n + 2, 4n + 2");
    assert_eq!(table("normalise2_expanded", &clustered), "2 2n + 2, 3n + 2");
    // Producer fusion computes `xs` twice instead of storing it.
    let all = ["simplify", "fusion", "simplify", "strictness", "clustering", "kernels"];
    assert_eq!(table("normalise2", &all), "2 2n + 2, 2n + 2");
    assert_eq!(table("normalise2_expanded", &all), "2 2n + 2, 2n + 2");
}
