//! Rows of different lengths: triangles of a graph, rows that are sorted by exchanging neighbours, texts that are searched, sorted rows that are
//! merged. Every one is written as a nest, and by hand as a loop over rows on all threads.

use anyhow::{Result, ensure};
use rayon::prelude::*;

use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, Hand},
    program::{
        Input::{Named, Nested},
        Program, Sizes, Work,
    },
    random::Random,
    simd,
};

/// The pattern that texts are searched for; they are of its four letters.
const PATTERN: &[u8] = b"gattac";
const LETTERS: &[u8] = b"acgt";

pub(super) fn programs() -> [Program; 4] {
    [
        Program {
            name: "nested_triangle_count",
            text: include_str!("../../../../golden/programs/nested_triangle_count.fbx"),
            inputs: &[Nested("later")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 1_000, large: 100_000 },
            tiny: 60,
            same_steps: None,
            generate: graph,
            hand: triangles,
            work: |data| {
                let edges = data.array("later.values")?.len() as f64;
                let mean = edges / data.param("n")?.max(1.0);
                Ok(Work { bytes: 8.0 * edges + 8.0 * data.param("n")?, operations: edges * mean })
            },
            tolerance: Tolerance::EXACT,
        },
        Program {
            name: "nested_bubble_sort",
            text: include_str!("../../../../golden/programs/nested_bubble_sort.fbx"),
            inputs: &[Nested("rows")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 200, large: 20_000 },
            tiny: 20,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(81);
                let lengths = lengths(&mut random, n, 30.0);
                let numbers: Vec<i64> = (0..total(&lengths)).map(|_| random.below(1 << 40) as i64).collect();
                rows(Data::new(), "rows", &lengths, &numbers)
            },
            hand: bubbles,
            work: |data| {
                // As many turns as a row has elements.
                let squares = data.slice::<i64>("rows.extents")?.iter().map(|&k| (k * k) as f64).sum::<f64>();
                Ok(Work { bytes: 16.0 * data.array("rows.values")?.len() as f64, operations: squares })
            },
            tolerance: Tolerance::EXACT,
        },
        Program {
            name: "nested_find",
            text: include_str!("../../../../golden/programs/nested_find.fbx"),
            inputs: &[Nested("texts"), Named("pattern")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 100, large: 20_000 },
            tiny: 20,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(82);
                let lengths = lengths(&mut random, n, 1000.0);
                let letters: Vec<u8> = (0..total(&lengths)).map(|_| LETTERS[random.below(4) as usize]).collect();
                rows(Data::new(), "texts", &lengths, &letters).with_array("pattern", &[PATTERN.len()], PATTERN)
            },
            hand: places,
            work: |data| {
                let letters = data.array("texts.values")?.len() as f64;
                Ok(Work { bytes: letters + 16.0 * data.param("n")?, operations: letters })
            },
            tolerance: Tolerance::EXACT,
        },
        Program {
            name: "nested_merge",
            text: include_str!("../../../../golden/programs/nested_merge.fbx"),
            inputs: &[Nested("a"), Nested("b")],
            results: &[0],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 100, large: 20_000 },
            tiny: 20,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(83);
                ["a", "b"].into_iter().fold(Data::new(), |data, name| {
                    let lengths = lengths(&mut random, n, 200.0);
                    let mut numbers = random.integers(total(&lengths), 1 << 30);
                    split(&mut numbers, &lengths).into_iter().for_each(<[i32]>::sort_unstable);
                    rows(data, name, &lengths, &numbers)
                })
            },
            hand: merges,
            work: |data| {
                let elements = (data.array("a.values")?.len() + data.array("b.values")?.len()) as f64;
                Ok(Work { bytes: 8.0 * elements, operations: elements })
            },
            tolerance: Tolerance::EXACT,
        },
    ]
}

/// Lengths of `n` rows, some of them empty.
fn lengths(random: &mut Random, n: usize, mean: f64) -> Vec<i64> {
    (0..n).map(|_| random.exponential(mean) as i64).collect()
}

fn total(lengths: &[i64]) -> usize {
    lengths.iter().sum::<i64>() as usize
}

/// An array of arrays beside other inputs.
pub(super) fn rows<T: fusebox::ir::Scalar>(data: Data, name: &str, lengths: &[i64], values: &[T]) -> Data {
    data.with_param("n", lengths.len() as f64)
        .with_array(&format!("{name}.extents"), &[lengths.len()], lengths)
        .with_array(&format!("{name}.values"), &[values.len()], values)
}

/// The rows that values are cut into.
fn split<'v, T>(mut values: &'v mut [T], lengths: &[i64]) -> Vec<&'v mut [T]> {
    let row = |&length: &i64| values.split_off_mut(..length as usize).unwrap_or_default();
    lengths.iter().map(row).collect()
}

/// The rows of an input.
pub(super) fn rows_of<'d, T: fusebox::ir::Scalar>(data: &'d Data, name: &str) -> Result<Vec<&'d [T]>> {
    let lengths = data.slice::<i64>(&format!("{name}.extents"))?;
    let mut rest = data.slice::<T>(&format!("{name}.values"))?;
    ensure!(total(lengths) == rest.len(), "`{name}` has not as many values as its lengths say");
    Ok(lengths.iter().map(|&length| rest.split_off(..length as usize).unwrap_or_default()).collect())
}

/// A graph in which most neighbours of a vertex are near it, so that there are triangles.
fn graph(n: usize) -> Data {
    let mut random = Random::new(80);
    let (mut lengths, mut values) = (Vec::new(), Vec::new());
    for vertex in 0..n {
        let mut later: Vec<i64> = (0..random.exponential(16.0))
            .map(|_| (vertex + 1 + random.exponential(40.0)) as i64)
            .filter(|&other| other < n as i64)
            .collect();
        later.sort_unstable();
        later.dedup();
        lengths.push(later.len() as i64);
        values.extend(later);
    }
    rows(Data::new(), "later", &lengths, &values)
}

fn triangles<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let later = rows_of::<i64>(data, "later")?;
    hand::filling(&[later.len()], move |out: &mut [i64]| {
        out.par_iter_mut().zip(&later).with_min_len(64).for_each(|(out, own)| {
            *out = own.iter().map(|&other| common(own, later[other as usize])).sum();
        });
    })
}

/// How many elements two ascending lists have in common.
fn common(a: &[i64], b: &[i64]) -> i64 {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        count += i64::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    count
}

fn bubbles<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (lengths, values) = (data.slice::<i64>("rows.extents")?, data.slice::<i64>("rows.values")?);
    hand::filling(&[values.len()], move |out: &mut [i64]| {
        out.copy_from_slice(values);
        split(out, lengths).into_par_iter().with_min_len(16).for_each(|row| {
            let (mut turn, mut still) = (0, 0);
            while still < 2 {
                let mut changed = false;
                for pair in row.get_mut(turn % 2..).unwrap_or_default().chunks_exact_mut(2) {
                    let (a, b) = (pair[0], pair[1]);
                    changed |= a > b;
                    (pair[0], pair[1]) = (a.min(b), a.max(b));
                }
                still = if changed { 0 } else { still + 1 };
                turn += 1;
            }
        });
    })
}

/// Texts that one thread takes at a time.
const TEXTS: usize = 16;

fn places<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (texts, pattern) = (rows_of::<u8>(data, "texts")?, data.slice::<u8>("pattern")?);
    ensure!(!pattern.is_empty(), "there is nothing to search for");
    let letters = data.array("texts.values")?.len();
    hand::appending(letters, move |out: &mut [i64]| {
        let found: Vec<Vec<i64>> = texts
            .par_chunks(TEXTS)
            .map(|texts| {
                let mut found = Vec::new();
                for text in texts {
                    simd::places(text, pattern, |place| found.push(place as i64));
                }
                found
            })
            .collect();
        let mut count = 0;
        for places in found {
            out[count..][..places.len()].copy_from_slice(&places);
            count += places.len();
        }
        count
    })
}

fn merges<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (a, b) = (rows_of::<i32>(data, "a")?, rows_of::<i32>(data, "b")?);
    ensure!(a.len() == b.len(), "there are not as many rows of one kind as of the other");
    let lengths: Vec<i64> = a.iter().zip(&b).map(|(a, b)| (a.len() + b.len()) as i64).collect();
    hand::filling(&[total(&lengths)], move |out: &mut [i32]| {
        split(out, &lengths).into_par_iter().zip(a.par_iter().zip(&b)).with_min_len(8).for_each(|(out, (a, b))| {
            let (mut i, mut j) = (0, 0);
            for out in out {
                let first = j >= b.len() || i < a.len() && a[i] <= b[j];
                *out = if first { a[i] } else { b[j] };
                i += usize::from(first);
                j += usize::from(!first);
            }
        });
    })
}
