//! Many threads that combine into few cells: every type and every function that has no order.

mod common;

use common::{Random, check, interpreted, plan, run, same_bits};
use fusebox_ir::{Array, ElementType};

/// The functions that are known to commute and not to round, of each type.
fn functions(element: ElementType) -> &'static [&'static str] {
    match element {
        ElementType::Bool => &["x & y", "x | y", "x ^ y"],
        ElementType::F16 | ElementType::F32 | ElementType::F64 => &["min(x, y)", "max(x, y)"],
        _ => &["x + y", "x * y", "min(x, y)", "max(x, y)", "x & y", "x | y", "x ^ y"],
    }
}

#[test]
fn every_function_of_every_type_into_few_cells() {
    let mut random = Random(3);
    for element in ElementType::ALL {
        for function in functions(element) {
            let source = format!(
                "fn f(d: [m]{element}, v: [n]{element}, t: [n]i64) -> [m]{element} {{
                 let p: [m]{element} = permute(|x, y| {function}, d, v, at: t) return p }}"
            );
            let cells = random.array(element, &[3]);
            let inputs = vec![cells, random.array(element, &[700]), random.ints(ElementType::I64, &[700], 0, 3)];
            check(&source, &[inputs]);
        }
    }
}

/// Every function of every type into one cell, by many blocks; `FUSEBOX_ADDS=1000000` says how often.
#[test]
fn every_function_of_every_type_into_one_cell() {
    let count = std::env::var("FUSEBOX_ADDS").ok().and_then(|count| count.parse().ok()).unwrap_or(10_000usize);
    let mut random = Random(21);
    for element in ElementType::ALL {
        for function in functions(element) {
            let source = format!(
                "fn f(d: [m]{element}, v: [n]{element}) -> [m]{element} {{
                 let t: [n]i64 = generate([n], |i| 0)
                 let p: [m]{element} = permute(|x, y| {function}, d, v, at: t) return p }}"
            );
            let plan = plan(&source);
            let inputs = [random.array(element, &[1]), random.array(element, &[count])];
            let expected = interpreted(&plan, &inputs).unwrap();
            let results =
                run(&plan, &inputs, "sm_80", 2).unwrap_or_else(|error| panic!("{element} {function}: {error}"));
            assert!(same_bits(&results[0], &expected[0]), "{element} {function}: {:?} {:?}", results[0], expected[0]);
        }
    }
}

/// Two components that are combined together, under a lock.
#[test]
fn pairs_into_few_cells() {
    let source = "fn f(d: [m]i32, e: [m]i64, v: [n]i32, t: [n]i64) -> [m]i32, [m]i64 {
        let i: [n]i64 = generate([n], |i| i)
        let p: [m]i32, q: [m]i64 = permute(|x, j, y, l| {
            let first = x < y || (x == y && j <= l)
            return if first { x } else { y }, if first { j } else { l } }, (d, e), (v, i), at: t)
        return p, q }";
    let mut random = Random(5);
    let plan = plan(source);
    let scatter = plan.kernels.last().unwrap();
    let module = fusebox_ptx::emit(scatter, &fusebox_schedule::Target::named("sm_80").unwrap()).unwrap();
    assert!(module.text.contains("atom.acquire.gpu.global.cas.b32"), "no lock in\n{}", module.text);
    for n in [0usize, 1, 300] {
        let inputs = vec![
            Array::new(&[2], &[9i32, 9]).unwrap(),
            Array::new(&[2], &[0i64, 0]).unwrap(),
            random.ints(ElementType::I32, &[n], -20, 20),
            random.ints(ElementType::I64, &[n], 0, 2),
        ];
        check(source, &[inputs]);
    }
}

/// Blocks in whatever order the seed says.
#[test]
fn a_hundred_thousand_sums_into_one_cell() {
    let source = "fn f(d: [m]i32, v: [n]i32) -> [m]i32 { let t: [n]i64 = generate([n], |i| 0) let p: [m]i32 = permute(|x, y| x + y, d, v, at: t) return p }";
    let plan = plan(source);
    let inputs = [Array::new(&[1], &[7i32]).unwrap(), Random(9).array(ElementType::I32, &[100_000])];
    let expected = interpreted(&plan, &inputs).unwrap();
    for seed in 0..3 {
        assert!(same_bits(&run(&plan, &inputs, "sm_80", seed).unwrap()[0], &expected[0]), "seed {seed}");
    }
}

/// Tiles wait for each other in whatever order blocks run.
#[test]
fn a_scan_of_many_tiles() {
    let source = "fn f(a: [n]i32) -> [n]i32, i32 { let s: [n]i32, t: i32 = scanl'(|x, y| x + y, 3, a) return s, t }";
    let plan = plan(source);
    let inputs = [Random(1).array(ElementType::I32, &[40 * 4096 + 17])];
    let expected = interpreted(&plan, &inputs).unwrap();
    for seed in 0..3 {
        let results = run(&plan, &inputs, "sm_80", seed).unwrap();
        assert!(results.iter().zip(&expected).all(|(own, other)| same_bits(own, other)), "seed {seed}");
    }
}

/// The same, of as many tiles as a large machine has blocks.
#[test]
fn a_scan_of_a_thousand_tiles_and_a_million_sums() {
    let scan = plan("fn f(a: [n]i32) -> [n]i32 { let s: [n]i32 = scanl1(|x, y| x + y, a) return s }");
    let inputs = [Random(1).array(ElementType::I32, &[1024 * 4096])];
    let expected = interpreted(&scan, &inputs).unwrap();
    assert!(same_bits(&run(&scan, &inputs, "sm_80", 5).unwrap()[0], &expected[0]));
    let sums = plan(
        "fn f(d: [m]i32, v: [n]i32) -> [m]i32 { let t: [n]i64 = generate([n], |i| 0) let p: [m]i32 = permute(|x, y| x + y, d, v, at: t) return p }",
    );
    let inputs = [Array::new(&[1], &[7i32]).unwrap(), Random(9).array(ElementType::I32, &[1_000_000])];
    let expected = interpreted(&sums, &inputs).unwrap();
    assert!(same_bits(&run(&sums, &inputs, "sm_80", 6).unwrap()[0], &expected[0]));
}
