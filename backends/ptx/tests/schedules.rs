//! Schedules for GPUs: every one that is accepted has the bits of the interpreter of kernels, and what would change a bit is refused.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_SCHEDULES=N` that many instead of those the test names.

use std::{collections::BTreeMap, sync::Arc};

use crate::common::{Random, SMVM, interpreted, plan, proved, same_bits, simulator};
use fusebox_backend::BackendError;
use fusebox_conformance::{
    edited,
    kernels::{Generated, Shape, generate},
};
use fusebox_ir::{Array, ElementType, Kernel, validate_plan};
use fusebox_schedule::{Book, Preferences, Schedule, Target, alternatives, check, schedule};

/// Mostly small kernels; some of several blocks, and of several tiles.
const SHAPES: [Shape; 5] = [
    Shape { points: 200, long: false, may_fail: false },
    Shape { points: 3_000, long: false, may_fail: false },
    Shape { points: 200, long: false, may_fail: true },
    Shape { points: 200, long: true, may_fail: false },
    Shape { points: 2_000, long: true, may_fail: false },
];

/// What is wrong with one random schedule of a generated kernel; `Ok`: what became of it, and the schedule.
fn fault(seed: u64, shape: Shape) -> Result<(&'static str, String), String> {
    let Generated { plan, inputs } = generate(seed, shape);
    validate_plan(&plan).map_err(|errors| errors.to_string())?;
    let mut random = Random(seed ^ 0x5eed);
    let name = ["sm_70", "sm_80", "sm_90"][random.next() as usize % 3];
    let target = Target::named(name).ok_or("there is no such target")?;
    let Some(kernel) = plan.kernels.first() else { return Ok(("no kernel", String::new())) };
    let all = alternatives(kernel, &target);
    // Few kernels have ways that only some statements allow: where there are any, one of these is as likely as all others.
    let rare = |own: &&Schedule| {
        [" warp_threads", "private ", "packed ", "staged "].iter().any(|way| own.to_text(kernel).contains(way))
    };
    let rare: Vec<&Schedule> = all.iter().filter(rare).collect();
    let of_rare = !rare.is_empty() && random.next().is_multiple_of(2);
    let number = random.next() as usize;
    let mut chosen = if of_rare { rare[number % rare.len()].clone() } else { all[number % all.len()].clone() };
    let text = chosen.to_text(kernel);
    let again = Schedule::parse(&text, kernel).map_err(|error| format!("{error}\n{text}"))?;
    if again != chosen {
        return Err(format!("another schedule was read than written:\n{text}"));
    }
    let mut outcome = "alternative";
    if random.next().is_multiple_of(2) {
        outcome = "refused";
        match Schedule::parse(&edited(&text, &mut random), kernel) {
            Ok(schedule) if schedule != chosen && check(kernel, &schedule, &target).is_ok() => {
                (chosen, outcome) = (schedule, "edited");
            }
            _ => {}
        }
    }
    let mut book = Book::default();
    book.insert(kernel, chosen.clone());
    let context = |what: String| format!("{what}\n{}\n{kernel}", chosen.to_text(kernel));
    let backend = simulator(name, seed).with_schedules(Arc::new(book));
    let loaded = backend.compile_proved_plan(&proved(&plan)).and_then(|compiled| compiled.load_plan());
    let loaded = loaded.map_err(|error| context(error.to_string()))?;
    match (loaded.run_plan(&inputs), interpreted(&plan, &inputs)) {
        (Ok(results), Ok(expected)) => {
            if let Some(at) = results.iter().zip(&expected).position(|(result, own)| !same_bits(result, own)) {
                return Err(context(format!("result {at} differs")));
            }
        }
        (Err(BackendError::Run(_)), Err(_)) => {}
        (Err(error), _) => return Err(context(format!("fails: {error}"))),
        (Ok(_), Err(expected)) => return Err(context(format!("does not fail: {expected}"))),
    }
    Ok((outcome, chosen.to_text(kernel)))
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Seeds that once had a fault: a failure behind tiles, which other threads of the block took for one of an earlier launch.
const ONCE_WRONG: [u64; 1] = [1826];

#[test]
fn random_schedules_have_the_bits_of_the_interpreter() {
    let count = number("FUSEBOX_SCHEDULES").unwrap_or(300);
    let seeds = number("FUSEBOX_SEED").map_or(0..count, |seed| seed..seed + 1);
    let mut tally: BTreeMap<&str, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for seed in seeds.chain(ONCE_WRONG) {
        let shape = SHAPES[(seed % 16) as usize % SHAPES.len()];
        match fault(seed, shape) {
            Ok((outcome, text)) => {
                *tally.entry(outcome).or_default() += 1;
                let loops =
                    ["grid_threads", " blocks {", "block_threads", " warp_threads", "private ", "packed ", "staged "];
                loops.into_iter().filter(|own| text.contains(own)).for_each(|own| *tally.entry(own).or_default() += 1);
            }
            Err(fault) => faults.push(format!("seed {seed}, {shape:?}: {fault}")),
        }
    }
    println!("{tally:?}");
    assert!(faults.is_empty(), "{} faults, the first:\n{}", faults.len(), faults[0]);
    if number("FUSEBOX_SEED").is_none() {
        // Else it would show little.
        assert!(tally["alternative"] * 4 > count as usize && tally["refused"] * 10 > count as usize, "{tally:?}");
        assert!(tally.len() >= 6, "{tally:?}");
    }
}

/// The last kernel of a program, its schedule for `sm_90`, and what the validator says of the schedule's text after an edit.
fn said(source: &str, edit: (&str, &str)) -> (String, String) {
    let plan = plan(source);
    let kernel: &Kernel = plan.kernels.last().unwrap();
    let target = Target::named("sm_90").unwrap();
    let text = schedule(kernel, &target, Preferences::default()).schedule.to_text(kernel);
    assert!(text.contains(edit.0), "no {} in\n{text}", edit.0);
    let edited =
        Schedule::parse(&text.replace(edit.0, edit.1), kernel).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let said = check(kernel, &edited, &target)
        .err()
        .map_or(String::new(), |faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    (text, said)
}

const DOT: &str = "fn f(a: [n]f32, b: [n]f32) -> f32 { let p: [n]f32 = map(|x, y| x * y, a, b) let s: f32 = fold(|x, y| x + y, 0.0, p) return s }";
const ROWS: &str = "fn f(a: [n, m]f32) -> [n]f32 { let s: [n]f32 = fold(|x, y| x + y, 0.0, a) return s }";
const SCAN: &str = "fn f(a: [n]f32) -> [n]f32 { let s: [n]f32 = scanl1(|x, y| x + y, a) return s }";
const MAP: &str = "fn f(a: [n, m]f32) -> [n, m]f32 { let s: [n, m]f32 = map(|x| x + 1.0, a) return s }";
const SUMS: &str =
    "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32 { let p: [m]f32 = permute(|x, y| x + y, d, v, at: t) return p }";

const HISTOGRAM: &str =
    "fn f(h: [m]i32, v: [n]i32, t: [n]i64) -> [m]i32 { let p: [m]i32 = permute(|x, y| x + y, h, v, at: t) return p }";
const PAIRS: &str = "fn f(d: [m]i32, e: [m]i32, v: [n]i32, j: [n]i32, t: [n]i64) -> [m]i32, [m]i32 {
    let p: [m]i32, q: [m]i32 = permute(|x, j, y, l| {
        let first = x < y || (x == y && j <= l)
        return if first { x } else { y }, if first { j } else { l } }, (d, e), (v, j), at: t)
    return p, q }";
const PRODUCT: &str = "fn f(a: [n, k]f32, b: [k, m]f32) -> [n, m]f32 {
    let c: [n, m]f32 = cluster(|| {
      vertical x: [n, m, k]f32 = generate([n, m, k], |i, j, l| a[i, l] * b[l, j])
      last c: [n, m]f32 = fold(|x, y| x + y, 0.5, x)
      return c
    })
    return c }";
const TRANSPOSE: &str =
    "fn f(a: [n, m]f32) -> [m, n]f32 { let t: [m, n]f32 = backpermute([m, n], |i, j| { return j, i }, a) return t }";

const STENCIL: &str = "fn f(u: [k, n, m]f64) -> [k, n, m]f64 {
    let p: [k, n, m]f64 = stencil(|a, b, c, d| a + b + c * d, u[-1, 0, 0], u[1, 1, 0], u[0, -1, 2], u[0, 0, 0], u: clamp)
    return p }";
const LINE: &str =
    "fn f(u: [n]f32) -> [n]f32 { let p: [n]f32 = stencil(|a, b, c| a + b * c, u[-1], u[0], u[2], u: wrap) return p }";
const ROW_SCANS: &str = "fn f(a: [n, m]f32) -> [n, m]f32 { let s: [n, m]f32 = scanl1(|x, y| x + y, a) return s }";
const EXPAND: &str = "fn f(sizes: [n]i32, start: [n]i32, defaults: [m]i32) -> [m]i32 {
    let counts: [m]i32 = permuted_expand(|z, s| i64(z), |z, s, j| { return (i64(s) + 3 * j) % m, s, j & 1 == 0 },
      |x, y| x + y, defaults, sizes, start)
    return counts }";
const GATHER: &str = "fn f(u: [n]f32, at: [n]i64) -> [n]f32 { let p: [n]f32 = map(|k| u[k], at) return p }";
const PAIRWISE: &str = "fn f(p: [n]f32, q: [n]f32, eps: f32) -> [n]f32, [n]f32 {
    let s: [n]f32, t: [n]f32 = cluster(|| {
      vertical d: [n, n]f32, e: [n, n]f32 = generate([n, n], |i, j| {
        let x = p[j] - p[i]
        let w = q[j] / (x * x + eps)
        return w * x, w })
      horizontal s: [n]f32 = fold(|x, y| x + y, 0.25, d)
      last t: [n]f32 = fold(|x, y| x + y, 0.0, e)
      return s, t
    })
    return s, t }";

/// Every schedule that the scheduler could have chosen, of kernels for which it has ways of their own.
#[test]
fn all_schedules_of_rows_scatters_and_tiles_have_the_same_bits() {
    let mut random = Random(40);
    let lengths = [3i64, 0, 70, 5000, 64, 63, 1];
    let offsets: Vec<i64> = std::iter::once(0)
        .chain(lengths.iter().scan(0, |sum, length| {
            *sum += length;
            Some(*sum)
        }))
        .collect();
    let many = *offsets.last().unwrap() as usize;
    let matrix = vec![
        Array::new(&[offsets.len()], &offsets).unwrap(),
        random.ints(ElementType::I32, &[many], 0, 9),
        random.array(ElementType::F32, &[many]),
        random.array(ElementType::F32, &[9]),
    ];
    let (values, targets) =
        (random.ints(ElementType::I32, &[900], -9, 9), random.ints(ElementType::I64, &[900], 0, 40));
    let cells = Array::new(&[40], &[5i32; 40]).unwrap();
    let matrices = vec![random.array(ElementType::F32, &[37, 11]), random.array(ElementType::F32, &[11, 70])];
    let turned = vec![random.array(ElementType::F32, &[37, 70])];
    let mut ways = BTreeMap::new();
    for (source, inputs) in [
        (SMVM, matrix),
        (HISTOGRAM, vec![cells.clone(), values.clone(), targets.clone()]),
        (PAIRS, vec![cells.clone(), cells, values.clone(), values, targets]),
        (PRODUCT, matrices),
        (TRANSPOSE, turned),
        (ROW_SCANS, vec![random.array(ElementType::F32, &[5, 300])]),
        (
            EXPAND,
            vec![
                Array::new(&[6], &[3i32, 0, 70, 9000, 31, 32]).unwrap(),
                random.ints(ElementType::I32, &[6], 0, 100),
                Array::new(&[40], &[5i32; 40]).unwrap(),
            ],
        ),
        (STENCIL, vec![random.array(ElementType::F64, &[3, 40, 70])]),
        (LINE, vec![random.array(ElementType::F32, &[2500])]),
        (
            PAIRWISE,
            vec![random.array(ElementType::F32, &[500]), random.array(ElementType::F32, &[500]), Array::scalar(0.5f32)],
        ),
    ] {
        let plan = plan(source);
        let kernel = plan.kernels.last().unwrap();
        let expected = interpreted(&plan, &inputs).unwrap();
        for own in alternatives(kernel, &Target::named("sm_90").unwrap()) {
            let text = own.to_text(kernel);
            assert_eq!(Schedule::parse(&text, kernel).unwrap_or_else(|error| panic!("{error}\n{text}")), own);
            for way in ["warp_threads", "private ", "packed ", "staged ", "block_threads(256) unroll 4"] {
                *ways.entry(way).or_insert(0) += usize::from(text.contains(way));
            }
            let mut book = Book::default();
            book.insert(kernel, own);
            let backend = simulator("sm_90", 7).with_schedules(Arc::new(book));
            let loaded = backend.compile_proved_plan(&proved(&plan)).unwrap().load_plan().unwrap();
            let results = loaded.run_plan(&inputs).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert!(results.iter().zip(&expected).all(|(own, other)| same_bits(own, other)), "{text}");
        }
    }
    println!("{ways:?}");
    assert!(ways.values().all(|count| *count >= 2), "{ways:?}");
}

#[test]
fn schedules_that_change_bits_or_do_not_fit_are_refused() {
    for (source, edit, expected) in [
        (DOT, ("block_threads(64)", "block_threads(128)"), "has 64 lanes, and 128 threads combine"),
        (DOT, ("by 4096", "by 2048"), "blocks take points, pieces of 4,096 elements"),
        (DOT, ("_blocks blocks", "_blocks"), "inside of one that they do not"),
        (ROWS, ("block_threads(64)", "block_threads(96)"), "no power of two"),
        (ROWS, ("block_threads(64)", "block_threads(4096)"), "at most 1024"),
        (ROWS, ("block_threads(64)", "warp_threads"), "a block or a warp takes a point"),
        (SCAN, ("by 32768", "by 16384"), "asks for 32768"),
        (SCAN, ("block_threads(64)", "grid_threads(64)"), "the steps of a tile"),
        (MAP, ("grid_threads(256)", "grid_threads(100)"), "no whole number of warps"),
        (MAP, ("grid_threads(256) unroll 4", "grid_threads(256) unroll 3"), "has 2 or 4 elements"),
        (MAP, ("grid_threads(256)", "threads"), "no loops by Threads"),
        (SMVM, ("grid_threads(256)", "grid_threads(48)"), "no whole number of warps"),
        (SMVM, ("x2 < 64", "x2 < 32"), "rows are long from 64 steps on, and 32 are asked for"),
        (SMVM, ("by 4096", "by 2048"), "share pieces of 4,096 of very long rows"),
        (SMVM, ("warp_threads", "block_threads(32)"), "share pieces of 4,096 of very long rows"),
        (HISTOGRAM, ("private p 2048", "private p 4096"), ""),
        (HISTOGRAM, ("private p 2048", "private p 2047"), "no whole words"),
        (HISTOGRAM, ("private p 2048", "private p 20480"), "take 81920 bytes of shared memory"),
        (HISTOGRAM, ("private p 2048", "packed p"), "each component is combined by itself"),
        (PAIRS, ("packed p", "private p 64"), "no known identity"),
        (PAIRS, ("packed p", "packed p packed p"), "has two forms"),
        (PRODUCT, ("block_threads(256)", "block_threads(128)"), "do not share the points of the tile"),
        (PRODUCT, ("by 64", "by 48"), "small powers of two"),
        (PRODUCT, ("unroll 4", "unroll 8"), "small powers of two"),
        (PRODUCT, ("staged", "packed"), "it is no scatter"),
        (TRANSPOSE, ("by 32", "by 64"), ""),
        (STENCIL, ("by 8", "by 16"), ""),
        (STENCIL, ("by 8", "by 64"), "what is staged takes 104544 bytes of shared memory"),
        (STENCIL, ("staged x3", "staged x3 staged x3"), "is staged twice"),
        (STENCIL, ("staged x3", "staged x9"), "it is no load"),
        (LINE, ("by 1024", "by 1000"), "small powers of two"),
        (LINE, ("block_threads(256)", "block_threads(96)"), "do not share the points of the tile"),
        (LINE, ("block_threads(256)", "block_threads(256) unroll 2"), "do not share the points of the tile"),
        (PAIRWISE, ("by 64", "by 48"), "small powers of two"),
        (PAIRWISE, ("staged x4", "staged x3"), "where it reads is not known before"),
        (SMVM, ("x2 < 32768", "x2 < 48"), "rows are cut from 48 steps on"),
        (SMVM, ("warps(8)", "warps(4)"), "all warps of the grid share pieces of 4,096 of very long rows"),
        (SMVM, ("warps(8)", "blocks"), "all warps of the grid share pieces of 4,096 of very long rows"),
        (ROW_SCANS, ("by 32768 -> x1_tiles", "by 4096 -> x1_tiles"), "share pieces of 32768 of long ones"),
        (ROW_SCANS, ("warp_threads", "block_threads(64)"), "share pieces of 32768 of long ones"),
        (ROW_SCANS, ("x1 < 16", "x1 < 5"), ""),
        (EXPAND, ("x1 warp_threads", "x1 grid_threads(256)"), "share long ones"),
        (EXPAND, ("x1 < 32768", "x1 < 4096"), "rows are cut from 4096 steps on"),
        (GATHER, ("version narrow {", "version narrow { staged x2"), "loads are staged in tiles of points"),
        (MAP, ("version narrow {", "version narrow { staged x2"), "loads are staged in tiles of points"),
        (SUMS, ("block_threads(256)", "block_threads(1024)"), ""),
        (SUMS, ("block_threads(256)", "block_threads(48)"), "no power of two"),
        (SUMS, ("loop x_chunks blocks", "loop x_chunks grid_threads(32)"), "take points of the outermost levels"),
    ] {
        let (text, said) = said(source, edit);
        let fits = if expected.is_empty() { said.is_empty() } else { said.contains(expected) };
        assert!(fits, "{edit:?} of\n{text}is said to be: {said}");
    }
}

/// What threads exchange has to fit: five sums of a row by 1,024 threads do not.
#[test]
fn shared_memory_is_counted() {
    let source = "fn f(a: [n, m]i64) -> [n]i64, [n]i64, [n]i64, [n]i64, [n]i64 {
        let s: [n]i64, t: [n]i64, u: [n]i64, v: [n]i64, w: [n]i64 = fold(|s, t, u, v, w, a, b, c, d, e| {
            return s + a, t + b, u + c, v + d, w + e }, 0, 0, 0, 0, 0, a, a, a, a, a)
        return s, t, u, v, w }";
    let (text, said) = said(source, ("block_threads(64)", "block_threads(1024)"));
    assert!(said.contains("what threads exchange takes 81920 bytes of shared memory"), "{text}{said}");
}

/// A schedule with a level missing skips points.
#[test]
fn a_skipped_level_is_refused() {
    let (text, said) = said(MAP, ("loop x1 grid_threads(256) unroll 4 {\n        do *\n      }\n", "do *\n"));
    assert!(said.contains("level 1 is not run over whole"), "{text}{said}");
}
