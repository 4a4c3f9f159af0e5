//! What programs of the embedded language mean, on the interpreter.

use fusebox_lang::*;

example!();

fn ints(values: &[i64]) -> Vector<i64> {
    Vector::from_slice(values).unwrap()
}

#[test]
fn black_scholes_shares_what_the_host_shares() {
    fn cnd(d: Exp<f64>) -> Exp<f64> {
        let k = 1.0 / (1.0 + 0.2316419 * d.abs());
        let poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
        let c = 0.3989422804014327 * (-0.5 * d * d).exp() * poly;
        cond(d.gt(0.0), 1.0 - c, c)
    }
    let built = program("black_scholes", |options: Acc<Vector<(f64, f64, f64)>>| {
        options.map(|option| {
            let (price, strike, years) = option.parts();
            let d1 = ((price / strike).log() + (0.02 + 0.5 * 0.3 * 0.3) * years) / (0.3 * years.sqrt());
            let d2 = d1 - 0.3 * years.sqrt();
            let discounted = strike * (-0.02 * years).exp();
            let (c1, c2) = (cnd(d1), cnd(d2));
            (price * c1 - discounted * c2, discounted * (1.0 - c2) - price * (1.0 - c1))
        })
    })
    .build()
    .unwrap();
    let program = example::program_of(&built);
    let fusebox_ir::ArrayOp::Map { f, .. } = &program.body.bindings[0].op else { panic!("one map") };
    let logs = f
        .instructions
        .iter()
        .filter(|i| matches!(i.op, fusebox_ir::ScalarOp::Unary { function: fusebox_ir::Unary::Log, .. }));
    assert_eq!((program.body.bindings.len(), logs.count()), (1, 1));
    let r = example::finish(&built, &(Vector::new(1, &[(100.0, 100.0, 1.0)]).unwrap(),));
    let (call, put) = r.get(0).unwrap();
    assert!((call - put - (100.0 - 100.0 * (-0.02f64).exp())).abs() < 1e-9, "put-call parity: {call} {put}");
    assert!((call - 12.82).abs() < 0.01, "{call}");
}

#[test]
fn zips_stop_at_the_shorter() {
    let (a, b) = (ints(&[1, 2, 3]), ints(&[10, 20]));
    let zipped =
        |a: Acc<Vector<i64>>, b: Acc<Vector<i64>>| (zip(a, b), zip_with(|x, y| x + y, a, b).fold(|x, y| x + y, 0));
    let (pairs, total) = example::run2(zipped, &a, &b);
    assert_eq!(pairs.to_vec(), [(1, 10), (2, 20)]);
    assert_eq!(total.value(), Some(33));
}

#[test]
fn zips_of_one_extent_compute_nothing() {
    let built = build("zip", |xs: Acc<Vector<(i64, f32)>>| {
        let (a, b) = unzip(xs);
        zip(b, a)
    });
    assert!(example::program_of(&built.unwrap()).body.bindings.is_empty());
}

#[test]
fn equal_extents_are_recognised() {
    let built = build("sizes", |xs: Acc<Vector<i64>>, ys: Acc<Vector<i64>>| {
        let a = zip_with(|x, y| x + y, xs, ys);
        let b = zip_with(|x, y| x * y, xs, ys);
        let offsets = scanl(|x, y| x + y, 0, a);
        zip_with(|x, y| x - y, zip_with(|x, y| x + y, a, b), init(offsets))
    });
    let program = example::program_of(&built.unwrap());
    let units = program.body.bindings.iter().filter(|b| matches!(b.op, fusebox_ir::ArrayOp::Unit { .. }));
    // min(n, m), one more, and what init has: max(that, 0).
    assert!(units.count() <= 4, "{:#?}", program.body.bindings);
}

#[test]
fn loops_find_out_which_extents_change() {
    let halve = |xs: Acc<Vector<i64>>, ys: Acc<Vector<i64>>| {
        let (xs, ys, _) = awhile(
            (xs, ys, constant(0i64)),
            |(xs, _, _)| xs.length().gt(2),
            |(xs, ys, i)| (take(xs.length() / 2, xs), map(|y| y + 1, ys), i + 1),
        );
        (xs, ys)
    };
    let (xs, ys) = example::run2(halve, &ints(&[1, 2, 3, 4, 5, 6, 7, 8]), &ints(&[0, 10]));
    assert_eq!((xs.to_vec(), ys.to_vec()), (vec![1, 2], vec![2, 12]));
}

#[test]
fn a_loop_keeps_extents_that_change_together_together() {
    let built = build("pairs", |xs: Acc<Vector<i64>>| {
        let ys = map(|x| 10 * x, xs);
        awhile(
            (xs, ys),
            |(xs, _)| xs.length().gt(1),
            // The same size written twice is one size.
            |(xs, ys)| (take(xs.length() / 2, zip_with(|x, y| x + y, xs, ys)), take(xs.length() / 2, ys)),
        )
    })
    .unwrap();
    let program = example::program_of(&built);
    let state = program.body.bindings.iter().find_map(|b| match &b.op {
        fusebox_ir::ArrayOp::While { step, .. } => Some(step.params.len()),
        _ => None,
    });
    assert_eq!(state, Some(3), "one size and two arrays");
    let (xs, ys) = example::finish(&built, &(ints(&[1, 2, 3, 4]),));
    assert_eq!((xs.to_vec(), ys.to_vec()), (vec![21], vec![10]));
}

#[test]
fn branches_may_differ_in_extents() {
    let choose = |xs: Acc<Vector<i64>>, c: Exp<bool>| acond(c, (xs, xs), (drop(1, xs), map(|x| -x, xs)));
    let (a, b) = example::run2(choose, &ints(&[1, 2, 3]), &false);
    assert_eq!((a.to_vec(), b.to_vec()), (vec![2, 3], vec![-1, -2, -3]));
    let (a, b) = example::run2(choose, &ints(&[1, 2, 3]), &true);
    assert_eq!((a.to_vec(), b.to_vec()), (vec![1, 2, 3], vec![1, 2, 3]));
}

#[test]
fn functions_of_elements_may_hold_array_operations() {
    let rows = |ns: Acc<Vector<i64>>| ns.map(|n| sum(map(|x| x * x, enum_from_n(n, 0i64))).get());
    assert_eq!(example::run1(rows, &ints(&[0, 3, 4])).to_vec(), [0, 5, 14]);
}

#[test]
fn nests_whose_extents_agree_are_regular() {
    let built = build("outer", |xs: Acc<Vector<i64>>| nest(xs.length(), |i| map(|x| x * xs.at(i), xs))).unwrap();
    let program = example::program_of(&built);
    assert!(program.outputs[0].ty.inner[0].iter().all(|e| !matches!(e, fusebox_ir::Extent::Unknown)));
    let r = example::finish(&built, &(ints(&[1, 2]),));
    let values: Vec<_> = r.columns[0].values.constants().filter_map(fusebox_ir::Constant::as_i64).collect();
    assert_eq!(values, [1, 2, 2, 4]);
}

#[test]
fn arrays_of_arrays_are_inputs_and_elements() {
    let built =
        build("rows", |t: Acc<Nested<Ix1, Ix1, i64>>| generate(t.shape(), |i| sum(t.element(i)).get())).unwrap();
    let nested = fusebox_ir::Nested {
        extents: fusebox_ir::Array::new(&[3], &[2i64, 0, 1]).unwrap(),
        values: fusebox_ir::Array::new(&[3], &[1i64, 2, 3]).unwrap(),
    };
    let r = example::finish(&built, &(NestedArray { columns: vec![nested] },));
    assert_eq!(r.to_vec(), [3, 0, 3]);
}

#[test]
fn one_of_several_results_may_be_used_again_and_in_branches() {
    let root = |x: Exp<i64>| {
        let halved = while_loop(
            lift::<(i64, i64)>((0i64, x)),
            |state| state.fst().lt(state.snd()),
            |state| {
                let (low, high) = state.parts();
                let middle = (low + high) / 2;
                let below = (middle * middle).lt(x);
                (cond(below, middle + 1, low), cond(below, high, middle))
            },
        );
        let low = halved.fst();
        cond(low.gt(3), low * low, low)
    };
    assert_eq!((example::run1(root, &50), example::run1(root, &9)), (64, 3));
}

#[test]
fn fallbacks_see_their_arguments_alone() {
    let gemm = |a: Acc<Matrix<i64>>, b: Acc<Matrix<i64>>| foreign("gemm", |(a, b)| matmul(a, b), (a, b));
    let a = Matrix::new((1, 2), &[1i64, 2]).unwrap();
    let b = Matrix::new((2, 2), &[1i64, 2, 3, 4]).unwrap();
    assert_eq!(example::run2(gemm, &a, &b).to_vec(), [7, 10]);
}

#[test]
fn segments_by_lengths_leave_out_the_rest() {
    let (xs, lengths) = (ints(&[1, 2, 3, 4, 5, 6]), ints(&[2, 0, 3]));
    let all = |xs: Acc<Vector<i64>>, lengths: Acc<Vector<i64>>| {
        (
            fold_seg_lengths(|a, b| a + b, 100, xs, lengths),
            scanl_seg_lengths(|a, b| a + b, 0, xs, lengths),
            scanr1_seg_lengths(|a, b| a + b, xs, lengths),
            scanl_total_seg_lengths(|a, b| a + b, 0, xs, lengths),
        )
    };
    let (folds, scans, right, (bodies, totals)) = example::run2(all, &xs, &lengths);
    assert_eq!(folds.to_vec(), [103, 100, 112]);
    assert_eq!(scans.to_vec(), [0, 1, 3, 0, 0, 3, 7, 12]);
    assert_eq!(right.to_vec(), [3, 2, 12, 9, 5]);
    assert_eq!((bodies.to_vec(), totals.to_vec()), (vec![0, 1, 0, 3, 7], vec![3, 0, 12]));
}

#[test]
fn all_empty_segments_of_an_array_with_elements() {
    let all = |xs: Acc<Vector<i64>>, lengths: Acc<Vector<i64>>| scanl_seg_lengths(|a, b| a + b, 7, xs, lengths);
    assert_eq!(example::run2(all, &ints(&[1, 2]), &ints(&[0, 0, 0])).to_vec(), [7, 7, 7]);
}

#[test]
fn permutes_drop_combine_and_keep_order() {
    let xs = ints(&[3, 1, 3, 9]);
    let dropped = |xs: Acc<Vector<i64>>| {
        permute(|new, old| 10 * old + new, fill(4, 0), |i| some_if(xs.at(i).lt(4), xs.at(i)), enum_from_n(4, 1i64))
    };
    assert_eq!(example::run1(dropped, &xs).to_vec(), [0, 2, 0, 13]);
    let matrix = |xs: Acc<Vector<i64>>| permute_unique(fill((2, 4), 0), |i| (i % 2, i), xs);
    assert_eq!(example::run1(matrix, &xs).to_vec(), [3, 0, 3, 0, 0, 1, 0, 9]);
    let pairs = |xs: Acc<Vector<i64>>| {
        permute_ordered(
            |new: Exp<(i64, i64)>, old| (old.fst() + new.fst(), new.snd()),
            fill(2, (0i64, -1i64)),
            |i| i % 2,
            zip(xs, enum_from_n(xs.length(), 0i64)),
        )
    };
    assert_eq!(example::run1(pairs, &xs).to_vec(), [(6, 2), (10, 3)]);
}

#[test]
fn stencils_tap_what_they_use() {
    let m = Matrix::new((2, 3), &[1i64, 2, 3, 4, 5, 6]).unwrap();
    let built = build("taps", |m: Acc<Matrix<i64>>| {
        let pairs = zip(m, map(|x| -x, m));
        stencil(
            |p| p.at((0, -1)).fst() + p.at((-1, 0)).snd(),
            Boundary::function(|(i, j)| (100 * i + j, constant(0i64))),
            pairs,
        )
    })
    .unwrap();
    let program = example::program_of(&built);
    let taps = program.body.bindings.iter().find_map(|b| match &b.op {
        fusebox_ir::ArrayOp::Stencil { taps, .. } => Some(taps.len()),
        _ => None,
    });
    assert_eq!(taps, Some(2));
    assert_eq!(example::finish(&built, &(m,)).to_vec(), [-1, 1, 2, 98, 2, 2]);
}

#[test]
fn one_array_with_two_boundaries() {
    let xs = ints(&[1, 2, 3]);
    let both =
        |xs: Acc<Vector<i64>>| stencil2(|a, b| 10 * a.at(-1) + b.at(-1), Boundary::Clamp, xs, Boundary::Wrap, xs);
    assert_eq!(example::run1(both, &xs).to_vec(), [13, 11, 22]);
}

fn softmax<Sh: Dimensions>(xs: Acc<Array<Sh, f64>>) -> Acc<Array<Sh, f64>> {
    let n = xs.shape().parts().last().copied().unwrap_or_else(|| constant(0i64));
    let spread = |row: Acc<Array<Sh::Down, f64>>| -> Acc<Array<Sh, f64>> { replicate((Any, n), row) };
    let e = zip_with(|x, top| (x - top).exp(), xs, spread(maximum(xs)));
    zip_with(|x, all| x / all, e, spread(sum(e)))
}

#[test]
fn functions_of_any_rank() {
    let m = Matrix::new((2, 2), &[0.0f64, 0.0, 1000.0, 1000.0]).unwrap();
    assert_eq!(example::run1(softmax::<Ix2>, &m).to_vec(), [0.5, 0.5, 0.5, 0.5]);
    let v = Vector::from_slice(&[3.0f64]).unwrap();
    assert_eq!(example::run1(softmax::<Ix1>, &v).to_vec(), [1.0]);
}

#[test]
fn slices_and_parts_along_other_dimensions() {
    let cube = Array::<Ix3, i64>::new((2, 2, 2), &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    let parts = |c: Acc<Array<Ix3, i64>>| {
        (
            slice((All, 1, All), c),
            take_on(0, 1, c).flatten(),
            transpose_on(0, 2, c).flatten(),
            slice((Any, 1), c),
            concat_on(1, c, drop_on(1, 1, c)).shape().1,
        )
    };
    let (middle, first, turned, last, extent) = example::run1(parts, &cube);
    assert_eq!(middle.to_vec(), [2, 3, 6, 7]);
    assert_eq!(first.to_vec(), [0, 1, 2, 3]);
    assert_eq!(turned.to_vec(), [0, 4, 2, 6, 1, 5, 3, 7]);
    assert_eq!(last.to_vec(), [1, 3, 5, 7]);
    assert_eq!(extent, 3);
}

#[test]
fn short_circuits_protect() {
    let safe = |x: Exp<i64>| x.ne_(0).and((100 / x).gt(5));
    assert!(!example::run1(safe, &0));
    let either = |x: Exp<i64>| x.eq_(0).or((100 / x).gt(5));
    assert!(example::run1(either, &0));
}

#[test]
fn what_cannot_be_computed_says_where() {
    let built = build("out", |xs: Acc<Vector<i64>>| xs.at(9)).unwrap();
    let line = line!() - 1;
    let run = fusebox_interp::run(&example::program_of(&built), &built.arguments(&(ints(&[1]),)));
    let message = run.unwrap_err().to_string();
    assert!(message.contains(&format!("run.rs:{line}:")), "{message}");
}

#[test]
fn host_arrays_are_further_inputs() {
    let weights = Vector::new(2, &[(1i64, 2.0f32), (3, 4.0)]).unwrap();
    let built = build("weights", |x: Exp<f32>| use_array(&weights).map(|w| w.snd() * x)).unwrap();
    let names: Vec<_> = built.captured.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["used0._0", "used0._1"]);
    assert_eq!(example::finish(&built, &(2.0,)).to_vec(), [4.0, 8.0]);
}

#[test]
fn random_access_in_complex_arrays() {
    let z = Vector::new(2, &[Complex { re: 1.0f32, im: 2.0 }, Complex { re: 0.0, im: 1.0 }]).unwrap();
    let r = example::run1(|z: Acc<Vector<Complex<f32>>>| zip_with(|a, b| a * b - a / b, z, reverse(z)), &z);
    let expected = |re, im| Complex { re, im };
    assert_eq!(r.to_vec(), [expected(-2.0 - 2.0, 1.0 + 1.0), expected(-2.0 - 0.4, 1.0 - 0.2)]);
}

#[test]
fn embedded_and_text_programs_are_equal() {
    let built = program("dotp", |xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
        zip_with(|x, y| x * y, xs, ys).fold(|a, b| a + b, 0.0)
    })
    .inputs(["xs", "ys"])
    .results(["s"])
    .build()
    .unwrap();
    let text = "fn dotp(xs: [n]f32, ys: [m]f32) -> f32 {
        let k = min(n, m)
        let a: [k]f32 = map(|x, y| x * y, xs, ys)
        let s: f32 = fold(|x, y| x + y, 0.0, a)
        return s }";
    assert_eq!(Ok(example::program_of(&built)), fusebox_ir::text::parse(text));
    let built = program("clip", |m: Acc<Matrix<i64>>, limit: Exp<i64>| {
        (scanl(|a, b| a + b, 0, m.map(|x| cond(x.gt(limit), limit, x))), transpose(m))
    })
    .inputs(["m", "limit"])
    .results(["sums", "turned"])
    .build()
    .unwrap();
    let text = "fn clip(m: [r, c]i64, limit: i64) -> [r, ?]i64, [c, r]i64 {
        let a: [r, c]i64 = map(|x| if x > limit { limit } else { x }, m)
        let d = c + 1
        let sums: [r, d]i64 = scanl(|x, y| x + y, 0, a)
        let turned: [c, r]i64 = backpermute([c, r], |i, j| { return j, i }, m)
        return sums, turned }";
    assert_eq!(Ok(example::program_of(&built)), fusebox_ir::text::parse(text));
}

#[test]
fn streams_come_and_go() {
    let shrink = |frames: Acc<Stream<Ix1, f64>>, scale: Exp<f64>| {
        consume((frames, produce(2)), |i, (frame, ())| {
            let scaled = map(|x| x * scale, tail(frame));
            (stream_out(scaled), elements(frame), tabulate(unit(i)))
        })
    };
    let frames = vec![
        Vector::from_slice(&[1.0, 2.0]).unwrap(),
        Vector::from_slice(&[3.0]).unwrap(),
        Vector::from_slice(&[4.0, 5.0]).unwrap(),
    ];
    let (out, all, steps) = example::run2(shrink, &frames, &10.0);
    let out: Vec<_> = out.iter().map(Array::to_vec).collect();
    assert_eq!(out, [vec![20.0], vec![]]);
    assert_eq!((all.to_vec(), steps.to_vec()), (vec![1.0, 2.0, 3.0], vec![0, 1]));
}

#[test]
fn chunks_of_arrays_are_accumulated() {
    let count = |m: Acc<Matrix<i64>>| {
        consume(to_seq(m), |i, row| {
            accumulate_arrays(
                |(rows, total): (Exp<i64>, Acc<Vector<i64>>), extents, values| {
                    (rows + extents.length(), map(|t| t + sum(values).get(), total))
                },
                (constant(0i64), fill(2, 0)),
                take(i, row),
            )
        })
    };
    let m = Matrix::new((3, 2), &[1i64, 2, 3, 4, 5, 6]).unwrap();
    let (rows, total) = example::run1(count, &m);
    assert_eq!((rows, total.to_vec()), (3, vec![14, 14]));
}
