//! Runs that are replayed: on inputs of extents that a plan had before, what its steps make, with the same peaks and failures.

use crate::common::{self, compiled, plan, same_bits};
use fusebox_backend::{BackendError, Program as _, Statistics, profiled};
use fusebox_cranelift::{Config, Cranelift, LoadedPlan};
use fusebox_ir::{
    Array, Plan, Property, Value,
    generate::{Config as Generated, Rounding, inputs, program},
    validate,
};

/// A backend without scripts, so that what is not replayed is run by steps.
fn backend(threads: usize, shares: bool) -> Cranelift {
    let share_from_ns = if shares { 1 } else { u64::MAX };
    let config = Config { threads, script_from_runs: 0, share_from_ns, at_once_from_ns: 0, ..Config::default() };
    Cranelift::new(config).unwrap()
}

fn loaded(backend: &Cranelift, plan: &Plan) -> LoadedPlan {
    compiled(backend, plan).and_then(|compiled| compiled.load_plan()).unwrap_or_else(|error| panic!("{error}\n{plan}"))
}

/// What a plan makes that was never run before, so by its steps.
fn by_steps(own: &LoadedPlan, backend: &Cranelift, given: &[Array]) -> Result<(Vec<Array>, Statistics), BackendError> {
    own.on(backend).run_with_statistics(given)
}

/// Runs on these inputs in turn, again and again: each is as by steps, and stays so.
fn check(backend: &Cranelift, own: &LoadedPlan, given: &[Vec<Array>]) {
    let (mut kept, mut failed) = (Vec::new(), false);
    for _ in 0..3 {
        for given in given {
            match (own.run_with_statistics(given), by_steps(own, backend, given)) {
                (Ok((results, statistics)), Ok((expected, by_steps))) => {
                    // Lanes that run at once have more or less memory at one time; none are replayed.
                    assert!(statistics == by_steps || own.recorded() == 0, "{own:?}");
                    kept.push((results, expected));
                }
                (Err(error), Err(expected)) => {
                    assert_eq!(error.to_string(), expected.to_string(), "{own:?}");
                    failed = true;
                }
                (found, expected) => panic!("{found:?}, should be {expected:?}\n{own:?}"),
            }
        }
    }
    assert!(failed || own.replays_stopped() == 0, "a replay stopped that should not: {own:?}");
    for (results, expected) in kept {
        assert_eq!(results.len(), expected.len());
        assert!(results.iter().zip(&expected).all(|(own, expected)| same_bits(own, expected)), "{own:?}");
    }
}

/// The same extents with the elements in another order.
fn turned(given: &[Array]) -> Vec<Array> {
    let turned = |array: &Array| {
        let mut turned = array.clone();
        (0..array.len()).for_each(|at| turned.set(at, array.get(array.len() - 1 - at)));
        turned
    };
    given.iter().map(turned).collect()
}

#[test]
fn golden_programs() {
    let backends = [backend(1, false), backend(2, true)];
    let (mut ran, mut replayed) = (0, 0);
    for (number, name) in fusebox_golden::names().into_iter().enumerate() {
        let golden = fusebox_golden::load(&name);
        if validate(&golden.program, &[Property::Flat]).is_err() {
            continue;
        }
        let Ok(plan) = common::lowered(&golden.program) else { continue };
        let backend = &backends[number % 2];
        let own = loaded(backend, &plan);
        let given = golden.flat_arrays();
        check(backend, &own, &[turned(&given), given]);
        ran += 1;
        replayed += own.recorded();
    }
    assert!(replayed * 2 > ran && ran >= 40, "{replayed} of {ran} programs are replayed");
}

#[test]
fn generated_programs() {
    let backends = [backend(1, false), backend(3, true)];
    let (mut ran, mut replayed) = (0, 0);
    for seed in 0..300 {
        let config =
            Generated { rounding: Rounding::Free, max_bindings: 10, clusters: seed % 2 == 0, ..Generated::default() };
        let program = program(seed, &config);
        let Ok(plan) = common::lowered(&program) else { continue };
        let given = |seed: u64| -> Option<Vec<Array>> {
            (inputs(&program, seed, &config).into_iter())
                .map(|value| if let Value::Array(array) = value { Some(array) } else { None })
                .collect()
        };
        let (Some(first), Some(second)) = (given(seed), given(seed + 1)) else { continue };
        let backend = &backends[seed as usize % 2];
        let own = loaded(backend, &plan);
        check(backend, &own, &[turned(&first), first, second]);
        ran += 1;
        replayed += own.recorded();
    }
    assert!(replayed * 3 > ran, "{replayed} extents of {ran} programs are replayed");
}

const QUOTIENTS: &str = "fn f(x: [n]i32, y: [n]i32) -> [n]i32, i32 {
  let q: [n]i32 = map(|x, y| x / y, x, y)
  let s: i32 = fold(|x, y| x + y, 0, q)
  return q, s }";

fn ints(elements: &[i32]) -> Array {
    Array::new(&[elements.len()], elements).unwrap()
}

/// Of extents that there were lately; others are run by steps, and take the place of the oldest.
#[test]
fn the_latest_extents_are_replayed() {
    let backend = backend(1, false);
    let own = loaded(&backend, &plan(QUOTIENTS));
    let of = |n: i32| {
        let x: Vec<i32> = (0..n).map(|x| 7 * x - 50).collect();
        let y: Vec<i32> = (0..n).map(|y| y % 5 + 1).collect();
        vec![ints(&x), ints(&y)]
    };
    let recorded = |n: i32, runs: usize| {
        (0..runs).for_each(|_| check(&backend, &own, &[of(n)]));
        own.recorded()
    };
    own.run(&of(5)).unwrap();
    assert_eq!(own.recorded(), 0);
    own.run(&of(5)).unwrap();
    assert_eq!(own.recorded(), 1);
    assert_eq!([0, 1, 63].map(|n| recorded(n, 1)), [2, 3, 4]);
    assert_eq!(recorded(5, 2), 4);
    // Each of these is there once: they leave no recording, and drive out those that are there.
    for n in 100..104 {
        own.run(&of(n)).unwrap();
    }
    assert_eq!(own.recorded(), 0);
    assert_eq!(recorded(5, 1), 1);
    // The same code for another backend has recordings of its own.
    assert_eq!(own.on(&backend).recorded(), 0);
}

#[test]
fn what_fails_in_a_replay_is_what_fails_in_the_steps() {
    for backend in [backend(1, false), backend(2, true)] {
        let own = loaded(&backend, &plan(QUOTIENTS));
        let (x, good, bad) = (ints(&[9; 100]), ints(&[2; 100]), {
            let mut y = vec![3; 100];
            (y[17], y[80]) = (0, 0);
            ints(&y)
        });
        check(
            &backend,
            &own,
            &[vec![x.clone(), good.clone()], vec![x.clone(), bad.clone()], vec![x.clone(), good.clone()]],
        );
        assert_eq!(own.recorded(), 1);
        let mut results = vec![x.clone()];
        let error = own.run_into(&[x.clone(), bad], &mut results).unwrap_err().to_string();
        assert!(error.contains("division by zero") && results.is_empty(), "{error}");
        // Inputs that are not those of the recording are checked as ever.
        for wrong in [
            vec![x.clone()],
            vec![x.clone(), ints(&[1; 99])],
            vec![x.clone(), Array::new(&[100], &[1i64 << 32 | 1; 100]).unwrap()],
        ] {
            let (error, expected) = (own.run(&wrong).unwrap_err(), by_steps(&own, &backend, &wrong).unwrap_err());
            assert_eq!(error.to_string(), expected.to_string());
        }
    }
}

/// A kernel that may be written over its input, results of one memory, and inputs that are results of runs before.
#[test]
fn memory_that_several_share() {
    let source = "fn f(x: [n]i32, y: [n]i32) -> [n]i32, [n]i32, [n]i32, [m]i32 {
        let a: [n]i32 = map(|x, y| x * 3 + y, x, y)
        let s: i32 = fold(|x, y| x ^ y, 0, a)
        let b: [n]i32 = map(|x| x - s, a)
        let d: [m]i32 = reshape([n], b)
        return b, again: b, x, d }";
    let source = source.replace("[m]i32", "[n]i32");
    for backend in [backend(1, false), backend(2, true)] {
        let own = loaded(&backend, &plan(&source));
        let (mut one, mut other) = (ints(&(0..1000).collect::<Vec<_>>()), ints(&[-5; 1000]));
        for turn in 0..6 {
            let given = if turn % 3 == 2 { [one.clone(), one.clone()] } else { [one.clone(), other.clone()] };
            let expected = by_steps(&own, &backend, &given).unwrap().0;
            let mut results = own.run(&given).unwrap();
            assert!(results.iter().zip(&expected).all(|(own, expected)| same_bits(own, expected)), "{turn}");
            assert!(results[0].shares_memory_with(&results[1]));
            other = std::mem::replace(&mut one, results.swap_remove(0));
        }
        assert_eq!((own.recorded(), own.replays_stopped()), (1, 0));
    }
}

/// Where an element decides an extent, a loop or an array, there is nothing to replay.
#[test]
fn what_elements_decide_is_not_replayed() {
    let backend = backend(2, true);
    let given = [ints(&[3, -1, 4, -1, 5, 9, -2]), Array::scalar(3i64)];
    for source in [
        "fn f(x: [n]i32, k: i64) -> [k]i32 { let r: [k]i32 = generate([k], |i| i32(i)) return r }",
        "fn f(x: [n]i32, k: i64) -> [?]i32 { let m = k * 2 let r: [m]i32 = generate([m], |i| i32(i)) return r }",
        "fn f(x: [n]i32, k: i64) -> [?]i32 { let m = i64(x[1]) + k let r: [m]i32 = generate([m], |i| i32(i)) return r }",
        "fn f(x: [n]i32, k: i64) -> [?]i32 { let c: i64, r: [c]i32 = filter(|x| x > 0, x) return r }",
        "fn f(x: [n]i32, k: i64) -> [n]i32 { let i: i64, r: [n]i32 = while(|i: i64, s: [n]i32| { let more = i < 1000 return more }, |i: i64, s: [n]i32| { let j = i * k let t: [n]i32 = map(|v| v + 1, s) return j, t }, 2, x) return r }",
    ] {
        let own = loaded(&backend, &plan(source));
        let other = [given[0].clone(), Array::scalar(5i64)];
        check(&backend, &own, &[given.to_vec(), other.to_vec(), vec![ints(&[2; 7]), other[1].clone()]]);
        assert_eq!(own.recorded(), 0, "{source}");
    }
}

/// Who asks what launches take is told so by any run.
#[test]
fn launches_are_told_between_replays() {
    let backend = backend(1, false);
    let own = loaded(&backend, &plan(QUOTIENTS));
    let given = [ints(&[8; 10]), ints(&[2; 10])];
    for _ in 0..3 {
        own.run(&given).unwrap();
    }
    assert_eq!(own.recorded(), 1);
    let (results, launches) = profiled(|| own.run(&given).unwrap());
    assert!(!launches.is_empty() && same_bits(&results[0], &ints(&[4; 10])));
}

/// Any number of threads may replay at once, on what is theirs.
#[test]
fn replays_at_once() {
    let backend = backend(2, true);
    let own = loaded(&backend, &plan(QUOTIENTS));
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let own = &own;
            scope.spawn(move || {
                let given = [ints(&[thread * 60; 2000]), ints(&[thread; 2000])];
                for _ in 0..200 {
                    let results = own.run(&given).unwrap();
                    assert!(same_bits(&results[0], &ints(&[60; 2000])));
                    assert!(same_bits(&results[1], &Array::scalar(120_000i32)));
                }
            });
        }
    });
    assert_eq!(own.recorded(), 1);
}
