//! Kernels of several operations beside the same by hand, in turn. Prints ratios; run it alone, compiled for speed:
//! `cargo test --release -p fusebox-cranelift --test speed -- --ignored --nocapture`.

mod common;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use common::by_hand::{self, ByHand};
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::Array;
use rayon::prelude::*;

/// Medians of both, in turn.
fn in_turn(rounds: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (Duration, Duration) {
    let mut times: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let start = Instant::now();
        ours();
        times[0].push(start.elapsed());
        let start = Instant::now();
        theirs();
        times[1].push(start.elapsed());
    }
    times.iter_mut().for_each(|times| times.sort());
    (times[0][rounds / 2], times[1][rounds / 2])
}

fn compare(what: &str, kernel: fn() -> ByHand, inputs: &[Array], rounds: usize, theirs: impl Fn(&[&[f32]]) + Sync) {
    let slices: Vec<&[f32]> = inputs.iter().map(|input| input.as_slice::<f32>().unwrap()).collect();
    for threads in [1, 2] {
        let backend = Cranelift::new(Config { threads, ..Config::default() }).unwrap();
        let loaded = backend.compile_plan(&kernel().plan()).unwrap().load_plan().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let run = || _ = black_box(loaded.run_plan(inputs).unwrap());
        // Entering a pool costs ten microseconds: nobody would for little work.
        let small = slices[0].len() < 50_000;
        let by_hand = || if small { theirs(&slices) } else { pool.install(|| theirs(&slices)) };
        let (ours, theirs) = in_turn(rounds, run, by_hand);
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        println!("{what}, {threads} threads: {ours:?}, by hand {theirs:?}, ratio {ratio:.2}");
    }
}

fn vector(n: usize) -> Array {
    let elements: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 * 0.001).collect();
    Array::new(&[n], &elements).unwrap()
}

fn sum_of_products(x: &[f32], y: &[f32]) -> f32 {
    let mut lanes = [0f32; 64];
    let (xs, ys) = (x.chunks_exact(64), y.chunks_exact(64));
    let rest: f32 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
            *lane += x * y;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[test]
#[ignore = "a measurement"]
fn fused_kernels_beside_the_same_by_hand() {
    for (n, rounds) in [(1_000, 2_001), (100_000, 501), (20_000_000, 11)] {
        let inputs = [vector(n), vector(n)];
        compare(&format!("dot of {n}"), by_hand::dot, &inputs, rounds, |v| {
            let sum: f32 = if n < 50_000 {
                sum_of_products(v[0], v[1])
            } else {
                v[0].par_chunks(16_384).zip(v[1].par_chunks(16_384)).map(|(x, y)| sum_of_products(x, y)).sum()
            };
            black_box(sum);
        });
    }
    let mut out = vec![0f32; 20_000_000];
    for (n, rounds) in [(100_000, 501), (20_000_000, 11)] {
        let inputs = [vector(n)];
        let target = std::sync::Mutex::new(&mut out[..n]);
        compare(&format!("map of {n}"), by_hand::map, &inputs, rounds, |v| {
            let mut out = target.lock().unwrap();
            out.par_chunks_mut(16_384).zip(v[0].par_chunks(16_384)).for_each(|(out, x)| {
                for (out, x) in out.iter_mut().zip(x) {
                    *out = x * 2.0 + 1.0;
                }
            });
        });
        // By hand a scan on one thread is a loop; what reads and writes as much is the map above.
        compare(&format!("scan of {n}, beside a map"), by_hand::scan, &inputs, rounds, |v| {
            let mut out = target.lock().unwrap();
            out.par_chunks_mut(16_384).zip(v[0].par_chunks(16_384)).for_each(|(out, x)| {
                for (out, x) in out.iter_mut().zip(x) {
                    *out = x * 2.0 + 1.0;
                }
            });
        });
        compare(
            &format!("normalise2's first kernel of {n}, beside a map"),
            by_hand::normalise2,
            &inputs,
            rounds,
            |v| {
                let mut out = target.lock().unwrap();
                out.par_chunks_mut(16_384).zip(v[0].par_chunks(16_384)).for_each(|(out, x)| {
                    for (out, x) in out.iter_mut().zip(x) {
                        *out = x * 2.0 + 1.0;
                    }
                });
            },
        );
        compare(&format!("filter of {n}, beside one loop"), by_hand::filter, &inputs, rounds, |v| {
            let mut out = target.lock().unwrap();
            let mut count = 0;
            for &x in v[0] {
                out[count] = x;
                count += usize::from(x > 0.5);
            }
            black_box(count);
        });
    }
}
