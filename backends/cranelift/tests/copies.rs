//! Scatters of which each thread has a copy of the targets.

use crate::common::{Random, every_schedule, plan};
use fusebox_ir::{Array, ElementType};
use fusebox_schedule::{Preferences, Schedule, Target, check, schedule};

/// Counts and greatest elements: any order gives the same.
const BOTH: &str = "fn f(at: [n]i64, x: [n]f32, d: [m]i64, e: [m]f32) -> [m]i64, [m]f32 {
     let ones: [n]i64 = map(|a| a * 3 + 1, at)
     let r: [m]i64, q: [m]f32 = cluster(|| {
       last r: [m]i64 = permute(|x, y| x + y, d, ones, at: at)
       last q: [m]f32 = permute(|x, y| max(x, y), e, x, at: at)
       return r, q })
     return r, q }";

#[test]
fn every_number_of_copies_has_the_bits_of_the_interpreter() {
    let mut random = Random(3);
    let inputs: Vec<Vec<Array>> = [(0, 3), (1, 1), (100, 7), (1_000, 3_000), (5_000, 64)]
        .iter()
        .map(|&(elements, targets)| {
            let at: Vec<i64> = (0..elements).map(|_| (random.next() % targets as u64) as i64).collect();
            vec![
                Array::new(&[elements], &at).unwrap(),
                random.array(ElementType::F32, &[elements]),
                random.array(ElementType::I64, &[targets]),
                random.array(ElementType::F32, &[targets]),
            ]
        })
        .collect();
    let seen = every_schedule(BOTH, &inputs, &["copy r 4", "copy q 4", "copy r 64"]);
    assert!(seen.iter().all(|&count| count > 1), "{seen:?}");
}

#[test]
fn copies_are_refused_with_the_reason() {
    let target = Target::named("avx2").unwrap();
    let judged = |kernel: &fusebox_ir::Kernel, text: &str| match Schedule::parse(text, kernel) {
        Err(error) => error.to_string(),
        Ok(schedule) => match check(kernel, &schedule, &target) {
            Ok(()) => "accepted".to_owned(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        },
    };
    let counts = plan(BOTH).kernels.pop().unwrap();
    let text = schedule(&counts, &target, Preferences::default()).schedule.to_text(&counts);
    for (from, to, expected) in [
        ("copy q 4", "", "accepted"),
        ("copy q 4", "copy q 1", "accepted"),
        ("copy q 4", "copy q 0", "not between 1"),
        ("copy q 4", "copy r 4", "copied twice"),
        ("copy q 4", "copy nothing 4", "no statement `nothing`"),
        ("threads", "blocks", "those of a GPU"),
    ] {
        assert!(text.contains(from), "{text}");
        let said = judged(&counts, &text.replace(from, to));
        assert!(said.contains(expected), "{from} to {to}: {said}");
    }
    let alone = Preferences { shared: Some(false), ..Preferences::default() };
    let alone = schedule(&counts, &target, alone).schedule.to_text(&counts).replace("version {", "version { copy r 4");
    assert!(judged(&counts, &alone).contains("none share the outermost level"), "{alone}");
    let sums = plan(
        "fn f(d: [m]f32, a: [n]f32, at: [n]i64) -> [m]f32 {
         let r: [m]f32 = permute(|x, y| x + y, d, a, at: at) return r }",
    )
    .kernels
    .pop()
    .unwrap();
    let text = schedule(&sums, &target, Preferences::default()).schedule.to_text(&sums);
    let text = text
        .replace("loop x_chunks threads", "copy r 4 loop x_chunks threads")
        .replace("loop x_shares threads", "copy r 4 loop x_shares threads");
    assert!(judged(&sums, &text).contains("no scatter in any order"), "{text}");
}
