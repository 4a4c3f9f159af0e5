//! Memory of runs: values written over others give the same bits on any number of threads, peaks are what the interpreter counts, and
//! memory is used again.

use crate::common::{self, Random, backends, same_bits};
use fusebox_backend::{BackendError, Program as _};
use fusebox_cranelift::{Config, Cranelift, LoadedPlan};
use fusebox_interp::run_plan;
use fusebox_ir::{
    Array, ElementType, Plan, Step, Value,
    generate::{Config as Generated, Rounding, inputs, program},
};

/// How many values take over the memory of others.
fn taken_over(steps: &[Step]) -> usize {
    let inside: usize = steps.iter().flat_map(Step::inner).map(taken_over).sum();
    inside + steps.iter().filter(|step| matches!(step, Step::Allocate { in_place_of: Some(_), .. })).count()
}

/// Every backend gives what the interpreter gives, and takes as much memory, or less in strips of rows.
fn check(plan: &Plan, given: &[Array]) {
    let values: Vec<Value> = given.iter().cloned().map(Value::Array).collect();
    let expected = run_plan(plan, &values);
    for (what, backend) in backends() {
        let compiled = common::compiled(backend, plan).and_then(|compiled| compiled.load_plan());
        let loaded = compiled.unwrap_or_else(|error| panic!("{what}: {error}\n{plan}"));
        let before: Vec<Array> = given.iter().map(copied).collect();
        let in_strips = backend.config().strips_from_bytes == 0;
        match (loaded.run_with_statistics(given), &expected) {
            (Ok((results, statistics)), Ok((expected, counts))) => {
                for (result, expected) in results.iter().zip(expected) {
                    let Value::Array(expected) = expected else { panic!("{expected:?}") };
                    assert!(same_bits(result, expected), "{what}: {result:?}, should be {expected:?}\n{plan}");
                }
                let peak = statistics.peak_bytes as u64;
                // A scalar that the host knows counts once for each name that it has.
                let scalars = plan.values.iter().filter(|value| value.ty.extents.is_empty());
                let scalars = scalars.map(|value| value.ty.element.bytes() as u64).sum::<u64>();
                // What strips of rows make in between is never whole. Of many turns at once the scalars come first.
                let fits = peak <= counts.peak_bytes + scalars && (in_strips || peak + scalars >= counts.peak_bytes);
                assert!(fits, "{what}: {peak} bytes, should be {}\n{plan}", counts.peak_bytes);
            }
            (Err(BackendError::Run(_)), Err(_)) => {}
            (found, expected) => panic!("{what}: {found:?}, should be {expected:?}\n{plan}"),
        }
        assert!(before.iter().zip(given).all(|(a, b)| same_bits(a, b)), "{what}: an input has changed\n{plan}");
    }
}

/// The same elements in other memory.
fn copied(array: &Array) -> Array {
    let mut copy = Array::zeros(array.element(), array.extents()).unwrap();
    copy.bytes_mut().copy_from_slice(array.bytes());
    copy
}

#[test]
fn programs() {
    let count = std::env::var("FUSEBOX_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(150u64);
    let (mut taken, mut ran) = (0, 0);
    for seed in 0..count {
        let (large, clusters) = (seed % 5 == 0, seed % 2 == 0);
        let max_bindings = if large { 8 } else { Generated::default().max_bindings };
        let config = Generated { rounding: Rounding::Free, large, clusters, max_bindings, ..Generated::default() };
        let program = program(seed, &config);
        let Ok(plan) = common::lowered(&program) else { continue };
        // Of the others generated.rs makes enough.
        let over = taken_over(&plan.steps);
        let given: Option<Vec<Array>> = (inputs(&program, seed, &config).into_iter())
            .map(|value| if let Value::Array(array) = value { Some(array) } else { None })
            .collect();
        if let Some(given) = given.filter(|_| over > 0) {
            check(&plan, &given);
            taken += over;
            ran += 1;
        }
    }
    println!("{ran} of {count} programs, {taken} values taken over");
    assert!(count < 100 || ran * 10 > count, "{ran} of {count}");
}

/// Kernels that load and store one after the other in every way that code is made for: gangs, what is left of them, rows, scans.
#[test]
fn kernels_over_what_they_read() {
    let mut random = Random(5);
    for n in common::SIZES {
        for body in [
            "let c: [n]f32 = map(|x| x * x + 1.0, b) let d: [n]f32 = map(|x, y| x - y, c, a) return d",
            "let c: [n]f32 = scanl1(|x, y| x + y, b) let d: [n]f32 = scanr1(|x, y| max(x, y), c) return d",
            "let c: [n]i32 = map(|x| i32(x * 100.0), b) let d: [n]f32 = map(|x| f32(x) * 0.5, c) return d",
            "let c: [n]f32, e: [n]f32 = map(|x| { return x + 1.0, x * 2.0 }, b) let d: [n]f32 = map(|x, y| x / y, c, e) return d",
            "let c: [n]f32 = map(|x| { let k, s = while(|k: i32, s: f32| k < 3, |k: i32, s: f32| { return k + 1, s * 0.5 + x }, 0i32, x) return s }, b) return c",
        ] {
            let plan =
                common::plan(&format!("fn f(a: [n]f32) -> [n]f32 {{ let b: [n]f32 = map(|x| x + 0.5, a) {body} }}"));
            assert!(taken_over(&plan.steps) > 0, "{plan}");
            check(&plan, &[random.array(ElementType::F32, &[n])]);
        }
    }
    for (n, m) in [(0, 3), (3, 0), (1, 1), (7, 33), (65, 64), (300, 21)] {
        for body in [
            "let c: [n, m]f32 = map(|x| x * x, b) let d: [n, m]f32 = scanl1(|x, y| x + y, c) return d",
            "let v: [n]f32 = fold(|x, y| x + y, 0.0, b) let w: [n]f32 = map(|x| x + 1.0, v)
             let z: [n]f32 = map(|x| x * x, w) let c: [n, m]f32 = replicate([_, m], z) let d: [n, m]f32 = map(|x, y| x - y, c, b) return d",
        ] {
            let source = format!("fn f(a: [n, m]f32) -> [n, m]f32 {{ let b: [n, m]f32 = map(|x| x + 0.5, a) {body} }}");
            check(&common::plan(&source), &[random.array(ElementType::F32, &[n, m])]);
        }
    }
}

const CHAIN: &str = "let b: [n]f32 = stencil(|l, r| 0.5 * (l + r), a[-1], a[1], a: clamp)
  let c: [n]f32 = stencil(|l, r| 0.5 * (l + r), b[-1], b[1], b: mirror) let d: [n]f32 = map(|x| x * x, c)
  let e: [n]f32 = stencil(|l, r| l - r, d[-1], d[1], d: wrap)";

#[test]
fn a_chain_takes_two_buffers() {
    let plan = common::plan(&format!("fn f(a: [n]f32) -> [n]f32 {{ {CHAIN} return e }}"));
    let given = [Random(3).array(ElementType::F32, &[70_000])];
    check(&plan, &given);
    let (_, counts) = run_plan(&plan, &[Value::Array(given[0].clone())]).unwrap();
    assert_eq!(counts.peak_bytes, 2 * 280_000);
}

const JACOBI: &str = "fn f(u0: [n, m]f32, count: i64) -> [n, m]f32 {
  let u: [n, m]f32, r: i64 = while(|s: [n, m]f32, r: i64| { let go = r < count return go }, |s: [n, m]f32, r: i64| {
    let p: [n, m]f32 = stencil(|a, b, c, d| 0.25 * (a + b + c + d), s[0, -1], s[0, 1], s[-1, 0], s[1, 0], s: clamp)
    let q = r + 1 return p, q }, u0, 0) return u }";

fn loaded(source: &str, config: Config) -> (Cranelift, LoadedPlan) {
    let backend = Cranelift::new(config).unwrap();
    let loaded = common::compiled(&backend, &common::plan(source)).unwrap().load_plan().unwrap();
    (backend, loaded)
}

#[test]
fn a_loop_swaps_two_buffers() {
    let given = |turns: i64| [Random(7).array(ElementType::F32, &[100, 130]), Array::scalar(turns)];
    for turns in [0, 1, 2, 5] {
        check(&common::plan(JACOBI), &given(turns));
    }
    let (backend, loaded) = loaded(JACOBI, Config { threads: 2, ..Config::default() });
    let (result, statistics) = loaded.run_with_statistics(&given(20)).unwrap();
    let size = 4 * 100 * 130;
    assert!((2 * size..2 * size + 100).contains(&statistics.peak_bytes), "{statistics:?}");
    // The result has one of the two, and the pool the other: 20 turns have used no third.
    assert!((size..2 * size).contains(&backend.kept_bytes()));
    drop(result);
    assert!((2 * size..3 * size).contains(&backend.kept_bytes()));
    loaded.run_with_statistics(&given(20)).unwrap();
    assert!((2 * size..3 * size).contains(&backend.kept_bytes()), "another run uses what is there");
}

#[test]
fn memory_of_results_comes_back_within_the_limit() {
    let limit = 1 << 20;
    let source = "fn f(a: [n]f32) -> [n]f32, [n]f32 { let b: [n]f32 = map(|x| x + 1.0, a) let c: [n]f32 = map(|x| x * 2.0, a) return b, c }";
    let (backend, loaded) = loaded(source, Config { threads: 1, pool_bytes: limit, ..Config::default() });
    let given = [Random(9).array(ElementType::F32, &[50_000])];
    let first = loaded.run_plan(&given).unwrap();
    let addresses = |results: &[Array]| {
        let mut addresses: Vec<_> = results.iter().map(|result| result.bytes().as_ptr().addr()).collect();
        addresses.sort();
        addresses
    };
    let used = addresses(&first);
    assert_eq!(backend.kept_bytes(), 0);
    drop(first);
    let second = loaded.run_plan(&given).unwrap();
    assert_eq!(addresses(&second), used);
    let many: Vec<_> = (0..20).map(|_| loaded.run_plan(&given).unwrap()).collect();
    drop((second, many));
    assert!(backend.kept_bytes() <= limit && backend.kept_bytes() > limit / 2);
}
