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

/// Bytes of this process that may be executed, where the system says so.
fn executable() -> Option<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let bytes = |line: &str| {
        let mut words = line.split_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let code = words.next()?.contains('x');
        let length = usize::from_str_radix(to, 16).ok()? - usize::from_str_radix(from, 16).ok()?;
        code.then_some(length)
    };
    Some(maps.lines().filter_map(bytes).sum())
}

/// Compiles, loads and runs `count` times, after some that let the allocator settle; what the process holds may grow by less than a leak of
/// `each` bytes a time would make it.
fn holds_memory_steady(count: usize, each: usize, config: Config, source: &str, input: Array, result: Array) {
    let backend = Cranelift::new(config).unwrap();
    let plan = plan(source);
    let compile = || {
        let loaded = common::compiled(&backend, &plan).unwrap().load_plan().unwrap();
        assert_eq!(loaded.run_plan(std::slice::from_ref(&input)).unwrap()[0], result);
    };
    (0..count / 5).for_each(|_| compile());
    let (Some(before), Some(code)) = (resident(), executable()) else {
        return eprintln!("skipped: the system does not say how much memory a process has");
    };
    (0..count).for_each(|_| compile());
    let (after, code_after) = (resident().unwrap(), executable().unwrap());
    println!("{count} compilations: from {before} to {after} bytes, {code_after} of them code");
    assert!(after < before + count * each, "from {before} to {after} bytes");
    assert!(code_after <= code, "from {code} to {code_after} bytes of code");
}

/// Ten thousand compilations, or as many as `FUSEBOX_COMPILATIONS` says. Each has pages of code of its own: a lost one would be 4,096 bytes.
/// One test for both, since the process is the same.
#[test]
fn compilations_hold_memory_steady() {
    let count = std::env::var("FUSEBOX_COMPILATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000usize);
    let config = Config { threads: 1, ..Config::default() };
    holds_memory_steady(
        count,
        400,
        Config { vectors: false, wide: false, ..config.clone() },
        "fn f(a: i64) -> i64 { let b = a * 2 + 1 return b }",
        Array::scalar(20i64),
        Array::scalar(41i64),
    );
    holds_memory_steady(
        count / 10,
        4_000,
        config,
        "fn f(a: [n]f32) -> f32 { let b: [n]f32 = map(|x| x * 2.0 + 1.0, a) let s: f32 = fold(|x, y| x + y, 0.0, b) return s }",
        Array::new(&[3], &[1.0f32, 2.0, 3.0]).unwrap(),
        Array::scalar(15.0f32),
    );
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
    let plan = common::lowered(&golden.program).unwrap();
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
