//! The steps of `radixsort_scans` by hand: a turn for each bit, the lowest first.

use anyhow::Result;
use rayon::prelude::*;

use crate::{
    data::Data,
    hand::{self, BLOCK, Hand},
};

pub(super) fn by_hand<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let keys: &[i32] = data.slice("keys")?;
    let mut spare = vec![0; keys.len()];
    hand::filling(&[keys.len()], move |out: &mut [i32]| sort(keys, out, &mut spare))
}

/// Keys that are not negative in the order of their bits are before the others: the last turn takes ones first.
fn sort(keys: &[i32], out: &mut [i32], spare: &mut [i32]) {
    out.copy_from_slice(keys);
    let (mut from, mut to) = (out, spare);
    for bit in 0..32 {
        // Of a number with a sign the ones of the highest bit are the lesser numbers.
        part(from, to, |key| (key >> bit & 1 == 1) != (bit == 31));
        std::mem::swap(&mut from, &mut to);
    }
}

/// Those that are not behind before those that are. Each piece counts, then writes to two places of its own, which no other piece writes.
fn part(from: &[i32], to: &mut [i32], behind: impl Fn(i32) -> bool + Sync) {
    let threads = if from.len() < BLOCK / 4 { 1 } else { rayon::current_num_threads() };
    let width = from.len().div_ceil(threads).max(1);
    let count = |piece: &[i32]| piece.iter().filter(|&&key| !behind(key)).count();
    let counts: Vec<usize> = from.par_chunks(width).map(count).collect();
    let (mut zeros, mut ones) = to.split_at_mut(counts.iter().sum());
    let mut places = Vec::with_capacity(counts.len());
    for (piece, &count) in from.chunks(width).zip(&counts) {
        let (own, others) = std::mem::take(&mut zeros).split_at_mut(count);
        let (own_ones, other_ones) = std::mem::take(&mut ones).split_at_mut(piece.len() - count);
        (zeros, ones) = (others, other_ones);
        places.push((piece, own, own_ones));
    }
    places.into_par_iter().for_each(|(piece, zeros, ones)| move_keys(piece, zeros, ones, &behind));
}

fn move_keys(piece: &[i32], zeros: &mut [i32], ones: &mut [i32], behind: impl Fn(i32) -> bool) {
    let (mut zero, mut one) = (0, 0);
    for &key in piece {
        // Both are written, and one cursor moves: no branch that is wrong for every other key. What is at a cursor is written again.
        let is_behind = behind(key);
        if let Some(place) = zeros.get_mut(zero) {
            *place = key;
        }
        if let Some(place) = ones.get_mut(one) {
            *place = key;
        }
        zero += usize::from(!is_behind);
        one += usize::from(is_behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn bits_sort() {
        let mut random = Random::new(1);
        for (n, mask) in [(0, !0), (1, !0), (1000, 0xff), (3 * BLOCK + 7, !0)] {
            let keys: Vec<i32> = (0..n).map(|_| random.bits() as i32 & mask).collect();
            let (mut found, mut spare) = (vec![0; n], vec![0; n]);
            sort(&keys, &mut found, &mut spare);
            let mut expected = keys;
            expected.sort_unstable();
            assert!(found == expected, "{n} {mask}");
        }
    }
}
