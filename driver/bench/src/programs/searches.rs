//! Loops in lanes that take turns of their own, and searches: the hulls of many sets of points, systems that are solved in every turn of a loop,
//! queens on a board, nearest neighbours. Every one is written as a nest, and by hand as a loop over lanes on all threads.

mod nearest;
mod queens;

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::ragged::{rows, rows_of};
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, Hand},
    program::{
        Input::{Named, Nested},
        Program, Sizes, Work,
    },
    random::Random,
};

/// Points that the nearest are looked for among.
const POINTS: usize = 1000;
/// Prices and volatilities of a grid.
const PRICES: usize = 48;
const VOLATILITIES: usize = 16;

pub(super) fn programs() -> [Program; 5] {
    let board = |name, text| Program {
        name,
        text,
        inputs: &[Named("n")],
        results: &[0],
        outside: false,
        needs_fusion: false,
        sizes: Sizes { small: 8, large: 12 },
        tiny: 6,
        same_steps: None,
        generate: |n| Data::new().with_param("n", n as f64),
        hand: queens::by_hand,
        work: boards,
        tolerance: Tolerance::EXACT,
    };
    [
        Program {
            name: "nested_hull",
            text: include_str!("../../../../golden/programs/nested_hull.fbx"),
            inputs: &[Nested("x"), Nested("y")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 100, large: 5_000 },
            tiny: 10,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(84);
                let lengths: Vec<i64> = (0..n).map(|_| 2 + random.exponential(200.0) as i64).collect();
                ["x", "y"].into_iter().fold(Data::new(), |data, name| {
                    let count = lengths.iter().sum::<i64>();
                    let numbers: Vec<i64> = (0..count).map(|_| random.below(2_000_000) as i64 - 1_000_000).collect();
                    rows(data, name, &lengths, &numbers)
                })
            },
            hand: hulls,
            work: |data| {
                let points = data.array("x.values")?.len() as f64;
                Ok(Work { bytes: 16.0 * points, operations: 20.0 * points })
            },
            tolerance: Tolerance::EXACT,
        },
        Program {
            name: "nested_volatility",
            text: include_str!("../../../../golden/programs/nested_volatility.fbx"),
            inputs: &[Named("strikes"), Named("price"), Named("volatility"), Named("turns"), Named("step")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 4, large: 200 },
            tiny: 3,
            same_steps: None,
            generate: |n| {
                let spread = |count: usize, low: f64, high: f64| -> Vec<f64> {
                    (0..count).map(|at| low + (high - low) * at as f64 / (count - 1).max(1) as f64).collect()
                };
                Data::new()
                    .with_param("turns", 20.0)
                    .with_param("step", 0.05)
                    .with_array("strikes", &[n], &spread(n, 0.5, 1.5))
                    .with_array("price", &[PRICES], &spread(PRICES, 0.2, 2.5))
                    .with_array("volatility", &[VOLATILITIES], &spread(VOLATILITIES, 0.1, 0.6))
            },
            hand: prices,
            work: |data| {
                let cells = (data.array("strikes")?.len() * PRICES * VOLATILITIES) as f64;
                Ok(Work { bytes: 8.0 * cells, operations: 20.0 * data.param("turns")? * cells })
            },
            tolerance: Tolerance { relative: 1e-9, absolute: 1e-9, outliers: 0.0 },
        },
        Program {
            same_steps: Some(queens::by_rows),
            ..board("nested_queens", include_str!("../../../../golden/programs/nested_queens.fbx"))
        },
        board("queens", include_str!("../../../../golden/programs/queens.fbx")),
        Program {
            name: "nested_nearest",
            text: include_str!("../../../../golden/programs/nested_nearest.fbx"),
            inputs: &[Named("px"), Named("py"), Named("qx"), Named("qy")],
            results: &[0, 1],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 20, large: 1000 },
            tiny: 3,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(85);
                [("px", POINTS), ("py", POINTS), ("qx", n), ("qy", n)].into_iter().fold(
                    Data::new(),
                    |data, (name, count)| {
                        let numbers: Vec<i64> = (0..count).map(|_| random.below(1 << 24) as i64).collect();
                        data.with_array(name, &[count], &numbers)
                    },
                )
            },
            hand: nearest::by_hand,
            work: |data| {
                let queries = data.array("qx")?.len() as f64;
                Ok(Work { bytes: 64.0 * queries, operations: 5.0 * queries * POINTS as f64 })
            },
            tolerance: Tolerance::EXACT,
        },
    ]
}

fn hulls<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (x, y) = (rows_of::<i64>(data, "x")?, rows_of::<i64>(data, "y")?);
    ensure!(x.iter().map(|row| row.len()).eq(y.iter().map(|row| row.len())), "points have two coordinates each");
    hand::appending(data.array("x.values")?.len(), move |out: &mut [i64]| {
        let corners: Vec<Vec<i64>> =
            x.par_iter().zip(&y).with_min_len(4).map(|(x, y)| Points { x, y }.hull()).collect();
        let mut count = 0;
        for corners in corners {
            out[count..][..corners.len()].copy_from_slice(&corners);
            count += corners.len();
        }
        count
    })
}

/// A set of points.
struct Points<'d> {
    x: &'d [i64],
    y: &'d [i64],
}

impl Points<'_> {
    /// Twice the area of the triangle of an edge and a point; positive to the left of it.
    fn side(&self, (a, b): (usize, usize), p: usize) -> i64 {
        (self.x[b] - self.x[a]) * (self.y[p] - self.y[a]) - (self.y[b] - self.y[a]) * (self.x[p] - self.x[a])
    }

    /// Corners from the leftmost one, clockwise.
    fn hull(&self) -> Vec<i64> {
        let key = |&p: &usize| (self.x[p], self.y[p]);
        let all = 0..self.x.len();
        let mut corners = Vec::new();
        if let (Some(left), Some(right)) = (all.clone().min_by_key(key), all.clone().max_by_key(key)) {
            let all: Vec<usize> = all.collect();
            for edge in [(left, right), (right, left)] {
                let outside = self.outside(edge, &all);
                self.corners(edge, &outside, &mut corners);
            }
        }
        corners
    }

    fn outside(&self, edge: (usize, usize), points: &[usize]) -> Vec<usize> {
        points.iter().copied().filter(|&p| self.side(edge, p) > 0).collect()
    }

    /// The corners from one end of an edge to the other, without that, where these points are outside of it.
    fn corners(&self, edge: (usize, usize), points: &[usize], corners: &mut Vec<i64>) {
        match points.iter().copied().max_by_key(|&p| self.side(edge, p)) {
            Some(far) => {
                for half in [(edge.0, far), (far, edge.1)] {
                    let outside = self.outside(half, points);
                    self.corners(half, &outside, corners);
                }
            }
            None => corners.push(edge.0 as i64),
        }
    }
}

fn prices<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (strikes, price) = (data.slice::<f64>("strikes")?, data.slice::<f64>("price")?);
    let volatility = data.slice::<f64>("volatility")?;
    let (turns, step) = (data.size("turns")?, data.param("step")?);
    let (m, k) = (price.len(), volatility.len());
    ensure!(m > 0 && k > 0, "a grid without points");
    let across: Vec<f64> = volatility.iter().map(|v| step * 0.25 * v * v).collect();
    hand::filling(&[strikes.len() * k * m], move |out: &mut [f64]| {
        out.par_chunks_mut(k * m).zip(strikes).for_each(|(u, &strike)| {
            for row in u.chunks_exact_mut(m) {
                row.iter_mut().zip(price).for_each(|(u, p)| *u = (p - strike).max(0.0));
            }
            let (mut weights, mut pivots) = (vec![0.0; m], vec![0.0; m.max(k)]);
            for t in 0..turns {
                for (row, v) in u.chunks_exact_mut(m).zip(volatility) {
                    let scale = step * v * v * (1.0 + 0.1 * t as f64);
                    weights.iter_mut().zip(price).for_each(|(w, p)| *w = scale * p * p);
                    solve(row, 1, &weights, &mut pivots);
                }
                solve(u, m, &across, &mut pivots);
            }
        });
    })
}

/// Solves systems with these weights of neighbours, as many side by side as `width`: down by elimination, and up again.
fn solve(u: &mut [f64], width: usize, weights: &[f64], pivots: &mut [f64]) {
    let count = weights.len();
    for j in 0..count {
        pivots[j] = 1.0 + 2.0 * weights[j];
        if j > 0 {
            let slope = weights[j] / pivots[j - 1];
            pivots[j] -= slope * weights[j - 1];
            let (before, own) = u.split_at_mut(j * width);
            let before = &before[(j - 1) * width..];
            own[..width].iter_mut().zip(before).for_each(|(x, b)| *x += slope * b);
        }
    }
    for j in (0..count).rev() {
        let (own, after) = u.split_at_mut((j + 1) * width);
        let own = &mut own[j * width..];
        let inverse = 1.0 / pivots[j];
        if j + 1 < count {
            own.iter_mut().zip(after).for_each(|(x, a)| *x += weights[j] * *a);
        }
        own.iter_mut().for_each(|x| *x *= inverse);
    }
}

fn boards(data: &Data) -> Result<Work> {
    // Boards of all numbers of rows are about 2.2 times as many with each queen more than four.
    let n = data.param("n")?;
    Ok(Work { bytes: 8.0 * n, operations: 20.0 * 4f64.powf(n - 2.0) / n.max(1.0) })
}
