//! Scatters whose elements are put aside: the bits, first failures and fallbacks are those of one thread.

use std::sync::Arc;

use crate::common::{Random, compiled, every_schedule, interpreted, plan, same_bits};
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::{Action, Array, Plan};
use fusebox_schedule::{Book, Form, Preferences, Schedule, Target, check, schedule};

/// Programs that scatter: in which order, how many values, and what takes part.
const PROGRAMS: [&str; 8] = [
    // In the order of the source: the last of each target stays.
    "fn f(d: [m]f32, a: [n]f32, at: [n]i64) -> [m]f32 {
     let r: [m]f32 = permute(|new, old| new, d, a, at: at) return r }",
    // Sums of floats: in one chunk.
    "fn f(d: [m]f32, a: [n]f32, at: [n]i64) -> [m]f32 {
     let r: [m]f32 = permute(|x, y| x + y, d, a, at: at) return r }",
    // What neither commutes nor associates.
    "fn f(d: [m]f32, a: [n]f32, at: [n]i64) -> [m]f32 {
     let r: [m]f32 = permute(|x, y| x - y * 0.5, d, a, at: at, ordered: true) return r }",
    // In any order.
    "fn f(d: [m]f32, a: [n]f32, at: [n]i64) -> [m]f32 {
     let r: [m]f32 = permute(|x, y| max(x, y), d, a, at: at) return r }",
    // What is computed, of two levels.
    "fn f(d: [m]f32, a: [n]f32, at: [n]i64) -> [m]f32 {
     let x: [n, 5]f32 = generate([n, 5], |i, j| a[i] * f32(j))
     let to: [n, 5]i64 = generate([n, 5], |i, j| (at[i] + j * 7) % m)
     let r: [m]f32 = permute(|x, y| x - y * 0.5, d, x, at: to, ordered: true) return r }",
    // Elements that go nowhere.
    "fn f(d: [m]f32, a: [n]f32, at: [n]i64) -> [m]f32 {
     let some: [n]bool = map(|x| x > 0.25, a)
     let r: [m]f32 = permute(|x, y| x * 0.5 + y, d, a, at: at, keep: some, ordered: true) return r }",
    "fn f(d: [m]u8, a: [n]u8, at: [n]i64) -> [m]u8 {
     let r: [m]u8 = permute(|x, y| x - y, d, a, at: at, ordered: true) return r }",
    // Two values, of 8 and 2 bytes.
    "fn f(d: [m]f32, a: [n]f32, at: [n]i64) -> [m]f64, [m]i16 {
     let x: [n]f64 = map(|x| f64(x) * 0.3, a)
     let y: [n]i16 = generate([n], |i| i16(i))
     let d1: [m]f64 = map(|x| f64(x), d)
     let d2: [m]i16 = generate([m], |i| i16(i))
     let r: [m]f64, q: [m]i16 = permute(|x, i, x1, i1| { return if x > x1 { x } else { x1 }, i - i1 }, (d1, d2), (x, y), at: at, ordered: true)
     return r, q }",
];

fn inputs(source: &str, (targets, elements): (usize, usize), random: &mut Random) -> Vec<Array> {
    let at: Vec<i64> = (0..elements).map(|_| (random.next() % targets.max(1) as u64) as i64).collect();
    let at = Array::new(&[elements], &at).unwrap();
    if source.contains("u8") {
        let mut of = |count: usize| -> Vec<u8> { (0..count).map(|_| random.next() as u8).collect() };
        let (d, a) = (of(targets), of(elements));
        return vec![Array::new(&[targets], &d).unwrap(), Array::new(&[elements], &a).unwrap(), at];
    }
    let mut of = |count: usize| -> Vec<f32> {
        (0..count).map(|i| if i % 97 == 5 { f32::NAN } else { (random.next() % 1000) as f32 / 700.0 - 0.3 }).collect()
    };
    let (d, a) = (of(targets), of(elements));
    vec![Array::new(&[targets], &d).unwrap(), Array::new(&[elements], &a).unwrap(), at]
}

/// A backend whose schedule of the last kernel puts elements aside, and whether it does.
fn aside(plan: &Plan, threads: usize, target: &str) -> (Cranelift, bool) {
    let kernel = plan.kernels.last().unwrap();
    let preferences = Preferences { partitioned: Some(true), ..Preferences::default() };
    let schedule = schedule(kernel, &Target::named(target).unwrap(), preferences).schedule;
    let puts = schedule.to_text(kernel).contains("partition ");
    let mut book = Book::default();
    book.insert(kernel, schedule);
    let config =
        Config { threads, share_from_ns: 1, wide: target != "sse", schedules: Arc::new(book), ..Config::default() };
    (Cranelift::new(config).unwrap(), puts)
}

#[test]
fn elements_put_aside_have_the_bits_of_the_interpreter() {
    let mut random = Random(31);
    for source in PROGRAMS {
        let plan = plan(source);
        let widest = fusebox_cranelift::targets()[0];
        for (threads, target) in [(1, "sse"), (2, "sse"), (3, widest), (7, widest)] {
            let (backend, puts) = aside(&plan, threads, target);
            assert!(puts, "{source}\n{}", plan.kernels.last().unwrap());
            let loaded = compiled(&backend, &plan).unwrap().load_plan().unwrap();
            for shape in [(1, 0), (1, 7), (5, 0), (9, 40), (4_000, 333), (700, 20_001), (100_000, 70_001), (3, 150_000)]
            {
                let inputs = inputs(source, shape, &mut random);
                let expected = interpreted(&plan, &inputs).unwrap();
                let results = loaded.run_plan(&inputs).unwrap();
                for (result, expected) in results.iter().zip(&expected) {
                    assert!(same_bits(result, expected), "{source}, {shape:?}, {threads} threads, {target}");
                }
            }
        }
    }
}

#[test]
fn every_schedule_of_a_scatter_has_the_same_bits() {
    let mut random = Random(7);
    for source in PROGRAMS {
        let all: Vec<_> = [(9, 40), (300, 2_000)].map(|shape| inputs(source, shape, &mut random)).into();
        let counts = every_schedule(source, &all, &["partition "]);
        assert!(counts[0] > 0, "{source}: {counts:?}");
    }
}

#[test]
fn an_index_outside_fails_as_on_one_thread() {
    let source = PROGRAMS[0];
    let plan = plan(source);
    let mut random = Random(3);
    let mut inputs = inputs(source, (1_000, 50_000), &mut random);
    let mut at: Vec<i64> = inputs[2].as_slice::<i64>().unwrap().to_vec();
    at[33_333] = 1_000;
    inputs[2] = Array::new(&[at.len()], &at).unwrap();
    let alone = compiled(&Cranelift::new(Config { threads: 1, ..Config::default() }).unwrap(), &plan).unwrap();
    let expected = alone.load_plan().unwrap().run_plan(&inputs).unwrap_err().to_string();
    assert!(expected.contains("1000"), "{expected}");
    let (backend, _) = aside(&plan, 3, "sse");
    let loaded = compiled(&backend, &plan).unwrap().load_plan().unwrap();
    assert_eq!(loaded.run_plan(&inputs).unwrap_err().to_string(), expected);
    // What has failed does not disturb what comes.
    at[33_333] = 999;
    inputs[2] = Array::new(&[at.len()], &at).unwrap();
    let results = loaded.run_plan(&inputs).unwrap();
    assert!(same_bits(&results[0], &interpreted(&plan, &inputs).unwrap()[0]));
}

#[test]
fn what_may_not_be_put_aside_is_refused_with_the_reason() {
    let kernel = |source: &str| plan(source).kernels.pop().unwrap();
    let target = Target::named("avx2").unwrap();
    let preferences = Preferences { partitioned: Some(true), ..Preferences::default() };
    let scatter = kernel(PROGRAMS[0]);
    let text = schedule(&scatter, &target, preferences).schedule.to_text(&scatter);
    let line = text.lines().find(|line| line.contains("partition ")).unwrap().trim();
    let own = line.split(' ').nth(1).unwrap();
    for (form, expected) in [
        (format!("partition {own} by 8 from 100"), "accepted"),
        (format!("partition {own} by 7 from 0"), "no power of two"),
        (format!("partition {own} by 0 from 0"), "not between 1"),
        (format!("partition {own} by 8 from -1"), "expected a number"),
        (format!("partition {own} by 8"), "expected `from`"),
        (format!("{line} {line}"), "twice"),
        ("partition nothing by 8 from 0".to_owned(), "no statement `nothing`"),
    ] {
        let said = match Schedule::parse(&text.replace(line, &form), &scatter) {
            Err(error) => error.to_string(),
            Ok(schedule) => match check(&scatter, &schedule, &target) {
                Ok(()) => "accepted".to_owned(),
                Err(faults) => faults.iter().map(ToString::to_string).collect(),
            },
        };
        assert!(said.contains(expected), "{form}: {said}");
    }
    for (source, expected) in [
        (
            "fn f(d: [m]f32, a: [n]f32, at: [n]i64) -> [m]f32 {
             let r: [m]f32 = permute(|new, old| new, d, a, at: at, unique: true) return r }",
            "no two elements have one target",
        ),
        ("fn f(a: [n]f32) -> [n]f32 { let r: [n]f32 = map(|x| x + 1.0, a) return r }", "it is no scatter"),
    ] {
        let kernel = kernel(source);
        let mut schedule = schedule(&kernel, &target, preferences).schedule;
        let statement = (kernel.statements.iter())
            .position(|own| matches!(own.action, Action::Scatter { .. } | Action::Store { .. }))
            .unwrap();
        let form = Form::Partitioned { statement: statement as u32, targets: 8, from: 0 };
        schedule.versions[0].nest.forms.push(form);
        let faults = check(&kernel, &schedule, &target).unwrap_err();
        assert!(faults.iter().any(|fault| fault.to_string().contains(expected)), "{source}: {faults:?}");
    }
}
