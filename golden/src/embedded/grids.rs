//! Images and grids.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[
    Embedded { name: "mandelbrot", build: mandelbrot },
    Embedded { name: "life", build: life },
    Embedded { name: "jacobi", build: jacobi },
    Embedded { name: "blur", build: blur },
    Embedded { name: "canny", build: canny },
    Embedded { name: "crystal", build: crystal },
];

/// The view of a grid of points.
type View = (Exp<f32>, Exp<f32>, Exp<f32>, Exp<f32>);

// ANCHOR: mandelbrot
fn mandelbrot() -> Result<Terms, BuildError> {
    let f = |w: Exp<i64>, h: Exp<i64>, x0: Exp<f32>, x1: Exp<f32>, y0: Exp<f32>, y1: Exp<f32>, limit: Exp<i32>| {
        let (x0, x1, y0, y1): View = (x0, x1, y0, y1);
        generate((h, w), |(py, px)| {
            let cx = (x0 + px.cast::<f32>() * (x1 - x0) / w.cast::<f32>()).named("cx");
            let cy = (y0 + py.cast::<f32>() * (y1 - y0) / h.cast::<f32>()).named("cy");
            let escaped = while_loop(
                lift::<(f32, f32, i32)>((cx, cy, 0i32)),
                |z| {
                    let (re, im, count) = z.parts();
                    count.lt(limit).and((re * re + im * im).le(4.0))
                },
                |z| {
                    let (re, im, count) = z.parts();
                    (re * re - im * im + cx, 2.0 * re * im + cy, count + 1)
                },
            );
            escaped.parts().2
        })
    };
    Ok(program("mandelbrot", f).inputs(["w", "h", "x0", "x1", "y0", "y1", "limit"]).results(["counts"]).build()?.terms)
}
// ANCHOR_END: mandelbrot

// ANCHOR: life
fn life() -> Result<Terms, BuildError> {
    let f = |grid: Acc<Matrix<u8>>, steps: Exp<i64>| {
        let step = |cells: Acc<Matrix<u8>>| {
            let rule = |x: &Neighbours<Ix2, u8>| {
                let around = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)];
                let neighbours = around.into_iter().map(|offset| x.at(offset)).reduce(|a, b| a + b);
                let neighbours = neighbours.unwrap_or(constant(0u8)).named("neighbours");
                cond(neighbours.eq_(3).or(neighbours.eq_(2).and(x.at((0, 0)).eq_(1))), 1u8, 0u8)
            };
            stencil(rule, Boundary::Wrap, cells).named("next")
        };
        aiterate(steps, step, grid)
    };
    Ok(program("life", f).inputs(["grid", "steps"]).results(["after"]).build()?.terms)
}
// ANCHOR_END: life

fn jacobi() -> Result<Terms, BuildError> {
    let f = |image: Acc<Matrix<f32>>, steps: Exp<i64>| {
        let mean = |x: &Neighbours<Ix2, f32>| {
            0.2 * (x.at((0, 0)) + x.at((-1, 0)) + x.at((1, 0)) + x.at((0, 1)) + x.at((0, -1)))
        };
        aiterate(steps, |x| stencil(mean, Boundary::Clamp, x).named("y"), image)
    };
    Ok(program("jacobi", f).inputs(["image", "steps"]).results(["result"]).build()?.terms)
}

fn blur() -> Result<Terms, BuildError> {
    let f = |image: Acc<Matrix<f32>>| {
        let kernel = |x: &Neighbours<Ix2, f32>| {
            let corners = x.at((-1, -1)) + x.at((-1, 1)) + x.at((1, -1)) + x.at((1, 1));
            let sides = x.at((-1, 0)) + x.at((0, -1)) + x.at((0, 1)) + x.at((1, 0));
            (corners + 2.0 * sides + 4.0 * x.at((0, 0))) / 16.0
        };
        stencil(kernel, Boundary::Clamp, image)
    };
    Ok(program("blur", f).inputs(["image"]).results(["blurred"]).build()?.terms)
}

// ANCHOR: canny
/// Canny's edges: blur, gradient, thinning along the gradient, two thresholds.
fn canny() -> Result<Terms, BuildError> {
    type Tap<'a> = &'a Neighbours<Ix2, f32>;
    let weighted = |taps: [Exp<f32>; 5]| {
        let [a, b, c, d, e] = taps;
        (a + 4.0 * b + 6.0 * c + 4.0 * d + e) / 16.0
    };
    let f = |image: Acc<Matrix<f32>>, low: Exp<f32>, high: Exp<f32>| {
        let across = stencil(|x: Tap<'_>| weighted([-2, -1, 0, 1, 2].map(|i| x.at((0, i)))), Boundary::Clamp, image)
            .named("across");
        let smooth = stencil(|x: Tap<'_>| weighted([-2, -1, 0, 1, 2].map(|i| x.at((i, 0)))), Boundary::Clamp, across)
            .named("smooth");
        let sobel = |x: Tap<'_>| {
            let right = x.at((-1, 1)) + 2.0 * x.at((0, 1)) + x.at((1, 1));
            let left = x.at((-1, -1)) + 2.0 * x.at((0, -1)) + x.at((1, -1));
            let below = x.at((1, -1)) + 2.0 * x.at((1, 0)) + x.at((1, 1));
            let above = x.at((-1, -1)) + 2.0 * x.at((-1, 0)) + x.at((-1, 1));
            (right - left, below - above)
        };
        let gradient = stencil(sobel, Boundary::Clamp, smooth).named("gradient");
        let magnitude = gradient.map(|g: Exp<(f32, f32)>| {
            let (x, y) = g.parts();
            (x * x + y * y).sqrt()
        });
        let thin = |g: &Neighbours<Ix2, (f32, f32)>, m: Tap<'_>| {
            let (x, y) = g.at((0, 0)).parts();
            let (ax, ay) = (x.abs(), y.abs());
            let beside = |i: i64, j: i64| lift::<(f32, f32)>((m.at((-i, -j)), m.at((i, j))));
            let falling = x.gt(0.0).eq_(y.gt(0.0));
            let diagonal = cond(falling, beside(1, 1), beside(1, -1));
            let steep = cond(ay.ge(2.4142136 * ax), beside(1, 0), diagonal);
            let (before, after) = cond(ay.le(0.41421356 * ax), beside(0, 1), steep).parts();
            let here = m.at((0, 0));
            let dropped = here.lt(before).or(here.lt(after)).or(here.lt(low));
            cond(dropped, 0u8, cond(here.lt(high), 1u8, 2u8))
        };
        let grade =
            stencil2(thin, Boundary::Clamp, gradient, Boundary::Clamp, magnitude.named("magnitude")).named("grade");
        let keep = |x: &Neighbours<Ix2, u8>| {
            let around = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)];
            let near = around.into_iter().map(|offset| x.at(offset)).reduce(|a, b| a.max(b)).unwrap_or(constant(0u8));
            let here = x.at((0, 0));
            cond(here.eq_(2).or(here.eq_(1).and(near.eq_(2))), 1u8, 0u8)
        };
        stencil(keep, Boundary::Clamp, grade)
    };
    Ok(program("canny", f).inputs(["image", "low", "high"]).results(["edges"]).build()?.terms)
}
// ANCHOR_END: canny

// ANCHOR: crystal
/// Snow by Reiter's model: cells of a hexagonal lattice hold water, and those that hold one or more are ice.
fn crystal() -> Result<Terms, BuildError> {
    type Tap<'a, T> = &'a Neighbours<Ix2, T>;
    // The neighbours of a hexagon, in coordinates along two of its axes.
    const AROUND: [(i64, i64); 6] = [(-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)];
    let f = |start: Acc<Matrix<f32>>, alpha: Exp<f32>, gamma: Exp<f32>, steps: Exp<i64>| {
        let step = |water: Acc<Matrix<f32>>| {
            // Ice and what touches it keeps its water and takes some from the air; the water of the others spreads.
            let part = |x: Tap<'_, f32>| {
                let here = x.at((0, 0));
                let most = AROUND.into_iter().map(|offset| x.at(offset)).fold(here, |a, b| a.max(b));
                cond(most.ge(1.0), (here + gamma, constant(0.0f32)), (constant(0.0f32), here))
            };
            let parts = stencil(part, Boundary::Clamp, water).named("parts");
            let grow = |x: Tap<'_, (f32, f32)>| {
                let (kept, free) = x.at((0, 0)).parts();
                let around = AROUND.into_iter().map(|offset| x.at(offset).parts().1).reduce(|a, b| a + b);
                let mean = around.unwrap_or(constant(0.0f32)) / 6.0;
                kept + free + 0.5 * alpha * (mean - free)
            };
            stencil(grow, Boundary::Clamp, parts).named("grown")
        };
        aiterate(steps, step, start)
    };
    Ok(program("crystal", f).inputs(["start", "alpha", "gamma", "steps"]).results(["water"]).build()?.terms)
}
// ANCHOR_END: crystal
