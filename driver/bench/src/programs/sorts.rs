//! Sorts: `radixsort` by the operation `sort`, `radixsort_scans` by scans and permutes of one bit a turn, `quicksort` by parting keys around
//! many pivots at once. By hand all three are the same: what an expert would call who wants sorted keys. Beside `quicksort` stands the quicksort of the
//! standard library too, on all threads.

mod bits;

use anyhow::Result;
use fusebox::ir::Scalar;
use rayon::prelude::*;

use super::elementwise::vectors;
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, BLOCK, Hand},
    program::{Input::Named, Program, Sizes},
    random::Random,
};

pub(super) fn programs() -> [Program; 3] {
    let sort = |name, text, sizes, generate, hand| Program {
        name,
        text,
        inputs: &[Named("keys")],
        results: &[0],
        outside: false,
        needs_fusion: false,
        sizes,
        tiny: 20_000,
        same_steps: None,
        generate,
        hand,
        // By hand three passes by digits of eleven bits, two of them in cache: the least is not known.
        work: |data| vectors(data, 2.0, 0.0),
        tolerance: Tolerance::EXACT,
    };
    let sizes = Sizes { small: 50_000, large: 10_000_000 };
    let radixsort = include_str!("../../programs/radixsort.fbx");
    let scans = include_str!("../../../../golden/programs/radix_sort.fbx");
    let quicksort = include_str!("../../../../golden/programs/quicksort.fbx");
    [
        Program { outside: true, ..sort("radixsort", radixsort, sizes, |n| keys(n, 24, |bits| bits), by_hand::<u32>) },
        Program {
            same_steps: Some(bits::by_hand),
            ..sort("radixsort_scans", scans, sizes, |n| keys(n, 24, |bits| bits as i32), by_hand::<i32>)
        },
        Program {
            tiny: 5_000,
            same_steps: Some(by_comparisons),
            ..sort(
                "quicksort",
                quicksort,
                Sizes { small: 50_000, large: 2_000_000 },
                |n| {
                    let keys = Random::new(25).floats(n, -1.0, 1.0);
                    Data::new().with_param("n", n as f64).with_array("keys", &[n], &keys)
                },
                by_hand::<f32>,
            )
        },
    ]
}

fn keys<T: Scalar>(n: usize, seed: u64, key: fn(u32) -> T) -> Data {
    let mut random = Random::new(seed);
    let keys: Vec<T> = (0..n).map(|_| key(random.bits() as u32)).collect();
    Data::new().with_param("n", n as f64).with_array("keys", &[n], &keys)
}

/// What is sorted.
trait Key: Scalar + Copy + Default + Send + Sync {
    /// Bits that are in the order of the keys, read as an unsigned number.
    fn bits(self) -> u32;
}

impl Key for u32 {
    #[inline(always)]
    fn bits(self) -> u32 {
        self
    }
}

impl Key for i32 {
    #[inline(always)]
    fn bits(self) -> u32 {
        self as u32 ^ 1 << 31
    }
}

/// Numbers that are not NaN.
impl Key for f32 {
    #[inline(always)]
    fn bits(self) -> u32 {
        // Of negative numbers all bits are turned over, of others the sign.
        let bits = self.to_bits();
        bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)
    }
}

fn by_hand<'d, K: Key>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let keys: &[K] = data.slice("keys")?;
    let mut spare = vec![K::default(); keys.len()];
    hand::filling(&[keys.len()], move |out: &mut [K]| sort(keys, out, &mut spare))
}

/// The quicksort of the standard library, of numbers that are in the order of the keys.
fn by_comparisons<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let keys: &[f32] = data.slice("keys")?;
    let mut numbers = vec![0u32; keys.len()];
    hand::filling(&[keys.len()], move |out: &mut [f32]| {
        numbers.iter_mut().zip(keys).for_each(|(number, key)| *number = key.bits());
        numbers.par_sort_unstable();
        out.iter_mut().zip(&numbers).for_each(|(out, &number)| {
            let sign = if number >> 31 == 1 { 1 << 31 } else { u32::MAX };
            *out = f32::from_bits(number ^ sign);
        });
    })
}

/// Bits of a digit.
const DIGIT: usize = 11;
/// Fewer keys than this are compared instead of counted.
const FEW: usize = 512;

/// Each thread parts its keys by their highest digit; then the keys of each such digit, which stay in cache, are sorted by the two others.
fn sort<K: Key>(keys: &[K], out: &mut [K], spare: &mut [K]) {
    let n = keys.len();
    if n < BLOCK {
        return sort_part(keys, spare, out);
    }
    let width = n.div_ceil(rayon::current_num_threads());
    let parts = spare.par_chunks_mut(width).zip(keys.par_chunks(width)).with_max_len(1);
    let ends: Vec<Counts> = parts
        .map(|(part, keys)| {
            let mut counts: Counts = [0; 1 << DIGIT];
            keys.iter().for_each(|&key| counts[digit(key, 2)] += 1);
            to_places(&mut counts);
            by_digit(keys, part, &mut counts, 2);
            counts
        })
        .collect();
    let piece = |(part, ends): (usize, &Counts), digit: usize| {
        let begin = if digit == 0 { 0 } else { ends[digit - 1] };
        part * width + begin as usize..part * width + ends[digit] as usize
    };
    let mut rest = out;
    let outputs: Vec<&mut [K]> = (0..1 << DIGIT)
        .map(|digit| {
            let count = ends.iter().enumerate().map(|part| piece(part, digit).len()).sum();
            rest.split_off_mut(..count).unwrap_or_default()
        })
        .collect();
    let spare = &*spare;
    outputs.into_par_iter().enumerate().for_each_init(Vec::new, |between, (digit, out)| {
        let pieces = ends.iter().enumerate().map(|part| &spare[piece(part, digit)]);
        sort_pieces(pieces, out, between);
    });
}

/// Sorts keys of the same highest digit.
fn sort_pieces<'k, K: Key>(pieces: impl Iterator<Item = &'k [K]> + Clone, out: &mut [K], between: &mut Vec<K>) {
    if out.len() < FEW {
        let mut count = 0;
        for piece in pieces {
            out[count..][..piece.len()].copy_from_slice(piece);
            count += piece.len();
        }
        return out.sort_unstable_by_key(|key| key.bits());
    }
    let [mut first, mut second]: [Counts; 2] = [[0; 1 << DIGIT]; 2];
    for &key in pieces.clone().flatten() {
        first[digit(key, 0)] += 1;
        second[digit(key, 1)] += 1;
    }
    to_places(&mut first);
    to_places(&mut second);
    between.resize(out.len().max(between.len()), K::default());
    let between = &mut between[..out.len()];
    for piece in pieces {
        by_digit(piece, between, &mut first, 0);
    }
    by_digit(between, out, &mut second, 1);
}

/// How many keys there are of each digit; where the next of them goes.
type Counts = [u32; 1 << DIGIT];

/// Counts of each digit to where its first key goes.
fn to_places(counts: &mut Counts) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

/// Sorts `keys` into `b`, with `a` in between.
fn sort_part<K: Key>(keys: &[K], a: &mut [K], b: &mut [K]) {
    let mut counts = vec![[0u32; 1 << DIGIT]; 3];
    for &key in keys {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(key, pass)] += 1;
        }
    }
    counts.iter_mut().for_each(to_places);
    let [first, second, third] = counts.as_mut_slice() else { return };
    by_digit(keys, b, first, 0);
    by_digit(b, a, second, 1);
    by_digit(a, b, third, 2);
}

#[inline(always)]
fn digit<K: Key>(key: K, pass: usize) -> usize {
    (key.bits() >> (DIGIT * pass)) as usize & ((1 << DIGIT) - 1)
}

#[inline(always)]
fn by_digit<K: Key>(from: &[K], to: &mut [K], places: &mut Counts, pass: usize) {
    for &key in from {
        let place = &mut places[digit(key, pass)];
        to[*place as usize] = key;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sort_by_hand_sorts() {
        let mut random = Random::new(1);
        for (n, mask) in [(0, !0), (1, !0), (1000, 0xff), (3 * BLOCK + 7, !0), (5 * BLOCK + 1, 3)] {
            let keys: Vec<u32> = (0..n).map(|_| random.bits() as u32 & mask).collect();
            let (mut found, mut spare) = (vec![0; n], vec![0; n]);
            sort(&keys, &mut found, &mut spare);
            let mut expected = keys;
            expected.sort_unstable();
            assert!(found == expected, "{n} {mask}");
        }
    }

    #[test]
    fn bits_are_in_the_order_of_keys() {
        let ordered = |bits: Vec<u32>| bits.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(ordered([i32::MIN, -7, -1, 0, 1, i32::MAX].map(Key::bits).to_vec()));
        assert!(ordered(
            [f32::NEG_INFINITY, -2.5, -1.0, -1e-40, 0.0, 1e-40, 1.5, f32::INFINITY].map(Key::bits).to_vec()
        ));
    }
}
