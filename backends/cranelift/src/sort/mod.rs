//! Stable sorting of rows by keys in the order of `min`: -0 before +0, NaN last and all equal.
//!
//! A key becomes an unsigned number of the same order, by whose digits elements are sorted. Where keys are all that there is, they are moved
//! themselves. Otherwise records of a number and a position are sorted, by the last key first, and every array is read in the order that is
//! found.

mod digits;
mod item;
mod network;
mod spread;

use bytemuck::Pod;
use fusebox_backend::{BackendError, Sort};
use fusebox_ir::{Array, ElementType, Fault, Place, RunError};

use self::{
    item::{Float, Item, Order, Record, Signed, Unsigned},
    network::{InLanes, RecordInLanes, Rows},
    spread::Workers,
};
use crate::Shared;

/// Nanoseconds that an element takes on one thread.
const ELEMENT_NS: u64 = 4;

/// How many times as much work as a kernel that is shared a sort should have: threads meet three times, and elements move from one core to another.
const MEETINGS: u64 = 12;

/// Elements that a thread has at least, whatever the configuration says.
const LEAST: usize = 64;

/// There is no memory to work in.
struct NoMemory;

type Result<T = ()> = std::result::Result<T, NoMemory>;

/// One sort.
///
/// # Errors
/// [`Fault::TooLarge`] if there is no memory to work in.
pub(crate) fn run(sort: Sort<'_, Array>, shared: &Shared) -> std::result::Result<(), BackendError> {
    let (rows, length, name) = (sort.rows, sort.length, sort.name);
    if rows == 0 || length == 0 {
        return Ok(());
    }
    let sorter = Sorter {
        shared,
        workers: Workers {
            threads: &shared.threads,
            sorts: shared.sorts,
            grain: ((shared.share_from_ns.saturating_mul(MEETINGS) / ELEMENT_NS) as usize / 2).max(LEAST),
        },
        rows,
        length,
    };
    sorter.sort(sort).map_err(|NoMemory| {
        let extents = [rows, length].iter().filter_map(|&extent| i64::try_from(extent).ok()).collect();
        let fault = Fault::TooLarge { array: name.to_owned(), extents };
        RunError { operation: format!("sort `{name}`"), place: Place::default(), fault }.into()
    })
}

/// Elements of an array as what sorts move.
fn items<T: Pod>(array: &Array, count: usize) -> &[T] {
    bytemuck::cast_slice(&array.bytes()[..count * size_of::<T>()])
}

/// The same, to change.
fn items_mut<T: Pod>(array: &mut Array, count: usize) -> &mut [T] {
    bytemuck::cast_slice_mut(&mut array.bytes_mut()[..count * size_of::<T>()])
}

/// Calls a generic function for the type and the order of a key.
macro_rules! by_key {
    ($element:expr, $function:ident($($argument:expr),*)) => {
        match $element {
            ElementType::Bool | ElementType::U8 => $function::<u8, Unsigned>($($argument),*),
            ElementType::U16 => $function::<u16, Unsigned>($($argument),*),
            ElementType::U32 => $function::<u32, Unsigned>($($argument),*),
            ElementType::U64 => $function::<u64, Unsigned>($($argument),*),
            ElementType::I8 => $function::<u8, Signed>($($argument),*),
            ElementType::I16 => $function::<u16, Signed>($($argument),*),
            ElementType::I32 => $function::<u32, Signed>($($argument),*),
            ElementType::I64 => $function::<u64, Signed>($($argument),*),
            ElementType::F16 => $function::<u16, Float>($($argument),*),
            ElementType::F32 => $function::<u32, Float>($($argument),*),
            ElementType::F64 => $function::<u64, Float>($($argument),*),
        }
    };
}

/// A sort of some rows.
struct Sorter<'s> {
    shared: &'s Shared,
    workers: Workers<'s>,
    rows: usize,
    /// Elements of a row.
    length: usize,
}

impl Sorter<'_> {
    fn count(&self) -> usize {
        self.rows * self.length
    }

    /// Memory of any contents for as many elements as there are.
    fn room(&self, element: ElementType, each: usize) -> Result<Array> {
        self.shared.memory.take(element, &[self.count(), each]).ok_or(NoMemory)
    }

    fn sort(&self, mut sort: Sort<'_, Array>) -> Result {
        if let ([(element, key)], []) = (&*sort.keys, &*sort.carry)
            && let [result] = &mut *sort.results
        {
            let mut spare = self.room(*element, 1)?;
            by_key!(*element, sort_keys(self, key, result, &mut spare));
            return Ok(());
        }
        // Ranks and positions of 32 bits are half as many bytes to move.
        if sort.keys.iter().all(|(element, _)| element.bytes() <= 4) && u32::try_from(self.length).is_ok() {
            self.by_position::<[u32; 2]>(&mut sort)
        } else {
            self.by_position::<[u64; 2]>(&mut sort)
        }
    }

    /// Finds the order of positions, and reads all arrays in it.
    fn by_position<R: RecordInLanes>(&self, sort: &mut Sort<'_, Array>) -> Result {
        let words = size_of::<R>() / 8;
        let (mut records, mut spare) = (self.room(ElementType::U64, words)?, self.room(ElementType::U64, words)?);
        let records = items_mut::<R>(&mut records, self.count());
        for (number, &(element, key)) in sort.keys.iter().rev().enumerate() {
            by_key!(element, rank_records(self, key, records, number == 0));
            let spare = items_mut::<R>(&mut spare, self.count());
            self.each_row(
                (records, spare),
                |_, row, spare, workers| spread::sort_within::<R, Unsigned>(true, row, spare, workers),
                // Only of the first key, records of equal ranks are in the order of positions.
                (R::FEWER, |_, rows, spare| number == 0 && R::sort_rows(rows, spare, self.length)),
            );
        }
        let sources = sort.keys.iter().chain(&sort.carry);
        for (&(element, source), result) in sources.zip(&mut sort.results) {
            match element.bytes() {
                1 => self.gather::<R, u8>(source, result, records),
                2 => self.gather::<R, u16>(source, result, records),
                4 => self.gather::<R, u32>(source, result, records),
                _ => self.gather::<R, u64>(source, result, records),
            }
        }
        Ok(())
    }

    /// Sorts each row of `to`, with `spare` in between: many rows at once on all threads, or each row on all. Where rows have so many times `fewer`
    /// elements than networks sort, some are sorted at once by `several`, if it can; it gets the number of the first.
    fn each_row<T: Item>(
        &self,
        (to, spare): (&mut [T], &mut [T]),
        one: impl Fn(usize, &mut [T], &mut [T], &Workers<'_>) + Sync,
        (fewer, several): (usize, impl Fn(usize, &mut [T], &mut [T]) -> bool + Sync),
    ) {
        let length = self.length;
        let short = length <= self.workers.sorts.network as usize / fewer;
        let rows = |first: usize, to: &mut [T], spare: &mut [T], workers: &Workers<'_>| {
            let (mut first, mut rest) = (first, (to, spare));
            while !rest.0.is_empty() {
                let count = if short { network::at_once(rest.0.len() / length) } else { 1 };
                let (to, spare) = rest;
                let ((to, to_behind), (spare, spare_behind)) =
                    (to.split_at_mut(count * length), spare.split_at_mut(count * length));
                if count == 1 || !several(first, to, spare) {
                    let each = to.chunks_mut(length).zip(spare.chunks_mut(length)).enumerate();
                    each.for_each(|(row, (to, spare))| one(first + row, to, spare, workers));
                }
                (first, rest) = (first + count, (to_behind, spare_behind));
            }
        };
        if self.rows < 4 * self.workers.threads.count() || !self.workers.share(self.count()) {
            return rows(0, to, spare, &self.workers);
        }
        let alone = Workers { grain: usize::MAX, ..self.workers };
        // Some rows at a time, as few have few elements; short ones as many as a network sorts at once.
        let each = self.workers.piece(self.count()).div_ceil(length);
        let each = if short { each.next_multiple_of(network::MANY) } else { each };
        let pieces = to.chunks_mut(each * length).zip(spare.chunks_mut(each * length)).enumerate();
        self.workers.each(pieces, |(piece, (to, spare))| rows(piece * each, to, spare, &alone));
    }

    /// Pieces of an array in which threads share work that is the same for each element.
    fn pieces<'a, T: Item>(&self, items: &'a mut [T]) -> impl ExactSizeIterator<Item = (usize, &'a mut [T])> + Send {
        let share = self.workers.share(items.len());
        let piece = if share { self.workers.piece(items.len()) } else { items.len() };
        items.chunks_mut(piece).enumerate().map(move |(number, part)| (number * piece, part))
    }

    /// Reads an array in the order of positions.
    fn gather<R: Record, T: Item>(&self, source: &Array, result: &mut Array, records: &[R]) {
        let (source, result) = (items::<T>(source, self.count()), items_mut::<T>(result, self.count()));
        self.workers.each(self.pieces(result), |(first, part)| {
            for (row, at, part) in parts_of_rows(first, part, self.length) {
                let row = &source[row..][..self.length];
                for (item, record) in part.iter_mut().zip(&records[at..]) {
                    *item = row[record.position()];
                }
            }
        });
    }
}

/// Elements from `first` on as parts of rows of so many elements: where its row begins, where the part begins, and its elements.
fn parts_of_rows<T>(first: usize, elements: &mut [T], length: usize) -> impl Iterator<Item = (usize, usize, &mut [T])> {
    let (mut row, mut at, mut rest) = (first - first % length, first, elements);
    std::iter::from_fn(move || {
        let count = rest.len().min(row + length - at);
        let part = rest.split_off_mut(..count).filter(|part| !part.is_empty())?;
        let found = (row, at, part);
        (row, at) = (row + length, row + length);
        Some(found)
    })
}

/// Sorts keys that are all there is.
fn sort_keys<T: InLanes, O: Order>(sorter: &Sorter<'_>, key: &Array, result: &mut Array, spare: &mut Array) {
    let (count, length) = (sorter.count(), sorter.length);
    let key = items::<T>(key, count);
    sorter.each_row(
        (items_mut::<T>(result, count), items_mut(spare, count)),
        |row, to, spare, workers| spread::sort::<T, O>(&key[row * length..][..length], to, spare, workers),
        (T::FEWER, |first, to, spare| {
            let from = Some(&key[first * length..][..to.len()]);
            network::sort::<T, O>(Rows { from, to, spare, length })
        }),
    );
}

/// Gives records the ranks of a key; the first time also positions, in order.
fn rank_records<T: Item, O: Order>(sorter: &Sorter<'_>, key: &Array, records: &mut [impl Record], first: bool) {
    let key = items::<T>(key, records.len());
    sorter.workers.each(sorter.pieces(records), |(begin, part)| {
        for (row, at, part) in parts_of_rows(begin, part, sorter.length) {
            let key = &key[row..][..sorter.length];
            for (own, record) in (at - row..).zip(part) {
                let position = if first { own } else { record.position() };
                *record = Record::new(O::rank(key[position]), position);
            }
        }
    });
}
