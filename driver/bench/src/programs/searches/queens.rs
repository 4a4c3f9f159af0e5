//! Queens on a board by hand: boards of a few rows are counted further by sixteen at a time, a batch of them on its way to the last row.

use anyhow::{Result, ensure};
use rayon::prelude::*;

use crate::{
    data::Data,
    hand::{self, Hand},
    simd::{self, Boards},
};

/// Boards that are taken one row further at a time: what comes of them stays in cache.
const BATCH: usize = 64;
/// Fewer rows than this are counted by one thread: waking another takes longer.
const FEW: usize = 10;

/// Boards come in pairs that mirror each other, so one half of the first row tells the other.
pub fn by_hand<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let n = data.size("n")?;
    ensure!(n <= 30, "a board of {n} rows");
    hand::filling(&[n], move |out: &mut [i64]| {
        let half = n.div_ceil(2);
        if n < FEW {
            let mut spare = vec![Boards::default(); n];
            out[..half].iter_mut().enumerate().for_each(|(first, out)| {
                *out = ways(n, 1, &Boards::of([first]), &mut spare);
            });
        } else {
            // One task for the first two rows.
            let counts: Vec<i64> = (0..half * n)
                .into_par_iter()
                .with_max_len(1)
                .map_init(
                    || vec![Boards::default(); n],
                    |spare, pair| {
                        let (first, second) = (pair / n, pair % n);
                        if first.abs_diff(second) < 2 { 0 } else { ways(n, 2, &Boards::of([first, second]), spare) }
                    },
                )
                .collect();
            out.iter_mut().zip(counts.chunks(n)).for_each(|(out, counts)| *out = counts.iter().sum());
        }
        for first in half..n {
            out[first] = out[n - 1 - first];
        }
    })
}

/// In how many ways the rows from `row` on are filled, of all these boards.
fn ways(n: usize, row: usize, boards: &Boards, spare: &mut [Boards]) -> i64 {
    if row + 1 >= n {
        return if row == n { boards.len() as i64 } else { boards.free(n) };
    }
    let Some((next, spare)) = spare.split_first_mut() else { return 0 };
    let mut count = 0;
    for from in (0..boards.len()).step_by(BATCH) {
        simd::placed(boards, from..(from + BATCH).min(boards.len()), n, next);
        count += ways(n, row + 1, next, spare);
    }
    count
}

/// The steps of `nested_queens`: all boards of a row are made before those of the next.
pub fn by_rows<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let n = data.size("n")?;
    ensure!(n <= 30, "a board of {n} rows");
    hand::filling(&[n], move |out: &mut [i64]| {
        out.par_iter_mut().enumerate().with_max_len(1).for_each(|(first, out)| {
            let one = 1u64 << first;
            let mut boards = vec![[one, one << 1, one >> 1]];
            let mut next = Vec::new();
            for _ in 1..n {
                for &[columns, rising, falling] in &boards {
                    let mut free = ((1 << n) - 1) & !(columns | rising | falling);
                    while free != 0 {
                        let place = free & free.wrapping_neg();
                        free ^= place;
                        next.push([columns | place, (rising | place) << 1, (falling | place) >> 1]);
                    }
                }
                std::mem::swap(&mut boards, &mut next);
                next.clear();
            }
            *out = boards.len() as i64;
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_as_many_as_is_known() {
        for (n, known) in [(1, 1), (2, 0), (3, 0), (4, 2), (5, 10), (6, 4), (8, 92), (9, 352), (10, 724), (11, 2680)] {
            let data = Data::new().with_param("n", n as f64);
            let [mut found, mut steps] = [by_hand(&data).unwrap(), by_rows(&data).unwrap()];
            found.run();
            steps.run();
            let (found, steps) = (found.results().remove(0), steps.results().remove(0));
            assert_eq!(found.as_slice::<i64>().unwrap().iter().sum::<i64>(), known, "{n}");
            assert_eq!(found.bytes(), steps.bytes(), "{n}");
        }
    }
}
