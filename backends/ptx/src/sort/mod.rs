//! Sorts of rows on the device: stable, by keys in the order of `min`, NaN last.
//!
//! Keys become *ranks*, numbers whose order is that of the keys, and an *order* says which element comes where. Rows of up to 2,048 elements are sorted by
//! blocks in shared memory, several to a block. Longer ones are sorted by digits of eight bits, the lowest first (least significant digit radix
//! sort), one pass over memory for each: blocks have tiles, and what tiles before have of a digit comes by look-back. Of several keys the last
//! is sorted by first. At last keys and what moves with them are gathered in the order; a key alone is what its ranks say.
//!
//! Source of the passes: Adinets, Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022.

mod module;
pub(crate) mod modules;

use fusebox_backend::{
    BackendError, Sort,
    device_memory::{Access, ResidentArray},
};
use fusebox_ir::ElementType;

use self::module::{DIGITS, THREADS, TILE};
pub(crate) use self::module::{Widths, module};
use crate::{
    device::{Device, DeviceLaunch, device_error},
    gpu::{Buffer, Gpu},
};

/// Blocks that count the digits of a row, at most.
const MOST_SHARES: usize = 1024;
/// Blocks of a grid, at most: those that have done a piece go on to another.
const MOST_BLOCKS: usize = 1 << 20;
/// Bytes of counts that the host looks at, to leave passes out in which all elements have the same digit.
const MOST_LOOKED_AT: usize = 1 << 20;

/// Bits of the ranks of a type.
fn rank_bits(ty: ElementType) -> usize {
    if ty.bytes() == 8 { 64 } else { 32 }
}

/// How keys of a type become ranks: 0 as they are, 1 signed, 2 floats.
fn kind(ty: ElementType) -> u64 {
    match ty {
        _ if ty.is_float() => 2,
        _ if ty.is_signed() => 1,
        _ => 0,
    }
}

/// Sorts rows.
pub(crate) fn run<D: Device>(gpu: &Gpu<'_, D>, sort: Sort<'_, Buffer<D>>) -> Result<(), BackendError> {
    let Sort { name, keys, carry, results, rows, length } = sort;
    let Some(count) = rows.checked_mul(length).filter(|&count| count > 0) else { return Ok(()) };
    let mut results = results;
    results.iter_mut().try_for_each(|result| gpu.make_own(result, name))?;
    let too_small = |(ty, buffer): &(ElementType, &Buffer<D>)| buffer.bytes() < (count * ty.bytes()) as u64;
    let moved = keys.len() + carry.len();
    if keys.iter().chain(&carry).any(too_small) || results.len() != moved {
        return Err(BackendError::BadPlan { message: "a value is larger than its memory".to_owned() });
    }
    let order_bits = if length >= gpu.sorts.wide_from { 64 } else { 32 };
    let rank_bits = keys.first().map_or(32, |(ty, _)| rank_bits(*ty));
    let rows = Rows { gpu, name, rows, length, count, rank_bits, order_bits };
    if let ([(ty, key)], [], true) = (keys.as_slice(), carry.as_slice(), length > TILE) {
        let ranks = rows.by_digits(*ty, key, None, false)?.0;
        let Some(result) = results.first_mut() else { return Ok(()) };
        return rows.keys(*ty, &ranks, result);
    }
    let mut order: Option<Buffer<D>> = None;
    for (ty, key) in keys.iter().rev() {
        order = if length > TILE {
            rows.by_digits(*ty, key, order.as_ref(), true)?.1
        } else {
            Some(rows.in_blocks(*ty, key, order.as_ref())?)
        };
    }
    let Some(order) = order else { return Err(BackendError::BadPlan { message: "a sort by nothing".to_owned() }) };
    for ((ty, from), to) in keys.iter().chain(&carry).zip(results) {
        rows.gather(*ty, from, &order, to)?;
    }
    Ok(())
}

/// What is sorted.
struct Rows<'a, 'g, D: Device> {
    gpu: &'a Gpu<'g, D>,
    name: &'a str,
    rows: usize,
    /// Elements of a row.
    length: usize,
    /// Elements of all.
    count: usize,
    /// Bits of the first key's ranks.
    rank_bits: usize,
    order_bits: usize,
}

/// A parameter of an entry.
enum Argument<'a, D: Device> {
    /// A number.
    Number(u64),
    /// An array that is read.
    Read(&'a Buffer<D>),
    /// The same from so many bytes on.
    ReadFrom(&'a Buffer<D>, u64),
    /// An array that is written, perhaps read too.
    Write(&'a Buffer<D>),
}

impl<'a, D: Device> Argument<'a, D> {
    /// An array that is read, if there is one; else zero.
    fn perhaps(buffer: Option<&'a Buffer<D>>) -> Self {
        buffer.map_or(Self::Number(0), Self::Read)
    }

    fn number(number: usize) -> Self {
        Self::Number(number as u64)
    }

    fn array(&self) -> Option<(&'a ResidentArray<D>, Access)> {
        match self {
            Self::Number(_) => None,
            Self::Read(buffer) | Self::ReadFrom(buffer, _) => Some((&*buffer.array, Access::Read)),
            Self::Write(buffer) => Some((&*buffer.array, Access::Write)),
        }
    }
}

/// The ranks of elements where a digit has put them, and the order if there is one.
type Sorted<D> = (Buffer<D>, Option<Buffer<D>>);

impl<D: Device> Rows<'_, '_, D> {
    fn widths(&self, rank: usize) -> Widths {
        Widths { rank, order: self.order_bits }
    }

    fn launch(
        &self,
        widths: Widths,
        entry: &str,
        pieces: usize,
        arguments: &[Argument<'_, D>],
    ) -> Result<(), BackendError> {
        let module = self.gpu.sorts.get(self.gpu.device(), widths)?;
        let blocks = pieces.clamp(1, MOST_BLOCKS) as u32;
        let arrays: Vec<(&ResidentArray<D>, Access)> = arguments.iter().filter_map(Argument::array).collect();
        self.gpu.work(self.name, &arrays, |pins, queue| {
            let mut position = 0;
            let mut place = |offset: u64| {
                position += 1;
                pins.address(position - 1) + offset
            };
            let value = |argument: &Argument<'_, D>| match *argument {
                Argument::Number(number) => number,
                Argument::Read(_) | Argument::Write(_) => place(0),
                Argument::ReadFrom(_, offset) => place(offset),
            };
            let arguments: Vec<u64> = arguments.iter().map(value).collect();
            let launch = DeviceLaunch { entry, blocks, threads: THREADS, arguments: &arguments };
            let launched = self.gpu.device().launch(queue, &module, &launch);
            launched.map_err(|error| device_error(self.name, &error))
        })
    }

    fn memory(&self, bytes: usize) -> Result<Buffer<D>, BackendError> {
        self.gpu.needed(bytes as u64, &format!("memory to sort in, of {}", self.name))
    }

    fn cleared(&self, buffer: &Buffer<D>) -> Result<(), BackendError> {
        self.gpu.work(self.name, &[(&buffer.array, Access::Write)], |pins, queue| {
            let cleared = self.gpu.device().clear(queue, pins.address(0), buffer.bytes());
            cleared.map_err(|error| device_error(self.name, &error))
        })
    }

    fn blocks(&self) -> usize {
        self.count.div_ceil(THREADS as usize)
    }

    /// The ranks of keys, in the order so far.
    fn ranks(&self, ty: ElementType, key: &Buffer<D>, order: Option<&Buffer<D>>) -> Result<Buffer<D>, BackendError> {
        let widths = self.widths(rank_bits(ty));
        let ranks = self.memory(self.count * widths.rank_bytes())?;
        let arguments = [
            Argument::Read(key),
            Argument::perhaps(order),
            Argument::Write(&ranks),
            Argument::number(self.count),
            Argument::number(self.length),
            Argument::Number(kind(ty)),
        ];
        self.launch(widths, &format!("sort_ranks_{}", 8 * ty.bytes()), self.blocks(), &arguments)?;
        Ok(ranks)
    }

    /// Keys of ranks.
    fn keys(&self, ty: ElementType, ranks: &Buffer<D>, to: &Buffer<D>) -> Result<(), BackendError> {
        let arguments =
            [Argument::Read(ranks), Argument::Write(to), Argument::number(self.count), Argument::Number(kind(ty))];
        self.launch(self.widths(rank_bits(ty)), &format!("sort_keys_{}", 8 * ty.bytes()), self.blocks(), &arguments)
    }

    fn gather(&self, ty: ElementType, from: &Buffer<D>, order: &Buffer<D>, to: &Buffer<D>) -> Result<(), BackendError> {
        let arguments = [
            Argument::Read(from),
            Argument::Read(order),
            Argument::Write(to),
            Argument::number(self.count),
            Argument::number(self.length),
        ];
        // All modules have it: that of the first key is there.
        self.launch(self.widths(self.rank_bits), &format!("sort_gather_{}", 8 * ty.bytes()), self.blocks(), &arguments)
    }

    /// Rows of up to a tile: the order that sorting by one more key gives.
    fn in_blocks(
        &self,
        ty: ElementType,
        key: &Buffer<D>,
        before: Option<&Buffer<D>>,
    ) -> Result<Buffer<D>, BackendError> {
        let widths = self.widths(rank_bits(ty));
        let ranks = self.ranks(ty, key, before)?;
        let order = self.memory(self.count * widths.order_bytes())?;
        let places = self.length.next_power_of_two();
        let arguments = [
            Argument::Read(&ranks),
            Argument::perhaps(before),
            Argument::Write(&order),
            Argument::number(self.rows),
            Argument::number(self.length),
            Argument::number(places),
        ];
        self.launch(widths, "sort_rows", self.rows.div_ceil(TILE / places), &arguments)?;
        Ok(order)
    }

    /// Longer rows: ranks in their order, and if elements move with them the order that sorting by one more key gives.
    fn by_digits(
        &self,
        ty: ElementType,
        key: &Buffer<D>,
        before: Option<&Buffer<D>>,
        moves: bool,
    ) -> Result<Sorted<D>, BackendError> {
        let widths = self.widths(rank_bits(ty));
        let (digits, tiles) = (widths.digits(), self.length.div_ceil(TILE));
        let mut ranks = self.ranks(ty, key, before)?;
        let counts = self.memory(8 * DIGITS * digits * self.rows)?;
        self.cleared(&counts)?;
        let sizes = || (Argument::number(self.rows), Argument::number(self.length));
        let shares = tiles.min(MOST_SHARES);
        let (rows, length) = sizes();
        let arguments = [Argument::Read(&ranks), Argument::Write(&counts), rows, length, Argument::number(shares)];
        self.launch(widths, "sort_count", self.rows * shares, &arguments)?;
        let passes = self.passes(ty, &counts, digits)?;
        self.launch(
            widths,
            "sort_places",
            self.rows * digits,
            &[Argument::Write(&counts), Argument::number(self.rows * digits)],
        )?;
        let mut other = self.memory(self.count * widths.rank_bytes())?;
        let known = self.memory(8 * DIGITS * tiles * self.rows)?;
        let ticket = self.memory(8)?;
        // The order, and memory for the next one.
        let mut order: Option<Buffer<D>> = None;
        let mut spare: Option<Buffer<D>> = None;
        for digit in passes {
            self.cleared(&known)?;
            self.cleared(&ticket)?;
            if moves && spare.is_none() {
                spare = Some(self.memory(self.count * widths.order_bytes())?);
            }
            let (rows, length) = sizes();
            let arguments = [
                Argument::Read(&ranks),
                Argument::perhaps(order.as_ref().or(before)),
                Argument::Write(&other),
                spare.as_ref().map_or(Argument::Number(0), Argument::Write),
                Argument::ReadFrom(&counts, (8 * DIGITS * digit) as u64),
                Argument::Write(&known),
                Argument::Write(&ticket),
                rows,
                length,
                Argument::number(tiles),
                Argument::number(8 * digit),
                Argument::number(DIGITS * digits),
            ];
            self.launch(widths, "sort_pass", tiles * self.rows, &arguments)?;
            std::mem::swap(&mut ranks, &mut other);
            std::mem::swap(&mut order, &mut spare);
        }
        Ok((ranks, order))
    }

    /// The digits in which elements of a row differ; where that is too much to look at all digits.
    fn passes(&self, ty: ElementType, counts: &Buffer<D>, digits: usize) -> Result<Vec<usize>, BackendError> {
        let used = 0..ty.bytes();
        let bytes = 8 * DIGITS * digits * self.rows;
        if bytes > MOST_LOOKED_AT {
            return Ok(used.collect());
        }
        let counts = self.gpu.bytes_of(counts, bytes)?;
        let counts: Vec<u64> =
            counts.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect();
        let differ = |digit: &usize| {
            let own = counts.chunks_exact(DIGITS * digits).map(|row| &row[DIGITS * digit..][..DIGITS]);
            own.into_iter().any(|own| own.iter().all(|&count| count != self.length as u64))
        };
        // One pass at least, which makes an order.
        let mut passes: Vec<usize> = used.filter(differ).collect();
        if passes.is_empty() {
            passes.push(0);
        }
        Ok(passes)
    }
}
