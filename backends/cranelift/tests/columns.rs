//! Columns that are combined: gangs of them at once, and narrow gangs where they are few.

use crate::common::{Random, changed, check, every_schedule, plan};
use fusebox_ir::{Array, ElementType, Kernel};
use fusebox_schedule::{Preferences, Target, schedule, shares::ShareUnit};

/// What is combined of each column of `a`, which has a number for each row beside it.
fn columns(element: ElementType, of: &str, fold: &str) -> String {
    format!(
        "fn f(a: [n, m]{element}, v: [n]{element}) -> [m]{element} {{
        let r: [m]{element} = cluster(|| {{
            vertical p: [m, n]{element} = generate([m, n], |j, i| {of})
            vertical c: [m]{element} = {fold}
            last r: [m]{element} = map(|c| c * c + c, c)
            return r }})
        return r }}"
    )
}

fn programs() -> [(ElementType, String); 5] {
    let (sums, products) = ("a[i, j]", "a[i, j] * v[i]");
    [
        (ElementType::F32, columns(ElementType::F32, sums, "fold(|x, y| x + y, 0.5, p)")),
        (ElementType::F32, columns(ElementType::F32, products, "fold(|x, y| x + y, 0.0, p)")),
        (ElementType::F32, columns(ElementType::F32, products, "fold(|x, y| x * 0.5 + y, 1.0, p)")),
        (ElementType::F64, columns(ElementType::F64, sums, "fold(|x, y| max(x, y), -2.0, p)")),
        (ElementType::U8, columns(ElementType::U8, products, "fold(|x, y| x ^ y, 3, p)")),
    ]
}

/// Rows, and columns around gangs, and around as many as run at once.
const SIZES: [[usize; 2]; 16] = [
    [0, 600],
    [5, 0],
    [3, 1],
    [4, 7],
    [4, 8],
    [6, 10],
    [2, 31],
    [3, 33],
    [5, 63],
    [4, 65],
    [3, 100],
    [2, 300],
    [3, 512],
    [5, 777],
    [1, 2100],
    [4100, 70],
];

fn inputs(element: ElementType, sizes: &[[usize; 2]]) -> Vec<Vec<Array>> {
    let of = |&[n, m]: &[usize; 2]| {
        let mut random = Random((n + 10 * m) as u64);
        vec![random.array(element, &[n, m]), random.array(element, &[n])]
    };
    sizes.iter().map(of).collect()
}

fn kernel(source: &str) -> Kernel {
    plan(source).kernels.pop().unwrap()
}

#[test]
fn columns_have_the_bits_of_the_interpreter() {
    for (element, source) in programs() {
        check(&source, &inputs(element, &SIZES));
    }
}

/// Also with any other number of gangs at once.
#[test]
fn every_number_of_gangs_has_the_bits_of_the_interpreter() {
    for (element, source) in &programs()[1..4] {
        let seen =
            every_schedule(source, &inputs(*element, &SIZES[4..14]), &[" unroll 2, remainder", " unroll 4, remainder"]);
        assert!(seen.iter().all(|&count| count > 1), "{seen:?}");
    }
}

/// As many gangs at once as have their accumulators in half of the registers; fewer of fewer columns, and narrow gangs of few.
#[test]
fn gangs_at_once_are_chosen_by_how_many_columns_there_are() {
    let kernel = kernel(&programs()[0].1);
    let of = |target: &str| {
        schedule(&kernel, &Target::named(target).unwrap(), Preferences::default()).schedule.to_text(&kernel)
    };
    let text = of("avx512");
    for form in [
        "x < 32",
        "lanes(8), rem",
        "x < 64",
        "lanes(32), rem",
        "x < 512",
        "lanes(32) unroll 2, rem",
        "lanes(32) unroll 8, rem",
    ] {
        assert!(text.contains(form), "no `{form}` in\n{text}");
    }
    assert!(of("avx2").contains(" unroll 2, remainder overlapped {"), "{}", of("avx2"));
}

#[test]
fn gangs_at_once_are_refused_with_the_reason() {
    let columns = kernel(&programs()[0].1);
    let scanned = kernel(
        "fn f(a: [n, m]f32) -> [m, n]f32 {
        let t: [m, n]f32 = backpermute([m, n], |j, i| { return i, j }, a)
        let s: [m, n]f32 = scanl1(|x, y| x * 0.5 + y, t) return s }",
    );
    let eight = "lanes(32) unroll 8, remainder overlapped {";
    for (kernel, from, to, reason) in [
        (&columns, eight, "lanes(32) unroll 4, remainder overlapped {", "accepted"),
        (&columns, eight, "lanes(32) unroll 5, remainder scalar {", "accepted"),
        (&columns, eight, "lanes(32) unroll 16, remainder overlapped {", "accepted"),
        (&columns, eight, "lanes(32) unroll 17, remainder overlapped {", "17 gangs at once are more than 16"),
        (&columns, eight, "lanes(64) unroll 16, remainder overlapped {", "take 64 vector registers"),
    ] {
        let said = changed(kernel, "avx512", Preferences::default(), &[(from, to)]);
        assert!(said.contains(reason), "`{from}` to `{to}`: should be `{reason}`:\n{said}");
    }
    let text = schedule(&scanned, &Target::named("avx512").unwrap(), Preferences::default()).schedule.to_text(&scanned);
    let gangs = text.lines().find(|line| line.contains("lanes(")).map(str::trim).unwrap_or_else(|| panic!("{text}"));
    let at_once = gangs.replacen(')', ") unroll 2", 1);
    let said = changed(&scanned, "avx512", Preferences::default(), &[(gangs, &at_once)]);
    assert!(said != "accepted", "{said}");
}

/// What shares are multiples of, where levels have so many steps.
fn share(kernel: &Kernel, steps: [i64; 2]) -> u32 {
    let schedule = schedule(kernel, &Target::named("avx512").unwrap(), Preferences::default()).schedule;
    let of = |level: usize| Some(steps.get(level).copied().unwrap_or(5000));
    ShareUnit::of(&schedule.versions[0].nest, kernel.levels.len()).steps(&of, 2)
}

#[test]
fn shares_are_whole_gangs_of_the_nest_that_runs() {
    let columns = kernel(&programs()[0].1);
    for (many, wanted) in [(10, 8), (40, 32), (100, 64), (1000, 256)] {
        assert_eq!(share(&columns, [many, 5000]), wanted, "{many} columns");
    }
    let rows = kernel("fn f(a: [n, m]f32) -> [n]f32 { let s: [n]f32 = fold(|x, y| x + y, 0.0, a) return s }");
    assert_eq!(share(&rows, [10, 1_000_000]), 1, "long rows one by one");
    assert!(share(&rows, [10, 20]) > 1, "short rows are lanes");
    let turned = kernel(
        "fn f(a: [n, m]f32) -> [m, n]f32 { let t: [m, n]f32 = backpermute([m, n], |i, j| { return j, i }, a) return t }",
    );
    for (many, wanted) in [(1000, 16), (32, 16), (30, 15), (3, 1), (0, 1)] {
        assert_eq!(share(&turned, [many, 5000]), wanted, "{many} columns, of which 16 are a line");
    }
    // Scalar code too has whole blocks, however many threads there are.
    let sum = kernel("fn f(a: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, a) return s }");
    let scalar = schedule(&sum, &Target::named("avx512").unwrap(), Preferences::scalar()).schedule;
    assert_eq!(ShareUnit::of(&scalar.versions[0].nest, 1).steps(&|_| Some(10_000), 3), 4096);
    let products = kernel(
        "fn f(a: [n, m]f32) -> [m, m]f32 { let s: [m, m]f32 = cluster(|| {
            vertical p: [m, m, n]f32 = generate([m, m, n], |i, j, l| a[l, i] * a[l, j])
            last s: [m, m]f32 = fold(|x, y| x + y, 0.0, p)
            return s }) return s }",
    );
    for (many, wanted) in [(128, 8), (16, 8), (10, 5)] {
        assert_eq!(share(&products, [many, 128]), wanted, "{many} rows, of which 8 are at once");
    }
}
