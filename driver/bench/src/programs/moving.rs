//! Moving: a transposition, which computes nothing.

use anyhow::Result;
use rayon::prelude::*;

use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, Hand},
    program::{Input::Named, Program, Sizes, Work},
    random::Random,
};

pub(super) fn programs() -> [Program; 1] {
    [Program {
        name: "transpose",
        text: include_str!("../../../../golden/programs/transpose.fbx"),
        inputs: &[Named("a")],
        results: &[0],
        outside: false,
        needs_fusion: false,
        sizes: Sizes { small: 200, large: 6_000 },
        tiny: 70,
        same_steps: None,
        generate: |n| {
            let m = n + n / 3;
            let a = Random::new(90).floats(n * m, -1.0, 1.0);
            Data::new().with_array("a", &[n, m], &a)
        },
        hand: transpose,
        work: |data| {
            Ok(Work { bytes: 8.0 * data.array("a")?.extents().iter().product::<usize>() as f64, operations: 0.0 })
        },
        tolerance: Tolerance::EXACT,
    }]
}

/// Rows and columns of a tile: of 8 to 256 of both those that took least for the large size.
const TILE: [usize; 2] = [64, 256];

fn transpose<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let a: &[f32] = data.slice("a")?;
    let &[n, m] = data.array("a")?.extents() else { anyhow::bail!("`a` has two extents") };
    hand::filling(&[m, n], move |out: &mut [f32]| {
        // A band of rows of the result, in tiles.
        let band = |(number, band): (usize, &mut [f32])| {
            let first = number * TILE[0];
            for column in (0..n).step_by(TILE[1]) {
                let columns = TILE[1].min(n - column);
                for (row, out) in band.chunks_exact_mut(n).enumerate() {
                    for (at, out) in out[column..][..columns].iter_mut().enumerate() {
                        *out = a[(column + at) * m + first + row];
                    }
                }
            }
        };
        if n * m < hand::BLOCK {
            out.chunks_mut(TILE[0] * n).enumerate().for_each(band);
        } else {
            out.par_chunks_mut(TILE[0] * n).enumerate().for_each(band);
        }
    })
}
