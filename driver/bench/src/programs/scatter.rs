//! Where elements go is computed: `hist256`, `hist1m`, `filter`, `expand`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use rayon::prelude::*;

use super::elementwise::vectors;
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, BLOCK, Hand},
    program::{Input::Named, Program, Sizes, Work},
    random::Random,
    simd,
};

pub(super) fn programs() -> Vec<Program> {
    let histogram = |name, sizes, tiny, generate| Program {
        name,
        text: include_str!("../../../../golden/programs/histogram.fbx"),
        inputs: &[Named("keys"), Named("bins")],
        results: &[0],
        outside: true,
        needs_fusion: false,
        sizes,
        tiny,
        same_steps: None,
        generate,
        hand: histogram,
        work: |data| Ok(Work { bytes: 4.0 * (data.param("n")? + data.param("bins")?), operations: 0.0 }),
        tolerance: Tolerance::EXACT,
    };
    let counts = Sizes { small: 100_000, large: 20_000_000 };
    vec![
        histogram("hist256", counts, 20_000, |n| {
            // The sum of eight bytes, divided by eight, is bell-shaped.
            let mut random = Random::new(20);
            let key = |bits: u64| bits.to_le_bytes().iter().map(|&byte| i32::from(byte)).sum::<i32>() / 8;
            let keys: Vec<i32> = (0..n).map(|_| key(random.bits())).collect();
            Data::new().with_param("n", n as f64).with_param("bins", 256.0).with_array("keys", &[n], &keys)
        }),
        histogram("hist1m", counts, 20_000, |n| {
            let bins = 1_000_000.min(n as u64);
            let keys = Random::new(21).integers(n, bins);
            Data::new().with_param("n", n as f64).with_param("bins", bins as f64).with_array("keys", &[n], &keys)
        }),
        Program {
            name: "filter",
            text: include_str!("../../../../golden/programs/filter.fbx"),
            inputs: &[Named("x")],
            results: &[1],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 100_000, large: 20_000_000 },
            tiny: 100_000,
            same_steps: None,
            generate: |n| {
                let x = Random::new(22).floats(n, 0.0, 1.0);
                let kept = x.iter().filter(|&&x| x > 0.5).count();
                Data::new().with_param("n", n as f64).with_param("kept", kept as f64).with_array("x", &[n], &x)
            },
            hand: |data| {
                let x: &[f32] = data.slice("x")?;
                hand::appending(x.len(), move |out: &mut [f32]| filter(x, out))
            },
            work: |data| vectors(data, 1.0 + data.param("kept")? / data.param("n")?, 0.0),
            tolerance: Tolerance::EXACT,
        },
        Program {
            name: "expand",
            text: include_str!("../../../../golden/programs/expand.fbx"),
            inputs: &[Named("sizes"), Named("start"), Named("step"), Named("weight"), Named("m")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 10_000, large: 2_000_000 },
            tiny: 2_000,
            same_steps: None,
            generate: segments,
            hand: expand,
            work: |data| {
                let bytes = 4.0 * (4.0 * data.param("nseg")? + data.param("m")?);
                Ok(Work { bytes, operations: 0.0 })
            },
            tolerance: Tolerance::EXACT,
        },
    ]
}

/// Adds up what each thread counted by itself.
fn combined(parts: &[Vec<i32>], out: &mut [i32]) {
    const BINS: usize = 1 << 13;
    out.par_chunks_mut(BINS).enumerate().for_each(|(chunk, out)| {
        out.fill(0);
        for part in parts {
            for (out, count) in out.iter_mut().zip(&part[chunk * BINS..]) {
                *out += count;
            }
        }
    });
}

/// A pass over the keys, counts by thread. Where there are few bins four sets of them take turns, so that equal neighbours do not
/// wait for each other.
fn histogram<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (keys, bins) = (data.slice::<i32>("keys")?, data.size("bins")?);
    let sets = if bins <= 4096 { 4 } else { 1 };
    let mut parts = vec![vec![0i32; bins * sets]; rayon::current_num_threads()];
    hand::filling(&[bins], move |out: &mut [i32]| {
        let share = keys.len().div_ceil(parts.len()).max(BLOCK / 4);
        parts.par_iter_mut().zip(keys.par_chunks(share)).with_max_len(1).for_each(|(part, keys)| {
            part.fill(0);
            if sets == 1 {
                for &key in keys {
                    part[key as usize] += 1;
                }
                return;
            }
            let (fours, rest) = keys.as_chunks::<4>();
            for four in fours {
                for (set, &key) in four.iter().enumerate() {
                    part[set * bins + key as usize] += 1;
                }
            }
            for &key in rest {
                part[key as usize] += 1;
            }
            let (first, others) = part.split_at_mut(bins);
            for set in others.chunks(bins) {
                for (sum, count) in first.iter_mut().zip(set) {
                    *sum += count;
                }
            }
        });
        let used = keys.len().div_ceil(share);
        combined(&parts[..used], out);
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One pass: a tile's elements are collected in cache; when it is its turn it takes its part of the output, then copies.
/// Tiles are taken in order, so somebody works on what is waited for.
fn filter(x: &[f32], out: &mut [f32]) -> usize {
    const TILE: usize = 1 << 14;
    struct Turn<'o> {
        tile: usize,
        rest: &'o mut [f32],
        count: usize,
    }
    let turn = Mutex::new(Turn { tile: 0, rest: out, count: 0 });
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = |_: usize| {
        let mut kept = vec![0f32; TILE + simd::GROUP];
        loop {
            let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(x) = x.chunks(TILE).nth(number) else { break };
            let count = simd::keep_above(x, 0.5, &mut kept);
            let mut patience = hand::Patience::default();
            let part = loop {
                let mut turn = lock(&turn);
                if turn.tile == number {
                    let (part, rest) = std::mem::take(&mut turn.rest).split_at_mut(count);
                    turn.rest = rest;
                    turn.tile += 1;
                    turn.count += count;
                    break part;
                }
                drop(turn);
                patience.wait();
            };
            part.copy_from_slice(&kept[..count]);
        }
    };
    let threads = rayon::current_num_threads().min(x.len().div_ceil(TILE));
    (0..threads).into_par_iter().with_max_len(1).for_each(work);
    lock(&turn).count
}

/// Segments of 0 to 16 elements that go to strided places in an array half as long as there are segments, rounded up to a power of two.
fn segments(count: usize) -> Data {
    let mut random = Random::new(23);
    let m = (count / 2).next_power_of_two();
    let sizes = random.integers(count, 17);
    let start = random.integers(count, m as u64);
    let step = random.integers(count, 64);
    let weight = random.integers(count, 100);
    let total: i64 = sizes.iter().map(|&size| i64::from(size)).sum();
    Data::new()
        .with_param("nseg", count as f64)
        .with_param("m", m as f64)
        .with_param("total", total as f64)
        .with_array("sizes", &[count], &sizes)
        .with_array("start", &[count], &start)
        .with_array("step", &[count], &step)
        .with_array("weight", &[count], &weight)
}

fn expand<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (sizes, start) = (data.slice::<i32>("sizes")?, data.slice::<i32>("start")?);
    let (step, weight) = (data.slice::<i32>("step")?, data.slice::<i32>("weight")?);
    let m = data.size("m")?;
    let mut parts = vec![vec![0i32; m]; rayon::current_num_threads()];
    hand::filling(&[m], move |out: &mut [i32]| {
        let share = sizes.len().div_ceil(parts.len()).max(1 << 12);
        parts.par_iter_mut().enumerate().with_max_len(1).for_each(|(number, part)| {
            part.fill(0);
            let from = (number * share).min(sizes.len());
            let to = (from + share).min(sizes.len());
            let mask = part.len() - 1;
            for segment in from..to {
                let mut at = start[segment] as isize as usize;
                for element in 0..sizes[segment] {
                    part[at & mask] += weight[segment] + element;
                    at = at.wrapping_add_signed(step[segment] as isize);
                }
            }
        });
        combined(&parts, out);
    })
}
