//! Sorts on all threads: elements are spread by the highest bits in which their ranks differ, then what has these in common is sorted by
//! itself, in the caches of one thread.
//!
//! Threads spread pieces of the array, each to places of its own, which are known from counts. Equal digits keep their order, and so do equal
//! ranks.

use std::sync::Mutex;

use fusebox_backend::lock;
use fusebox_schedule::Sorts;

use super::{
    digits,
    item::{Item, Order},
};
use crate::threads::Threads;

/// Buckets at most.
const MOST_BUCKETS: usize = 1 << Sorts::MOST_SPREAD;

/// The digit by which elements are spread.
#[derive(Clone, Copy)]
struct Digit {
    shift: u32,
    bits: u32,
}

impl Digit {
    /// The highest digit of ranks of so many bits, for so many elements.
    fn highest(bits: u32, count: usize, sorts: &Sorts) -> Self {
        let wanted = (count / sorts.bucket as usize).max(8).ilog2().min(sorts.spread);
        let bits_of_digit = wanted.min(bits).max(1);
        Self { shift: bits.saturating_sub(bits_of_digit), bits: bits_of_digit }
    }

    #[inline(always)]
    fn of<T: Item, O: Order>(self, item: T) -> usize {
        (O::rank(item) >> self.shift) as usize & ((1 << self.bits) - 1) & (MOST_BUCKETS - 1)
    }

    fn buckets(self) -> usize {
        1 << self.bits
    }
}

/// Who sorts, and from how many elements on it is worth being more than one.
#[derive(Clone, Copy)]
pub(super) struct Workers<'t> {
    pub(super) threads: &'t Threads,
    /// Elements that a thread should have at least.
    pub(super) grain: usize,
    /// How.
    pub(super) sorts: Sorts,
}

impl Workers<'_> {
    /// Whether so many elements are shared.
    pub(super) fn share(&self, count: usize) -> bool {
        self.threads.count() > 1 && count / 2 >= self.grain
    }

    /// Elements of a piece, of so many.
    pub(super) fn piece(&self, count: usize) -> usize {
        count.div_ceil(4 * self.threads.count()).max(self.grain).max(1)
    }

    /// Calls `one` for all of these, on all threads.
    pub(super) fn each<P: Send>(&self, parts: impl ExactSizeIterator<Item = P> + Send, one: impl Fn(P) + Sync) {
        let count = parts.len();
        let parts = Mutex::new(parts);
        self.threads.each(count, |_| {
            let next = lock(&parts).next();
            if let Some(part) = next {
                one(part);
            }
        });
    }
}

/// An array of which threads write different elements.
struct Places<T>(*mut T, usize);

#[allow(unsafe_code)]
// SAFETY: who uses it says why no two threads write one element.
unsafe impl<T: Send> Sync for Places<T> {}

impl<T: Item> Places<T> {
    fn new(items: &mut [T]) -> Self {
        Self(items.as_mut_ptr(), items.len())
    }

    /// Writes one element.
    ///
    /// # Safety
    /// Nobody else reads or writes this element at the same time.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn set(&self, place: usize, item: T) {
        assert!(place < self.1, "a place behind the end");
        // SAFETY: the place is inside, and the caller's alone.
        unsafe { self.0.add(place).write(item) }
    }
}

/// Sorts `items` into `to`, with `spare` in between.
pub(super) fn sort<T: Item, O: Order>(items: &[T], to: &mut [T], spare: &mut [T], workers: &Workers<'_>) {
    if !workers.share(items.len()) && u32::try_from(items.len()).is_ok() {
        return digits::sort::<T, O>(items, to, spare, &workers.sorts);
    }
    // So that the passes that follow end in `to`, if all bits differ.
    let in_to =
        digits::passes(Digit::highest(T::BITS, items.len(), &workers.sorts).shift, &workers.sorts).is_multiple_of(2);
    let starts = spread::<T, O>(items, if in_to { &mut *to } else { &mut *spare }, workers);
    buckets::<T, O>(starts, in_to, to, spare, workers);
}

/// Sorts what is in `to`, or in `spare`; the result is in `to`.
pub(super) fn sort_within<T: Item, O: Order>(in_to: bool, to: &mut [T], spare: &mut [T], workers: &Workers<'_>) {
    if !workers.share(to.len()) && u32::try_from(to.len()).is_ok() {
        let (from, other) = if in_to { (to, spare) } else { (spare, to) };
        return digits::sort_within::<T, O>(from, other, !in_to, &workers.sorts);
    }
    let starts = if in_to { spread::<T, O>(to, spare, workers) } else { spread::<T, O>(spare, to, workers) };
    buckets::<T, O>(starts, !in_to, to, spare, workers);
}

/// Copies elements in the order of a digit. Gives where each digit begins, and at last the end; `None` if all ranks are equal.
fn spread<T: Item, O: Order>(from: &[T], to: &mut [T], workers: &Workers<'_>) -> Option<Vec<usize>> {
    let length = workers.piece(from.len());
    let pieces: Vec<&[T]> = from.chunks(length).collect();
    // Most often ranks differ in the highest bits that there are: counts are right at once then.
    let mut digit = Digit::highest(T::BITS, from.len(), &workers.sorts);
    let (counts, differing) = loop {
        let (counts, some, all) = counted::<T, O>(&pieces, digit, workers);
        let differing = some & !all;
        let wanted = Digit::highest(u64::BITS - differing.leading_zeros(), from.len(), &workers.sorts);
        if digit.shift <= wanted.shift {
            break (counts, differing);
        }
        digit = wanted;
    };
    if differing == 0 {
        to.copy_from_slice(from);
        return None;
    }
    let mut starts = Vec::with_capacity(digit.buckets() + 1);
    let mut sum = 0;
    // Where each piece puts the first element of each digit.
    let mut places = counts;
    for bucket in 0..digit.buckets() {
        starts.push(sum);
        for places in &mut places {
            sum += std::mem::replace(&mut places[bucket], sum);
        }
    }
    starts.push(sum);
    let to = Places::new(to);
    let places: Vec<Mutex<Vec<usize>>> = places.into_iter().map(Mutex::new).collect();
    workers.threads.each(pieces.len(), |piece| {
        let mut places = lock(&places[piece]);
        let Some((places, _)) = places.split_first_chunk_mut::<MOST_BUCKETS>() else { return };
        for &item in pieces[piece] {
            let place = &mut places[digit.of::<T, O>(item)];
            // SAFETY: places go from where the piece's elements of the digit begin to where those of the next piece, or digit, begin, as
            // many as the same elements were counted to be.
            #[allow(unsafe_code)]
            unsafe {
                to.set(*place, item);
            }
            *place += 1;
        }
    });
    Some(starts)
}

/// For each piece, how many elements have each digit; and the bits that some ranks have, and all.
fn counted<T: Item, O: Order>(pieces: &[&[T]], digit: Digit, workers: &Workers<'_>) -> (Vec<Vec<usize>>, u64, u64) {
    let counts: Vec<Mutex<(Vec<usize>, u64, u64)>> =
        pieces.iter().map(|_| Mutex::new((vec![0; MOST_BUCKETS], 0, u64::MAX))).collect();
    workers.threads.each(pieces.len(), |piece| {
        let mut counted = lock(&counts[piece]);
        let (counts, some, all) = &mut *counted;
        let Some((counts, _)) = counts.split_first_chunk_mut::<MOST_BUCKETS>() else { return };
        for &item in pieces[piece] {
            let rank = O::rank(item);
            *some |= rank;
            *all &= rank;
            counts[digit.of::<T, O>(item)] += 1;
        }
    });
    let mut both = (0, u64::MAX);
    let mut lists = Vec::with_capacity(pieces.len());
    for counted in counts {
        let (counts, some, all) = counted.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        both = (both.0 | some, both.1 & all);
        lists.push(counts);
    }
    (lists, both.0, both.1)
}

/// Sorts each bucket of what was spread into `to`, or into `spare`; the result is in `to`.
fn buckets<T: Item, O: Order>(
    starts: Option<Vec<usize>>,
    in_to: bool,
    to: &mut [T],
    spare: &mut [T],
    workers: &Workers<'_>,
) {
    let Some(starts) = starts else {
        if !in_to {
            to.copy_from_slice(spare);
        }
        return;
    };
    // What a thread could be left alone with at the end is shared by all once more.
    let large = (to.len() / workers.threads.count()).max(workers.grain.saturating_mul(2)).min(u32::MAX as usize);
    let mut groups: Vec<(usize, usize)> = Vec::new();
    let piece = workers.piece(to.len()) / 8;
    let mut begin = 0;
    for (bucket, pair) in starts.windows(2).enumerate() {
        let (from, end) = (pair[0], pair[1]);
        if end - from > large {
            sort_within::<T, O>(in_to, &mut to[from..end], &mut spare[from..end], workers);
            groups.push((begin, bucket));
            begin = bucket + 1;
        } else if end - starts[begin] > piece {
            groups.push((begin, bucket + 1));
            begin = bucket + 1;
        }
    }
    groups.push((begin, starts.len() - 1));
    groups.retain(|&(first, behind)| starts[first] < starts[behind]);
    let mut rest = (0, to, spare);
    let mut parts = Vec::with_capacity(groups.len());
    for (first, behind) in groups {
        let (at, to, spare) = std::mem::take(&mut rest);
        let (from, end) = (starts[first], starts[behind]);
        let (to, to_behind) = to[from - at..].split_at_mut(end - from);
        let (spare, spare_behind) = spare[from - at..].split_at_mut(end - from);
        rest = (end, to_behind, spare_behind);
        parts.push((&starts[first..=behind], to, spare));
    }
    workers.each(parts.into_iter(), |(starts, mut to, mut spare)| {
        for pair in starts.windows(2) {
            let own;
            let own_spare;
            (own, to) = to.split_at_mut(pair[1] - pair[0]);
            (own_spare, spare) = spare.split_at_mut(pair[1] - pair[0]);
            let (from, other) = if in_to { (own, own_spare) } else { (own_spare, own) };
            digits::sort_within::<T, O>(from, other, !in_to, &workers.sorts);
        }
    });
}
