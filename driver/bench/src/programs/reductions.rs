//! Vectors to scalars: `dot`, `saxpy_sum`, `stats`.

use anyhow::Result;
use rayon::prelude::*;

use super::elementwise::{two_vectors, vectors};
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, BLOCK, Hand, LANES, block_sum, mul_add, sum2},
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

    /// Of a piece that stays in the first cache: a pass for the mean, one for the squares.
    fn of(x: &[f32]) -> Self {
        let mut least = [f32::INFINITY; LANES];
        let mut greatest = [f32::NEG_INFINITY; LANES];
        let (chunks, rest) = x.as_chunks::<LANES>();
        for chunk in chunks {
            for ((least, greatest), &x) in least.iter_mut().zip(&mut greatest).zip(chunk) {
                *least = if x < *least { x } else { *least };
                *greatest = if x > *greatest { x } else { *greatest };
            }
        }
        let least = rest.iter().chain(&least).copied().fold(f32::INFINITY, f32::min);
        let greatest = rest.iter().chain(&greatest).copied().fold(f32::NEG_INFINITY, f32::max);
        let count = x.len() as f32;
        let mean = block_sum(x, |sum, x| sum + x) / count;
        let squares = block_sum(x, |sum, x| mul_add(x - mean, x - mean, sum));
        Self { count: count.into(), mean: mean.into(), squares: squares.into(), least, greatest }
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
