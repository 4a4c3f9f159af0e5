//! Innermost levels of few steps, which stand in a row, and panels: points and their nearest centres, sums of their coordinates.

use crate::common::{Random, check, every_schedule, plan};
use fusebox_ir::{Array, ElementType, Kernel};
use fusebox_schedule::{Preferences, Schedule, Target, check as legal, schedule};

/// For each point the least of what a fold makes of its differences from each centre, and which centre it is, as one kernel.
fn nearest(element: ElementType, fold: &str) -> String {
    format!(
        "fn f(p: [m, n]{element}, c: [k, n]{element}, w: {element}) -> [m]{element}, [m]i64 {{
        let r: [m]{element}, o: [m]i64 = cluster(|| {{
            vertical d: [m, k, n]{element} = generate([m, k, n], |i, j, l| {{ let z = p[i, l] - c[j, l] return z * z }})
            vertical s: [m, k]{element} = {fold}
            vertical g: [m, k]i64 = generate([m, k], |i, j| j)
            last r: [m]{element}, o: [m]i64 = fold(|x, i, y, j| {{
                let a, b = if y < x {{ return y, j }} else {{ return x, i }}
                return a, b }}, w, -1i64, s, g)
            return r, o }})
        return r, o }}"
    )
}

/// Points, centres, coordinates: around rows of 2 to 8 steps, gangs of up to 64, panels of up to 256 steps.
const SIZES: [[usize; 3]; 14] = [
    [0, 5, 3],
    [5, 0, 3],
    [5, 3, 0],
    [1, 1, 1],
    [17, 3, 2],
    [40, 16, 4],
    [33, 5, 5],
    [70, 4, 7],
    [16, 33, 8],
    [31, 2, 9],
    [18, 40, 33],
    [3, 100, 3],
    [20, 3, 256],
    [20, 3, 300],
];

fn inputs(element: ElementType) -> Vec<Vec<Array>> {
    SIZES
        .iter()
        .map(|&[m, k, n]| {
            let mut random = Random((m + 10 * k + 100 * n) as u64);
            vec![random.array(element, &[m, n]), random.array(element, &[k, n]), random.array(element, &[])]
        })
        .collect()
}

#[test]
fn nearest_centres() {
    for element in [ElementType::F32, ElementType::F64, ElementType::I32, ElementType::U8, ElementType::F16] {
        check(&nearest(element, "fold(|x, y| x + y, w, d)"), &inputs(element));
        // Without an identity: flags say which steps there are.
        check(&nearest(element, "fold(|x, y| if x < y { y } else { x - y }, w, d)"), &inputs(element));
    }
}

#[test]
fn steps_that_fail_fail_as_they_do_one_after_the_other() {
    let source = "fn f(a: [m, n]i32, b: [n]i32) -> [m]i32 {
        let r: [m]i32 = cluster(|| {
            vertical d: [m, n]i32 = generate([m, n], |i, j| a[i, j] / b[j])
            last r: [m]i32 = fold(|x, y| x + y, 0, d)
            return r })
        return r }";
    let inputs = |n: usize, zero: Option<usize>| {
        let divisors: Vec<i32> = (0..n).map(|at| if Some(at) == zero { 0 } else { at as i32 + 1 }).collect();
        let dividends: Vec<i32> = (0..20 * n as i32).collect();
        vec![Array::new(&[20, n], &dividends).unwrap(), Array::new(&[n], &divisors).unwrap()]
    };
    check(source, &[inputs(4, None), inputs(4, Some(0)), inputs(4, Some(3)), inputs(0, None), inputs(12, Some(11))]);
}

#[test]
fn every_form_has_the_bits_of_the_interpreter() {
    let forms = [" unroll 8 {", ", pack ", "choose when x2 < 9", "loop x2 {"];
    for (element, fold) in [
        (ElementType::F32, "fold(|x, y| x + y, w, d)"),
        (ElementType::I64, "fold(|x, y| if x < y { y } else { x - y }, w, d)"),
    ] {
        let some: Vec<_> = inputs(element).into_iter().step_by(3).collect();
        let seen = every_schedule(&nearest(element, fold), &some, &forms);
        assert!(seen.iter().all(|&count| count > 1), "{seen:?}");
    }
}

/// The same of points whose coordinates are rows: a gang has a lane for each point, and each reduce is in order. No fold has seeds.
fn nearest_of_columns(element: ElementType, fold: &str, least: &str) -> String {
    format!(
        "fn f(p: [n, m]{element}, c: [k, n]{element}) -> [m]{element}, [m]i64 {{
        let r: [m]{element}, o: [m]i64 = cluster(|| {{
            vertical d: [m, k, n]{element} = generate([m, k, n], |i, j, l| {{ let z = p[l, i] - c[j, l] return z * z }})
            vertical s: [m, k]{element} = fold1(|x, y| {fold}, d)
            vertical g: [m, k]i64 = generate([m, k], |i, j| j)
            last r: [m]{element}, o: [m]i64 = fold1(|x, i, y, j| {{ {least} return a, b }}, s, g)
            return r, o }})
        return r, o }}"
    )
}

#[test]
fn few_steps_of_reduces_in_order() {
    let least = "let a, b = if y < x { return y, j } else { return x, i }";
    let inputs = |element| -> Vec<Vec<Array>> {
        let of = |&[m, k, n]: &[usize; 3]| {
            let mut random = Random((m + 7 * k + 30 * n) as u64);
            vec![random.array(element, &[n, m]), random.array(element, &[k, n])]
        };
        SIZES.iter().map(of).collect()
    };
    for element in [ElementType::F32, ElementType::F64, ElementType::I32, ElementType::U8, ElementType::F16] {
        check(&nearest_of_columns(element, "x + y", least), &inputs(element));
        check(&nearest_of_columns(element, "if x < y { y } else { x - y }", least), &inputs(element));
    }
    // A function that may fail is not called before there are two elements: many of these are 0.
    check(&nearest_of_columns(ElementType::I32, "y / (x - x) + y", least), &inputs(ElementType::I32));
    check(
        &nearest_of_columns(
            ElementType::I32,
            "x + y",
            "let q = x / i32(j) let a, b = if q < y { return y, j } else { return x, j }",
        ),
        &inputs(ElementType::I32),
    );
    let some: Vec<_> = inputs(ElementType::F32).into_iter().step_by(2).collect();
    let forms = [" unroll 4 {", " unroll 8 {", "choose when x2 < 3"];
    let seen = every_schedule(&nearest_of_columns(ElementType::F32, "x + y", least), &some, &forms);
    assert!(seen.iter().all(|&count| count > 1), "{seen:?}");
}

#[test]
fn a_known_number_of_steps_needs_no_choice() {
    let source = nearest(ElementType::F32, "fold(|x, y| x + y, w, d)").replace("n]", "3]");
    let own = kernel(&source);
    let text = text(&own);
    assert!(text.contains(" unroll 4 {") && !text.contains(" < 9"), "{text}");
    let known: Vec<Vec<Array>> =
        inputs(ElementType::F32).into_iter().filter(|inputs| inputs[0].extents()[1] == 3).collect();
    assert!(known.len() > 1);
    check(&source, &known);
    every_schedule(&source, &known, &[]);
}

fn kernel(source: &str) -> Kernel {
    plan(source).kernels.pop().unwrap()
}

fn text(kernel: &Kernel) -> String {
    schedule(kernel, &Target::named("avx2").unwrap(), Preferences::default()).schedule.to_text(kernel)
}

/// Whether a kernel's schedule is legal when the last such part of its text is replaced; else why not.
fn changed(kernel: &Kernel, from: &str, to: &str) -> String {
    let text = text(kernel);
    let (before, behind) = text.rsplit_once(from).unwrap_or_else(|| panic!("there is no `{from}` in\n{text}"));
    let edited = Schedule::parse(&format!("{before}{to}{behind}"), kernel);
    let edited = edited.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(Schedule::parse(&edited.to_text(kernel), kernel).as_ref(), Ok(&edited));
    legal(kernel, &edited, &Target::named("avx2").unwrap())
        .map_or_else(|faults| format!("{faults:?}"), |()| "accepted".to_owned())
}

#[test]
fn they_are_refused_with_the_reason() {
    let own = kernel(&nearest(ElementType::F32, "fold(|x, y| x + y, w, d)"));
    for (from, to, reason) in [
        (" unroll 8", "", "accepted"),
        (" unroll 8", " unroll 16", "accepted"),
        (" unroll 8", " unroll 4", "may have more than 4 steps"),
        (" unroll 8", " unroll 12", "no power of two"),
        (" unroll 8", " unroll 64", "no power of two up to 16"),
        ("x2 < 9 {", "x2 < 90 {", "may have more than 8 steps"),
        (", pack x4", "", "accepted"),
        (", pack x4", ", pack x5", "not the same at each step of level 1"),
        (", pack x4", ", pack x4 and x4", "two panels"),
        (", pack x4", ", pack x6", "is no load"),
        ("x2 < 9 {", "x2 < 2000 {", "larger than"),
        (", pack x4", " unroll 2, pack x4", "one step after the other"),
    ] {
        let said = changed(&own, from, to);
        assert!(said.contains(reason), "`{from}` to `{to}` should be `{reason}`:\n{said}");
    }
}
