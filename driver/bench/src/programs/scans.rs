//! Running sums: `scan_f32`, `scan_i32`, `normalise2`.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use anyhow::Result;
use rayon::prelude::*;

use super::elementwise::vectors;
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, BLOCK, Hand, mul_add},
    program::{Input::Named, Program, Sizes},
    random::Random,
    simd::Number,
};

pub(super) fn programs() -> [Program; 3] {
    [
        Program {
            name: "scan_f32",
            text: include_str!("../../programs/scan_f32.fbx"),
            inputs: &[Named("x")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 100_000, large: 50_000_000 },
            tiny: 100_000,
            same_steps: None,
            generate: |n| {
                // Small integers that keep their sums small: every association is exact.
                let mut random = Random::new(6);
                let x: Vec<f32> = (0..n).map(|_| random.below(3) as f32 - 1.0).collect();
                Data::new().with_param("n", n as f64).with_array("x", &[n], &x)
            },
            hand: |data| {
                let x: &[f32] = data.slice("x")?;
                hand::filling(&[x.len()], move |out: &mut [f32]| scan(x, out))
            },
            work: |data| vectors(data, 2.0, 0.0),
            tolerance: Tolerance::EXACT,
        },
        Program {
            name: "scan_i32",
            text: include_str!("../../programs/scan_i32.fbx"),
            inputs: &[Named("x")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 100_000, large: 50_000_000 },
            tiny: 100_000,
            same_steps: None,
            generate: |n| {
                let x = Random::new(7).integers(n, 100);
                Data::new().with_param("n", n as f64).with_array("x", &[n], &x)
            },
            hand: |data| {
                let x: &[i32] = data.slice("x")?;
                hand::filling(&[x.len()], move |out: &mut [i32]| scan(x, out))
            },
            work: |data| vectors(data, 2.0, 0.0),
            tolerance: Tolerance::EXACT,
        },
        Program {
            name: "normalise2",
            text: include_str!("../../../../golden/programs/normalise2.fbx"),
            inputs: &[Named("x")],
            results: &[0, 1],
            outside: false,
            needs_fusion: false,
            sizes: Sizes { small: 50_000, large: 50_000_000 },
            tiny: 10_000,
            same_steps: None,
            generate: |n| {
                let x = Random::new(8).floats(n, 0.0, 1.0);
                Data::new().with_param("n", n as f64).with_array("x", &[n], &x)
            },
            hand: normalise2,
            work: |data| vectors(data, 4.0, 0.0),
            tolerance: Tolerance::relative(1e-3),
        },
    ]
}

/// Elements of a tile of a scan: it is read twice, the second time from cache.
const TILE: usize = 1 << 15;

/// A number as the carry of a tile, which threads hand to each other.
trait Carry: Number {
    fn to_bits(self) -> u32;
    fn from_bits(bits: u32) -> Self;
}

impl Carry for f32 {
    fn to_bits(self) -> u32 {
        self.to_bits()
    }
    fn from_bits(bits: u32) -> Self {
        Self::from_bits(bits)
    }
}

impl Carry for i32 {
    fn to_bits(self) -> u32 {
        self.cast_unsigned()
    }
    fn from_bits(bits: u32) -> Self {
        bits.cast_signed()
    }
}

/// Running sums in one pass over memory: a tile's total is computed, the carry of the tile before is waited for and handed on, and
/// the tile is read again from cache. Tiles are taken in order, so somebody works on what is waited for.
fn scan<T: Carry>(x: &[T], out: &mut [T]) {
    const KNOWN: u64 = 1 << 32;
    let tiles: Vec<_> = x.chunks(TILE).zip(out.chunks_mut(TILE)).map(|tile| Mutex::new(Some(tile))).collect();
    let carries: Vec<AtomicU64> = (0..=tiles.len()).map(|_| AtomicU64::new(0)).collect();
    carries[0].store(KNOWN | u64::from(T::default().to_bits()), Ordering::Relaxed);
    let next = AtomicUsize::new(0);
    let work = |_: usize| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(tile) = tiles.get(number) else { break };
            let Some((x, out)) = tile.lock().ok().and_then(|mut tile| tile.take()) else { break };
            let known = |ordering| Some(carries[number].load(ordering)).filter(|carry| carry & KNOWN != 0);
            let publish = |carry: T| carries[number + 1].store(KNOWN | u64::from(carry.to_bits()), Ordering::Release);
            if let Some(carry) = known(Ordering::Acquire) {
                publish(T::running_sums(x, out, T::from_bits(carry as u32)));
                continue;
            }
            let total = total(x);
            let mut patience = hand::Patience::default();
            let carry = loop {
                match known(Ordering::Acquire) {
                    Some(carry) => break T::from_bits(carry as u32),
                    None => patience.wait(),
                }
            };
            publish(carry + total);
            T::running_sums(x, out, carry);
        }
    };
    let threads = rayon::current_num_threads().min(tiles.len());
    (0..threads).into_par_iter().with_max_len(1).for_each(work);
}

#[inline(always)]
fn total<T: Number>(x: &[T]) -> T {
    let mut lanes = [T::default(); 64];
    let mut chunks = x.chunks_exact(64);
    for chunk in &mut chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = *lane + x;
        }
    }
    lanes.iter().chain(chunks.remainder()).fold(T::default(), |sum, &x| sum + x)
}

/// Elements whose weights in the sum of running sums are exact, and whose sums stay in registers.
const PIECE: usize = 4096;

/// The sum of a piece, and the sum of its own running sums.
fn sums(x: &[f32]) -> (f32, f32) {
    let (mut sums, mut weighted) = ([0f32; 32], [0f32; 32]);
    let mut weights: [f32; 32] = std::array::from_fn(|lane| x.len() as f32 - lane as f32);
    let (chunks, rest) = x.as_chunks::<32>();
    for chunk in chunks {
        for lane in 0..32 {
            sums[lane] += chunk[lane];
            weighted[lane] = mul_add(weights[lane], chunk[lane], weighted[lane]);
            weights[lane] -= 32.0;
        }
    }
    for ((lane, x), weight) in (0..).zip(rest).zip(weights) {
        sums[lane] += x;
        weighted[lane] += weight * x;
    }
    (sums.iter().sum(), weighted.iter().sum())
}

/// The sum of the running sums counts each element as often as there are elements from it on, so no scan is needed: two passes.
fn normalise2<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let x: &[f32] = data.slice("x")?;
    hand::filling_all(&[x.len()], move |[one, two]: [&mut [f32]; 2]| {
        let pieces = x.par_chunks(PIECE).with_min_len(16).map(|x| {
            let (sum, weighted) = sums(x);
            (x.len(), f64::from(sum), f64::from(weighted))
        });
        let pieces: Vec<_> = pieces.collect();
        let (mut sum1, mut sum2) = (0.0, 0.0);
        for (length, sum, weighted) in pieces {
            sum2 += length as f64 * sum1 + weighted;
            sum1 += sum;
        }
        let (sum1, sum2) = (sum1 as f32, sum2 as f32);
        one.par_chunks_mut(BLOCK).zip(two.par_chunks_mut(BLOCK)).zip(x.par_chunks(BLOCK)).for_each(
            |((one, two), x)| {
                for ((one, two), x) in one.iter_mut().zip(two).zip(x) {
                    *one = x / sum1;
                    *two = x / sum2;
                }
            },
        );
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scan_by_hand_is_a_scan() {
        for n in [0, 1, 15, 16, 17, TILE, 3 * TILE + 5] {
            let x: Vec<i32> = (0..n as i32).map(|i| i % 7 - 2).collect();
            let mut found = vec![0; n];
            scan(&x, &mut found);
            let expected = x.iter().scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            });
            assert!(expected.eq(found), "{n}");
        }
    }
}
