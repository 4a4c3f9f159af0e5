//! Sorts of several rows at once, by a network of comparators: each row is a lane, and the elements at the same place of all rows are compared in one
//! instruction.
//!
//! The network is Batcher's exchange of merges (Knuth, *The Art of Computer Programming*, volume 3, 5.2.2, algorithm M), which sorts any number of
//! elements. Rows of n elements take about n (log n)² / 4 comparisons, more than a sort by digits moves elements; but nothing is counted, and no place
//! depends on an element.

use bytemuck::Pod;

use super::item::{Item, Order, RankThenPosition, Record, Unsigned};

/// Rows at once: as many as the longest vectors have lanes of 4 bytes.
pub(super) const MANY: usize = 16;

/// Rows at once, where fewer are left.
const FEW: usize = 4;

/// What a network sorts.
pub(super) trait InLanes: Item {
    /// Rows of so many times fewer elements than others: where digits are few, or comparisons take longer.
    const FEWER: usize;
    /// The elements at one place of many rows.
    type Many: Lanes<Self>;
    /// The elements at one place of a few rows.
    type Few: Lanes<Self>;
}

/// The elements at one place of several rows.
pub(super) trait Lanes<T>: Pod {
    /// The element of a row.
    fn get(&self, lane: usize) -> T;

    /// Sets the element of a row.
    fn set(&mut self, lane: usize, item: T);

    /// Of each row and each pair of places, leaves the lesser element here, and the greater one there.
    fn exchange(here: &mut [Self], there: &mut [Self]);
}

macro_rules! keys {
    ($($key:ty, $fewer:literal);*) => {$(
        impl InLanes for $key {
            const FEWER: usize = $fewer;
            type Many = [$key; MANY];
            type Few = [$key; FEW];
        }

        impl<const LANES: usize> Lanes<$key> for [$key; LANES]
        where
            Self: Pod,
        {
            #[inline(always)]
            fn get(&self, lane: usize) -> $key {
                self[lane]
            }

            #[inline(always)]
            fn set(&mut self, lane: usize, item: $key) {
                self[lane] = item;
            }

            #[inline(always)]
            fn exchange(here: &mut [Self], there: &mut [Self]) {
                // One loop over numbers: of loops over arrays, those of 8 bytes a number are left as they are.
                for (a, b) in here.as_flattened_mut().iter_mut().zip(there.as_flattened_mut()) {
                    (*a, *b) = ((*a).min(*b), (*a).max(*b));
                }
            }
        }
    )*};
}

keys!(u8, 8; u16, 2; u32, 1; u64, 1);

/// Ranks, and positions: those of a row differ, and equal ranks are in the order of positions.
impl InLanes for [u64; 2] {
    const FEWER: usize = 4;
    type Many = [[u64; MANY]; 2];
    type Few = [[u64; FEW]; 2];
}

impl<const LANES: usize> Lanes<[u64; 2]> for [[u64; LANES]; 2]
where
    Self: Pod,
{
    #[inline(always)]
    fn get(&self, lane: usize) -> [u64; 2] {
        [self[0][lane], self[1][lane]]
    }

    #[inline(always)]
    fn set(&mut self, lane: usize, [rank, position]: [u64; 2]) {
        (self[0][lane], self[1][lane]) = (rank, position);
    }

    #[inline(always)]
    fn exchange(here: &mut [Self], there: &mut [Self]) {
        for (here, there) in here.iter_mut().zip(there) {
            let (a, b) = (*here, *there);
            for lane in 0..LANES {
                let greater = |number: usize| signed(a[number][lane]) > signed(b[number][lane]);
                let swap = greater(0) | ((a[0][lane] == b[0][lane]) & greater(1));
                // As a mask: branches and selects are not made instructions of many lanes here.
                let mask = u64::from(swap).wrapping_neg();
                for number in 0..2 {
                    let differing = (a[number][lane] ^ b[number][lane]) & mask;
                    here[number][lane] = a[number][lane] ^ differing;
                    there[number][lane] = b[number][lane] ^ differing;
                }
            }
        }
    }
}

/// A number of the same order among signed ones: few processors compare unsigned ones in lanes.
#[inline(always)]
fn signed(number: u64) -> i64 {
    (number ^ 1 << 63) as i64
}

/// Rows that a network sorts.
pub(super) struct Rows<'r, T> {
    /// Where they are, if not where they go.
    pub(super) from: Option<&'r [T]>,
    /// Where they go.
    pub(super) to: &'r mut [T],
    /// Room for as many elements.
    pub(super) spare: &'r mut [T],
    /// Elements of a row.
    pub(super) length: usize,
}

/// Records whose rows a network sorts.
pub(super) trait RecordInLanes: Record {
    /// As [`InLanes::FEWER`].
    const FEWER: usize;

    /// Sorts as many rows as [`at_once`] says. Records of equal ranks are put in the order of positions.
    fn sort_rows(to: &mut [Self], spare: &mut [Self], length: usize) -> bool;
}

impl RecordInLanes for [u32; 2] {
    const FEWER: usize = <u64 as InLanes>::FEWER;

    fn sort_rows(to: &mut [Self], spare: &mut [Self], length: usize) -> bool {
        let (to, spare) = (bytemuck::cast_slice_mut(to), bytemuck::cast_slice_mut(spare));
        sort::<u64, RankThenPosition>(Rows { from: None, to, spare, length })
    }
}

impl RecordInLanes for [u64; 2] {
    const FEWER: usize = <Self as InLanes>::FEWER;

    fn sort_rows(to: &mut [Self], spare: &mut [Self], length: usize) -> bool {
        sort::<Self, Unsigned>(Rows { from: None, to, spare, length })
    }
}

/// How many of so many rows a network sorts at once; 1: none.
pub(super) fn at_once(rows: usize) -> usize {
    match rows {
        MANY.. => MANY,
        FEW.. => FEW,
        _ => 1,
    }
}

/// Sorts as many rows as [`at_once`] says. Where some elements are no longer known by their ranks nothing is done, and false is given.
pub(super) fn sort<T: InLanes, O: Order>(rows: Rows<'_, T>) -> bool {
    if rows.to.len() == FEW * rows.length { sort_as::<T, O, T::Few>(rows) } else { sort_as::<T, O, T::Many>(rows) }
}

fn sort_as<T: InLanes, O: Order, L: Lanes<T>>(rows: Rows<'_, T>) -> bool {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    if let Some(features) = fusebox_wide::Features::of_this_machine() {
        // SAFETY: the processor has these instructions, as was just found.
        return unsafe { if features.avx512 { with_avx512::<T, O, L>(rows) } else { with_avx2::<T, O, L>(rows) } };
    }
    sort_here::<T, O, L>(rows)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn with_avx512<T: InLanes, O: Order, L: Lanes<T>>(rows: Rows<'_, T>) -> bool {
    sort_here::<T, O, L>(rows)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<T: InLanes, O: Order, L: Lanes<T>>(rows: Rows<'_, T>) -> bool {
    sort_here::<T, O, L>(rows)
}

#[inline(always)]
fn sort_here<T: InLanes, O: Order, L: Lanes<T>>(rows: Rows<'_, T>) -> bool {
    let Rows { from, to, spare, length } = rows;
    let places: &mut [L] = bytemuck::cast_slice_mut(spare);
    let mut known = true;
    for (lane, row) in from.unwrap_or(to).chunks_exact(length).enumerate() {
        for (place, &item) in places.iter_mut().zip(row) {
            let ranked = O::ranked(item);
            known &= O::is_known(ranked);
            place.set(lane, ranked);
        }
    }
    if !known {
        return false;
    }
    network(places, L::exchange);
    for (lane, row) in to.chunks_exact_mut(length).enumerate() {
        for (place, item) in places.iter().zip(row) {
            *item = O::item(place.get(lane));
        }
    }
    true
}

/// Sorts by comparing pairs of places, whatever the elements are.
#[inline(always)]
fn network<L>(places: &mut [L], exchange: impl Fn(&mut [L], &mut [L])) {
    let count = places.len();
    // Two sorted runs of so many places become one at a time.
    let mut run = 1;
    while run < count {
        let mut apart = run;
        while apart > 0 {
            let mut first = apart % run;
            while first + apart < count {
                // The last places of one pair of runs are not compared with the next pair.
                if apart == run || !(first + apart).is_multiple_of(2 * run) {
                    let (own, behind) = places[first..].split_at_mut(apart);
                    let pairs = behind.len().min(apart);
                    exchange(&mut own[..pairs], &mut behind[..pairs]);
                }
                first += 2 * apart;
            }
            apart /= 2;
        }
        run *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::item::{Float, Signed};

    /// A network sorts if it sorts all rows of zeros and ones.
    #[test]
    fn zeros_and_ones() {
        for count in 0..=12 {
            for bits in 0..1u32 << count {
                let mut places: Vec<u32> = (0..count).map(|place| bits >> place & 1).collect();
                network(&mut places, |a, b| {
                    a.iter_mut().zip(b).for_each(|(a, b)| (*a, *b) = (*(&*a).min(b), *(&*a).max(b)));
                });
                assert!(places.is_sorted(), "{count} {bits:b}");
            }
        }
    }

    fn number(seed: u64) -> u64 {
        let mixed = (seed.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 31).wrapping_mul(0xff51_afd7_ed55_8ccd)
    }

    fn checked<T: InLanes + PartialEq + std::fmt::Debug, O: Order>(of: impl Fn(u64, usize) -> T) {
        for rows in [MANY, FEW] {
            for length in [1, 2, 3, 7, 16, 61, 200] {
                let items: Vec<T> = (0..rows * length).map(|at| of(number(at as u64), at % length)).collect();
                let mut expected = items.clone();
                expected.chunks_mut(length).for_each(|row| row.sort_by_key(|&item| O::rank(item)));
                let (mut to, mut spare) = (items.clone(), items.clone());
                assert!(sort::<T, O>(Rows { from: None, to: &mut to, spare: &mut spare, length }));
                assert_eq!(to, expected, "{rows} rows of {length}");
                to.fill(T::zeroed());
                assert!(sort::<T, O>(Rows { from: Some(&items), to: &mut to, spare: &mut spare, length }));
                assert_eq!(to, expected, "{rows} rows of {length}, from elsewhere");
            }
        }
    }

    #[test]
    fn keys_and_records() {
        checked::<u8, Unsigned>(|number, _| number as u8);
        checked::<u16, Signed>(|number, _| number as u16);
        checked::<u32, Signed>(|number, _| (number % 5) as u32);
        checked::<u64, Signed>(|number, _| number);
        checked::<u32, Float>(|number, _| (number as i32 as f32).to_bits());
        checked::<u64, Float>(|number, _| ((number % 7) as f64 - 3.0).to_bits());
        checked::<[u64; 2], Unsigned>(|number, at| [number % 3, at as u64]);
    }

    #[test]
    fn what_is_not_known_by_its_rank_is_left_alone() {
        let nan = f32::NAN.to_bits() | 1;
        let items: Vec<u32> = (0..4 * 3).map(|at| if at == 5 { nan } else { 1 }).collect();
        let (mut to, mut spare) = (vec![0; 12], vec![0; 12]);
        let rows = Rows { from: Some(&items), to: &mut to, spare: &mut spare, length: 3 };
        assert!(!sort::<u32, Float>(rows));
        assert_eq!(to, [0; 12]);
    }
}
