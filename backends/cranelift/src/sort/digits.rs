//! Sorts by digits on one thread, the lowest digit first (least significant digit radix sort).
//!
//! Each pass reads one array and writes the other in the order of one digit. Equal digits keep their order, and so do equal ranks.

use fusebox_schedule::Sorts;

use super::item::{Item, Order};

/// Bits of a digit at most: the counts of a pass fit the innermost cache beside what is moved.
const MOST_BITS: u32 = Sorts::MOST_DIGIT;

/// Bits of a digit at most where elements are fewer than counts of longer ones.
const FEWER_BITS: u32 = 8;

/// From this many elements on digits are as long as they may be.
const MANY: usize = 2_048;

/// Where elements go, by digit.
type Places = [u32; 1 << MOST_BITS];

/// Which bits passes go through.
struct Digits {
    /// The lowest bit in which ranks differ.
    low: u32,
    /// Bits of a digit.
    bits: u32,
    /// As many as there are digits.
    passes: u32,
}

impl Digits {
    /// For ranks that differ in these bits.
    fn new(differing: u64, count: usize, most_bits: u32) -> Self {
        if differing == 0 {
            return Self { low: 0, bits: 1, passes: 0 };
        }
        let low = differing.trailing_zeros();
        let bits = u64::BITS - differing.leading_zeros() - low;
        let passes = bits.div_ceil(if count < MANY { FEWER_BITS.min(most_bits) } else { most_bits });
        Self { low, bits: bits.div_ceil(passes), passes }
    }

    #[inline(always)]
    fn of(&self, rank: u64, pass: u32) -> usize {
        let mask = (1 << self.bits) - 1;
        // The last digit may end behind the highest bit, which is 63 at most.
        (rank >> (self.low + self.bits * pass)) as usize & mask & (size_of::<Places>() / 4 - 1)
    }
}

/// The bits in which ranks differ.
pub(super) fn differing<T: Item, O: Order>(items: &[T]) -> u64 {
    let (mut some, mut all) = (0, u64::MAX);
    for &item in items {
        let rank = O::rank(item);
        some |= rank;
        all &= rank;
    }
    some & !all
}

/// How many passes elements of so many differing bits need, where there are many of them.
pub(super) fn passes(bits: u32, sorts: &Sorts) -> u32 {
    bits.div_ceil(sorts.digit)
}

/// Sorts `items`, of which there are fewer than 2^32, into `to`, with `spare` in between.
pub(super) fn sort<T: Item, O: Order>(items: &[T], to: &mut [T], spare: &mut [T], sorts: &Sorts) {
    if items.len() <= sorts.compare as usize {
        to.copy_from_slice(items);
        return compare::<T, O>(to);
    }
    let digits = Digits::new(differing::<T, O>(items), items.len(), sorts.digit);
    let mut counts = counts::<T, O>(items, &digits);
    let Some((first, rest)) = counts.split_first_mut() else { return to.copy_from_slice(items) };
    let (mut next, mut other) = if rest.len() % 2 == 0 { (to, spare) } else { (spare, to) };
    pass::<T, O>(items, next, first, &digits, 0);
    for (number, places) in (1..).zip(rest) {
        pass::<T, O>(next, other, places, &digits, number);
        std::mem::swap(&mut next, &mut other);
    }
}

/// Sorts what is in `items`, fewer than 2^32 elements, with `other` in between; the result is in `items`, or `in_other`.
pub(super) fn sort_within<T: Item, O: Order>(items: &mut [T], other: &mut [T], in_other: bool, sorts: &Sorts) {
    if items.len() <= sorts.compare as usize {
        compare::<T, O>(items);
        if in_other {
            other.copy_from_slice(items);
        }
        return;
    }
    let digits = Digits::new(differing::<T, O>(items), items.len(), sorts.digit);
    let mut counts = counts::<T, O>(items, &digits);
    let moves = (digits.passes % 2 == 1) != in_other;
    let (mut from, mut to) = (items, other);
    for (number, places) in (0..).zip(&mut counts) {
        pass::<T, O>(from, to, places, &digits, number);
        std::mem::swap(&mut from, &mut to);
    }
    if moves {
        to.copy_from_slice(from);
    }
}

/// Sorts a few.
fn compare<T: Item, O: Order>(items: &mut [T]) {
    if items.len() > 24 {
        return items.sort_by_key(|&item| O::rank(item));
    }
    for end in 1..items.len() {
        let item = items[end];
        let rank = O::rank(item);
        let mut place = end;
        while place > 0 && O::rank(items[place - 1]) > rank {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
    }
}

/// For each pass, where the first element of each digit goes.
#[inline(never)] // as a part of a longer function its loop keeps less in registers: a sort took 1.8 times as long
fn counts<T: Item, O: Order>(items: &[T], digits: &Digits) -> Vec<Places> {
    let mut counts: Vec<Places> = vec![[0; 1 << MOST_BITS]; digits.passes as usize];
    // Each is a loop of its own, so that counts stay in the innermost cache.
    for (number, counts) in (0..).zip(&mut counts) {
        for &item in items {
            counts[digits.of(O::rank(item), number)] += 1;
        }
        let mut sum = 0;
        for count in &mut counts[..1 << digits.bits] {
            sum += std::mem::replace(count, sum);
        }
    }
    counts
}

/// Moves elements to where their digit is.
#[inline(never)] // as above
fn pass<T: Item, O: Order>(from: &[T], to: &mut [T], places: &mut Places, digits: &Digits, number: u32) {
    for &item in from {
        let place = &mut places[digits.of(O::rank(item), number)];
        to[*place as usize] = item;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::item::{Float, Signed, Unsigned};

    /// Numbers of which the bits of `mask` are set or not.
    fn numbers(count: usize, mask: u64) -> Vec<u64> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state ^ state >> 29).wrapping_mul(0xff51afd7ed558ccd) & mask
        };
        (0..count).map(|_| next()).collect()
    }

    fn checked<O: Order>(numbers: &[u64]) {
        let records: Vec<[u64; 2]> = (0..).zip(numbers).map(|(at, &number)| [number, at]).collect();
        let mut expected = records.clone();
        expected.sort_by_key(|&record| O::rank(record));
        let (mut to, mut spare) = (vec![[0; 2]; records.len()], vec![[0; 2]; records.len()]);
        for sorts in [
            Sorts::USUAL,
            Sorts { digit: 1, compare: 0, ..Sorts::USUAL },
            Sorts { digit: 5, compare: 1_000, ..Sorts::USUAL },
        ] {
            sort::<_, O>(&records, &mut to, &mut spare, &sorts);
            assert!(to == expected, "{} {sorts:?}", records.len());
            for in_other in [false, true] {
                let mut items = records.clone();
                sort_within::<_, O>(&mut items, &mut spare, in_other, &sorts);
                assert!(
                    (if in_other { &spare } else { &items }) == &expected,
                    "{} {in_other} {sorts:?}",
                    records.len()
                );
            }
        }
    }

    #[test]
    fn equal_ranks_keep_their_order() {
        for mask in [u64::MAX, 0, 1, 0xf0, 0x7ff << 53, 0xff_ffff << 11, 1 << 63 | 1] {
            for count in [0, 1, 2, 24, 25, 192, 193, MANY, 9_000] {
                let numbers = numbers(count, mask);
                checked::<Unsigned>(&numbers);
                checked::<Signed>(&numbers);
                checked::<Float>(&numbers);
            }
        }
    }

    #[test]
    fn ranks_are_in_the_order_of_keys() {
        let floats = [f32::NEG_INFINITY, -2.5, -1e-40, -0.0, 0.0, 1e-40, 1.5, f32::INFINITY, f32::NAN];
        let ranks = floats.map(|float| Float::rank(float.to_bits()));
        assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]), "{ranks:?}");
        assert_eq!(Float::rank((-f32::NAN).to_bits()), ranks[8]);
        let integers = [i16::MIN, -7, 0, 1, i16::MAX].map(|integer| Signed::rank(integer as u16));
        assert!(integers.windows(2).all(|pair| pair[0] < pair[1]), "{integers:?}");
    }
}
