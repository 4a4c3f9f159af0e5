//! Programs as text, run on the CPU in every way and compared to the bit with the interpreter of kernels.
#![allow(dead_code, unused_imports)] // each test file uses its share

pub mod by_hand;

pub use fusebox_conformance::{Random, SIZES, interpreted, lowered, plan, same_bits};

use std::sync::{Arc, OnceLock};

use fusebox_backend::{BackendError, Program};
use fusebox_conformance::{Way, Ways};
use fusebox_cranelift::{CompiledPlan, Config, Cranelift, Features, LoadedPlan};
use fusebox_ir::{Array, Kernel, Plan, ProvedPlan};
use fusebox_schedule::{Book, Preferences, Schedule, Target, alternatives, check as legal, schedule};

/// All pairs of rows, and what is reduced of their products.
pub const PAIRS_OF_ROWS: &str = "fn f(a: [n, m]f32) -> [n]f32 {
     let r: [n]f32 = cluster(|| {
       vertical q: [n, n, m]f32 = replicate([_, n, _], a)
       vertical k: [n, n, m]f32 = replicate([n, _, _], a)
       vertical p: [n, n, m]f32 = map(|x, y| x * y, q, k)
       vertical s: [n, n]f32 = fold(|x, y| x + y, 0.0, p)
       last r: [n]f32 = fold(|x, y| max(x, y), -inf_f32, s)
       return r })
     return r }";

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
                    // Those that are not shared run at once, or in one call where they are short.
                    at_once_from_ns: if threads == 2 { 2_000 } else { 0 },
                    // And some go over memory as if no cache held it.
                    out_of_cache_bytes: if threads == 7 { 0 } else { usize::MAX },
                    // There turns of loops are done in strips of few rows too.
                    strips_from_bytes: if threads == 7 { 0 } else { usize::MAX },
                    strip_bytes: 1_000,
                    // And all but short lanes are left to all threads.
                    lane_bytes: if threads == 7 { 1_000 } else { 1 << 20 },
                    script_from_runs: 1,
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

/// The CPU with all [`backends`].
pub struct Cpu;

impl Ways for Cpu {
    fn package(&self) -> &'static str {
        "fusebox-cranelift"
    }

    fn of(&self, plan: &Plan, _: Option<u64>) -> Vec<Way> {
        // Code in gangs is the same for any number of threads.
        let mut in_gangs: Option<(&Config, LoadedPlan)> = None;
        let way = |(what, backend): &'static (String, Cranelift)| {
            let known = in_gangs.as_ref().filter(|(config, _)| same_code(config, backend.config()));
            let loaded = match known {
                Some((_, loaded)) => Ok(loaded.on(backend)),
                None => compiled(backend, plan).and_then(|compiled| compiled.load_plan()),
            };
            in_gangs = loaded
                .as_ref()
                .ok()
                .filter(|_| backend.config().vectors)
                .map(|own| (backend.config(), own.on(backend)));
            (what.clone(), loaded.map(|loaded| Box::new(loaded) as Box<dyn Program>))
        };
        backends().iter().map(way).collect()
    }
}

/// Runs a program on each of the inputs with every backend; panics where results, or errors, differ from the interpreter's.
pub fn check(source: &str, all_inputs: &[Vec<Array>]) {
    fusebox_conformance::check(&Cpu, source, all_inputs);
}

/// The same of a plan.
pub fn check_plan(plan: &Plan, source: &str, all_inputs: &[Vec<Array>]) {
    fusebox_conformance::check_plan(&Cpu, plan, source, all_inputs);
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

/// Whether the schedule of a kernel for a target, with parts of its text replaced, is legal; else why not.
pub fn changed(kernel: &Kernel, target: &str, preferences: Preferences, changes: &[(&str, &str)]) -> String {
    let target = Target::named(target).unwrap();
    let mut text = schedule(kernel, &target, preferences).schedule.to_text(kernel);
    for (from, to) in changes {
        assert!(text.contains(from), "there is no `{from}` in\n{text}");
        text = text.replace(from, to);
    }
    let edited = Schedule::parse(&text, kernel).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(Schedule::parse(&edited.to_text(kernel), kernel).as_ref(), Ok(&edited));
    legal(kernel, &edited, &target).map_or_else(|faults| format!("{faults:?}"), |()| "accepted".to_owned())
}
