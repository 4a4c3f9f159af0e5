//! Vectors to scalars: `dot`, `saxpy_sum`, `stats`.

use anyhow::Result;
use rayon::prelude::*;

use super::elementwise::{two_vectors, vectors};
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, BLOCK, Hand, LANES, mul_add, sum2},
    program::{Input::Named, Program, Sizes},
    random::Random,
};

pub(super) fn programs() -> [Program; 3] {
    [
        Program {
            name: "dot",
            text: include_str!("../../../../golden/programs/dotp.fbx"),
            inputs: &[Named("x"), Named("y")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 50_000, large: 20_000_000 },
            tiny: 10_000,
            same_steps: None,
            generate: two_vectors,
            hand: |data| {
                let (x, y) = (data.slice("x")?, data.slice("y")?);
                hand::scalars(move || [sum2(x, y, |sum, x, y| mul_add(x, y, sum))])
            },
            work: |data| vectors(data, 2.0, 2.0),
            // Terms of both signs cancel: what rounding leaves grows with the square root of their number.
            tolerance: Tolerance { relative: 1e-4, absolute: 0.05, outliers: 0.0 },
        },
        Program {
            name: "saxpy_sum",
            text: include_str!("../../../../golden/programs/saxpy_sum.fbx"),
            inputs: &[Named("a"), Named("x"), Named("y")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 50_000, large: 20_000_000 },
            tiny: 10_000,
            same_steps: None,
            generate: |n| two_vectors(n).with_param("a", 1.5),
            hand: |data| {
                let (a, x, y) = (data.param("a")? as f32, data.slice("x")?, data.slice("y")?);
                let step = move |sum: f32, x: f32, y: f32| {
                    let line = mul_add(a, x, y);
                    mul_add(line, line, sum)
                };
                hand::scalars(move || [sum2(x, y, step)])
            },
            work: |data| vectors(data, 2.0, 4.0),
            tolerance: Tolerance::relative(1e-5),
        },
        Program {
            name: "stats",
            text: include_str!("../../programs/stats.fbx"),
            inputs: &[Named("x")],
            results: &[0, 1, 2, 3],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 100_000, large: 50_000_000 },
            tiny: 10_000,
            same_steps: None,
            generate: |n| {
                let x = Random::new(5).floats(n, -2.0, 5.0);
                Data::new().with_param("n", n as f64).with_array("x", &[n], &x)
            },
            hand: stats,
            work: |data| vectors(data, 1.0, 6.0),
            tolerance: Tolerance::relative(1e-4),
        },
    ]
}

/// Accumulators of a piece.
struct Lanes {
    sums: [f32; LANES],
    squares: [f32; LANES],
    least: [f32; LANES],
    greatest: [f32; LANES],
}

impl Lanes {
    #[inline(always)]
    fn add(&mut self, lane: usize, x: f32, origin: f32) {
        let apart = x - origin;
        self.sums[lane] += apart;
        self.squares[lane] = mul_add(apart, apart, self.squares[lane]);
        self.least[lane] = if x < self.least[lane] { x } else { self.least[lane] };
        self.greatest[lane] = if x > self.greatest[lane] { x } else { self.greatest[lane] };
    }
}

/// What is known of some elements.
#[derive(Clone, Copy)]
struct Moments {
    count: f64,
    mean: f64,
    /// The sum of squares of differences from the mean.
    squares: f64,
    least: f32,
    greatest: f32,
}

impl Moments {
    const NONE: Self = Self { count: 0.0, mean: 0.0, squares: 0.0, least: f32::INFINITY, greatest: f32::NEG_INFINITY };

    /// Of a piece, in one pass: sums of differences from its first element and of their squares, so that the variance of numbers that are
    /// far from 0 keeps its digits.
    fn of(x: &[f32]) -> Self {
        let origin = x.first().copied().unwrap_or_default();
        let mut lanes = Lanes {
            sums: [0.0; LANES],
            squares: [0.0; LANES],
            least: [f32::INFINITY; LANES],
            greatest: [f32::NEG_INFINITY; LANES],
        };
        let (chunks, rest) = x.as_chunks::<LANES>();
        for chunk in chunks {
            for (lane, &x) in chunk.iter().enumerate() {
                lanes.add(lane, x, origin);
            }
        }
        for (lane, &x) in rest.iter().enumerate() {
            lanes.add(lane, x, origin);
        }
        let total = |lanes: [f32; LANES]| f64::from(lanes.iter().sum::<f32>());
        let (count, sum, squares) = (x.len() as f64, total(lanes.sums), total(lanes.squares));
        if x.is_empty() {
            return Self::NONE;
        }
        Self {
            count,
            mean: f64::from(origin) + sum / count,
            squares: squares - sum * sum / count,
            least: lanes.least.iter().copied().fold(f32::INFINITY, f32::min),
            greatest: lanes.greatest.iter().copied().fold(f32::NEG_INFINITY, f32::max),
        }
    }

    /// Of both. Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
    fn with(self, other: Self) -> Self {
        let count = self.count + other.count;
        if count == 0.0 {
            return self;
        }
        let apart = other.mean - self.mean;
        Self {
            count,
            mean: self.mean + apart * other.count / count,
            squares: self.squares + other.squares + apart * apart * self.count * other.count / count,
            least: self.least.min(other.least),
            greatest: self.greatest.max(other.greatest),
        }
    }
}

fn stats<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let x: &[f32] = data.slice("x")?;
    hand::scalars(move || {
        let blocks = x.par_chunks(BLOCK).map(|x| x.chunks(4096).map(Moments::of).fold(Moments::NONE, Moments::with));
        let all = blocks.reduce(|| Moments::NONE, Moments::with);
        [all.mean as f32, (all.squares / all.count) as f32, all.least, all.greatest]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_elements() {
        for length in [1usize, 63, 64, 65, 4096, 4099] {
            // Far from 0, and beside it.
            for origin in [0.0, 1000.0] {
                let x: Vec<f32> =
                    Random::new(length as u64).floats(length, -2.0, 5.0).iter().map(|x| x + origin).collect();
                let found = x.chunks(1024).map(Moments::of).fold(Moments::NONE, Moments::with);
                let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / length as f64;
                let squares = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>();
                assert!((found.mean - mean).abs() < 1e-5, "{length} {origin}: {} {mean}", found.mean);
                assert!(
                    (found.squares - squares).abs() <= 1e-4 * squares,
                    "{length} {origin}: {} {squares}",
                    found.squares
                );
                assert_eq!(
                    (found.count, found.least),
                    (length as f64, x.iter().copied().fold(f32::INFINITY, f32::min))
                );
                assert_eq!(found.greatest, x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            }
        }
        assert_eq!(Moments::of(&[]).count, 0.0);
    }
}
