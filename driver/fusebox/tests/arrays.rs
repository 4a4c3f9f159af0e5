//! Arithmetic on whole arrays: the same as maps that are written out, in results and in kernels, on every backend.

#![allow(clippy::reversed_empty_ranges, reason = "negative bounds count from the end")]

use fusebox::{Backend, Compiled, Error, Options, compile, ir::Fault, prelude::*};

fn floats(values: &[f32]) -> Vector<f32> {
    Vector::from_slice(values).unwrap()
}

/// Kernels and loops that a program becomes.
fn counts<P, R>(compiled: &Compiled<P, R>) -> (usize, u64) {
    let after = compiled.explain().after.expect("it compiles");
    (after.kernels, after.loops)
}

/// The result of a program of two matrices on the interpreter and on all cores, which are the same bits.
fn run2<R: Results<Host: PartialEq + std::fmt::Debug>>(
    f: impl Fn(Acc<Matrix<f32>>, Acc<Matrix<f32>>) -> R + Copy,
    a: &Matrix<f32>,
    b: &Matrix<f32>,
) -> R::Host {
    let interpreted = compile(f, &Options::on(Backend::Interp)).unwrap().run(a, b).unwrap();
    let compiled = compile(f, &Options::on(Backend::Cpu)).unwrap().run(a, b).unwrap();
    assert_eq!(interpreted, compiled);
    compiled
}

type M = Acc<Matrix<f32>>;

#[test]
fn operators_are_the_maps_that_they_stand_for() {
    let x = Matrix::new((3, 4), &(0..12).map(|i| i as f32 - 5.0).collect::<Vec<_>>()).unwrap();
    let y = Matrix::new((3, 4), &(0..12).map(|i| 0.5 * i as f32).collect::<Vec<_>>()).unwrap();
    let short = |x: M, y: M| ((2.0 * x + y - 1.0).abs() / (y + 1.0)).max(x).min(3.0);
    let long = |x: M, y: M| zip_with(|x, y| ((2.0 * x + y - 1.0).abs() / (y + 1.0)).max(x).min(3.0), x, y);
    assert_eq!(run2(short, &x, &y), run2(long, &x, &y));
    let [short, long] =
        [counts(&compile(short, &Options::default()).unwrap()), counts(&compile(long, &Options::default()).unwrap())];
    // One is the scalar code that compares extents.
    assert_eq!((short, short.0), (long, 2));
}

#[test]
fn operators_fuse_into_folds_and_with_producers() {
    let short = |x: M, y: M| sum((x * y).abs() + x);
    let long = |x: M, y: M| sum(zip_with(|a, b| a + b, map(|p| p.abs(), zip_with(|a, b| a * b, x, y)), x));
    let x = Matrix::new((2, 3), &[0.5, 1.0, -1.0, 0.0, 0.25, 2.0f32]).unwrap();
    assert_eq!(run2(short, &x, &x), run2(long, &x, &x));
    let [short, long] =
        [counts(&compile(short, &Options::default()).unwrap()), counts(&compile(long, &Options::default()).unwrap())];
    assert_eq!((short, short.0), (long, 2));
}

#[test]
fn an_expanded_axis_is_the_replicate_that_it_stands_for() {
    let short = |x: M, _: M| {
        let shifted = (x - x.max_axis(1).expand_axis(1)).abs();
        shifted / shifted.sum_axis(1).expand_axis(1)
    };
    let long = |x: M, _: M| {
        let columns = x.shape().1;
        let shifted = zip_with(|x, m| (x - m).abs(), x, replicate((All, columns), maximum(x)));
        zip_with(|e, s| e / s, shifted, replicate((All, columns), sum(shifted)))
    };
    let x = Matrix::new((3, 5), &(0..15).map(|i| (i % 7) as f32).collect::<Vec<_>>()).unwrap();
    assert_eq!(run2(short, &x, &x), run2(long, &x, &x));
    let [short, long] =
        [counts(&compile(short, &Options::default()).unwrap()), counts(&compile(long, &Options::default()).unwrap())];
    assert_eq!(short, long);
}

#[test]
fn unequal_extents_are_an_error_that_says_both() {
    let lines = line!() + 1;
    let add = |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>| x + y;
    for (xs, ys) in [(3, 5), (5, 3)] {
        let (xs, ys) = (floats(&vec![1.0; xs]), floats(&vec![1.0; ys]));
        for backend in [Backend::Interp, Backend::Cpu] {
            let error = compile(add, &Options::on(backend)).unwrap().run(&xs, &ys).unwrap_err();
            let Error::Run(error) = error else { panic!("{error}") };
            assert_eq!(error.place.line, lines, "{error}");
            let Fault::TooFew { extent: 5, available: 3, .. } = error.fault else { panic!("{error}") };
        }
    }
    // The same where the arrays between are fused away.
    let fused = |x: Acc<Vector<f32>>, y: Acc<Vector<f32>>| (x.abs() * (y - 1.0)).sum();
    for backend in [Backend::Interp, Backend::Cpu] {
        let fused = compile(fused, &Options::on(backend)).unwrap();
        assert_eq!(fused.run(&floats(&[2.0, -1.0]), &floats(&[3.0, 4.0])).unwrap().value(), Some(7.0));
        let error = fused.run(&floats(&[2.0, -1.0]), &floats(&[3.0])).unwrap_err();
        assert!(error.to_string().contains("extent 2 of"), "{error}");
    }
    let error =
        compile(|_: Exp<i64>| generate((2, 3), |(i, j)| i + j) + generate((2, 4), |(i, j)| i - j), &Options::default());
    let message = error.unwrap_err().to_string();
    assert!(message.contains("extents [2, 3] and [2, 4] are unequal"), "{message}");
}

#[test]
fn an_extent_of_one_repeats_only_where_it_is_written() {
    // Written as the number 1 it repeats; that an input has one row only, only running tells.
    let m = Matrix::new((2, 2), &[1.0, 2.0, 3.0, 4.0f32]).unwrap();
    let row = Matrix::new((1, 2), &[10.0, 20.0f32]).unwrap();
    let written = run2(|m: M, row: M| m + row.slice((0, ..)).expand_axis(0), &m, &row);
    assert_eq!(written.to_vec(), [11.0, 22.0, 13.0, 24.0]);
    let general = run2(|m: M, _: M| m + fill((1, 2), 1.0f32).map(|x| x * 3.0), &m, &row);
    assert_eq!(general.to_vec(), [4.0, 5.0, 6.0, 7.0]);
    for backend in [Backend::Interp, Backend::Cpu] {
        let sum = compile(|m: M, row: M| m + row, &Options::on(backend)).unwrap();
        assert!(matches!(sum.run(&m, &row), Err(Error::Run(_))));
    }
}

#[test]
fn scalars_and_arrays_mix_on_both_sides() {
    let x = floats(&[1.0, 2.0, 4.0]);
    let f = |x: Acc<Vector<f32>>| {
        let total = x.sum();
        let scaled = x / total + total.get() * x - (1.0 - x) * total;
        (scaled, x.gt(1.5), x.gt(1.5).cond(x, 0.0), (x.cast::<i64>() % 2).eq_(0) & !x.lt(3.0), -x)
    };
    let r = compile(f, &Options::on(Backend::Cpu)).unwrap().run(&x).unwrap();
    assert_eq!(r, compile(f, &Options::on(Backend::Interp)).unwrap().run(&x).unwrap());
    let expected: Vec<f32> = [1.0f32, 2.0, 4.0].map(|x| x / 7.0 + 7.0 * x - (1.0 - x) * 7.0).to_vec();
    assert_eq!(r.0.to_vec(), expected);
    assert_eq!(r.1.to_vec(), [false, true, true]);
    assert_eq!(r.2.to_vec(), [0.0, 2.0, 4.0]);
    assert_eq!(r.3.to_vec(), [false, false, true]);
    assert_eq!(r.4.to_vec(), [-1.0, -2.0, -4.0]);
}

#[test]
fn folds_along_axes_and_orders_of_axes() {
    type A3 = Array<Ix3, i64>;
    let a = A3::new((2, 3, 2), &(0..12).collect::<Vec<i64>>()).unwrap();
    let f = |a: Acc<A3>| {
        (
            (a.sum_axis(0), a.sum_axis(1), a.sum_axis(2), a.prod_axis(1)),
            (a.min_axis(1), a.max_axis(0), a.fold_axis(1, |x, y| x * 100 + y, 7)),
            (a.permute_axes([1, 2, 0]), a.swap_axes(0, 2), a.index_axis(1, 2)),
            (a.gt(5).all_axis(0), a.gt(5).any_axis(0), a.is_odd().count_axis(2)),
        )
    };
    let r = compile(f, &Options::on(Backend::Cpu)).unwrap().run(&a).unwrap();
    assert_eq!(r, compile(f, &Options::on(Backend::Interp)).unwrap().run(&a).unwrap());
    let at = |i: i64, j: i64, k: i64| i * 6 + j * 2 + k;
    let folded: Vec<i64> =
        (0..2).flat_map(|i| (0..2).map(move |k| (0..3).fold(7, |x, j| x * 100 + at(i, j, k)))).collect();
    assert_eq!(r.0.0.to_vec(), [6, 8, 10, 12, 14, 16]);
    assert_eq!(r.0.1.to_vec(), [6, 9, 24, 27]);
    assert_eq!(r.1.2.to_vec(), folded);
    assert_eq!(r.2.0.extents(), [3, 2, 2]);
    assert_eq!(r.2.0.to_vec()[7], at(1, 1, 1));
    assert_eq!(r.2.2.to_vec(), [4, 5, 10, 11]);
    assert_eq!(r.3.2.to_vec(), [1; 6]);
}

#[test]
fn ranges_are_those_of_python() {
    let xs: Vec<i64> = (0..7).collect();
    let v = Vector::from_slice(&xs).unwrap();
    let f = |v: Acc<Vector<i64>>| {
        let n = v.length();
        (
            (v.slice(1..-1), v.slice(..3), v.slice(-2..), v.slice(5..2), v.slice(2..100), v.slice(-100..2)),
            (v.slice((1..).step(3)), v.slice((..).step(2)), v.slice(1..=-2), v.slice(..=2), v.slice(..=-1)),
            (v.slice(constant(2)..n - 2), v.slice(n..), v.slice(-3..-1)),
        )
    };
    for backend in [Backend::Interp, Backend::Cpu] {
        let (a, b, c) = compile(f, &Options::on(backend)).unwrap().run(&v).unwrap();
        let all = [a.0, a.1, a.2, a.3, a.4, a.5, b.0, b.1, b.2, b.3, b.4, c.0, c.1, c.2].map(|part| part.to_vec());
        let wanted: [&[i64]; 14] = [
            &[1, 2, 3, 4, 5],
            &[0, 1, 2],
            &[5, 6],
            &[],
            &[2, 3, 4, 5, 6],
            &[0, 1],
            &[1, 4],
            &[0, 2, 4, 6],
            &[1, 2, 3, 4, 5],
            &[0, 1, 2],
            &xs,
            &[2, 3, 4],
            &[],
            &[4, 5],
        ];
        assert_eq!(all.each_ref().map(Vec::as_slice), wanted, "{backend}");
    }
    let m = Matrix::new((3, 3), &(0..9).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
    let r = run2(|m: M, _: M| (m.slice((1..-1, ..)), m.slice((1, ..-1)), m.slice((Any, (..).step(2)))), &m, &m);
    assert_eq!(
        (r.0.to_vec(), r.1.to_vec(), r.2.to_vec()),
        (vec![3.0, 4.0, 5.0], vec![3.0, 4.0], vec![0.0, 2.0, 3.0, 5.0, 6.0, 8.0])
    );
}

#[test]
fn a_range_fuses_with_what_makes_and_what_reads_it() {
    let f = |xs: Acc<Vector<f32>>| (xs.slice(1..) - xs.slice(..-1)).abs().sum();
    let compiled = compile(f, &Options::on(Backend::Cpu)).unwrap();
    // One is the scalar code that computes extents.
    assert_eq!(counts(&compiled), (2, 1));
    assert_eq!(compiled.run(&floats(&[1.0, 3.0, 2.0, 7.0])).unwrap().value(), Some(8.0));
    assert_eq!(compiled.run(&floats(&[])).unwrap().value(), Some(0.0));
}

#[test]
fn broadcasts_check_what_they_do_not_know() {
    let f = |x: Acc<Vector<f32>>, n: Exp<i64>| x.broadcast((2, n));
    for backend in [Backend::Interp, Backend::Cpu] {
        let compiled = compile(f, &Options::on(backend)).unwrap();
        assert_eq!(compiled.run(&floats(&[1.0, 2.0]), &2).unwrap().to_vec(), [1.0, 2.0, 1.0, 2.0]);
        for wrong in [1, 3] {
            let error = compiled.run(&floats(&[1.0, 2.0]), &wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("extent 2 of the array should be {wrong}")), "{error}");
        }
    }
    let error = compile(|m: M| m.broadcast(3), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("an array of rank 2 is no array of rank 1"), "{error}");
}
