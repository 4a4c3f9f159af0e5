//! Rows of several points that are folded together: of every type, with what differs between points, around gangs and the thresholds of rows.

use crate::common::{PAIRS_OF_ROWS, Random, changed, every_schedule, plan};
use fusebox_ir::{
    Array, ElementType,
    ElementType::{F32, F64, I32, I64, U32, U64},
    Kernel,
};
use fusebox_schedule::{Preferences, Schedule, Target, check as legal};

/// Points and steps around gangs, iterations and thresholds.
const SIZES: [[usize; 2]; 14] = [
    [0, 20],
    [5, 0],
    [1, 70],
    [15, 9],
    [16, 16],
    [17, 17],
    [33, 1],
    [40, 8],
    [35, 64],
    [64, 65],
    [18, 129],
    [19, 512],
    [17, 513],
    [3, 4100],
];

fn inputs(element: ElementType) -> Vec<Vec<Array>> {
    let mut random = Random(43);
    SIZES.iter().map(|extents| vec![random.array(element, extents)]).collect()
}

#[test]
fn rows_of_every_type() {
    for (element, function, seed, together) in [
        (F32, "x + y", "0.5", true),
        (F32, "max(x, y)", "-3.0", true),
        (F64, "x + y", "0.5", true),
        (I32, "x * y", "7", true),
        (U32, "min(x, y)", "100", true),
        (I64, "x + y", "7", true),
        (U64, "x ^ y", "1", true),
        (ElementType::I8, "x + y", "1", false),
        (ElementType::U16, "max(x, y)", "1", false),
        // Without an identity.
        (F32, "x * 0.5 + y", "0.25", false),
    ] {
        let source = format!(
            "fn f(a: [n, m]{element}) -> [n]{element} {{
             let r: [n]{element} = fold(|x, y| {function}, {seed}, a, commutes: true) return r }}"
        );
        let seen = every_schedule(&source, &inputs(element), &[" points "]);
        assert_eq!(seen[0] > 0, together, "{source}");
    }
}

/// Programs of which each point has something of its own, on `[n, m]f32`.
const PROGRAMS: [&str; 6] = [
    PAIRS_OF_ROWS,
    // Something loaded, an index and a condition of the point.
    "fn f(a: [n, m]f32) -> [n]f32 {
     let t: [n]f32 = generate([n], |i| f32(i % 5))
     let w: [n, m]f32 = replicate([_, m], t)
     let p: [n, m]f32 = generate([n, m], |i, j| { let s = if i % 3 == 1 { 2.0f32 } else { 0.5 } return a[i, j] * s + f32(i - j) })
     let d: [n, m]f32 = map(|x, y| x - y, p, w)
     let r: [n]f32 = fold(|x, y| x + y, 0.0, d)
     return r }",
    // Two reduces, of different types.
    "fn f(a: [n, m]f32) -> [n]f32, [n]i32 {
     let r: [n]f32, c: [n]i32 = cluster(|| {
       vertical p: [n, m]f32 = map(|x| x * x, a)
       vertical o: [n, m]i32 = map(|x| i32(x > 0.5), a)
       horizontal r: [n]f32 = fold(|x, y| x + y, 1.0, p)
       last c: [n]i32 = fold(|x, y| x + y, 3, o)
       return r, c })
     return r, c }",
    // What is stored on the way.
    "fn f(a: [n, m]f32) -> [n, m]f32, [n]f32 {
     let e: [n, m]f32, r: [n]f32 = cluster(|| {
       horizontal e: [n, m]f32 = map(|x| exp(x * 0.001), a)
       last r: [n]f32 = fold(|x, y| x + y, 0.0, e)
       return e, r })
     return e, r }",
    // What fails somewhere, where there are many elements.
    "fn f(a: [n, m]f32) -> [n]i32 {
     let r: [n]i32 = cluster(|| {
       vertical p: [n, m]i32 = map(|x| 100 / (i32(x * 10.0) + i32(n) - 40), a)
       last r: [n]i32 = fold(|x, y| x + y, 0, p)
       return r })
     return r }",
    // Rows that run along the columns of what is loaded.
    "fn f(a: [n, m]f32) -> [m]f32 {
     let t: [m, n]f32 = generate([m, n], |i, j| a[j, i] + f32(i))
     let r: [m]f32 = fold(|x, y| x + y, 0.0, t)
     return r }",
];

#[test]
fn points_with_something_of_their_own() {
    for source in PROGRAMS {
        let mut all = inputs(F32);
        // NaN, infinite and negative zeros beside others.
        for inputs in &mut all {
            let extents = inputs[0].extents().to_vec();
            let values = inputs[0].as_slice::<f32>().unwrap().iter().enumerate().map(|(at, &value)| match at % 301 {
                100 => f32::NAN,
                150 => f32::INFINITY,
                200 => -0.0,
                _ => value,
            });
            inputs[0] = Array::new(&extents, &values.collect::<Vec<_>>()).unwrap();
        }
        let seen = every_schedule(source, &all, &[" points "]);
        assert!(seen[0] > 0, "{source}");
    }
}

#[test]
fn points_of_several_steps_of_the_level_around() {
    let pairs = kernel(PAIRS_OF_ROWS);
    // Rows of one iteration have all accumulators of one point alone.
    let (several, whole, part) =
        ("unroll 4 points 2, first whole", "unroll 4 points 4, first whole", "unroll 4 points 4, remainder");
    for changes in [
        &[][..],
        &[(several, "unroll 4, first whole")],
        &[(" unroll 2 {", " {")],
        &[(", first whole", "")],
        &[(whole, several)],
        &[
            (" unroll 2 {", " unroll 4 {"),
            (several, "unroll 4, first whole"),
            ("points 8", "points 4"),
            ("points 4", "points 2"),
        ],
    ] {
        assert_eq!(changed(&pairs, "avx512", Preferences::default(), changes), "accepted", "{changes:?}");
    }
    for (changes, reason) in [
        (&[(" unroll 2 {", " unroll 8 {")][..], "vector registers"),
        (&[(several, "unroll 4 points 8, first whole")], "take 64 vector registers"),
        (&[(whole, "unroll 4 points 16, first whole")], "take 35 vector registers"),
        (&[(part, "unroll 4 points 16, remainder")], "take 35 vector registers"),
        (&[("x2 < 65", "x2 < 66"), (whole, "unroll 4 points 8, first whole")], "take 64 vector registers"),
        (&[(part, "unroll 4 points 4, first whole, remainder")], "fewer steps than the 64 of an iteration"),
        (&[("unroll 2 {", "unroll 2, first whole {")], "is that of a row"),
    ] {
        let said = changed(&pairs, "avx512", Preferences::default(), changes);
        assert!(said.contains(reason), "{changes:?}: should be refused as `{reason}`:\n{said}");
    }
}

fn kernel(source: &str) -> Kernel {
    plan(source).kernels.pop().unwrap()
}

const SUMS: &str = "fn f(a: [n, m]f32) -> [n]f32 { let r: [n]f32 = fold(|x, y| x + y, 0.0, a) return r }";

#[test]
fn rows_together_are_chosen_and_refused_with_the_reason() {
    let sums = kernel(SUMS);
    for changes in [
        &[][..],
        &[("unroll 4 points 4, first whole", "unroll 4, first whole")],
        &[("unroll 4 points 8", "unroll 4 points 2")],
        &[("x_share.2 lanes(16), remainder overlapped", "x_share.2 lanes(16)")],
    ] {
        assert_eq!(changed(&sums, "avx512", Preferences::default(), changes), "accepted", "{changes:?}");
    }
    for (changes, reason) in [
        (&[("x_share.2 lanes(16)", "x_share.2 lanes(32)"), ("shares of 16", "shares of 32")][..], "are not folded"),
        (&[("unroll 4 points 4, first whole", "unroll 4 points 3, first whole")], "no power of two"),
        (&[("unroll 4 points 4, first whole", "unroll 4 points 32, first whole")], "no power of two"),
        (&[("unroll 4 points 4, first whole", "unroll 4 points 16, first whole")], "vector registers"),
        (
            &[("x_share.2 lanes(16), remainder overlapped", "x_share.2 lanes(16), remainder masked")],
            "no masked remainder",
        ),
        (&[("x_share.2 lanes(16), remainder overlapped", "x_share.2 lanes(16) unroll 4")], "no border"),
        (&[("x_share.2 lanes(16), remainder overlapped", "x_share.2")], "points at once are those of a row"),
        (&[("x1 lanes(16) unroll 4 points 4, first whole, remainder masked", "x1 lanes(16)")], "no rows of the points"),
    ] {
        let said = changed(&sums, "avx512", Preferences::default(), changes);
        assert!(said.contains(reason), "{changes:?}: should be refused as `{reason}`:\n{said}");
    }
    // Bytes are folded in registers of their own.
    for (source, reason) in [
        (SUMS.replace("f32", "i8").replace("0.0", "0"), "lanes are not 4 or 8 bytes"),
        (SUMS.replace("x + y", "x * 0.5 + y").replace("0.0, a", "0.0, a, commutes: true"), "it has no identity"),
    ] {
        let kernel = kernel(&source);
        let text = format!(
            "schedule {:?} for avx512 {{ version {{ split x by shares of 16 -> x_shares, x_share
             split x1 by 4096 -> x1_blocks, x1_block
             choose when x1 < 65 {{ loop x_shares threads {{ loop x_share lanes(16) {{
               loop x1 lanes(16) unroll 4, remainder masked {{ do * }} }} }} }}
             else {{ loop x {{ loop x1_blocks {{ loop x1_block {{ do * }} }} }} }} }} }}",
            kernel.name.0
        );
        let own = Schedule::parse(&text, &kernel).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let said = legal(&kernel, &own, &Target::named("avx512").unwrap());
        let said = said.map_or_else(|faults| format!("{faults:?}"), |()| format!("accepted\n{kernel}"));
        assert!(said.contains(reason), "{source}: should be refused as `{reason}`: {said}");
    }
}
