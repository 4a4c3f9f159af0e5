//! Nested parallelism: rows that are sorted, transformed, multiplied, normalised, each by itself; every one is written as a nest, and by hand
//! as a loop over rows on all threads.

use std::f64::consts::TAU;

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::rows;
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

/// Columns of what is sorted.
const COLUMNS: usize = 1000;
/// Rows and columns of what is transformed.
const SIDE: usize = 32;
/// Columns of the sparse matrix for each of its rows, in the mean.
const MEAN: usize = 30;
/// One, as the fixed point of `nested_mandelbrot` has it.
const ONE: i64 = 1 << 20;

const EXACT: Tolerance = Tolerance { relative: 0.0, absolute: 0.0, outliers: 0.0 };

pub(super) fn programs() -> [Program; 6] {
    let transform = |name, text| Program {
        name,
        text,
        inputs: &[Named("re"), Named("im")],
        results: &[0, 1],
        outside: false,
        needs_fusion: false,
        sizes: Sizes { small: 32, large: 20_000 },
        tiny: 3,
        same_steps: None,
        generate: |n| {
            let mut random = Random::new(71);
            ["re", "im"].into_iter().fold(Data::new().with_param("n", n as f64), |data, name| {
                let numbers: Vec<f64> = (0..n * SIDE * SIDE).map(|_| 2.0 * random.unit() - 1.0).collect();
                data.with_array(name, &[n, SIDE, SIDE], &numbers)
            })
        },
        hand: transforms,
        work: |data| {
            let elements = data.param("n")? * (SIDE * SIDE) as f64;
            Ok(Work { bytes: 32.0 * elements, operations: 50.0 * elements })
        },
        tolerance: Tolerance { relative: 1e-9, absolute: 1e-9, outliers: 0.0 },
    };
    [
        Program {
            name: "nested_quicksort",
            text: include_str!("../../../../golden/programs/nested_quicksort.fbx"),
            inputs: &[Named("xss")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 20, large: 1000 },
            tiny: 3,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(70);
                let numbers: Vec<i64> = (0..n * COLUMNS).map(|_| random.below(1 << 40) as i64).collect();
                Data::new().with_param("n", n as f64).with_array("xss", &[n, COLUMNS], &numbers)
            },
            hand: sorts,
            work: |data| {
                let elements = data.param("n")? * COLUMNS as f64;
                Ok(Work { bytes: 16.0 * elements, operations: elements * (COLUMNS as f64).log2() })
            },
            tolerance: EXACT,
        },
        transform("nested_fft", include_str!("../../../../golden/programs/nested_fft.fbx")),
        transform("nested_fft_rows", include_str!("../../../../golden/programs/nested_fft_rows.fbx")),
        Program {
            name: "nested_smvm",
            text: include_str!("../../../../golden/programs/nested_smvm.fbx"),
            inputs: &[Nested("columns"), Nested("values"), Named("x")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 5_000, large: 500_000 },
            tiny: 500,
            same_steps: None,
            generate: sparse,
            hand: products,
            work: |data| {
                let count = data.array("values.values")?.len() as f64;
                Ok(Work { bytes: 12.0 * count + 16.0 * data.param("n")?, operations: 2.0 * count })
            },
            tolerance: Tolerance { relative: 1e-4, absolute: 1e-4, outliers: 0.0 },
        },
        Program {
            hand: rows::softmax_vector,
            ..rows::softmax_of("nested_softmax", include_str!("../../../../golden/programs/nested_softmax.fbx"))
        },
        Program {
            name: "nested_mandelbrot",
            text: include_str!("../../../../golden/programs/nested_mandelbrot.fbx"),
            inputs: &[Named("x"), Named("y"), Named("most")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 64, large: 1024 },
            tiny: 20,
            same_steps: None,
            generate: |n| {
                let points = |low: i64, high: i64| -> Vec<i64> {
                    (0..n as i64).map(|at| low + (high - low) * at / n as i64).collect()
                };
                let data = Data::new().with_param("n", n as f64).with_param("most", 100.0);
                data.with_array("x", &[n], &points(-2 * ONE, ONE / 2)).with_array("y", &[n], &points(-ONE, ONE))
            },
            hand: escapes,
            work: |data| {
                // Of a point that escapes late.
                let n = data.param("n")?;
                Ok(Work { bytes: 8.0 * n * n, operations: 250.0 * n * n })
            },
            tolerance: EXACT,
        },
    ]
}

fn sorts<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let xss = data.slice::<i64>("xss")?;
    hand::filling(&[xss.len()], move |out: &mut [i64]| {
        out.par_chunks_mut(COLUMNS).zip(xss.par_chunks(COLUMNS)).for_each(|(out, row)| {
            out.copy_from_slice(row);
            out.sort_unstable();
        });
    })
}

/// Factors of a transform of one row, the same for each doubling at its stride.
type Factors = [[f64; 2]; SIDE / 2];

/// Each image in the innermost cache: rows, then columns, all columns of a row at a time.
fn transforms<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (re, im) = (data.slice::<f64>("re")?, data.slice::<f64>("im")?);
    ensure!(re.len() == im.len(), "real and imaginary parts do not fit each other");
    let factors: Factors = std::array::from_fn(|k| {
        let (sin, cos) = (-TAU * k as f64 / SIDE as f64).sin_cos();
        [cos, sin]
    });
    const IMAGE: usize = SIDE * SIDE;
    hand::filling_all(&[re.len()], move |[out_re, out_im]: [&mut [f64]; 2]| {
        let outputs = out_re.par_chunks_mut(IMAGE).zip(out_im.par_chunks_mut(IMAGE));
        outputs.zip(re.par_chunks(IMAGE).zip(im.par_chunks(IMAGE))).for_each(|((out_re, out_im), (re, im))| {
            // Transposed, so that what is transformed lies across rows; twice, so that it ends as it began.
            let [mut spare_re, mut spare_im] = [[0f64; IMAGE]; 2];
            reversed_and_turned(re, &mut spare_re);
            reversed_and_turned(im, &mut spare_im);
            down(&mut spare_re, &mut spare_im, &factors);
            reversed_and_turned(&spare_re, out_re);
            reversed_and_turned(&spare_im, out_im);
            down(out_re, out_im, &factors);
        });
    })
}

/// The columns as rows, at their numbers with bits reversed.
fn reversed_and_turned(from: &[f64], to: &mut [f64]) {
    for (column, to) in to.chunks_exact_mut(SIDE).enumerate() {
        let column = column.reverse_bits() >> (usize::BITS - SIDE.trailing_zeros());
        for (row, to) in to.iter_mut().enumerate() {
            *to = from[row * SIDE + column];
        }
    }
}

/// Butterflies down every column, in place.
fn down(re: &mut [f64], im: &mut [f64], factors: &Factors) {
    let mut half = 1;
    while half < SIDE {
        for block in (0..SIDE).step_by(2 * half) {
            for k in 0..half {
                let [cos, sin] = factors[k * (SIDE / 2 / half)];
                let (even, odd) = ((block + k) * SIDE, (block + k + half) * SIDE);
                let (upper_re, lower_re) = re.split_at_mut(odd);
                let (upper_im, lower_im) = im.split_at_mut(odd);
                let evens = upper_re[even..][..SIDE].iter_mut().zip(&mut upper_im[even..][..SIDE]);
                let odds = lower_re[..SIDE].iter_mut().zip(&mut lower_im[..SIDE]);
                for ((a, b), (c, d)) in evens.zip(odds) {
                    let (p, q) = (*c * cos - *d * sin, *c * sin + *d * cos);
                    (*c, *d) = (*a - p, *b - q);
                    (*a, *b) = (*a + p, *b + q);
                }
            }
        }
        half *= 2;
    }
}

/// Rows of very different lengths, some empty.
fn sparse(n: usize) -> Data {
    let mut random = Random::new(72);
    let lengths: Vec<i64> = (0..n).map(|_| random.exponential(MEAN as f64) as i64).collect();
    let count = lengths.iter().sum::<i64>() as usize;
    let columns: Vec<i64> = (0..count).map(|_| random.below(n as u64) as i64).collect();
    Data::new()
        .with_param("n", n as f64)
        .with_array("columns.extents", &[n], &lengths)
        .with_array("columns.values", &[count], &columns)
        .with_array("values.extents", &[n], &lengths)
        .with_array("values.values", &[count], &random.floats(count, -1.0, 1.0))
        .with_array("x", &[n], &random.floats(n, -1.0, 1.0))
}

fn products<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (lengths, columns) = (data.slice::<i64>("columns.extents")?, data.slice::<i64>("columns.values")?);
    let (values, x) = (data.slice::<f32>("values.values")?, data.slice::<f32>("x")?);
    let mut begins = vec![0usize];
    begins.extend(lengths.iter().scan(0, |sum, &length| {
        *sum += length as usize;
        Some(*sum)
    }));
    ensure!(begins.last() == Some(&values.len()), "the rows have not as many values as their lengths say");
    hand::filling(&[lengths.len()], move |out: &mut [f32]| {
        out.par_iter_mut().zip(begins.par_windows(2)).with_min_len(256).for_each(|(out, ends)| {
            let row = ends[0]..ends[1];
            *out = values[row.clone()].iter().zip(&columns[row]).map(|(v, &c)| v * x[c as usize]).sum();
        });
    })
}

/// Points that are on their way at once.
const LANES: usize = 32;

fn escapes<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (x, y, most) = (data.slice::<i64>("x")?, data.slice::<i64>("y")?, data.param("most")? as i64);
    ensure!(x.iter().chain(y).all(|c| c.unsigned_abs() < 1 << 30), "a point is too far away for products of 32 bits");
    hand::filling(&[y.len(), x.len()], move |out: &mut [i64]| {
        out.par_chunks_mut(x.len()).zip(y).for_each(|(out, &cy)| {
            for (out, x) in out.chunks_mut(LANES).zip(x.chunks(LANES)) {
                let mut cx = [0; LANES];
                cx[..x.len()].copy_from_slice(x);
                out.copy_from_slice(&turns(&cx, cy, most)[..x.len()]);
            }
        });
    })
}

/// Turns until each point escapes. Those that have go on, uncounted, until all have. What has not fits in 32 bits, so that a product is one
/// instruction.
#[inline(always)]
fn turns(cx: &[i64; LANES], cy: i64, most: i64) -> [i64; LANES] {
    let product = |a: i64, b: i64| i64::from(a as i32) * i64::from(b as i32);
    let (mut a, mut b) = ([0i64; LANES], [0i64; LANES]);
    let (mut inside, mut counts) = ([1i64; LANES], [0i64; LANES]);
    let mut left = most;
    while left > 0 {
        let steps = left.min(4);
        for _ in 0..steps {
            for lane in 0..LANES {
                let (aa, bb, ab) = (product(a[lane], a[lane]), product(b[lane], b[lane]), product(a[lane], b[lane]));
                inside[lane] &= i64::from(aa.wrapping_add(bb) <= 4 * ONE * ONE);
                counts[lane] += inside[lane];
                a[lane] = ((aa - bb) >> 20) + cx[lane];
                b[lane] = (ab >> 19) + cy;
            }
        }
        if inside.iter().fold(0, |any, inside| any | inside) == 0 {
            break;
        }
        left -= steps;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_those_of_one_point_at_a_time() {
        let mut random = Random::new(1);
        for most in [0, 1, 5, 100] {
            let cx: [i64; LANES] = std::array::from_fn(|_| random.below(5 << 20) as i64 - (5 << 19));
            let cy = random.below(3 << 20) as i64 - (3 << 19);
            let expected = cx.map(|cx| {
                let (mut a, mut b, mut turn) = (0i64, 0i64, 0);
                while turn < most && a * a + b * b <= 4 * ONE * ONE {
                    (a, b) = (((a * a - b * b) >> 20) + cx, ((2 * a * b) >> 20) + cy);
                    turn += 1;
                }
                turn
            });
            assert_eq!(turns(&cx, cy, most), expected);
        }
    }
}
