//! Panels of gangs that are windows: what a gang loads for all steps of the level around is copied once, outside of it.

use std::sync::Arc;

use crate::common::{Random, changed, check, compiled, every_schedule, plan, same_bits};
use fusebox_cranelift::{Config, Cranelift, Features};
use fusebox_ir::{
    Array, ElementType,
    ElementType::{F16, F32, F64, I32, I64},
    Kernel,
};
use fusebox_schedule::{Book, Preferences, Target, panels::WINDOW_PANEL_BYTES, schedule};

/// Sums of what `each` says of rows of `a` and columns of `b`, as one kernel.
fn product(element: ElementType, each: &str, more: &str, then: &str) -> String {
    let zero = if element.is_float() { "0.5" } else { "3" };
    format!(
        "fn f(a: [n, k]{element}, b: [k, m]{element}) -> [n, m]{element} {{
         let c: [n, m]{element} = cluster(|| {{
           vertical p: [n, m, k]{element} = generate([n, m, k], |i, j, s| {each})
           vertical d: [n, m]{element} = fold(|x, y| x + y, {zero}, p)
           {more}
           last c: [n, m]{element} = {then}
           return c }})
         return c }}"
    )
}

fn plain(element: ElementType) -> String {
    product(element, "a[i, s] * b[s, j]", "", "map(|x| x, d)")
}

/// Rows, steps and columns: around the rows from which panels pay, tiles of steps, gangs and windows.
const SIZES: [[usize; 3]; 9] = [
    [0, 3, 40],
    [256, 0, 33],
    [256, 1, 1],
    [259, 5, 31],
    [263, 2, 32],
    [255, 3, 70],
    [257, 7, 0],
    [271, 3, 97],
    [264, 9, 64],
];

fn inputs(element: ElementType) -> Vec<Vec<Array>> {
    let mut random = Random(71);
    SIZES.iter().map(|&[n, k, m]| vec![random.array(element, &[n, k]), random.array(element, &[k, m])]).collect()
}

#[test]
fn products_of_every_type() {
    for element in [F32, F64, I32, I64, F16] {
        check(&plain(element), &inputs(element));
    }
    for element in [F32, I64] {
        let some: Vec<_> = inputs(element).into_iter().skip(1).step_by(2).collect();
        let seen = every_schedule(&plain(element), &some, &[", pack ", " unroll 6, pack "]);
        assert!(seen.iter().all(|&count| count > 0), "{element}: {seen:?}");
    }
}

#[test]
fn products_with_more_inside() {
    let alone = "map(|x| x, d)";
    let sources = [
        // Two that have a panel each.
        product(
            F32,
            "a[i, s] * b[s, j]",
            "vertical q: [n, m, k]f32 = generate([n, m, k], |i, j, s| b[k - 1 - s, j] - a[i, s])
             vertical e: [n, m]f32 = fold(|x, y| max(x, y), -1.0, q)",
            "map(|x, y| x - y, d, e)",
        ),
        // An index that the program computes.
        product(F32, "a[i, s] + b[(s + j) % k, j]", "", alone),
        // Rows and columns from the end.
        product(F32, "a[n - 1 - i, s] * b[s, m - 1 - j]", "", alone),
        // What fails by the element that is loaded.
        product(I32, "a[i, s] / b[s, j]", "", alone),
    ];
    for source in &sources {
        let element = if source.contains("i32") { I32 } else { F32 };
        check(source, &inputs(element));
    }
    let some: Vec<_> = inputs(F32).into_iter().skip(3).step_by(2).collect();
    every_schedule(&sources[0], &some, &[]);
    every_schedule(&sources[2], &some, &[]);
}

/// As many steps as a panel has room for, and one more: the same bits as without panels. The interpreter would take minutes.
#[test]
fn more_steps_than_a_panel_holds() {
    let (source, mut random) = (plain(F32), Random(3));
    let kernel = kernel(&source);
    let cases = [("sse", None, 8), ("avx2", Some(Features::AVX2), 16), ("avx512", Some(Features::BASE), 32)];
    for (name, features, lanes) in cases {
        if features.is_some_and(|features| !features.run_here()) {
            continue;
        }
        let most = WINDOW_PANEL_BYTES as usize / (lanes * 4);
        for steps in [most, most + 1] {
            let inputs = [random.array(F32, &[256, steps]), random.array(F32, &[steps, lanes])];
            let results = [None, Some(false)].map(|pack| {
                let preferences = Preferences { pack, ..Preferences::default() };
                let schedule = schedule(&kernel, &Target::named(name).unwrap(), preferences).schedule;
                assert_eq!(schedule.to_text(&kernel).contains("pack x4"), pack.is_none(), "{name}");
                let mut book = Book::default();
                book.insert(&kernel, schedule);
                let config = Config { threads: 2, schedules: Arc::new(book), features, ..Config::default() };
                let backend = Cranelift::new(config).unwrap();
                let loaded = compiled(&backend, &plan(&source)).unwrap().load_plan().unwrap();
                loaded.run_plan(&inputs).unwrap()
            });
            assert!(same_bits(&results[0][0], &results[1][0]), "{name}: {steps} steps");
        }
    }
}

fn kernel(source: &str) -> Kernel {
    plan(source).kernels.pop().unwrap()
}

#[test]
fn they_are_refused_with_the_reason() {
    let own = kernel(&plain(F32));
    let usual = Preferences::default();
    let window = "loop x_share.3 unroll 5, pack x4 {";
    for (changes, reason) in [
        (&[(", pack x4", "")][..], "accepted"),
        (&[(window, "loop x_share.3, pack x4 {")], "accepted"),
        (&[(window, "loop x_share.3 unroll 2, pack x4 {")], "accepted"),
        (&[("x < 256", "x < 1")], "accepted"),
        (&[(", pack x4", ", pack x3")], "not the same at each step of level 0"),
        (&[(", pack x4", ", pack x4 and x4")], "two panels"),
        (&[("x2 < 65537", "x2 < 70000")], "larger than 4194304"),
        (&[("by 16 ->", "by 32 ->")], "no gang is a window"),
        (&[("remainder overlapped", "remainder masked")], "masked"),
    ] {
        let said = changed(&own, "avx2", usual, changes);
        assert!(said.contains(reason), "{changes:?} should be `{reason}`:\n{said}");
    }
}
