//! Tiles of rows and columns: steps of two levels at once, around rows across lanes that are combined.

use std::sync::Arc;

use crate::common::{Random, changed, check_plan, compiled, plan};
use fusebox_conformance::{interpreted, same_bits};
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::{Action, Array, DimBoundary, DimIndex, ElementType, Kernel, KernelArrayId};
use fusebox_schedule::{Book, Preferences, Schedule, Target, schedule};
use fusebox_wide::Features;

/// What is combined of each row of `a` with each row of `b`, and made something of.
fn pairs(element: ElementType, of: &str, fold: &str) -> String {
    format!(
        "fn f(a: [n, k]{element}, b: [m, k]{element}) -> [n, m]{element} {{
        let r: [n, m]{element} = cluster(|| {{
            vertical p: [n, m, k]{element} = generate([n, m, k], |i, j, l| {of})
            vertical c: [n, m]{element} = {fold}
            last r: [n, m]{element} = map(|c| c * c + c, c)
            return r }})
        return r }}"
    )
}

/// Pairs of rows that are combined, in each type: products, squares of differences, and a function without an identity.
fn programs() -> [String; 5] {
    let squares = "(a[i, l] - b[j, l]) * (a[i, l] - b[j, l])";
    [
        pairs(ElementType::F32, "a[i, l] * b[j, l]", "fold(|x, y| x + y, 0.5, p)"),
        pairs(ElementType::F32, squares, "fold(|x, y| x + y, 0.0, p)"),
        pairs(ElementType::F32, "a[i, l] * b[j, l]", "fold1(|x, y| max(x, y), p)"),
        pairs(ElementType::F64, "a[i, l] * b[j, l]", "fold(|x, y| x + y, 0.0, p)"),
        pairs(ElementType::I32, "a[i, l] * b[j, l]", "fold(|x, y| x ^ y, 3, p)"),
    ]
}

/// Rows, columns and lengths around tiles of 2 by 3, and around the lengths that rows have.
const SIZES: [[usize; 3]; 13] = [
    [0, 4, 600],
    [4, 0, 600],
    [1, 1, 513],
    [2, 3, 600],
    [3, 2, 575],
    [5, 7, 640],
    [2, 4, 4096],
    [3, 3, 4097],
    [3, 5, 8192],
    [2, 4, 12_300],
    [7, 8, 8],
    [4, 5, 33],
    [9, 10, 520],
];

fn inputs(element: ElementType) -> Vec<Vec<Array>> {
    let of = |&[n, m, k]: &[usize; 3]| {
        let mut random = Random((n + 10 * m + 100 * k) as u64);
        vec![random.array(element, &[n, k]), random.array(element, &[m, k])]
    };
    SIZES.iter().map(of).collect()
}

fn kernel(source: &str) -> Kernel {
    plan(source).kernels.pop().unwrap()
}

fn chosen(source: &str, target: &str) -> String {
    let kernel = kernel(source);
    schedule(&kernel, &Target::named(target).unwrap(), Preferences::default()).schedule.to_text(&kernel)
}

/// Runs a program by the schedule that is chosen for a target, with parts of its text replaced, on 1, 2 and 7 threads.
fn has_the_bits_of_the_interpreter(
    source: &str,
    (target, features): (&str, Option<Features>),
    changes: &[(&str, &str)],
) {
    let plan = plan(source);
    let kernel = plan.kernels.last().unwrap();
    let mut text = chosen(source, target);
    for (from, to) in changes {
        assert!(text.contains(from), "there is no `{from}` in\n{text}");
        text = text.replace(from, to);
    }
    let inputs = inputs(plan.values[plan.inputs[0].index()].ty.element);
    for threads in [1, 2, 7] {
        let mut book = Book::default();
        book.insert(kernel, Schedule::parse(&text, kernel).unwrap());
        let schedules = Arc::new(book);
        let backend = Cranelift::new(Config {
            threads,
            share_from_ns: 1,
            strip_bytes: if threads == 1 { 20_000 } else { 0 },
            schedules,
            features,
            ..Config::default()
        })
        .unwrap();
        let loaded = compiled(&backend, &plan).unwrap().load_plan().unwrap();
        for inputs in &inputs {
            let (own, expected) = (loaded.run_plan(inputs).unwrap(), interpreted(&plan, inputs).unwrap());
            assert!(
                same_bits(&own[0], &expected[0]),
                "{threads} threads, {:?} by {:?}\n{text}\n{source}",
                inputs[0].extents(),
                inputs[1].extents()
            );
        }
    }
}

/// With 32 registers a tile of 2 by 3 has 24 accumulators, a gang of each column, and one of a row; with 16 there is none.
#[test]
fn tiles_are_chosen_where_registers_hold_them() {
    let [products, squares, ..] = programs();
    for source in [&products, &squares] {
        let text = chosen(source, "avx512");
        let (_, tile) = text.split_once(" unroll 2 {\n").unwrap_or_else(|| panic!("no tile in\n{text}"));
        assert!(text.contains("split x1 by 3 -> x1_3s, x1_3"), "{text}");
        assert!(tile.contains("loop x1_3 unroll 3 {\n"), "{text}");
    }
    for target in ["avx2", "sse", "neon"] {
        assert!(!chosen(&products, target).contains(" unroll 3 {"), "{target}");
    }
}

#[test]
fn tiles_have_the_bits_of_the_interpreter() {
    for source in programs() {
        let others = Features::BASE.run_here().then_some(("avx512", Some(Features::BASE)));
        for target in [("sse", None)].into_iter().chain(others) {
            has_the_bits_of_the_interpreter(&source, target, &[]);
        }
    }
}

/// Other tiles than the one that is chosen, also in code of 16 bytes.
#[test]
fn forced_tiles_have_the_bits_of_the_interpreter() {
    let [products, squares, ..] = programs();
    for source in [&products, &squares] {
        for (rows, columns) in [(2, 2), (3, 2), (2, 4), (5, 1)] {
            let (rows, columns) = (
                format!("loop x_share.3 unroll {rows} {{"),
                format!("loop x1_3 unroll {columns} {{").replace(" unroll 1", ""),
            );
            let changes = [("loop x_share.3 unroll 2 {", rows.as_str()), ("loop x1_3 unroll 3 {", columns.as_str())];
            assert_eq!(changed(&kernel(source), "avx512", Preferences::default(), &changes), "accepted");
            if Features::BASE.run_here() {
                has_the_bits_of_the_interpreter(source, ("avx512", Some(Features::BASE)), &changes);
            }
        }
        let changes =
            [("loop x_share.2 {", "loop x_share.2 unroll 2 {"), ("loop x1_8 unroll 4 {", "loop x1_8 unroll 2 {")];
        has_the_bits_of_the_interpreter(source, ("sse", None), &changes);
    }
}

#[test]
fn tiles_are_refused_with_the_reason() {
    let [products, ..] = programs();
    let kernel = kernel(&products);
    let refused = |target: &str, changes: &[(&str, &str)]| changed(&kernel, target, Preferences::default(), changes);
    for (rows, columns, reason) in
        [(3, 3, "take 36 vector registers, and there are 32"), (4, 5, "20 steps at once are more than 16")]
    {
        let (rows, columns) = (format!("loop x_share.3 unroll {rows} {{"), format!("loop x1_3 unroll {columns} {{"));
        let said = refused("avx512", &[("loop x_share.3 unroll 2 {", &rows), ("loop x1_3 unroll 3 {", &columns)]);
        assert!(said.contains(reason), "{rows}{columns}: {said}");
    }
    let said = refused("avx512", &[("loop x1_3 unroll 3 {", "loop x1_3 unroll 3, border apart {")]);
    assert!(said.contains("has a plain loop"), "{said}");
    // Around what is no row.
    let said = refused(
        "avx2",
        &[("loop x_share.4 {", "loop x_share.4 unroll 2 {"), ("loop x1_8.2 {", "loop x1_8.2 unroll 2 {")],
    );
    assert!(said.contains("has a plain loop"), "{said}");
}

/// Of rows that are longer than a block each block is a row, and goes on to the others.
#[test]
fn blocks_of_long_rows_are_rows() {
    let [products, squares, ..] = programs();
    for source in [&products, &squares] {
        let text = chosen(source, "avx512");
        assert!(text.contains("loop x2_block lanes(16) unroll 4, remainder masked {\n"), "{text}");
    }
    // Also without a tile.
    let block = ("loop x2_block lanes(16) unroll 4 {", "loop x2_block lanes(16) unroll 4, remainder masked {");
    assert_eq!(changed(&kernel(&products), "avx2", Preferences::default(), &[block]), "accepted");
    if Features::AVX2.run_here() {
        has_the_bits_of_the_interpreter(&products, ("avx2", Some(Features::AVX2)), &[block]);
    }
    let stored = kernel(
        "fn f(a: [n, k]f32, b: [m, k]f32) -> [n, m]f32, [n, m, k]f32 {
        let c: [n, m]f32, p: [n, m, k]f32 = cluster(|| {
            horizontal p: [n, m, k]f32 = generate([n, m, k], |i, j, l| a[i, l] * b[j, l])
            last c: [n, m]f32 = fold(|x, y| x + y, 0.5, p)
            return c, p })
        return c, p }",
    );
    let text = schedule(&stored, &Target::named("avx2").unwrap(), Preferences::default()).schedule.to_text(&stored);
    let gangs = text.lines().find(|line| line.contains("loop x2_block lanes(")).unwrap_or_else(|| panic!("{text}"));
    let rows = "loop x2_block lanes(16) unroll 4, remainder masked {";
    let said = changed(&stored, "avx2", Preferences::default(), &[(gangs.trim(), rows)]);
    assert!(said.contains("none of blocks of level 2 that are rows"), "{said}");
}

/// A function that combines may use a local of a level around: accumulators of other points are not folded by it.
#[test]
fn functions_that_differ_between_points_fold_their_own() {
    let source = "fn f(a: [n, k]f32, b: [m, k]f32, c: f32) -> [n, m]f32 {
        let s: [n, m]f32 = cluster(|| {
            vertical p: [n, m, k]f32 = generate([n, m, k], |i, j, l| a[i, l] * b[j, l])
            last s: [n, m]f32 = fold(|x, y| max(x, y) + c * 0.5, 0.0, p, commutes: true)
            return s })
        return s }";
    for (depth, array) in [(1, 0), (2, 1)] {
        let mut plan = plan(source);
        let kernel = plan.kernels.last_mut().unwrap();
        assert_eq!(["a", "b", "c"], [0, 1, 2].map(|at| kernel.arrays[at].name.as_str()));
        let index = kernel.levels[depth as usize - 1].index.id;
        let loaded = &mut kernel.statements[0];
        let Action::Load { array: from, map, .. } = &mut loaded.action else { panic!("{kernel}") };
        // The first element of the row that it is for, in the place of a number for all.
        (*from, loaded.depth) = (KernelArrayId::at(array), depth);
        map.dims = [vec![(1, index)], Vec::new()]
            .map(|terms| DimIndex { offset: 0, terms, boundary: DimBoundary::None })
            .into();
        let sizes: Vec<[usize; 3]> = SIZES.into_iter().filter(|&[_, _, k]| k < 700).collect();
        let inputs = sizes.iter().map(|&[n, m, k]| {
            let mut random = Random((n + 10 * m + 100 * k) as u64);
            let mut of = |extents: &[usize]| random.array(ElementType::F32, extents);
            vec![of(&[n, k]), of(&[m, k]), of(&[])]
        });
        check_plan(&plan, source, &inputs.collect::<Vec<_>>());
    }
}
