//! Steps of a level that run at once: tiles of matrix products and of all pairs, in registers.

use crate::common::{PAIRS_OF_ROWS, Random, check, every_schedule, plan};
use fusebox_cranelift::{compile_scheduled, emit::Part};
use fusebox_ir::{Array, ElementType, Kernel};
use fusebox_schedule::{Preferences, Schedule, Target, check as legal, schedule};

/// The products of rows of `a` and columns of `b`, combined and then made something of, as one kernel.
fn product(element: ElementType, fold: &str, then: &str) -> String {
    format!(
        "fn f(a: [n, k]{element}, b: [k, m]{element}, w: [n]{element}) -> [n, m]{element} {{
        let r: [n, m]{element} = cluster(|| {{
            vertical p: [n, m, k]{element} = generate([n, m, k], |i, j, l| a[i, l] * b[l, j])
            vertical c: [n, m]{element} = {fold}
            vertical s: [n, m]{element} = replicate([_, m], w)
            last r: [n, m]{element} = map(|c, w| {then}, c, s)
            return r }})
        return r }}"
    )
}

/// Sizes around tiles of 2 to 8 and gangs of up to 64.
const SIZES: [[usize; 3]; 9] =
    [[0, 5, 3], [5, 0, 3], [5, 3, 0], [1, 1, 1], [7, 33, 5], [6, 16, 9], [13, 70, 4], [25, 31, 17], [2, 130, 2]];

fn inputs(element: ElementType) -> Vec<Vec<Array>> {
    SIZES
        .iter()
        .map(|&[n, m, k]| {
            let mut random = Random((n + 10 * m + 100 * k) as u64);
            vec![random.array(element, &[n, k]), random.array(element, &[k, m]), random.array(element, &[n])]
        })
        .collect()
}

#[test]
fn products_of_matrices() {
    for element in [ElementType::F32, ElementType::F64, ElementType::I32, ElementType::U8] {
        let zero = if element.is_float() { "0.5" } else { "1" };
        check(&product(element, &format!("fold(|x, y| x + y, {zero}, p)"), "c"), &inputs(element));
        check(&product(element, &format!("fold(|x, y| x + y, {zero}, p)"), "c * w"), &inputs(element));
    }
    let pairs = "fold(|x, y| if x < y { y } else { x * 0.5 }, 0.25, p)";
    check(&product(ElementType::F32, pairs, "c + w"), &inputs(ElementType::F32));
}

#[test]
fn every_tile_has_the_bits_of_the_interpreter() {
    let forms = [" unroll 2 {", " unroll 3 {", " unroll 6 {"];
    for (element, then) in [(ElementType::F32, "c / w"), (ElementType::I64, "c + w")] {
        let zero = if element.is_float() { "0.0" } else { "0" };
        let source = product(element, &format!("fold(|x, y| x + y, {zero}, p)"), then);
        let seen = every_schedule(&source, &inputs(element), &forms);
        assert!(seen.iter().all(|&count| count > 1), "{seen:?}");
    }
}

/// Products of matrices of which the rows are combined, too, in one kernel: with two accumulators for each row, and what is stored of both.
const REDUCED: &str = "fn f(a: [n, k]f32, b: [k, m]f32) -> [n, m]f32, [n]f32, [n]f32 {
    let c: [n, m]f32, s: [n]f32, t: [n]f32 = cluster(|| {
      vertical p: [n, m, k]f32 = generate([n, m, k], |i, j, l| a[i, l] * b[l, j])
      diagonal c: [n, m]f32 = fold(|x, y| x + y, 0.0, p)
      horizontal s: [n]f32 = fold(|x, y| x + y, 0.0, c)
      last t: [n]f32 = fold(|x, y| max(x, y), 0.0, c)
      return c, s, t })
    return c, s, t }";

/// The sums are those that they would be alone, and run as a tile; accumulators of rows wait on the stack meanwhile.
#[test]
fn products_whose_rows_are_combined() {
    let inputs: Vec<Vec<Array>> =
        inputs(ElementType::F32).into_iter().map(|mut each| each.drain(..2).collect()).collect();
    check(REDUCED, &inputs);
    let more = [[9, 200, 5], [17, 4100, 2]].map(|[n, m, k]| {
        let mut random = Random((n + m) as u64);
        vec![random.array(ElementType::F32, &[n, k]), random.array(ElementType::F32, &[k, m])]
    });
    check(REDUCED, &more);
    let some: Vec<_> = inputs.into_iter().skip(4).chain(more).collect();
    let seen = every_schedule(REDUCED, &some, &[" unroll 2 {", " unroll 6 {"]);
    assert!(seen.iter().all(|&count| count > 1), "{seen:?}");
    let kernel = kernel(REDUCED);
    for (target, tile) in [("avx512", " unroll 8 {"), ("avx2", " unroll 5 {"), ("sse", " unroll 5 {")] {
        let text = schedule(&kernel, &Target::named(target).unwrap(), Preferences::default()).schedule.to_text(&kernel);
        assert!(text.contains(tile), "{target}: no tile in\n{text}");
    }
    let text = kernel.to_string();
    assert!(text.contains("reduce(to 2, L 1, +"), "{text}");
}

/// Sums, and what else is combined, of rows that have something in common.
const ROWS: [&str; 2] = [
    "fn f(a: [n, m]f32, x: [m]f32) -> [n]f32 {
     let y: [n, m]f32 = replicate([n, _], x)
     let p: [n, m]f32 = map(|a, x| a * x, a, y)
     let r: [n]f32 = fold(|x, y| x + y, 0.5, p)
     return r }",
    // Two of them, of which one has no identity, and what is stored on the way.
    "fn f(a: [n, m]f32, x: [m]f32) -> [n, m]f32, [n]f32, [n]f32 {
     let p: [n, m]f32, r: [n]f32, s: [n]f32 = cluster(|| {
       vertical y: [n, m]f32 = replicate([n, _], x)
       horizontal p: [n, m]f32 = map(|a, x| a * x, a, y)
       horizontal r: [n]f32 = fold(|x, y| x + y, 0.5, p)
       last s: [n]f32 = fold1(|x, y| x * 0.5 + y, p, commutes: true)
       return p, r, s })
     return p, r, s }",
];

#[test]
fn rows_and_accumulators_in_memory() {
    let inputs: Vec<Vec<Array>> =
        [[0, 20], [5, 0], [1, 70], [7, 9], [6, 16], [19, 33], [7, 64], [5, 130], [3, 4100], [3, 9000]]
            .map(|[n, m]| {
                let mut random = Random((n + 10 * m) as u64);
                vec![random.array(ElementType::F32, &[n, m]), random.array(ElementType::F32, &[m])]
            })
            .into();
    let matrices: Vec<Vec<Array>> = inputs.iter().map(|inputs| vec![inputs[0].clone()]).collect();
    for (source, inputs) in ROWS.map(|source| (source, &inputs)).into_iter().chain([(PAIRS_OF_ROWS, &matrices)]) {
        let seen = every_schedule(source, inputs, &[" unroll 2 {", " unroll 3 {"]);
        assert!(seen.iter().all(|&count| count > 1), "{seen:?}: {source}");
    }
}

/// Taps and boundaries of stencils: neighbours all around, those of a row or two, and those of a column, near and far.
const STENCILS: [(&str, &str); 5] = [
    ("a[-1, -1], a[0, 1], a[1, 0]", "a: clamp"),
    ("a[-1, -1], a[-1, 1], a[1, 0]", "a: wrap"),
    ("a[-1, 0], a[1, 0], a[1, 1]", "a: mirror"),
    ("a[-1, 0], a[1, -1], a[0, 0]", "a: constant(0.5)"),
    ("a[-2, 0], a[0, 0], a[3, 0]", "a: clamp"),
];

#[test]
fn stencils() {
    let inputs: Vec<Vec<Array>> =
        [[0, 9], [9, 0], [1, 1], [2, 40], [3, 3], [4, 17], [5, 70], [9, 33], [20, 21], [41, 130]]
            .map(|extents| vec![Random(7).array(ElementType::F32, &extents)])
            .into();
    for (taps, boundary) in STENCILS {
        let source = format!(
            "fn f(a: [n, m]f32) -> [n, m]f32 {{
             let r: [n, m]f32 = stencil(|x, y, z| x + y * 0.5 - z, {taps}, {boundary})
             return r }}"
        );
        let seen = every_schedule(&source, &inputs, &[" unroll 2, border", " unroll 3, border", " unroll 6, border"]);
        assert!(seen.iter().all(|&count| count > 1), "{seen:?}: {source}");
        check(&source, &inputs);
    }
}

#[test]
fn tiles_of_stencils_ask_how_long_rows_are() {
    let kernel = kernel(
        "fn f(a: [n, m]f32) -> [n, m]f32 {
        let b: [n, m]f32 = stencil(|x, y, z| x + y + z, a[-1, 0], a[0, 1], a[1, 0], a: clamp) return b }",
    );
    let target = Target::named("avx2").unwrap();
    let text = schedule(&kernel, &target, Preferences::default()).schedule.to_text(&kernel);
    let (before, behind) = text.split_once(" up to ").expect("steps of a stencil run at once");
    let behind = behind.trim_start_matches(|c: char| c.is_ascii_digit());
    for (form, asked) in [(" up to 7771", true), ("", false)] {
        let own = Schedule::parse(&format!("{before}{form}{behind}"), &kernel).unwrap();
        let compiled = compile_scheduled(&kernel, own, &target).unwrap();
        let (_, body) = compiled.parts.iter().find(|(part, _)| *part == Part::Body).unwrap();
        let text = body.to_string();
        // The value of a line that ends so.
        let made =
            |end: &str| text.lines().find(|line| line.ends_with(end)).and_then(|line| line.trim().split(':').next());
        let short = made(" = 7771i64").and_then(|most| made(&format!(" <= {most}")));
        let decides = short.is_some_and(|short| text.contains(&format!("select {short}, ")));
        assert_eq!(decides, asked, "{body}");
    }
}

fn kernel(source: &str) -> Kernel {
    plan(source).kernels.pop().unwrap()
}

/// Whether the text of a kernel's schedule is legal when a part of it is replaced; else why not.
fn changed(kernel: &Kernel, from: &str, to: &str) -> String {
    let target = Target::named("avx2").unwrap();
    let text = schedule(kernel, &target, Preferences::default()).schedule.to_text(kernel);
    assert!(text.contains(from), "there is no `{from}` in\n{text}");
    let edited = Schedule::parse(&text.replace(from, to), kernel).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(Schedule::parse(&edited.to_text(kernel), kernel).as_ref(), Ok(&edited));
    legal(kernel, &edited, &target).map_or_else(|faults| format!("{faults:?}"), |()| "accepted".to_owned())
}

#[test]
fn tiles_are_chosen_and_refused_with_the_reason() {
    let product = kernel(&product(ElementType::F32, "fold(|x, y| x + y, 0.0, p)", "c"));
    for (from, to) in [(" unroll 5", ""), (" unroll 5", " unroll 2"), (" unroll 5", " unroll 8")] {
        assert_eq!(changed(&product, from, to), "accepted", "{from} to {to}");
    }
    let stencil = kernel(
        "fn f(a: [n, m]f32) -> [n, m]f32 {
        let b: [n, m]f32 = stencil(|x, y| x + y, a[-1, 0], a[0, 1], a: clamp) return b }",
    );
    for (from, to) in [
        (" unroll 2 up to 1638, border apart", ""),
        (" unroll 2", " unroll 3"),
        (" up to 1638", ""),
        (", out of cache stream b", ""),
    ] {
        assert_eq!(changed(&stencil, from, to), "accepted", "{from} to {to}");
    }
    let scan = kernel("fn f(a: [n, m]f32) -> [n, m]f32 { let b: [n, m]f32 = scanl1(|x, y| x + y, a) return b }");
    let sums = kernel("fn f(a: [n, m]f32) -> [n]f32 { let b: [n]f32 = fold(|x, y| x + y, 0.0, a) return b }");
    let runs = kernel("fn f(a: [n, m]f32) -> [n]f32 { let b: [n]f32 = fold(|x, y| x + y * x, 0.0, a) return b }");
    let rows = kernel(
        "fn f(a: [n]f32, o: [m]i64) -> [?]f32 {
        let k = m - 1 let s: [k]f32 = fold_seg(|x, y| x + y, 0.5, a, offsets: o) return s }",
    );
    for (kernel, from, to, reason) in [
        (&product, " unroll 5", " unroll 17", "more than 16"),
        (&product, " unroll 5", " unroll 16", "take 32 vector registers, and there are 16"),
        (&product, "threads {", "threads unroll 2 {", "only gangs"),
        (&product, "overlapped", "overlapped, out of cache stream r", "has a plain loop"),
        (&stencil, " up to 1638, border apart {", " {", "do at once"),
        (
            &stencil,
            " unroll 2 up to 1638, border apart {",
            ", border apart {",
            "is that of gangs, and of steps at once",
        ),
        (&stencil, "lanes(16)", "lanes(16) unroll 2 up to 9", "steps at once, and no others"),
        (&product, " unroll 5", " unroll 5, border apart", "it has no border"),
        (&scan, "loop x_share {", "loop x_share unroll 2 {", "do at once"),
        (&sums, "loop x_share.3 {", "loop x_share.3 unroll 2 {", "has a plain loop"),
        (&runs, "loop x_share.2 {", "loop x_share.2 unroll 2 {", "do at once"),
        (&rows, "loop x_share {", "loop x_share unroll 2 {", "other bounds at each step"),
    ] {
        let said = changed(kernel, from, to);
        assert!(said.contains(reason), "`{from}` to `{to}`: should be refused as `{reason}`:\n{said}");
    }
}
