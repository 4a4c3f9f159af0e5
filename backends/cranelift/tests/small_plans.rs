//! Plans that run by the code of their script: what all launches make, peaks and failures are those of plans, and what is not small is run as plans are.

use crate::common::{self, compiled, plan, same_bits};
use fusebox_backend::{BackendError, Program as _};
use fusebox_cranelift::{Config, Cranelift, LoadedPlan};
use fusebox_interp::run_plan;
use fusebox_ir::{
    Array, Plan, Property, Value,
    generate::{Config as Generated, Rounding, inputs, program},
    validate,
};

/// A backend to which everything is small, from the first run on.
fn scripted(threads: usize) -> Cranelift {
    let config = Config {
        threads,
        share_from_ns: u64::MAX,
        at_once_from_ns: u64::MAX,
        lane_bytes: usize::MAX,
        script_from_runs: 1,
        ..Config::default()
    };
    Cranelift::new(config).unwrap()
}

/// A backend without scripts.
fn by_steps() -> Cranelift {
    Cranelift::new(Config { threads: 1, script_from_runs: 0, ..Config::default() }).unwrap()
}

fn loaded(backend: &Cranelift, plan: &Plan) -> LoadedPlan {
    compiled(backend, plan).and_then(|compiled| compiled.load_plan()).unwrap_or_else(|error| panic!("{error}\n{plan}"))
}

/// Runs a plan several times by its script, if it has one: whether it has.
fn check(backend: &Cranelift, plan: &Plan, given: &[Array]) -> bool {
    let values: Vec<Value> = given.iter().cloned().map(Value::Array).collect();
    let expected = run_plan(plan, &values);
    let own = loaded(backend, plan);
    let stopped = own.lanes_stopped();
    let mut results = Vec::new();
    for _ in 0..3 {
        match (own.run_into(given, &mut results), &expected) {
            (Ok(statistics), Ok((expected, counts))) => {
                assert_eq!(results.len(), expected.len(), "{plan}");
                for (result, expected) in results.iter().zip(expected) {
                    let Value::Array(expected) = expected else { panic!("{expected:?}") };
                    assert!(same_bits(result, expected), "{result:?}, should be {expected:?}\n{plan}");
                }
                let peak = statistics.peak_bytes as u64;
                let scalars = plan.values.iter().filter(|value| value.ty.extents.is_empty());
                let most = counts.peak_bytes + scalars.map(|value| value.ty.element.bytes() as u64).sum::<u64>();
                let fits = !own.has_script() || (counts.peak_bytes..=most).contains(&peak);
                assert!(fits, "{peak} bytes, should be {} to {most}\n{plan}", counts.peak_bytes);
            }
            (Err(error @ BackendError::Run(_)), Err(_)) => {
                let other = loaded(&by_steps(), plan).run(given).unwrap_err();
                assert_eq!(error.to_string(), other.to_string(), "{plan}");
                assert!(results.is_empty());
            }
            (found, expected) => panic!("{found:?}, should be {expected:?}\n{plan}"),
        }
    }
    if expected.is_ok() && own.has_script() {
        assert_eq!(own.lanes_stopped(), stopped, "the script stopped\n{plan}");
    }
    own.has_script()
}

#[test]
fn golden_programs() {
    let backends = [scripted(1), scripted(3)];
    let (mut ran, mut with_script) = (0, 0);
    for (number, name) in fusebox_golden::names().into_iter().enumerate() {
        let golden = fusebox_golden::load(&name);
        if validate(&golden.program, &[Property::Flat]).is_err() {
            continue;
        }
        let Ok(plan) = common::lowered(&golden.program) else { continue };
        with_script += usize::from(check(&backends[number % 2], &plan, &golden.flat_arrays()));
        ran += 1;
    }
    assert!(with_script * 3 > ran && ran >= 40, "{with_script} of {ran} programs have a script");
}

#[test]
fn generated_programs() {
    let backends = [scripted(1), scripted(2)];
    let (mut ran, mut with_script) = (0, 0);
    for seed in 0..300 {
        let config =
            Generated { rounding: Rounding::Free, max_bindings: 10, clusters: seed % 2 == 0, ..Generated::default() };
        let program = program(seed, &config);
        let Ok(plan) = common::lowered(&program) else { continue };
        let given: Option<Vec<Array>> = (inputs(&program, seed, &config).into_iter())
            .map(|value| if let Value::Array(array) = value { Some(array) } else { None })
            .collect();
        let Some(given) = given else { continue };
        with_script += usize::from(check(&backends[seed as usize % 2], &plan, &given));
        ran += 1;
    }
    assert!(with_script > 30, "{with_script} of {ran} programs have a script");
}

/// A loop over an array, of as many turns as it is told.
const TURNS: &str = "fn f(a: [n]i64, turns: i64) -> [n]i64, i64 {
  let x: [n]i64, s: i64, t: i64 = while(|x: [n]i64, s: i64, t: i64| { return t < turns }, |x: [n]i64, s: i64, t: i64| {
    let y: [n]i64 = map(|x| x * 3 + t, x)
    let sum: i64 = fold(|x, y| x + y, s, y)
    let next = t + 1
    return y, sum, next
  }, a, 0i64, 0i64)
  return x, s }";

/// A plan gets its script after some runs, and not where it is long; large runs between are run as plans are, and seldom tried.
#[test]
fn plans_that_are_run_often_and_are_small() {
    let config = Config { threads: 2, script_from_runs: 4, ..Config::default() };
    let backend = Cranelift::new(config).unwrap();
    let plan = plan(TURNS);
    let of = |n: usize, turns: i64| {
        let elements: Vec<i64> = (0..n as i64).map(|i| i * 7 - 3).collect();
        vec![Array::new(&[n], &elements).unwrap(), Array::new(&[], &[turns]).unwrap()]
    };
    let expected = |given: &[Array]| loaded(&by_steps(), &plan).run(given).unwrap();
    let (small, large) = (of(37, 5), of(300_000, 2));
    let own = loaded(&backend, &plan);
    for _ in 0..3 {
        own.run(&small).unwrap();
    }
    assert!(!own.has_script());
    let same = |given: &[Array]| {
        let results = own.run(given).unwrap();
        results.iter().zip(expected(given)).all(|(own, other)| same_bits(own, &other))
    };
    assert!(same(&small) && own.has_script());
    let before = own.lanes_stopped();
    assert!((0..100).all(|_| same(&small)));
    assert_eq!(own.lanes_stopped(), before);
    assert!((0..40).all(|_| same(&large)));
    assert_eq!(own.lanes_stopped(), before + 1);
    assert!(same(&of(0, 4)) && same(&of(1, 0)) && same(&of(5, 1)));
    assert!((0..70).all(|_| same(&small)));
    assert_eq!(own.lanes_stopped(), before + 1);

    let long = loaded(&backend, &plan);
    (0..40).for_each(|_| drop(long.run(&large).unwrap()));
    assert!(!long.has_script());
    // The same code for another backend, which has its own idea of what is small.
    let moved = own.on(&Cranelift::new(Config { threads: 1, share_from_ns: 10, ..Config::default() }).unwrap());
    assert!(moved.run(&small).unwrap().iter().zip(expected(&small)).all(|(own, other)| same_bits(own, &other)));
}

/// Loops of scalars make as many turns as an input says: nothing that is known before tells runs that are small from those that are long.
const SCALAR_TURNS: &str = "fn f(a: [n]i64, turns: i64) -> [n]i64, [n]i64, i64 {
  let y: [n]i64 = map(|x| {
    let last, t = while(|x: i64, t: i64| t < turns, |x: i64, t: i64| { return x * 3 + t, t + 1 }, x, 0i64)
    return last
  }, a)
  let z: [n]i64, m: i64, u: i64 = while(|z: [n]i64, m: i64, u: i64| { return u < 2 }, |z: [n]i64, m: i64, u: i64| {
    let s: [n]i64 = scanl1(|x, y| x + y, z)
    let r: [n]i64 = backpermute([n], |i| n - 1 - i, s)
    let most: i64 = fold(|x, y| max(x, y), m, r)
    let next = u + 1
    return r, most, next
  }, y, 0i64, 0i64)
  return y, z, m }";

/// Runs whose loops turn out to be long are run by steps, on all threads, after some; and by the script again once they are short.
#[test]
fn loops_that_turn_out_to_be_long() {
    let backend = Cranelift::new(Config { threads: 2, script_from_runs: 4, ..Config::default() }).unwrap();
    let plan = plan(SCALAR_TURNS);
    let of = |turns: i64| {
        let elements: Vec<i64> = (0..24).map(|i| i * 7 - 3).collect();
        vec![Array::new(&[24], &elements).unwrap(), Array::new(&[], &[turns]).unwrap()]
    };
    let own = loaded(&backend, &plan);
    let expected = |given: &[Array]| loaded(&by_steps(), &plan).run(given).unwrap();
    let [short, long] = [2, 200_000].map(|turns| (of(turns), expected(&of(turns))));
    let run = |(given, expected): &(Vec<Array>, Vec<Array>)| {
        let results = own.run(given).unwrap();
        assert!(results.iter().zip(expected).all(|(own, other)| same_bits(own, other)));
    };
    // Somebody may take the processor from any run: each of these ends some time.
    let until = |runs: &(Vec<Array>, Vec<Array>), holds: &dyn Fn() -> bool| {
        for _ in 0..100_000 {
            if holds() {
                return;
            }
            run(runs);
        }
        panic!("it never holds");
    };
    until(&short, &|| own.scripted() > 0);
    // One of so many script runs is looked at, and the one behind it is measured.
    (0..70).for_each(|_| run(&long));
    let before = own.scripted();
    (0..70).for_each(|_| run(&long));
    assert_eq!(own.scripted(), before);
    until(&short, &|| own.scripted() > before);
    // Long ones again, and then some that launch nothing that is measured.
    (0..140).for_each(|_| run(&long));
    let before = own.scripted();
    let none = vec![Array::new::<i64>(&[0], &[]).unwrap(), Array::new(&[], &[2i64]).unwrap()];
    let none = (none.clone(), expected(&none));
    until(&none, &|| own.scripted() > before);
}

/// Many threads run one plan at once.
#[test]
fn runs_at_once() {
    let plan = plan(TURNS);
    let own = loaded(&scripted(2), &plan);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (own, plan) = (&own, &plan);
            scope.spawn(move || {
                for run in 0..30 {
                    let n = (thread * 17 + run) as usize;
                    let elements: Vec<i64> = (0..n as i64).map(|i| i * 5 + thread).collect();
                    let given = [Array::new(&[n], &elements).unwrap(), Array::new(&[], &[run % 7]).unwrap()];
                    let expected = loaded(&by_steps(), plan).run(&given).unwrap();
                    let results = own.run(&given).unwrap();
                    assert!(results.iter().zip(&expected).all(|(own, other)| same_bits(own, other)), "{thread}, {run}");
                }
            });
        }
    });
    assert!(own.has_script());
}

/// Results under two names, an input that is a result, scalars of every width, and extents that are declared and not kept.
#[test]
fn what_plans_give() {
    let backend = scripted(1);
    let source = "fn f(a: [n]u8, b: i16) -> [n]u8, [n]u8, i16, bool, [n]u8, [?]u8 {
      let m: [n]u8 = map(|x| x + 1, a)
      let s: [n]u8 = scanl1(|x, y| x + y, m)
      let r: [n]u8 = backpermute([n], |i| n - 1 - i, s)
      let t: u8 = fold(|x, y| max(x, y), 0, r)
      let many = t > 100
      let count: i64, kept: [count]u8 = filter(|x| x > 10, r)
      return r, again: r, b, many, a, kept }";
    let plan = plan(source);
    for n in [0usize, 1, 5, 300] {
        let elements: Vec<u8> = (0..n).map(|i| (i * 31 % 256) as u8).collect();
        check(&backend, &plan, &[Array::new(&[n], &elements).unwrap(), Array::new(&[], &[-7i16]).unwrap()]);
    }
}
