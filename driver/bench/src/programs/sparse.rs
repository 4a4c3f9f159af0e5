//! Segments of any length: `segsum*`, `smvm_*`, `pagerank`.

use anyhow::Result;
use fusebox::ir::Scalar;
use rayon::prelude::*;

use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, Hand},
    program::{Input::Named, Program, Sizes, Work},
    random::Random,
    simd,
};

pub(super) fn programs() -> Vec<Program> {
    let sum = |name, generate| Program {
        name,
        text: include_str!("../../programs/segsum.fbx"),
        inputs: &[Named("x"), Named("offsets")],
        results: &[0],
        outside: true,
        needs_fusion: false,
        sizes: Sizes { small: 100_000, large: 20_000_000 },
        tiny: 20_000,
        same_steps: None,
        generate,
        hand: segment_sums,
        work: |data| {
            let segments = data.array("offsets")?.len() as f64;
            Ok(Work { bytes: 4.0 * (data.param("n")? + 2.0 * segments), operations: 0.0 })
        },
        tolerance: Tolerance { relative: 1e-4, absolute: 1e-4, outliers: 0.0 },
    };
    let product = |name, text, generate, hand| Program {
        name,
        text,
        inputs: &[Named("indptr"), Named("indices"), Named("data"), Named("x")],
        results: &[0],
        outside: true,
        needs_fusion: false,
        sizes: Sizes { small: 5_000, large: 500_000 },
        tiny: 2_000,
        same_steps: None,
        generate,
        hand,
        work: |data| {
            let element = data.array("data")?.element().bytes() as f64;
            let bytes = data.bytes() as f64 + element * data.param("rows")?;
            Ok(Work { bytes, operations: 2.0 * data.param("nnz")? })
        },
        tolerance: Tolerance { relative: 1e-4, absolute: 1e-4, outliers: 0.0 },
    };
    let (single, double) = (include_str!("../../programs/smvm_f32.fbx"), include_str!("../../programs/smvm_f64.fbx"));
    let pagerank = Program {
        name: "pagerank",
        text: include_str!("../../../../golden/programs/pagerank.fbx"),
        inputs: &[Named("indptr"), Named("src"), Named("outdeg"), Named("d"), Named("iters")],
        results: &[0],
        outside: true,
        needs_fusion: false,
        sizes: Sizes { small: 5_000, large: 1_000_000 },
        tiny: 1_000,
        same_steps: None,
        generate: graph,
        hand: pagerank,
        work: |data| {
            let bytes = 4.0 * (data.param("e")? + 4.0 * data.param("n")?) * data.param("iters")?;
            Ok(Work { bytes, operations: 0.0 })
        },
        tolerance: Tolerance::relative(1e-4),
    };
    vec![
        product("smvm_rand_f32", single, |rows| matrix(rows, scattered, |x| x as f32), product_of::<f32>),
        product("smvm_rand_f64", double, |rows| matrix(rows, scattered, |x| x), product_of::<f64>),
        product("smvm_band_f32", single, |rows| matrix(rows, banded, |x| x as f32), product_of::<f32>),
        product("smvm_band_f64", double, |rows| matrix(rows, banded, |x| x), product_of::<f64>),
        sum("segsum1", |n| segments(n, |random| random.poisson(1.0))),
        sum("segsum30", |n| segments(n, |random| random.exponential(30.5))),
        sum("segsum1000", |n| segments(n, |random| random.exponential(1000.5))),
        pagerank,
    ]
}

fn segments(n: usize, length: fn(&mut Random) -> usize) -> Data {
    let mut random = Random::new(10);
    let x = random.floats(n, -1.0, 1.0);
    let mut offsets = vec![0i32];
    let mut end = 0;
    while end < n {
        end = (end + length(&mut random)).min(n);
        offsets.push(end as i32);
    }
    let segments = (offsets.len() - 1) as f64;
    Data::new().with_param("n", n as f64).with_param("nseg", segments).with_array("x", &[n], &x).with_array(
        "offsets",
        &[offsets.len()],
        &offsets,
    )
}

/// Rows that one thread takes at a time.
const ROWS: usize = 1 << 12;

fn segment_sums<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (x, offsets) = (data.slice::<f32>("x")?, data.slice::<i32>("offsets")?);
    let segments = offsets.len() - 1;
    let rows = if x.len() > 100 * segments { 64 } else { ROWS };
    hand::filling(&[segments], move |out: &mut [f32]| {
        out.par_chunks_mut(rows).enumerate().for_each(|(chunk, out)| {
            let offsets = &offsets[chunk * rows..][..=out.len()];
            if x.len() > SHORT * segments {
                return simd::sums(x, offsets, out);
            }
            for (out, ends) in out.iter_mut().zip(offsets.array_windows::<2>()) {
                let (start, end) = (ends[0] as usize, ends[1] as usize);
                *out = match x.get(start..start + SHORT).and_then(<[f32]>::first_chunk) {
                    Some(window) if end - start <= SHORT => short_sum(window, end - start),
                    _ => x[start..end].iter().sum(),
                };
            }
        });
    })
}

/// Elements of a segment that is summed without a loop, whose end would be guessed wrong.
const SHORT: usize = 8;

/// For each length, the bits that keep so many elements. A table, since a comparison would become a branch.
const MASKS: [[u32; SHORT]; SHORT + 1] = {
    let mut masks = [[0; SHORT]; SHORT + 1];
    let mut count = 0;
    while count <= SHORT {
        let mut lane = 0;
        while lane < count {
            masks[count][lane] = u32::MAX;
            lane += 1;
        }
        count += 1;
    }
    masks
};

/// The sum of the first `count` elements of a window.
#[inline(always)]
fn short_sum(window: &[f32; SHORT], count: usize) -> f32 {
    let x: [f32; SHORT] = std::array::from_fn(|lane| f32::from_bits(window[lane].to_bits() & MASKS[count][lane]));
    let half: [f32; 4] = std::array::from_fn(|lane| x[lane] + x[lane + 4]);
    (half[0] + half[2]) + (half[1] + half[3])
}

/// The columns of a row: about ten, anywhere.
fn scattered(random: &mut Random, _row: usize, rows: usize) -> Vec<i32> {
    let mut columns = Vec::new();
    for _ in 0..random.poisson(10.0) {
        columns.push(random.below(rows as u64) as i32);
    }
    columns.sort_unstable();
    columns
}

/// The columns of a row: eleven around the diagonal, fewer at the corners.
fn banded(_random: &mut Random, row: usize, rows: usize) -> Vec<i32> {
    (row.saturating_sub(5)..(row + 6).min(rows)).map(|column| column as i32).collect()
}

fn matrix<T: Scalar>(rows: usize, columns: fn(&mut Random, usize, usize) -> Vec<i32>, number: fn(f64) -> T) -> Data {
    let mut random = Random::new(11);
    let mut indptr = vec![0i32];
    let mut indices = Vec::new();
    for row in 0..rows {
        indices.extend(columns(&mut random, row, rows));
        indptr.push(indices.len() as i32);
    }
    let mut numbers = |count: usize| -> Vec<T> { (0..count).map(|_| number(random.unit())).collect() };
    let (data, x) = (numbers(indices.len()), numbers(rows));
    Data::new()
        .with_param("rows", rows as f64)
        .with_param("nnz", indices.len() as f64)
        .with_array("indptr", &[rows + 1], &indptr)
        .with_array("indices", &[indices.len()], &indices)
        .with_array("data", &[indices.len()], &data)
        .with_array("x", &[rows], &x)
}

/// What matrices hold.
trait Number: Scalar + Default + Send + Sync + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {}
impl Number for f32 {}
impl Number for f64 {}

/// A row at a time; many rows are on their way at once in the processor, whatever their gathers wait for.
fn product_of<'d, T: Number>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (indptr, indices) = (data.slice::<i32>("indptr")?, data.slice::<i32>("indices")?);
    let (values, x) = (data.slice::<T>("data")?, data.slice::<T>("x")?);
    hand::filling(&[indptr.len() - 1], move |out: &mut [T]| {
        out.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, out)| {
            let ends = &indptr[chunk * ROWS..][..=out.len()];
            for (out, ends) in out.iter_mut().zip(ends.array_windows::<2>()) {
                let row = ends[0] as usize..ends[1] as usize;
                let (columns, rest) = indices[row.clone()].as_chunks::<4>();
                let (values, values_rest) = values[row].as_chunks::<4>();
                let mut sums = [T::default(); 4];
                for (columns, values) in columns.iter().zip(values) {
                    for lane in 0..4 {
                        sums[lane] = sums[lane] + values[lane] * x[columns[lane] as usize];
                    }
                }
                for ((sum, &column), &value) in sums.iter_mut().zip(rest).zip(values_rest) {
                    *sum = *sum + value * x[column as usize];
                }
                *out = (sums[0] + sums[1]) + (sums[2] + sums[3]);
            }
        });
    })
}

/// A graph of `n` pages, each with some links into it from pages anywhere; every page has a link out of it.
fn graph(n: usize) -> Data {
    let mut random = Random::new(12);
    let mut indptr = vec![0i32];
    let mut sources = Vec::new();
    let mut targets = Vec::new();
    let mut degrees = vec![0i32; n];
    for page in 0..n {
        for link in 0..=random.poisson(15.0) {
            // The first link is from the page before, so that no page has none.
            let source = if link == 0 { (page + n - 1) % n } else { random.below(n as u64) as usize };
            degrees[source] += 1;
            sources.push(source as i32);
            targets.push(page as i32);
        }
        indptr.push(sources.len() as i32);
    }
    Data::new()
        .with_param("n", n as f64)
        .with_param("e", sources.len() as f64)
        .with_param("iters", 10.0)
        .with_param("d", 0.85)
        .with_array("indptr", &[n + 1], &indptr)
        .with_array("src", &[sources.len()], &sources)
        .with_array("dst", &[sources.len()], &targets)
        .with_array("outdeg", &[n], &degrees)
}

fn pagerank<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (indptr, sources) = (data.slice::<i32>("indptr")?, data.slice::<i32>("src")?);
    let degrees = data.slice::<i32>("outdeg")?;
    let (damping, iterations) = (data.param("d")? as f32, data.size("iters")?);
    let n = degrees.len();
    let mut shares = vec![0f32; n];
    hand::filling(&[n], move |ranks: &mut [f32]| {
        ranks.fill(1.0 / n as f32);
        for _ in 0..iterations {
            let chunks = shares.par_chunks_mut(ROWS).zip(ranks.par_chunks(ROWS)).zip(degrees.par_chunks(ROWS));
            chunks.for_each(|((shares, ranks), degrees)| {
                for ((share, rank), &degree) in shares.iter_mut().zip(ranks).zip(degrees) {
                    *share = rank / degree as f32;
                }
            });
            let shares = &shares;
            ranks.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, ranks)| {
                let ends = &indptr[chunk * ROWS..][..=ranks.len()];
                for (rank, ends) in ranks.iter_mut().zip(ends.array_windows::<2>()) {
                    let (links, rest) = sources[ends[0] as usize..ends[1] as usize].as_chunks::<4>();
                    let mut sums = [0f32; 4];
                    for links in links {
                        for (sum, &link) in sums.iter_mut().zip(links) {
                            *sum += shares[link as usize];
                        }
                    }
                    for (sum, &link) in sums.iter_mut().zip(rest) {
                        *sum += shares[link as usize];
                    }
                    *rank = (1.0 - damping) / n as f32 + damping * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
                }
            });
        }
    })
}
