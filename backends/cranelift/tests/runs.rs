//! Scatters that put elements in runs, and scans of integers.

use crate::common::{self, Random, every_schedule, interpreted, plan};
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::{
    Action, Array, ElementType, Kernel,
    analysis::kernels::{NotInRuns, in_runs},
};
use fusebox_schedule::{Preferences, Schedule, Target, check, schedule};

/// What is kept comes in its order, behind the first place.
const PACK: &str = "fn f(x: [n]f32, d: [m]f32, first: i64) -> [m]f32, i64 {
     let r: [m]f32, kept: i64 = cluster(|| {
       vertical keep: [n]bool = map(|a| a > 0.0, x)
       vertical ones: [n]i64 = map(|a| i64(a), keep)
       diagonal before: [n]i64, kept: i64 = scanl'(|a, b| a + b, 0, ones)
       vertical at: [n]i64 = map(|a| first + a, before)
       last r: [m]f32 = permute(|new, old| new, d, x, at: at, keep: keep, unique: true)
       return r, kept })
     return r, kept }";

/// Elements whose last bit is 0 come before the others.
const SPLIT: &str = "fn f(x: [n]u32, d: [m]u32, zeros: i64) -> [m]u32 {
     let r: [m]u32 = cluster(|| {
       vertical ones: [n]i64 = map(|a| 1 - i64(a & 1), x)
       vertical before: [n]i64, total: i64 = scanl'(|a, b| a + b, 0, ones)
       vertical index: [n]i64 = generate([n], |i| i)
       vertical at: [n]i64 = map(|b, one, i| if one == 1 { b } else { zeros + i - b }, before, ones, index)
       last r: [m]u32 = permute(|new, old| new, d, x, at: at, unique: true)
       return r })
     return r }";

/// The same, of what is the other way round: the elements that are not counted come first.
const SPLIT_DOWN: &str = "fn f(x: [n]i64, d: [m]i64, others: i64) -> [m]i64, [n]i64 {
     let r: [m]i64, before: [n]i64 = cluster(|| {
       vertical odd: [n]i64 = map(|a| a & 1, x)
       diagonal before: [n]i64, total: i64 = scanl'(|a, b| a + b, 0, odd)
       vertical index: [n]i64 = generate([n], |i| i)
       vertical at: [n]i64 = map(|b, one, i| if one == 0 { i - b } else { others + b }, before, odd, index)
       last r: [m]i64 = permute(|new, old| new, d, x, at: at, unique: true)
       return r, before })
     return r, before }";

/// Sizes of no, one, and several gangs, blocks and tiles, and between.
const LENGTHS: [usize; 9] = [0, 1, 7, 64, 1_000, 4_097, 32_768, 70_001, 100_000];

fn pack_inputs(random: &mut Random) -> Vec<Vec<Array>> {
    LENGTHS
        .iter()
        .map(|&n| {
            let x = random.array(ElementType::F32, &[n]);
            vec![x, random.array(ElementType::F32, &[n + 3]), Array::scalar(2i64)]
        })
        .collect()
}

fn split_inputs(random: &mut Random, ty: ElementType, room: usize) -> Vec<Vec<Array>> {
    LENGTHS
        .iter()
        .map(|&n| {
            let x = random.array(ty, &[n]);
            let even = |low: u64| low & 1 == 0;
            let zeros = match ty {
                ElementType::U32 => x.as_slice::<u32>().unwrap().iter().filter(|&&a| even(a.into())).count(),
                _ => x.as_slice::<i64>().unwrap().iter().filter(|&&a| even(a as u64)).count(),
            };
            vec![x, random.array(ty, &[n + room]), Array::scalar(zeros as i64)]
        })
        .collect()
}

#[test]
fn runs_have_the_bits_of_the_interpreter() {
    let mut random = Random(11);
    for (source, inputs) in [
        (PACK, pack_inputs(&mut random)),
        (SPLIT, split_inputs(&mut random, ElementType::U32, 0)),
        (SPLIT_DOWN, split_inputs(&mut random, ElementType::I64, 5)),
    ] {
        let plan = plan(source);
        assert!(inputs.iter().all(|inputs| interpreted(&plan, inputs).is_ok()), "{source}");
        assert!(every_schedule(source, &inputs, &["runs r"])[0] > 1, "{source}");
    }
}

/// The text of the schedule chosen for the last kernel, with its runs, and the kernel.
fn chosen(source: &str, target: &Target) -> (Kernel, String) {
    let kernel = plan(source).kernels.pop().unwrap();
    let text = schedule(&kernel, target, Preferences { runs: Some(true), ..Preferences::default() });
    let text = text.schedule.to_text(&kernel);
    (kernel, text)
}

#[test]
fn places_outside_are_the_errors_of_the_interpreter() {
    let mut random = Random(5);
    for (source, ty, wrong) in [(PACK, ElementType::F32, [-1i64, 60_000]), (SPLIT, ElementType::U32, [-40_000, 90_000])]
    {
        let plan = plan(source);
        let (_, text) = chosen(source, &Target::named("avx2").unwrap());
        assert!(text.contains("runs r"), "{text}");
        for wrong in wrong {
            let x = random.array(ty, &[70_001]);
            let inputs = [x, random.array(ty, &[70_001]), Array::scalar(wrong)];
            let expected = interpreted(&plan, &inputs).unwrap_err().to_string();
            for threads in [1, 2, 7] {
                let config = Config { threads, share_from_ns: 1, ..Config::default() };
                let got = common::run(&Cranelift::new(config).unwrap(), &plan, &inputs).unwrap_err().to_string();
                assert_eq!(got, expected, "{threads} threads");
            }
        }
    }
}

#[test]
fn scatters_in_runs_are_known() {
    let of = |source: &str| {
        let kernel = plan(source).kernels.pop().unwrap();
        let scatter = |statement: &fusebox_ir::Statement| matches!(statement.action, Action::Scatter { .. });
        let position = kernel.statements.iter().position(scatter).unwrap();
        in_runs(&kernel, position).map(|runs| {
            let own: Vec<(bool, bool)> = runs.runs.iter().map(|run| (run.holds, run.counted)).collect();
            (own, runs.counts_alone(&kernel, position))
        })
    };
    assert_eq!(of(PACK), Ok((vec![(true, true)], true)));
    assert_eq!(of(SPLIT), Ok((vec![(true, true), (false, false)], true)));
    // What was counted before each is a result too.
    assert_eq!(of(SPLIT_DOWN), Ok((vec![(true, false), (false, true)], false)));
    for (source, from, to, expected) in [
        (PACK, "unique: true", "ordered: true", NotInRuns::NotUnique),
        (PACK, "|new, old| new,", "|new, old| new + old,", NotInRuns::Combines),
        (PACK, "i64(a), keep", "i64(a) * 2, keep", NotInRuns::Condition),
        (PACK, "i64(a), keep", "i64(a), flags", NotInRuns::Condition),
        (PACK, "first + a", "first - a", NotInRuns::Place),
        (PACK, "first + a", "first + a * 2", NotInRuns::Place),
        (PACK, "scanl'(|a, b| a + b, 0", "scanl'(|a, b| max(a, b), 0", NotInRuns::NoCount),
        (PACK, ", keep: keep", "", NotInRuns::Index),
        (SPLIT, "zeros + i - b", "zeros + i", NotInRuns::Place),
        (SPLIT, "{ b }", "{ b + i }", NotInRuns::Place),
        (SPLIT, "a & 1, x", "a & 2, x", NotInRuns::Condition),
        (SPLIT, "one == 1", "one == 0", NotInRuns::Place),
    ] {
        assert!(source.contains(from) || from == "a & 1, x", "{from}");
        let mut changed = source.replace(from, to);
        if from == "a & 1, x" {
            changed = source.replace("i64(a & 1), x", "i64(a & 2), x");
        }
        if to.contains("flags") {
            changed = changed.replace("vertical ones", "vertical flags: [n]bool = map(|a| a < 0.0, x)\n vertical ones");
        }
        assert_eq!(of(&changed), Err(expected), "{from} to {to}");
    }
}

#[test]
fn runs_are_refused_with_the_reason() {
    let avx2 = Target::named("avx2").unwrap();
    let judged = |kernel: &Kernel, text: &str, target: &Target| match Schedule::parse(text, kernel) {
        Err(error) => error.to_string(),
        Ok(schedule) => match check(kernel, &schedule, target) {
            Ok(()) => "accepted".to_owned(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        },
    };
    let (kernel, text) = chosen(PACK, &avx2);
    for (from, to, expected) in [
        ("runs r", "runs r", "accepted"),
        ("runs r", "", "accepted"),
        ("runs r", "runs r runs r", "twice"),
        ("runs r", "runs nothing", "no statement `nothing`"),
        ("runs r", "runs x3", "it is no scatter"),
    ] {
        assert!(text.contains(from), "{text}");
        let said = judged(&kernel, &text.replace(from, to), &avx2);
        assert!(said.contains(expected), "{from} to {to}: {said}\n{text}");
    }
    let (kernel, text) = chosen(&PACK.replace("unique: true", "ordered: true"), &avx2);
    assert!(!text.contains("runs r"), "{text}");
    let text = text.replacen("    loop", "    runs r loop", 1);
    assert!(judged(&kernel, &text, &avx2).contains("elements may have one target"), "{text}");
}

/// Scans of integers and of truth values go on from one tile to the next with what has run up, also in ranges that begin anywhere, upwards and
/// downwards, with masked gangs and by single lanes.
#[test]
fn scans_of_integers_have_the_bits_of_the_interpreter() {
    let mut random = Random(23);
    for (ty, function, identity) in [
        (ElementType::I32, "a + b", "0"),
        (ElementType::U64, "max(a, b)", "0u64"),
        (ElementType::I64, "a + b", "0"),
        (ElementType::U8, "a ^ b", "0u8"),
    ] {
        let inputs: Vec<Vec<Array>> = LENGTHS.iter().map(|&n| vec![random.array(ty, &[n])]).collect();
        for scan in ["scanl", "scanr", "scanl1", "scanr1"] {
            let start = if scan.ends_with('1') { String::new() } else { format!("{identity}, ") };
            let extent = if start.is_empty() { "n" } else { "k" };
            let source = format!(
                "fn f(x: [n]{ty}) -> [?]{ty} {{
                 let k = n + 1
                 let r: [{extent}]{ty} = {scan}(|a, b| {function}, {start}x) return r }}"
            );
            every_schedule(&source, &inputs, &[]);
        }
        let source = format!(
            "fn f(x: [n]{ty}) -> [n]{ty}, {ty} {{
             let r: [n]{ty}, t: {ty} = scanl'(|a, b| {function}, {identity}, x) return r, t }}"
        );
        every_schedule(&source, &inputs, &[]);
    }
}
