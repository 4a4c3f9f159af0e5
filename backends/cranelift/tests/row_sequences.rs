//! Launches of rows that are done over one strip of rows after another: to the bit what launches in order give, and less memory.

use std::{fmt::Write, sync::Arc};

use crate::common::{Random, check, compiled, interpreted, plan, same_bits};
use fusebox_backend::{BackendError, Program};
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::{Array, ElementType, Plan, analysis::RowSequences};
use fusebox_schedule::{Book, Strips};

/// A backend with strips of so many bytes, or with none.
fn backend(threads: usize, strip_bytes: Option<usize>) -> Cranelift {
    let config = Config {
        threads,
        share_from_ns: 1,
        strips_from_bytes: if strip_bytes.is_some() { 0 } else { usize::MAX },
        strip_bytes: strip_bytes.unwrap_or_default(),
        ..Config::default()
    };
    Cranelift::new(config).unwrap()
}

/// What a run gives, and the most bytes that it held.
fn run(plan: &Plan, inputs: &[Array], backend: &Cranelift) -> Result<(Vec<Array>, usize), BackendError> {
    let mut results = Vec::new();
    let statistics = compiled(backend, plan)?.load_plan()?.run_into(inputs, &mut results)?;
    Ok((results, statistics.peak_bytes))
}

/// Runs a plan in strips, on 1, 2 and 7 threads, and compares with the interpreter; gives the bytes that a run held, and those of a run in order.
fn in_strips(plan: &Plan, inputs: &[Array], strip_bytes: usize) -> (usize, usize) {
    let expected = interpreted(plan, inputs).unwrap();
    let (_, in_order) = run(plan, inputs, &backend(2, None)).unwrap();
    let held = [1, 2, 7].map(|threads| {
        let (results, held) = run(plan, inputs, &backend(threads, Some(strip_bytes))).unwrap();
        for (own, other) in results.iter().zip(&expected) {
            assert!(same_bits(own, other), "{threads} threads, strips of {strip_bytes} bytes\n{plan}");
        }
        held
    });
    assert!(held.iter().all(|&own| own == held[0] && own <= in_order), "{held:?}, in order {in_order}\n{plan}");
    (held[0], in_order)
}

/// Of each sequence of a plan how many launches there are, and how far they reach.
fn sequences(plan: &Plan) -> Vec<(usize, (i64, i64))> {
    let found = RowSequences::of(plan, |_| true);
    found.all(plan).into_iter().map(|(own, _)| (own.launches.len(), own.reach())).collect()
}

const SOFTMAX: &str = "fn f(x: [n, m]f32) -> [n, m]f32 {
    let top: [n]f32 = fold1(|a, b| max(a, b), x)
    let e1: [n, m]f32, sum1: [n]f32 = cluster(|| {
        diagonal e: [n, m]f32 = generate([n, m], |i, j| exp(x[i, j] - top[i]))
        last sum: [n]f32 = fold(|a, b| a + b, 0.0, e)
        return e, sum })
    let y: [n, m]f32 = generate([n, m], |i, j| e1[i, j] / sum1[i])
    return y }";

/// The same over rows of different lengths, in longer numbers, which are not written over the others; and the sum of each row.
const RAGGED: &str = "fn f(offsets: [k]i64, x: [m]f32, w: [n]f32) -> [m]f64, [n]f32 {
    let top: [n]f32 = fold_seg(|a, b| max(a, b), -inf_f32, x, offsets: offsets)
    let e1: [m]f32, sum1: [n]f32 = cluster(|| {
        vertical tops: [m]f32 = replicate_seg([m], top, offsets: offsets)
        diagonal e: [m]f32 = map(|v, t| exp(v - t), x, tops)
        last sum: [n]f32 = fold_seg(|a, b| a + b, 0.0, e, offsets: offsets)
        return e, sum })
    let y1: [m]f64 = cluster(|| {
        vertical sums: [m]f32 = replicate_seg([m], sum1, offsets: offsets)
        last y: [m]f64 = map(|v, s| f64(v / s), e1, sums)
        return y })
    return y1, sum1 }";

#[test]
fn a_softmax_holds_its_result_and_nothing_else() {
    let plan = plan(SOFTMAX);
    assert_eq!(sequences(&plan), [(3, (0, 0))]);
    let mut random = Random(1);
    for (rows, columns) in [(400, 50), (1000, 7), (113, 257), (5000, 1)] {
        let x = random.array(ElementType::F32, &[rows, columns]);
        for strip in [12, 40, 97] {
            let (held, in_order) = in_strips(&plan, std::slice::from_ref(&x), strip * (columns + 3));
            // In order the sums of rows are there too.
            assert_eq!((held, in_order), (4 * rows * columns, 4 * rows * (columns + 1)));
        }
    }
}

fn segments(lengths: &[i64]) -> Vec<i64> {
    std::iter::once(0)
        .chain(lengths.iter().scan(0, |sum, length| {
            *sum += length;
            Some(*sum)
        }))
        .collect()
}

fn vector<T: fusebox_ir::Scalar>(list: &[T]) -> Array {
    Array::new(&[list.len()], list).unwrap()
}

#[test]
fn rows_of_different_lengths() {
    let plan = plan(RAGGED);
    assert_eq!(sequences(&plan), [(3, (0, 0))], "{plan}");
    let mut random = Random(2);
    for round in 0..20 {
        let lengths: Vec<i64> = (0..300).map(|_| [0, 1, 3, 40, 70, 200][(random.next() % 6) as usize]).collect();
        let offsets = segments(&lengths);
        let elements = offsets[300] as usize;
        let inputs =
            [vector(&offsets), random.array(ElementType::F32, &[elements]), random.array(ElementType::F32, &[300])];
        let (held, in_order) = in_strips(&plan, &inputs, 2_000 + 300 * round);
        assert!(held == 4 * (2 * elements + 300) && held < in_order, "{held}, in order {in_order}");
    }
}

#[test]
fn a_row_that_is_for_all_threads_keeps_launches_in_order() {
    let plan = plan(RAGGED);
    let mut lengths = vec![3i64; 400];
    lengths[77] = 40_000;
    let offsets = segments(&lengths);
    let x = Random(3).array(ElementType::F32, &[offsets[400] as usize]);
    let (held, in_order) = in_strips(&plan, &[vector(&offsets), x, Random(9).array(ElementType::F32, &[400])], 4_000);
    assert_eq!(held, in_order);
}

#[test]
fn offsets_that_are_none_fail_as_in_order() {
    let plan = plan(RAGGED);
    let good: Vec<i64> = (0..=200).map(|row| row * 10).collect();
    let x = Random(4).array(ElementType::F32, &[2000]);
    for (at, offset) in
        [(0, 3), (0, -1), (17, 2000), (17, -5), (100, 989), (200, 1999), (200, i64::MAX), (50, i64::MIN)]
    {
        let mut offsets = good.clone();
        offsets[at] = offset;
        let inputs = [vector(&offsets), x.clone(), Random(9).array(ElementType::F32, &[200])];
        let in_order = run(&plan, &inputs, &backend(1, None)).unwrap_err().to_string();
        for threads in [1, 2, 7] {
            let found = run(&plan, &inputs, &backend(threads, Some(1000))).unwrap_err().to_string();
            assert_eq!(found, in_order, "{at} {offset}");
        }
    }
}

#[test]
fn the_first_launch_that_fails_is_told() {
    // The second launch fails in an early row, the first in a late one.
    let source = "fn f(a: [n, m]f32, i: [n]i64, j: [n]i64, t: [k]f32) -> [n]f32 {
        let s: [n]f32 = generate([n], |r| t[i[r]])
        let top: [n]f32 = fold(|a, b| a + b, 0.0, a)
        let b: [n, m]f32 = generate([n, m], |r, c| a[r, c] * s[r] + top[r])
        let sum: [n]f32 = fold(|a, b| a + b, 0.0, b)
        let y: [n]f32 = generate([n], |r| sum[r] + t[j[r]])
        return y }";
    let plan = plan(source);
    let mut random = Random(5);
    let (a, t) = (random.array(ElementType::F32, &[300, 9]), random.array(ElementType::F32, &[5]));
    let indices = |wrong: Option<usize>| {
        vector(&(0..300).map(|row| if Some(row) == wrong { 5 } else { 2 }).collect::<Vec<i64>>())
    };
    for (first, last) in [(Some(290), Some(3)), (None, Some(3)), (Some(290), None), (None, None)] {
        let inputs = [a.clone(), indices(first), indices(last), t.clone()];
        let in_order = run(&plan, &inputs, &backend(1, None)).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(in_order.is_err(), first.or(last).is_some());
        for threads in [1, 2, 7] {
            let found =
                run(&plan, &inputs, &backend(threads, Some(500))).map(|_| ()).map_err(|error| error.to_string());
            assert_eq!(found, in_order);
        }
    }
}

#[test]
fn stencils_of_every_boundary() {
    for boundary in ["clamp", "wrap", "mirror", "constant(2.5)"] {
        let source = format!(
            "fn f(x: [n, m]f32) -> [n, m]f32, [n]f32 {{
                let a: [n, m]f32 = stencil(|p, q, r| p + q - r, x[-1, 0], x[0, 1], x[2, 0], x: {boundary})
                let b: [n, m]f32 = stencil(|p, q, r| p * q - r, a[-2, 1], a[0, 0], a[1, -1], a: {boundary})
                let c: [n, m]f32 = stencil(|p, q| p - q, b[1, 0], b[-1, 2], b: {boundary})
                let s: [n]f32 = fold(|p, q| p + q, 0.0, c)
                return c, s }}"
        );
        let plan = plan(&source);
        let [(launches, (above, below))] = sequences(&plan)[..] else { panic!("{plan}") };
        assert!(launches >= 3 && above >= 3 && below >= 2, "{launches} {above} {below}");
        let mut random = Random(6);
        for (rows, columns) in [(900, 5), (400, 33), (1500, 1), (60, 4), (3, 3), (0, 4)] {
            let x = random.array(ElementType::F32, &[rows, columns]);
            let (held, in_order) = in_strips(&plan, &[x], 4 * 4 * columns * 60);
            assert_eq!(held < in_order, rows >= 400 && columns > 1, "{rows} rows: {held}, in order {in_order}");
        }
    }
}

/// Maps, folds and scans of rows, stencils, and other extents of the rows, each of what was made before; some of it is given back.
fn chain(random: &mut Random) -> String {
    let mut below = |limit: u64| (random.next() % limit) as usize;
    let (mut rows, mut numbers) = (vec!["x".to_owned()], vec!["w".to_owned()]);
    let mut body = String::new();
    for at in 0..4 + below(5) {
        let row = rows[rows.len() - 1 - below(rows.len().min(3) as u64)].clone();
        let number = numbers[numbers.len() - 1 - below(numbers.len().min(2) as u64)].clone();
        let name = format!("a{at}");
        let (is_row, line) = match below(6) {
            0 => (true, format!("[n, 6]f32 = generate([n, 6], |i, j| {row}[i, 5 - j] * {number}[i])")),
            1 => (true, format!("[n, 6]f32 = scanl1(|a, b| a + b, {row})")),
            2 => (
                true,
                format!(
                    "[n, 6]f32 = stencil(|a, b, c| a - b + c, {row}[-1, 0], {row}[0, 1], {row}[1, 0], {row}: mirror)"
                ),
            ),
            3 => (
                true,
                format!("[n, 6]f32 = generate([n, 6], |i, j| {row}[i, j] + {}[i, j] * {row}[i, (j + 1) % 6])", rows[0]),
            ),
            4 => (false, format!("[n]f32 = fold(|a, b| max(a, b), 0.0, {row})")),
            _ => (false, format!("[n]f32 = fold(|a, b| a + b, 1.0, {row})")),
        };
        writeln!(body, "let {name}: {line}").unwrap();
        if is_row { rows.push(name) } else { numbers.push(name) }
    }
    let other = rows[below(rows.len() as u64)].clone();
    let (last, number) = (&rows[rows.len() - 1], &numbers[numbers.len() - 1]);
    format!(
        "fn f(x: [n, 6]f32, w: [n]f32) -> [n, 6]f32, [n]f32, [n, 3, 2]f32 {{ {body}
            let z: [n, 6]f32 = generate([n, 6], |i, j| {last}[i, j] - {number}[i])
            let r: [n, 3, 2]f32 = reshape([n, 3, 2], {other})
            let v: [n]f32 = map(|a| a * 2.0, {number})
            return z, v, r }}"
    )
}

#[test]
fn random_launches_of_rows() {
    let mut random = Random(7);
    let (mut found, mut less) = (0, 0);
    for _ in 0..60 {
        let source = chain(&mut random);
        let plan = plan(&source);
        found += usize::from(!sequences(&plan).is_empty());
        let inputs = [random.array(ElementType::F32, &[700, 6]), random.array(ElementType::F32, &[700])];
        let (held, in_order) = in_strips(&plan, &inputs, 24 * 60);
        less += usize::from(held < in_order);
    }
    assert!(found >= 30 && less >= 10, "{found} of 60 have sequences, {less} hold less");
}

#[test]
fn strips_are_what_schedules_say() {
    let plan = plan(SOFTMAX);
    let x = [Random(9).array(ElementType::F32, &[500, 16])];
    let held = |strips: Option<Strips>, strips_from_bytes: usize| {
        let mut book = Book::default();
        book.set_strips(strips);
        let config =
            Config { threads: 2, strips_from_bytes, strip_bytes: 1000, schedules: Arc::new(book), ..Config::default() };
        run(&plan, &x, &Cranelift::new(config).unwrap()).unwrap().1
    };
    let (in_order, in_strips) = (held(None, usize::MAX), held(None, 0));
    assert!(in_strips < in_order);
    assert_eq!(held(Some(Strips::Never), 0), in_order);
    assert_eq!(held(Some(Strips::Of { bytes: 2000, from: 0 }), usize::MAX), in_strips);
    assert_eq!(held(Some(Strips::Of { bytes: 2000, from: u64::MAX }), 0), in_order);
    // All rows are one strip, or none fits.
    assert_eq!(held(Some(Strips::Of { bytes: u64::MAX, from: 0 }), 0), in_order);
    assert_eq!(held(Some(Strips::Of { bytes: 1, from: 0 }), 0), in_order);
}

#[test]
fn all_sizes_with_all_backends() {
    let mut random = Random(8);
    for source in [SOFTMAX.to_owned(), chain(&mut random), chain(&mut random)] {
        let columns = if source == SOFTMAX { 9 } else { 6 };
        let inputs: Vec<_> = [0, 1, 2, 29, 64, 333]
            .into_iter()
            .map(|rows| {
                let mut own = vec![random.array(ElementType::F32, &[rows, columns])];
                own.extend((source != SOFTMAX).then(|| random.array(ElementType::F32, &[rows])));
                own
            })
            .collect();
        check(&source, &inputs);
    }
}

/// Three stencils that reach two rows up and down each: six rows of the first for one of the last, on both sides.
const CHAIN: &str = "fn f(x: [n, m]f32) -> [n, m]f32 {
    let a: [n, m]f32 = stencil(|p, q, r| p + q * r, x[-2, 0], x[0, 0], x[2, 0], x: clamp)
    let b: [n, m]f32 = stencil(|p, q, r| p + q * r, a[-2, 0], a[0, 1], a[2, 0], a: wrap)
    let c: [n, m]f32 = stencil(|p, q, r| p + q * r, b[-2, 0], b[0, 0], b[2, -1], b: mirror)
    return c }";

#[test]
fn strips_have_as_many_rows_as_launches_reach_beyond_them() {
    let plan = plan(CHAIN);
    let found = sequences(&plan);
    let [(3, (above, below))] = found[..] else { panic!("{found:?}\n{plan}") };
    let (rows, columns) = (600, 30);
    let x = Random(5).array(ElementType::F32, &[rows, columns]);
    // Bytes of a row of all arrays: what is read, and what the three make.
    let row_bytes = 4 * 4 * columns;
    for (strip_rows, strips) in [(above + below, true), (above + below - 1, false), (4 * (above + below), true)] {
        let (held, in_order) = in_strips(&plan, std::slice::from_ref(&x), strip_rows as usize * row_bytes);
        assert_eq!(held < in_order, strips, "{strip_rows} rows, {held} bytes, in order {in_order}");
    }
}
