//! Folds, scans and segments.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[
    Embedded { name: "dotp", build: dotp },
    Embedded { name: "saxpy_sum", build: saxpy_sum },
    Embedded { name: "stats", build: stats },
    Embedded { name: "diagonal", build: diagonal },
    Embedded { name: "normalise2", build: normalise2 },
    Embedded { name: "prefix_sum", build: prefix_sum },
    Embedded { name: "argmax", build: argmax },
    Embedded { name: "softmax_rows", build: softmax_rows },
    Embedded { name: "max_segment_sum", build: max_segment_sum },
    Embedded { name: "segmented_sums", build: segmented_sums },
    Embedded { name: "linear_recurrence", build: linear_recurrence },
];

fn dotp() -> Result<Terms, BuildError> {
    let f = |xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
        zip_with(|x, y| x * y, xs, ys).named("products").fold(|a, b| a + b, 0.0).named("s")
    };
    Ok(program("dotp", f).inputs(["xs", "ys"]).results(["s"]).build()?.terms)
}

fn saxpy_sum() -> Result<Terms, BuildError> {
    let f = |a: Exp<f32>, xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
        let line = zip_with(|x, y| a * x + y, xs, ys).named("line");
        sum(line.map(|z| z * z).named("squares")).named("s")
    };
    Ok(program("saxpy_sum", f).inputs(["a", "xs", "ys"]).results(["s"]).build()?.terms)
}

fn stats() -> Result<Terms, BuildError> {
    let f = |xs: Acc<Vector<f32>>| {
        let n = xs.length().cast::<f32>();
        let mean = (sum(xs).get() / n).named("mean");
        let spread = sum(xs.map(|x| {
            let d = (x - mean).named("d");
            d * d
        }));
        (mean, (spread.get() / n).named("variance"), minimum(xs), maximum(xs))
    };
    Ok(program("stats", f).inputs(["xs"]).results(["mean", "variance", "least", "greatest"]).build()?.terms)
}

fn diagonal() -> Result<Terms, BuildError> {
    let f = |a: Acc<Vector<f32>>| {
        let b = a.map(|x| x.exp()).named("b");
        let c = sum(b).named("c").get();
        b.map(|x| x / c).named("d")
    };
    Ok(program("diagonal", f).inputs(["a"]).results(["d"]).build()?.terms)
}

fn normalise2() -> Result<Terms, BuildError> {
    let f = |xs: Acc<Vector<f32>>| {
        let sum1 = sum(xs).named("sum1").get();
        let scn = scanl1(|a, b| a + b, xs).named("scn");
        let sum2 = sum(scn).named("sum2").get();
        (xs.map(|x| x / sum1), xs.map(|x| x / sum2))
    };
    Ok(program("normalise2", f).inputs(["xs"]).results(["ys1", "ys2"]).build()?.terms)
}

fn prefix_sum() -> Result<Terms, BuildError> {
    let f = |xs: Acc<Vector<i32>>| (scanl1(|a, b| a + b, xs), scanl(|a, b| a + b, 0, xs));
    Ok(program("prefix_sum", f).inputs(["xs"]).results(["inclusive", "exclusive"]).build()?.terms)
}

fn argmax() -> Result<Terms, BuildError> {
    let f = |x: Acc<Matrix<f32>>| {
        let placed = x.imap(|(_, j), value| (value, j));
        unzip(placed.fold(
            |best: Exp<(f32, i64)>, next: Exp<(f32, i64)>| cond(next.fst().gt(best.fst()), next, best),
            (f32::NEG_INFINITY, -1i64),
        ))
    };
    Ok(program("argmax", f).inputs(["x"]).results(["values", "columns"]).build()?.terms)
}

fn softmax_rows() -> Result<Terms, BuildError> {
    let f = |x: Acc<Matrix<f32>>| {
        let (_, m) = x.shape();
        let tops = maximum(x).named("top").replicate((All, m)).named("tops");
        let e = zip_with(|v, t| (v - t).exp(), x, tops).named("e");
        let sums = sum(e).named("sum").replicate((All, m)).named("sums");
        zip_with(|v, s| v / s, e, sums)
    };
    Ok(program("softmax_rows", f).inputs(["x"]).results(["y"]).build()?.terms)
}

/// What is known of a stretch of a vector.
#[derive(Clone, Copy, Debug, Elt)]
struct Stretch {
    /// The greatest sum of neighbours in it.
    best: i32,
    /// Of those that begin at its left end.
    left: i32,
    /// Of those that reach its right end.
    right: i32,
    /// Of all.
    sum: i32,
}

fn max_segment_sum() -> Result<Terms, BuildError> {
    let f = |xs: Acc<Vector<i32>>| {
        let stretches = xs.map(|x| {
            let m = x.max(0).named("m");
            Stretch::exp(m, m, m, x)
        });
        let whole = stretches.fold1(|a: Exp<Stretch>, b: Exp<Stretch>| {
            let best = a.best().max(b.best()).max(a.right() + b.left());
            Stretch::exp(best, a.left().max(a.sum() + b.left()), b.right().max(a.right() + b.sum()), a.sum() + b.sum())
        });
        whole.get().best()
    };
    Ok(program("max_segment_sum", f).inputs(["xs"]).results(["greatest"]).build()?.terms)
}

fn segmented_sums() -> Result<Terms, BuildError> {
    let f = |xs: Acc<Vector<f32>>, offsets: Acc<Vector<i32>>| {
        let sums = fold_seg(|a, b| a + b, 0.0, xs, offsets);
        let greatest = fold_seg(|a: Exp<f32>, b: Exp<f32>| a.max(b), f32::NEG_INFINITY, xs, offsets);
        (sums, greatest)
    };
    Ok(program("segmented_sums", f).inputs(["xs", "offsets"]).results(["sums", "greatest"]).build()?.terms)
}

fn linear_recurrence() -> Result<Terms, BuildError> {
    let f = |a: Acc<Vector<f64>>, b: Acc<Vector<f64>>| {
        let compose = |f: Exp<(f64, f64)>, g: Exp<(f64, f64)>| {
            let ((a1, b1), (a2, b2)) = (f.parts(), g.parts());
            (a1 * a2, a2 * b1 + b2)
        };
        unzip(scanl1(compose, zip(a, b))).1
    };
    Ok(program("linear_recurrence", f).inputs(["a", "b"]).results(["y"]).build()?.terms)
}
