//! Pieces of a level that run outside of the level around it.

use crate::common::{Random, changed, every_schedule, plan};
use fusebox_ir::{Array, ElementType, Kernel};
use fusebox_schedule::{Preferences, Schedule, Target, check as legal, schedule};

/// Programs that read along the outer level.
const PROGRAMS: [&str; 6] = [
    "fn f(a: [n, m]f32) -> [m, n]f32 { let r: [m, n]f32 = generate([m, n], |i, j| a[j, i]) return r }",
    // Beside what lies side by side along the inner level: gangs.
    "fn f(a: [n, m]f32) -> [m, n]f32 {
     let r: [m, n]f32 = generate([m, n], |i, j| sqrt(a[j, i] * f32(i) + 2.0) * (f32(j) + 0.5) + exp(f32(j - i))) return r }",
    // A level inside of both.
    "fn f(a: [n, m]f32) -> [m, n]f32 {
     let r: [m, n]f32 = cluster(|| {
       vertical p: [m, n, 5]f32 = generate([m, n, 5], |i, j, k| a[j, i] * f32(k + i))
       last r: [m, n]f32 = fold(|x, y| x + y, 0.5, p)
       return r })
     return r }",
    // A boundary, which applies along both.
    "fn f(a: [n, m]f32) -> [m, n]f32 {
     let c: [m, n]f32 = generate([m, n], |i, j| f32(i * 3 + j))
     let r: [m, n]f32 = cluster(|| {
       vertical t: [m, n]f32 = generate([m, n], |i, j| a[j, i])
       vertical b: [m, n]f32 = stencil(|x, y| x + y * 0.5, c[-1, 0], c[0, 1], c: clamp)
       last r: [m, n]f32 = map(|x, y| x - y, t, b)
       return r })
     return r }",
    // Targets in any order.
    "fn f(a: [n, m]f32) -> [m]i64 {
     let d: [m]i64 = generate([m], |i| i)
     let at: [m, n]i64 = generate([m, n], |i, j| i64(a[j, i] * 1000.0) % m)
     let x: [m, n]i64 = generate([m, n], |i, j| i + j)
     let r: [m]i64 = permute(|x, y| x + y, d, x, at: at) return r }",
    // Some indices are outside, where there are more rows than columns.
    "fn f(a: [n, m]f32) -> [m, n]f32 { let r: [m, n]f32 = generate([m, n], |i, j| a[j, i] + a[i, i]) return r }",
];

/// Sizes around windows of 8, 16 and more steps.
const SIZES: [[usize; 2]; 10] =
    [[0, 5], [5, 0], [1, 1], [7, 3], [16, 4], [17, 33], [64, 65], [1, 40], [131, 2], [40, 41]];

fn inputs() -> Vec<Vec<Array>> {
    SIZES
        .iter()
        .map(|&[n, m]| {
            let values = (0..n * m).map(|i| if i % 97 == 5 { 0.25 } else { (i * 7919 % 1000) as f32 / 1000.0 });
            vec![Array::new(&[n, m], &values.collect::<Vec<_>>()).unwrap()]
        })
        .collect()
}

#[test]
fn every_order_has_the_bits_of_the_interpreter() {
    for source in PROGRAMS {
        let seen = every_schedule(source, &inputs(), &["_16s {", "_8s {", "_32s {"]);
        assert!(seen.iter().sum::<usize>() > 1, "{seen:?} of\n{source}");
    }
    let mut random = Random(5);
    let halves = SIZES.map(|extents| vec![random.array(ElementType::F16, &extents)]);
    every_schedule(&PROGRAMS[0].replace("f32", "f16"), &halves, &[]);
}

/// Rows across lanes that come again at each step of the outermost level: the product of a matrix and another that is transposed.
#[test]
fn windows_of_rows_have_the_bits_of_the_interpreter() {
    let source = "fn f(a: [n, k]f32, b: [m, k]f32) -> [n, m]f32 {
      let c: [n, m]f32 = cluster(|| {
        vertical p: [n, m, k]f32 = generate([n, m, k], |i, j, l| a[i, l] * b[j, l])
        last c: [n, m]f32 = fold(|x, y| x + y, 0.0, p)
        return c })
      return c }";
    let mut random = Random(7);
    let sizes = [[3, 17, 513], [9, 8, 600], [2, 5, 4096], [3, 9, 4099], [1, 1, 513], [0, 3, 700], [3, 0, 700]];
    let inputs: Vec<Vec<Array>> = sizes
        .iter()
        .map(|&[n, m, k]| vec![random.array(ElementType::F32, &[n, k]), random.array(ElementType::F32, &[m, k])])
        .collect();
    let seen = every_schedule(source, &inputs, &["_8 unroll 4 {", "_8.2 {"]);
    assert!(seen.iter().all(|&times| times > 0), "{seen:?}");
}

fn kernel(source: &str) -> Kernel {
    plan(source).kernels.pop().unwrap()
}

#[test]
fn orders_are_chosen_and_refused_with_the_reason() {
    let transposed = kernel(PROGRAMS[0]);
    let usual = Preferences::default();
    for changes in [
        &[("by 8 ->", "by 5 ->")][..],
        &[("loop x1_8 {", "loop x1_8 lanes(8), remainder overlapped {")],
        &[("loop x_share {", "loop x_share unroll 2 {")],
        &[("loop x_share {", "loop x_share lanes(8) {"), ("shares of 1", "shares of 8")],
    ] {
        assert_eq!(changed(&transposed, "avx2", usual, changes), "accepted", "{changes:?}");
    }
    for (changes, reason) in [
        (&[("loop x1_8 {", "loop x1_8 lanes(8), remainder masked {")][..], "all in plain loops"),
        (&[("loop x1_8 {", "loop x1_8 unroll 8 {")], "do not stand in a row"),
        (&[("loop x1_8s {", "loop x1_8s unroll 2 {")], "all in plain loops"),
        (&[("loop x1_8s {", "loop x1 {"), ("loop x1_8 {", "loop x1_8s {")], "run over more than once"),
    ] {
        let said = changed(&transposed, "avx2", usual, changes);
        assert!(said.contains(reason), "{changes:?}: should be refused as `{reason}`:\n{said}");
    }
    let wanted = Preferences { gang: Some(None), ..usual };
    for (source, reason) in [
        (
            "fn f(a: [n, m]f32) -> [n]f32 { let r: [n]f32 = fold(|x, y| x + y, 0.0, a) return r }",
            "goes along one of both levels",
        ),
        (
            "fn f(d: [n]f32, a: [n, m]f32) -> [n]f32 {
             let at: [n, m]i64 = generate([n, m], |i, j| j % n)
             let r: [n]f32 = permute(|x, y| x - y, d, a, at: at, ordered: true) return r }",
            "takes its elements in order",
        ),
    ] {
        let kernel = kernel(source);
        let nest = Schedule::parse(
            "schedule \"K\" for avx2 { version { split x1 by 8 -> x1_8s, x1_8 loop x1_8s { loop x { loop x1_8 { do * } } } } }"
                .replace("\"K\"", &format!("{:?}", kernel.name.0))
                .as_str(),
            &kernel,
        );
        let nest = nest.unwrap_or_else(|error| {
            panic!("{error}\n{}", schedule(&kernel, &Target::named("avx2").unwrap(), wanted).schedule.to_text(&kernel))
        });
        let faults = legal(&kernel, &nest, &Target::named("avx2").unwrap()).unwrap_err();
        assert!(faults.iter().any(|fault| fault.to_string().contains(reason)), "{source}: {faults:?}");
    }
}
