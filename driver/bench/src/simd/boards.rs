//! Queens on boards, of which many are taken a row further together.

use std::ops::Range;

/// Boards with a queen in each of their first rows: which columns and diagonals of the next row are attacked, a bit for each.
#[derive(Clone, Debug, Default)]
pub struct Boards {
    columns: Vec<u32>,
    rising: Vec<u32>,
    falling: Vec<u32>,
    count: usize,
}

/// Boards that are written at once.
const GROUP: usize = 16;

impl Boards {
    /// One board, with queens in these columns.
    pub fn of<const N: usize>(places: [usize; N]) -> Self {
        let (mut columns, mut rising, mut falling) = (0, 0, 0);
        for place in places {
            (columns, rising, falling) =
                (columns | 1 << place, (rising | 1 << place) << 1, (falling | 1 << place) >> 1);
        }
        Self { columns: vec![columns], rising: vec![rising], falling: vec![falling], count: 1 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many places of the next row are free, of all boards with `n` columns.
    pub fn free(&self, n: usize) -> i64 {
        let attacked = self.columns.iter().zip(&self.rising).zip(&self.falling);
        let free = attacked.map(|((columns, rising), falling)| (full(n) & !(columns | rising | falling)).count_ones());
        free.take(self.count).map(i64::from).sum()
    }

    /// Makes room for `count` boards and a group more, and has none.
    fn clear(&mut self, count: usize) {
        for attacked in [&mut self.columns, &mut self.rising, &mut self.falling] {
            attacked.resize(attacked.len().max(count + GROUP), 0);
        }
        self.count = 0;
    }
}

fn full(n: usize) -> u32 {
    (1 << n) - 1
}

/// Makes `to` all boards that come of those of a range by another queen, with `n` columns, at most 30.
pub fn placed(from: &Boards, range: Range<usize>, n: usize, to: &mut Boards) {
    to.clear(range.len() * n);
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V4::try_new() {
        return wide(simd, from, range, n, to);
    }
    plain(from, range, n, to);
}

fn plain(from: &Boards, range: Range<usize>, n: usize, to: &mut Boards) {
    for board in range {
        let (columns, rising, falling) = (from.columns[board], from.rising[board], from.falling[board]);
        let mut free = full(n) & !(columns | rising | falling);
        while free != 0 {
            let place = free & free.wrapping_neg();
            free ^= place;
            let next = to.count;
            to.columns[next] = columns | place;
            to.rising[next] = (rising | place) << 1;
            to.falling[next] = (falling | place) >> 1;
            to.count += 1;
        }
    }
}

/// Of a group of boards those with a free place move together, one place after the other.
#[cfg(target_arch = "x86_64")]
fn wide(simd: pulp::x86::V4, from: &Boards, range: Range<usize>, n: usize, to: &mut Boards) {
    let whole = range.len() / GROUP * GROUP;
    let (groups, rest) = (range.start..range.start + whole, range.start + whole..range.end);
    to.count = super::within(
        simd,
        #[inline(always)]
        || {
            let f = simd.avx512f;
            let full = f._mm512_set1_epi32(full(n).cast_signed());
            let group =
                |attacked: &[u32], at: usize| attacked[at..].first_chunk::<GROUP>().map(|&group| pulp::cast(group));
            let mut count = 0;
            for at in groups.step_by(GROUP) {
                let (Some(columns), Some(rising), Some(falling)) =
                    (group(&from.columns, at), group(&from.rising, at), group(&from.falling, at))
                else {
                    break;
                };
                let attacked = f._mm512_or_si512(f._mm512_or_si512(columns, rising), falling);
                let free = f._mm512_andnot_si512(attacked, full);
                for place in 0..n {
                    let place = f._mm512_set1_epi32(1 << place);
                    let mask = f._mm512_test_epi32_mask(free, place);
                    let write = |attacked, to: &mut [u32]| {
                        if let Some(to) = to.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<GROUP>) {
                            *to = pulp::cast(f._mm512_maskz_compress_epi32(mask, attacked));
                        }
                    };
                    write(f._mm512_or_si512(columns, place), &mut to.columns);
                    write(f._mm512_slli_epi32::<1>(f._mm512_or_si512(rising, place)), &mut to.rising);
                    write(f._mm512_srli_epi32::<1>(f._mm512_or_si512(falling, place)), &mut to.falling);
                    count += mask.count_ones() as usize;
                }
            }
            count
        },
    );
    plain(from, rest, n, to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_of_many_rows_are_as_many_as_is_known() {
        let step = |place: fn(&Boards, Range<usize>, usize, &mut Boards), n| {
            let mut boards = Boards::of([]);
            let mut counts = Vec::new();
            for _ in 0..n {
                let mut next = Boards::default();
                next.clear(boards.len() * n);
                assert_eq!(boards.free(n), {
                    place(&boards, 0..boards.len(), n, &mut next);
                    next.len() as i64
                });
                boards = next;
                counts.push(boards.len());
            }
            let mut all: Vec<[u32; 3]> =
                (0..boards.len()).map(|at| [boards.columns[at], boards.rising[at], boards.falling[at]]).collect();
            all.sort_unstable();
            (counts, all)
        };
        for n in [1, 2, 4, 6, 8, 9] {
            assert_eq!(step(placed, n), step(plain, n), "{n}");
        }
        assert_eq!(step(placed, 8).0, [8, 42, 140, 344, 568, 550, 312, 92]);
        assert!(Boards::default().is_empty());
    }
}
