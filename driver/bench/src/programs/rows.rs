//! Softmax of rows, alone and between two products of matrices: `softmax`, `attention`.

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::compute::{TILE, product};
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, Hand, LANES, block_sum},
    program::{Input::Named, Program, Sizes, Work},
    random::Random,
};

/// Columns of what `softmax` runs on.
const COLUMNS: usize = 512;
/// How long queries, keys and values are.
const WIDTH: usize = 64;

pub(super) fn programs() -> [Program; 2] {
    [
        softmax_of("softmax", include_str!("../../../../golden/programs/softmax_rows.fbx")),
        Program {
            name: "attention",
            text: include_str!("../../../../golden/programs/attention.fbx"),
            inputs: &[Named("q"), Named("k"), Named("v")],
            results: &[0],
            outside: false,
            needs_fusion: true,
            sizes: Sizes { small: 128, large: 2048 },
            tiny: 50,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(51);
                ["q", "k", "v"].into_iter().fold(Data::new().with_param("n", n as f64), |data, name| {
                    data.with_array(name, &[n, WIDTH], &random.floats(n * WIDTH, -1.0, 1.0))
                })
            },
            hand: attention,
            work: |data| {
                let n = data.param("n")?;
                let operations = (4.0 * WIDTH as f64 + 14.0) * n * n;
                Ok(Work { bytes: 16.0 * n * WIDTH as f64, operations })
            },
            tolerance: Tolerance { relative: 1e-4, absolute: 1e-5, outliers: 0.0 },
        },
    ]
}

/// A softmax of each row, however it is written.
pub(super) fn softmax_of(name: &'static str, text: &'static str) -> Program {
    Program {
        name,
        text,
        inputs: &[Named("x")],
        results: &[0],
        outside: false,
        needs_fusion: false,
        sizes: Sizes { small: 128, large: 40_000 },
        tiny: 20,
        same_steps: None,
        generate: |n| {
            let x = Random::new(50).floats(n * COLUMNS, -4.0, 4.0);
            Data::new().with_param("n", n as f64).with_array("x", &[n, COLUMNS], &x)
        },
        hand: softmax,
        work: |data| {
            let elements = data.array("x")?.len() as f64;
            // Difference, exponential (ten), sum, product; the greatest.
            Ok(Work { bytes: 8.0 * elements, operations: 14.0 * elements })
        },
        tolerance: Tolerance { relative: 1e-5, absolute: 1e-9, outliers: 0.0 },
    }
}

/// Rows and columns of a matrix.
fn extents(data: &Data, name: &str) -> Result<[usize; 2]> {
    match *data.array(name)?.extents() {
        [rows, columns] if columns > 0 => Ok([rows, columns]),
        ref other => anyhow::bail!("`{name}` has extents {other:?}, and should have two"),
    }
}

/// The greatest of some numbers that are not NaN.
fn greatest(x: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (top, &x) in lanes.iter_mut().zip(chunk) {
            *top = if x > *top { x } else { *top };
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |top, &x| top.max(x))
}

/// The exponentials of `x * scale` less the greatest of them, and their sum.
#[inline(always)]
fn exponentials(x: &[f32], out: &mut [f32], scale: f32) -> f32 {
    let top = scale * greatest(x);
    for (out, &x) in out.iter_mut().zip(x) {
        *out = hand::exp(scale * x - top);
    }
    block_sum(out, |sum, x| sum + x)
}

/// Row by row, which stays in the innermost cache between its three loops.
fn softmax<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    softmax_in(data, &extents(data, "x")?)
}

/// As [`softmax`], the rows one after the other in a vector.
pub(super) fn softmax_vector<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    softmax_in(data, &[data.array("x")?.len()])
}

fn softmax_in<'d>(data: &'d Data, of: &[usize]) -> Result<Box<dyn Hand + 'd>> {
    let ([_, m], x) = (extents(data, "x")?, data.slice::<f32>("x")?);
    hand::filling(of, move |out: &mut [f32]| {
        out.par_chunks_mut(m).zip(x.par_chunks(m)).with_min_len(8).for_each(|(out, x)| {
            let whole = exponentials(x, out, 1.0).recip();
            out.iter_mut().for_each(|out| *out *= whole);
        });
    })
}

/// For some rows of queries at a time: their scores, in tiles of registers; their exponentials; these times the values, in tiles again.
/// Keys, transposed, and values are packed in panels that are read in order.
fn attention<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (q, k, v) = (data.slice::<f32>("q")?, data.slice::<f32>("k")?, data.slice::<f32>("v")?);
    let ([n, d], [m, d2], [m2, e]) = (extents(data, "q")?, extents(data, "k")?, extents(data, "v")?);
    ensure!(d == d2 && m == m2 && m > 0, "queries, keys and values do not fit each other");
    let scale = (d as f32).sqrt().recip();
    let [rows, columns] = TILE;
    let (key_panels, value_panels) = (m.div_ceil(columns), e.div_ceil(columns));
    let mut keys = vec![[0f32; TILE[1]]; key_panels * d];
    let mut values = vec![[0f32; TILE[1]]; value_panels * m];
    hand::filling(&[n, e], move |out: &mut [f32]| {
        keys.par_chunks_mut(d).enumerate().for_each(|(panel, packed)| {
            for (lane, key) in k.chunks(d).skip(panel * columns).take(columns).enumerate() {
                packed.iter_mut().zip(key).for_each(|(packed, &key)| packed[lane] = key);
            }
        });
        values.par_chunks_mut(m.max(1)).enumerate().for_each(|(panel, packed)| {
            let width = columns.min(e - panel * columns);
            for (packed, value) in packed.iter_mut().zip(v.chunks(e)) {
                packed[..width].copy_from_slice(&value[panel * columns..][..width]);
            }
        });
        let (keys, values) = (&keys, &values);
        let spare = || (vec![0f32; rows * m], vec![0f32; m], vec![[0f32; TILE[0]]; m.max(d)]);
        let outputs = out.par_chunks_mut(rows * e).zip(q.par_chunks(rows * d));
        outputs.for_each_init(spare, |(scores, weights, left), (out, q)| {
            let count = q.len() / d;
            transposed(q, d, &mut left[..d]);
            for (panel, keys) in keys.chunks(d).enumerate() {
                let width = columns.min(m - panel * columns);
                for (row, sums) in product(&left[..d], keys).iter().enumerate() {
                    scores[row * m + panel * columns..][..width].copy_from_slice(&sums[..width]);
                }
            }
            let mut wholes = [0f32; TILE[0]];
            for row in 0..count {
                let scores = &mut scores[row * m..][..m];
                wholes[row] = exponentials(scores, weights, scale).recip();
                scores.copy_from_slice(weights);
            }
            transposed(&scores[..count * m], m, &mut left[..m]);
            for (panel, values) in values.chunks(m).enumerate() {
                let width = columns.min(e - panel * columns);
                for (row, sums) in product(&left[..m], values).iter().enumerate().take(count) {
                    let out = &mut out[row * e + panel * columns..][..width];
                    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum * wholes[row]);
                }
            }
        });
    })
}

/// Rows of `width` as columns; 0 where there are fewer rows than a tile has.
fn transposed(rows: &[f32], width: usize, out: &mut [[f32; TILE[0]]]) {
    for (at, out) in out.iter_mut().enumerate() {
        *out = std::array::from_fn(|row| rows.get(row * width + at).copied().unwrap_or(0.0));
    }
}
