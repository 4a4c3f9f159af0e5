//! What the machine can do at best: memory bandwidth and arithmetic, measured on all threads.

use std::{hint::black_box, time::Instant};

use rayon::prelude::*;

use crate::hand::{BLOCK, block_sum, mul_add};

/// The limits of a machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Of the processor, if the system tells.
    pub processor: String,
    /// How many threads were measured.
    pub threads: usize,
    /// Reading alone, in bytes a second.
    pub read: f64,
    /// `b[i] = a[i]`, bytes read and bytes written, in bytes a second.
    pub copy: f64,
    /// `c[i] = a[i] + s * b[i]`, bytes read and bytes written, in bytes a second.
    pub triad: f64,
    /// Single precision products and sums, each rounded, in operations a second.
    pub products_and_sums: f64,
    /// Single precision fused products and sums, two operations each, in operations a second; as above where there is no such instruction.
    pub fused: f64,
}

impl Machine {
    /// The best bandwidth that was measured.
    pub fn bandwidth(&self) -> f64 {
        self.read.max(self.copy).max(self.triad)
    }

    /// Measures the machine; takes a few seconds and 1.5 GB. Runs on the current pool of threads.
    pub fn measure() -> Self {
        const FLOATS: usize = 1 << 27;
        const BYTES: f64 = 4.0 * FLOATS as f64;
        let fill = |value: f32| -> Vec<f32> { (0..FLOATS).into_par_iter().map(|_| value).collect() };
        let (a, b, mut c) = (fill(1.0), fill(2.0), fill(3.0));
        let read = best(|| {
            black_box(a.par_chunks(BLOCK).map(|a| block_sum(a, |sum, a| sum + a)).sum::<f32>());
        });
        let copy = best(|| {
            c.par_chunks_mut(BLOCK).zip(a.par_chunks(BLOCK)).for_each(|(c, a)| c.copy_from_slice(a));
            black_box(&mut c);
        });
        let scale = black_box(0.5);
        let triad = best(|| {
            c.par_chunks_mut(BLOCK).zip(a.par_chunks(BLOCK)).zip(b.par_chunks(BLOCK)).for_each(|((c, a), b)| {
                for ((c, a), b) in c.iter_mut().zip(a).zip(b) {
                    *c = mul_add(scale, *b, *a);
                }
            });
            black_box(&mut c);
        });
        Self {
            processor: processor(),
            threads: rayon::current_num_threads(),
            read: BYTES / read,
            copy: 2.0 * BYTES / copy,
            triad: 3.0 * BYTES / triad,
            products_and_sums: arithmetic(|x, a, b| x * a + b),
            fused: arithmetic(mul_add),
        }
    }
}

/// The least time of some runs, in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    run();
    let time = |_| {
        let begin = Instant::now();
        run();
        begin.elapsed().as_secs_f64()
    };
    (0..7).map(time).fold(f64::INFINITY, f64::min)
}

/// Operations a second of a product and a sum, in as many independent chains as hide their latency.
fn arithmetic(step: impl Fn(f32, f32, f32) -> f32 + Sync) -> f64 {
    const CHAINS: usize = 192;
    const TIMES: usize = 2_000_000;
    let threads = rayon::current_num_threads();
    let time = best(|| {
        (0..threads).into_par_iter().with_max_len(1).for_each(|thread| {
            let (a, b) = black_box((0.999, 0.001));
            let mut chains = [thread as f32; CHAINS];
            for _ in 0..TIMES {
                for chain in &mut chains {
                    *chain = step(*chain, a, b);
                }
            }
            black_box(chains);
        });
    });
    (2 * CHAINS * TIMES * threads) as f64 / time
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| "unknown".into(), |(_, model)| model.trim().into())
}

/// The mean number of programs that want to run, over the last minute, if the system tells.
pub fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
