//! Memory and time of compilation.

mod common;

use common::plan;
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::Array;

/// Bytes of memory that this process has, where the system says so.
fn resident() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split_whitespace().nth(1)?.parse::<usize>().ok()? * 4096)
}

/// A thousand compilations, or as many as `FUSEBOX_COMPILATIONS` says.
#[test]
fn compilations_hold_memory_steady() {
    let count = std::env::var("FUSEBOX_COMPILATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000usize);
    let backend = Cranelift::new(Config { threads: 1, ..Config::default() }).unwrap();
    let plan = plan(
        "fn f(a: [n]f32) -> f32 { let b: [n]f32 = map(|x| x * 2.0 + 1.0, a) let s: f32 = fold(|x, y| x + y, 0.0, b) return s }",
    );
    let input = Array::new(&[3], &[1.0f32, 2.0, 3.0]).unwrap();
    let compile = || {
        let loaded = common::compiled(&backend, &plan).unwrap().load_plan().unwrap();
        assert_eq!(loaded.run_plan(std::slice::from_ref(&input)).unwrap()[0], Array::scalar(15.0f32));
    };
    (0..100).for_each(|_| compile());
    let Some(before) = resident() else {
        return eprintln!("skipped: the system does not say how much memory a process has");
    };
    for done in 1..=count {
        compile();
        if done % 1_000 == 0 {
            println!("{done} compilations: {} KiB", resident().unwrap_or(0) >> 10);
        }
    }
    let after = resident().unwrap();
    assert!(after < before + (8 << 20), "from {before} to {after} bytes");
}

#[test]
fn more_threads_than_any_machine_has_are_refused() {
    let refused = Cranelift::new(Config { threads: 20_000, ..Config::default() }).unwrap_err();
    assert!(refused.to_string().contains("20000 threads: 1024 at most"), "{refused}");
}

#[test]
fn a_loaded_plan_runs_from_many_threads_at_once() {
    let backend = Cranelift::new(Config { threads: 3, share_from_ns: 1, ..Config::default() }).unwrap();
    let plan = plan("fn f(a: [n]f64) -> f64 { let s: f64 = fold(|x, y| x + y, 0.0, a) return s }");
    let loaded = common::compiled(&backend, &plan).unwrap().load_plan().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let loaded = &loaded;
            scope.spawn(move || {
                let input = Array::new(&[30_000], &vec![f64::from(thread); 30_000]).unwrap();
                for _ in 0..20 {
                    assert_eq!(
                        loaded.run_plan(std::slice::from_ref(&input)).unwrap()[0],
                        Array::scalar(f64::from(thread) * 30_000.0)
                    );
                }
            });
        }
    });
}

#[test]
fn a_kernel_of_many_functions_compiles_in_milliseconds() {
    let golden = fusebox_golden::load("black_scholes");
    let (plan, _) = fusebox_kernels::lower(&golden.program, &fusebox_kernels::Config::default()).unwrap();
    let backend = Cranelift::new(Config { threads: 1, ..Config::default() }).unwrap();
    let times = (0..5).map(|_| {
        let start = std::time::Instant::now();
        common::compiled(&backend, &plan).unwrap().load_plan().unwrap();
        start.elapsed()
    });
    let least = times.min().unwrap();
    eprintln!("black_scholes: {} kernels in {least:?}", plan.kernels.len());
    // Ten milliseconds where the compiler itself is compiled for speed; with its checks on, on a busy machine, more.
    let bound = if cfg!(debug_assertions) { 500 } else { 10 };
    assert!(least.as_millis() < bound, "{least:?}");
}
