//! Nested programs: transforms, products, solvers, in each lane. They give what their texts give; see `nested.rs`.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[
    Embedded { name: "nested_fft", build: transforms },
    Embedded { name: "nested_fft_rows", build: transforms_of_rows },
    Embedded { name: "nested_mandelbrot", build: mandelbrot },
    Embedded { name: "nested_matmul", build: matrix_product },
    Embedded { name: "nested_smvm", build: smvm },
    Embedded { name: "nested_softmax", build: softmax },
    Embedded { name: "nested_volatility", build: volatility },
];

/// Rows of different lengths.
type Ragged<T> = Acc<Nested<Ix1, Ix1, T>>;
type Z = Complex<f64>;

/// Powers of the 32nd root of unity, each for products of up to eight.
fn roots() -> Acc<Matrix<Z>> {
    generate((32, 8), |(t, k)| {
        let angle = -std::f64::consts::TAU / 32.0 * ((t * k) & 31).cast::<f64>();
        complex(angle.cos(), angle.sin())
    })
}

fn total(terms: impl Iterator<Item = Exp<Z>>) -> Exp<Z> {
    terms.reduce(|a, b| a + b).unwrap_or(complex(0.0, 0.0))
}

// ANCHOR: nested_fft
/// In each lane a whole matrix: a transform of 32 = 8 * 4 is a sum of eight and one of four.
fn transforms() -> Result<Terms, BuildError> {
    let f = |z: Acc<Array<Ix3, Z>>| {
        let (n, _, _) = z.shape();
        let (z, roots) = (reshape((n, 32, 32), z), roots());
        nest(n, |l| {
            let z = slice((l, .., ..), z);
            let eight =
                |k, m, x: &dyn Fn(Exp<i64>) -> Exp<Z>| total((0..8).map(|t| x(4 * t + m) * roots.at((4 * t + m, k))));
            let four = |b, x: &dyn Fn(i64) -> Exp<Z>| total((0..4).map(|t| x(t) * roots.at((constant(8 * t), b))));
            let row8 = generate((32, 4, 8), |(i, m, k)| eight(k, m, &|t| z.at((i, t))));
            let row4 = generate((32, 4, 8), |(i, b, k)| four(b, &|t| row8.at((i, constant(t), k))));
            let rows = reshape((32, 32), row4);
            let column8 = generate((4, 8, 32), |(m, k, j)| eight(k, m, &|t| rows.at((t, j))));
            let column4 = generate((4, 8, 32), |(b, k, j)| four(b, &|t| column8.at((constant(t), k, j))));
            // In these extents, not as a vector, whose indices would be taken apart again.
            reshape(1024, compute(column4))
        })
    };
    Ok(program("nested_fft", f).inputs(["z"]).results(["w"]).build()?.terms)
}
// ANCHOR_END: nested_fft

/// In each lane a nest over the rows, then one over the columns of what these gave.
fn transforms_of_rows() -> Result<Terms, BuildError> {
    let f = |z: Acc<Array<Ix3, Z>>| {
        let (n, _, _) = z.shape();
        let (z, roots) = (reshape((n, 32, 32), z), roots());
        let transform = |x: Acc<Vector<Z>>| {
            let eight = generate((4, 8), |(m, k)| total((0..8).map(|t| x.at(4 * t + m) * roots.at((4 * t + m, k)))));
            let four = generate((4, 8), |(b, k)| {
                total((0..4).map(|t| eight.at((constant(t), k)) * roots.at((constant(8 * t), b))))
            });
            reshape(32, compute(four))
        };
        nest(n, |l| {
            let rows = nest(32, |r| transform(slice((l, r, ..), z)));
            let columns = nest(32, |column| transform(generate(32, |r| rows.element(r).at(column))));
            reshape(1024, generate((32, 32), |(i, j)| columns.element(j).at(i)))
        })
    };
    Ok(program("nested_fft_rows", f).inputs(["z"]).results(["w"]).build()?.terms)
}

/// Turns until a point of the plane escapes, in fixed point of 20 bits.
fn mandelbrot() -> Result<Terms, BuildError> {
    type State = (Exp<i64>, Exp<i64>, Exp<i64>);
    let f = |x: Acc<Vector<i64>>, y: Acc<Vector<i64>>, most: Exp<i64>| {
        generate((y.length(), x.length()), |(i, j)| {
            let inside = |(a, b, turn): State| turn.lt(most).and((a * a + b * b).le(4i64 << 40));
            let turn =
                |(a, b, turn): State| (((a * a - b * b) >> 20) + x.at(j), ((2 * a * b) >> 20) + y.at(i), turn + 1);
            let zero = constant(0i64);
            awhile((zero, zero, zero), inside, turn).2
        })
    };
    Ok(program("nested_mandelbrot", f).inputs(["x", "y", "most"]).results(["turns"]).build()?.terms)
}

fn matrix_product() -> Result<Terms, BuildError> {
    let f = |a: Acc<Matrix<f32>>, b: Acc<Matrix<f32>>| {
        generate((a.shape().0, b.shape().1), |(i, j)| dot(slice((i, ..), a), slice((.., j), b)).get())
    };
    Ok(program("nested_matmul", f).inputs(["a", "b"]).results(["c"]).build()?.terms)
}

fn smvm() -> Result<Terms, BuildError> {
    let f = |columns: Ragged<i64>, values: Ragged<f32>, x: Acc<Vector<f32>>| {
        generate(columns.shape(), |i| sum(zip_with(|v, c| v * x.at(c), values.element(i), columns.element(i))).get())
    };
    Ok(program("nested_smvm", f).inputs(["columns", "values", "x"]).results(["y"]).build()?.terms)
}

fn softmax() -> Result<Terms, BuildError> {
    let row = |row: Acc<Vector<f32>>| {
        let top = fold1(|a, b| a.max(b), row).get();
        let e = row.map(|v| (v - top).exp());
        let all = sum(e).get();
        e.map(|v| v / all)
    };
    Ok(program("nested_softmax", |x: Acc<Matrix<f32>>| rows(x).map(row)).inputs(["x"]).results(["y"]).build()?.terms)
}

/// A system of neighbours with `-w` below and above a diagonal of `1 + 2 * w`, solved by scans of linear functions.
fn solved(w: Acc<Vector<f64>>, d: Acc<Vector<f64>>) -> Acc<Vector<f64>> {
    let m = w.length();
    let first = |j: Exp<i64>, value: f64, other: Exp<f64>| cond(j.eq_(0), value, other);
    let below = generate(m, |j| first(j, 0.0, 0.0 - w.at(j)));
    let above = generate(m, |j| cond((j + 1).eq_(m), 0.0, 0.0 - w.at(j)));
    type Linear = (f64, f64, f64, f64);
    let start = generate(m, |j| {
        let before = first(j, 0.0, 0.0 - below.at(j) * above.at((j - 1).max(0)));
        let is_first = j.eq_(0);
        lift::<Linear>((1.0 + 2.0 * w.at(j), before, cond(is_first, 0.0, 1.0), cond(is_first, 1.0, 0.0)))
    });
    let composed = |one: Exp<Linear>, two: Exp<Linear>| {
        let ((a, b, c, d), (e, f, g, h)) = (one.parts(), two.parts());
        let (x, y, z, v) = (e * a + f * c, e * b + f * d, g * a + h * c, g * b + h * d);
        let size = 1.0 / x.abs().max(y.abs()).max(z.abs().max(v.abs()));
        (x * size, y * size, z * size, v * size)
    };
    let pivot = scanl1(composed, start).map(|all: Exp<Linear>| {
        let (e, f, g, h) = all.parts();
        (e + f) / (g + h)
    });
    let then = |one: Exp<(f64, f64)>, two: Exp<(f64, f64)>| {
        let ((a, b), (c, d)) = (one.parts(), two.parts());
        (c + d * a, b * d)
    };
    let slope = generate(m, |j| first(j, 0.0, 0.0 - below.at(j) / pivot.at((j - 1).max(0))));
    let lower = unzip(scanl1(then, zip(d, slope))).0;
    let top = zip_with(|y, p| y / p, lower, pivot);
    let back = zip_with(|c, p| 0.0 - c / p, above, pivot);
    let up = |one: Exp<(f64, f64)>, two: Exp<(f64, f64)>| {
        let ((c, d), (a, b)) = (one.parts(), two.parts());
        (c + d * a, b * d)
    };
    unzip(scanr1(up, zip(top, back))).0
}

/// For each strike a loop over time, every turn of which solves a system for each row of a grid, then one for each column.
fn volatility() -> Result<Terms, BuildError> {
    type Vec64 = Acc<Vector<f64>>;
    let f = |strikes: Vec64, price: Vec64, volatility: Vec64, turns: Exp<i64>, step: Exp<f64>| {
        let (m, k) = (price.length(), volatility.length());
        rows(strikes).map(|strike| {
            let start = generate((k, m), |(_, j)| (price.at(j) - strike.get()).max(0.0));
            let turn = |(t, u): (Exp<i64>, Acc<Matrix<f64>>)| {
                let along = nest(k, |i| {
                    let v = volatility.at(i);
                    solved(price.map(|p| step * v * v * p * p * (1.0 + 0.1 * t.cast::<f64>())), slice((i, ..), u))
                });
                let across = nest(m, |j| {
                    solved(volatility.map(|v| step * 0.25 * v * v), generate(k, |i| along.element(i).at(j)))
                });
                (t + 1, generate((k, m), |(i, j)| across.element(j).at(i)))
            };
            let (_, u) = awhile((constant(0i64), start), |(t, _)| t.lt(turns), turn);
            reshape(k * m, u)
        })
    };
    let inputs = ["strikes", "price", "volatility", "turns", "step"];
    Ok(program("nested_volatility", f).inputs(inputs).results(["values"]).build()?.terms)
}
