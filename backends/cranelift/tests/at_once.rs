//! Launches that need nothing of each other, at once.

use crate::common::{Random, compiled, interpreted, plan, same_bits};
use fusebox_backend::{BackendError, profiled};
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::{Array, ElementType, Fault, Plan, Step, analysis::IndependentLaunches};

/// A backend that shares no kernel among threads, and runs whatever may run at once.
fn backend(threads: usize) -> Cranelift {
    Cranelift::new(Config { threads, share_from_ns: u64::MAX, at_once_from_ns: 0, ..Config::default() }).unwrap()
}

/// How many launches each group has, in the order of the plan.
fn groups(plan: &Plan) -> Vec<usize> {
    let launches = |steps: &[Step]| steps.iter().filter(|step| matches!(step, Step::Launch { .. })).count();
    IndependentLaunches::of(plan).groups(plan).into_iter().map(launches).collect()
}

/// Sums, a scan, a count and a matrix of arrays of different lengths: no two are one nest.
const APART: &str = "fn f(a: [n]f32, b: [m]f32, c: [k]f32, d: [l]i32) -> f32, [m]f32, [?]f32, [k, k]f32, [9]i32 {
    let s: f32 = fold(|x, y| x + y, 0.5, a)
    let t: [m]f32 = scanl1(|x, y| x + y, b)
    let j: i64, u: [j]f32 = filter(|x| x > 0.0, a)
    let p: [k, k]f32 = generate([k, k], |i, i2| c[i] * c[i2])
    let zeros: [9]i32 = generate([9], |i| 0)
    let at: [l]i64 = map(|x| ((i64(x) % 9) + 9) % 9, d)
    let ones: [l]i32 = map(|x| 1, d)
    let h: [9]i32 = permute(|x, y| x + y, zeros, ones, at: at)
    return s, t, u, p, h }";

fn inputs(sizes: [usize; 4]) -> Vec<Array> {
    let mut random = Random(7);
    let types = [ElementType::F32, ElementType::F32, ElementType::F32, ElementType::I32];
    sizes.into_iter().zip(types).map(|(size, ty)| random.array(ty, &[size])).collect()
}

#[test]
fn launches_of_different_sizes_are_a_group() {
    let found = groups(&plan(APART));
    assert!(found.iter().any(|&launches| launches >= 3), "{found:?}");
}

#[test]
fn what_needs_what_another_makes_is_no_group() {
    let source = "fn f(a: [n]f32, b: [m]f32) -> [m]f32 {
        let s: f32 = fold(|x, y| x + y, 0.0, a)
        let t: [m]f32 = scanl1(|x, y| x + y * s, b)
        return t }";
    assert!(groups(&plan(source)).is_empty());
}

#[test]
fn results_are_those_of_one_after_the_other() {
    let plan = plan(APART);
    for sizes in [[0, 0, 0, 0], [1, 1, 1, 1], [1000, 3, 17, 0], [5000, 9000, 65, 4097], [3, 70_000, 2, 9999]] {
        let inputs = inputs(sizes);
        let expected = interpreted(&plan, &inputs).unwrap();
        for threads in [1, 2, 7] {
            let loaded = compiled(&backend(threads), &plan).unwrap().load_plan().unwrap();
            for _ in 0..20 {
                let results = loaded.run_plan(&inputs).unwrap();
                for (own, other) in results.iter().zip(&expected) {
                    assert!(same_bits(own, other), "{threads} threads, {sizes:?}");
                }
            }
        }
    }
}

#[test]
fn times_are_of_each_alone() {
    let plan = plan(APART);
    let loaded = compiled(&backend(2), &plan).unwrap().load_plan().unwrap();
    let inputs = inputs([100, 90, 8, 7]);
    let (results, launches) = profiled(|| loaded.run_plan(&inputs));
    assert!(results.is_ok());
    let all = plan.steps.iter().flat_map(Step::within);
    assert_eq!(launches.len(), all.filter(|step| matches!(step, Step::Launch { .. })).count());
}

#[test]
fn the_first_failure_in_order_is_told() {
    let source = "fn f(a: [n]i64, b: [m]i64, c: [k]i64) -> [n]i64, [m]i64, [k]i64 {
        let s: [n]i64 = map(|x| 7 / x, a)
        let t: [m]i64 = map(|y| a[y], b)
        let u: [k]i64 = map(|x| assert(x > 0, \"not above 0\", x), c)
        return s, t, u }";
    let plan = plan(source);
    assert_eq!(groups(&plan), [3], "{source}");
    let array = |elements: &[i64]| Array::new(&[elements.len()], elements).unwrap();
    let (fine, zero, outside, negative) = (array(&[1, 2, 1]), array(&[1, 0, 5]), array(&[2, 9]), array(&[-1]));
    let cases = [
        ([&fine, &fine, &fine], 3),
        ([&zero, &outside, &negative], 0),
        ([&fine, &outside, &negative], 1),
        ([&fine, &fine, &negative], 2),
    ];
    for (inputs, failing) in cases {
        let inputs = inputs.map(Array::clone);
        let loaded = compiled(&backend(7), &plan).unwrap().load_plan().unwrap();
        for _ in 0..50 {
            match (failing, loaded.run_plan(&inputs)) {
                (3, Ok(_)) => {}
                (at, Err(BackendError::Run(error))) => {
                    let expected = match at {
                        0 => matches!(error.fault, Fault::DivisionByZero),
                        1 => matches!(error.fault, Fault::Index { .. }),
                        _ => matches!(error.fault, Fault::Assertion { .. }),
                    };
                    assert!(expected, "{at}: {error}");
                }
                (at, other) => panic!("{at}: {other:?}"),
            }
        }
    }
}

/// Not a test: prints how long a run of four kernels takes on two threads, one after the other and at once. By
/// `cargo test -p fusebox-cranelift --test all at_once -- --ignored --nocapture`.
#[test]
#[ignore = "prints times"]
fn how_long_it_takes() {
    let source = "fn f(a: [n]f32, b: [m]f32, c: [k]f32, d: [l]f32) -> [n]f32, [m]f32, [k]f32, [l]f32 {
        let s: [n]f32 = map(|x| exp(x) + sqrt(abs(x)), a)
        let t: [m]f32 = map(|x| exp(x) + sqrt(abs(x)), b)
        let u: [k]f32 = map(|x| exp(x) + sqrt(abs(x)), c)
        let v: [l]f32 = map(|x| exp(x) + sqrt(abs(x)), d)
        return s, t, u, v }";
    let plan = plan(source);
    let mut random = Random(7);
    let inputs: Vec<Array> =
        [60_000, 60_100, 60_200, 60_300].map(|size| random.array(ElementType::F32, &[size])).into();
    let loaded = [u64::MAX, 0].map(|at_once_from_ns| {
        let config = Config { threads: 2, share_from_ns: u64::MAX, at_once_from_ns, ..Config::default() };
        compiled(&Cranelift::new(config).unwrap(), &plan).unwrap().load_plan().unwrap()
    });
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..4_000 {
        let way = round % 2;
        let begin = std::time::Instant::now();
        loaded[way].run_plan(&inputs).unwrap();
        times[way].push(begin.elapsed().as_nanos());
    }
    let [alone, at_once] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2] as f64 / 1e3
    });
    println!("one after the other {alone:.1} us, at once {at_once:.1} us");
}
