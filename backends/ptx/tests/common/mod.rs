//! Plans for tests.
#![allow(dead_code, unused_imports)] // each test file uses its share

pub use fusebox_conformance::{Random, interpreted, lowered, plan, same_bits};

use fusebox_backend::{BackendError, Program};
use fusebox_conformance::{Way, Ways};
use fusebox_ir::{Array, Plan, Property, ProvedPlan, validate};

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

/// A simulated machine; the seed decides the order of blocks and warps.
pub fn simulator(target: &str, seed: u64) -> fusebox_ptx::PtxBackend<fusebox_ptx::sim::Simulator> {
    let options = fusebox_ptx::sim::Options { seed, ..Default::default() };
    let target = fusebox_schedule::Target::named(target).unwrap();
    fusebox_ptx::PtxBackend::new(fusebox_ptx::sim::Simulator::new(options), target)
}

/// A plan as lowering made it, without guards.
#[allow(unsafe_code)]
pub fn proved(plan: &Plan) -> ProvedPlan {
    // SAFETY: tests compile what lowering has proved.
    unsafe { ProvedPlan::new(plan.clone()) }
}

/// What the simulator gives.
pub fn run(plan: &Plan, inputs: &[Array], target: &str, seed: u64) -> Result<Vec<Array>, BackendError> {
    simulator(target, seed).compile_proved_plan(&proved(plan))?.load_plan()?.run_plan(inputs)
}

/// The simulator, for machines with and without some instructions.
pub struct Simulated;

impl Ways for Simulated {
    fn package(&self) -> &'static str {
        "fusebox-ptx"
    }

    fn part(&self) -> u64 {
        50
    }

    fn of(&self, plan: &Plan, seed: Option<u64>) -> Vec<Way> {
        let (targets, seed) = match seed {
            None => (vec!["sm_70", "sm_90"], 0),
            Some(seed) => (vec![["sm_70", "sm_80", "sm_90"][seed as usize % 3]], seed),
        };
        let way = |target: &str| {
            let backend = simulator(target, seed);
            let loaded = backend.compile_proved_plan(&proved(plan)).and_then(|compiled| compiled.load_plan());
            (target.to_owned(), loaded.map(|loaded| Box::new(loaded) as Box<dyn Program>))
        };
        targets.into_iter().map(way).collect()
    }
}

/// Runs a program on each of the inputs; panics where results, or whether there are any, differ from the interpreter's.
pub fn check(source: &str, all_inputs: &[Vec<Array>]) {
    fusebox_conformance::check(&Simulated, source, all_inputs);
}

/// What a plan takes on a simulated machine; results are the interpreter's.
pub fn carried_out(
    plan: &Plan,
    inputs: &[Array],
    backend: &fusebox_ptx::PtxBackend<fusebox_ptx::sim::Simulator>,
) -> fusebox_ptx::sim::CarriedOut {
    let loaded = backend.compile_proved_plan(&proved(plan)).unwrap().load_plan().unwrap();
    let results = loaded.run_plan(inputs).unwrap();
    let expected = interpreted(plan, inputs).unwrap();
    assert!(results.iter().zip(&expected).all(|(own, other)| same_bits(own, other)));
    backend.device().carried_out()
}

/// What a plan takes on a machine of its own.
pub fn taken(plan: &Plan, inputs: &[Array]) -> fusebox_ptx::sim::CarriedOut {
    carried_out(plan, inputs, &simulator("sm_90", 3))
}

/// How the last kernel is carried out, in words.
pub fn form(plan: &Plan) -> String {
    let target = fusebox_schedule::Target::named("sm_90").unwrap();
    fusebox_ptx::emit(plan.kernels.last().unwrap(), &target).unwrap().form
}

/// What a plan takes with the schedule of its last kernel made otherwise.
pub fn rescheduled(plan: &Plan, inputs: &[Array], edit: impl Fn(&str) -> String) -> fusebox_ptx::sim::CarriedOut {
    use fusebox_schedule::{Book, Preferences, Schedule, Target, schedule};
    let target = Target::named("sm_90").unwrap();
    let kernel = plan.kernels.last().unwrap();
    let text = schedule(kernel, &target, Preferences::default()).schedule.to_text(kernel);
    let mut book = Book::default();
    book.insert(kernel, Schedule::parse(&edit(&text), kernel).unwrap_or_else(|error| panic!("{error}\n{text}")));
    carried_out(plan, inputs, &simulator("sm_90", 1).with_schedules(std::sync::Arc::new(book)))
}

/// The product of a sparse matrix in compressed rows and a vector, in one pass over memory: rows in order where they are short.
pub const SMVM: &str = "fn smvm(offsets: [n]i64, columns: [m]i32, values: [m]f32, x: [l]f32) -> [?]f32 {
    let rows = n - 1
    let y: [rows]f32 = cluster(|| {
      vertical p: [m]f32 = map(|c, v| v * x[i64(c)], columns, values)
      last y: [rows]f32 = fold_seg(|a, b| a + b, 0.5, p, offsets: offsets)
      return y
    })
    return y }";
