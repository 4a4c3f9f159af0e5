//! The argument table of a launch, and the calls of block functions with it: the one place where machine code meets Rust.

use std::{cell::RefCell, marker::PhantomData};

use fusebox_backend::LaunchArray;
use fusebox_ir::{Array, KernelArrayId, RunError};
use smallvec::SmallVec;

use crate::{
    alike,
    code_memory::Code,
    emit::HiddenArgument,
    failure::{self, SLOT_WORDS},
};

thread_local! {
    /// Scratch memory and the error slot of this thread.
    static SCRATCH: RefCell<(Vec<u64>, Vec<u64>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// The words that block functions of one kernel take: sizes, addresses of arrays, hidden arguments. All that it holds addresses of is borrowed
/// for as long as it lives, so nobody else touches that memory, nor is it given back.
#[derive(Clone)]
pub(super) struct Table<'m> {
    words: SmallVec<[u64; 32]>,
    /// Where the addresses of arrays begin.
    arrays: usize,
    hidden: &'m [HiddenArgument],
    /// Where they begin.
    first: usize,
    memory: PhantomData<&'m mut [u8]>,
}

/// Some rows of an array, in memory that is borrowed: where its row 0 is, or would be. Who calls code with it sees to it that the code touches
/// only rows that are in that memory, and that no other thread writes them meanwhile.
#[derive(Clone, Copy)]
pub(super) struct RowMemory<'m> {
    address: u64,
    /// Bytes of the array before the first that is in memory.
    missing: usize,
    memory: PhantomData<&'m [u8]>,
}

impl<'m> RowMemory<'m> {
    /// All rows.
    pub(super) fn of(array: &'m Array) -> Self {
        Self { address: array.bytes().as_ptr() as u64, missing: 0, memory: PhantomData }
    }

    /// All rows, to be written.
    pub(super) fn of_mut(array: &'m mut Array) -> Self {
        Self { address: array.bytes_mut().as_mut_ptr() as u64, missing: 0, memory: PhantomData }
    }

    /// No rows: no code that is called with it touches the array.
    pub(super) fn nowhere() -> Self {
        Self { address: std::ptr::NonNull::<u64>::dangling().as_ptr() as u64, missing: 0, memory: PhantomData }
    }

    /// The same memory for rows before which so many bytes are missing.
    pub(super) fn without(self, before: usize) -> Self {
        Self { address: self.address.wrapping_sub(before as u64), missing: before, ..self }
    }

    /// Copies bytes `from..to` of the array to another's memory.
    #[allow(unsafe_code)]
    pub(super) fn copy_to(self, other: Self, (from, to): (usize, usize)) {
        let (source, target) = (self.address.wrapping_add(from as u64), other.address.wrapping_add(from as u64));
        // SAFETY: as for calls: these bytes are in the memory of both, which are two, and nobody else touches them.
        unsafe { std::ptr::copy_nonoverlapping(source as *const u8, target as *mut u8, to - from) }
    }
}

impl<'m> Table<'m> {
    pub(super) fn new(sizes: &[i64], arrays: &'m mut [LaunchArray<'_, Array>], hidden: &'m [HiddenArgument]) -> Self {
        let addresses = arrays.iter_mut().map(|array| match array {
            LaunchArray::Read(array) => array.bytes().as_ptr() as u64,
            LaunchArray::Write(array) => array.bytes_mut().as_mut_ptr() as u64,
            LaunchArray::InPlace(_) => 0,
        });
        let mut table = Self::of_addresses(sizes, addresses, hidden);
        for (position, array) in arrays.iter().enumerate() {
            if let LaunchArray::InPlace(written) = array {
                table.words[sizes.len() + position] = table.words[sizes.len() + written];
            }
        }
        table
    }

    /// A table for calls on some rows: of each array the address of row 0.
    pub(super) fn of_rows(
        sizes: &[i64],
        arrays: impl Iterator<Item = RowMemory<'m>>,
        hidden: &'m [HiddenArgument],
    ) -> Self {
        let rows: SmallVec<[RowMemory<'m>; 8]> = arrays.collect();
        let mut table = Self::of_addresses(sizes, rows.iter().map(|rows| rows.address), hidden);
        for (word, argument) in hidden.iter().enumerate() {
            if let HiddenArgument::FirstElement(array, bytes) = argument {
                table.words[table.first + word] = rows.get(array.index()).map_or(0, |own| own.missing / bytes) as u64;
            }
        }
        table
    }

    fn of_addresses(sizes: &[i64], addresses: impl Iterator<Item = u64>, hidden: &'m [HiddenArgument]) -> Self {
        let mut words: SmallVec<[u64; 32]> = sizes.iter().map(|&size| size as u64).collect();
        words.extend(addresses);
        let first = words.len();
        words.extend(hidden.iter().map(|argument| match argument {
            HiddenArgument::Number(number) => alike::bits(*number),
            _ => 0,
        }));
        Self { words, arrays: sizes.len(), hidden, first, memory: PhantomData }
    }

    /// The word of a hidden argument, if the code has it.
    pub(super) fn word_of(&self, argument: HiddenArgument) -> Option<usize> {
        self.hidden.iter().position(|&own| own == argument).map(|position| self.first + position)
    }

    /// Sets a hidden argument that is a number, if the code has it.
    pub(super) fn set(&mut self, argument: HiddenArgument, number: u64) {
        if let Some(word) = self.word_of(argument) {
            self.words[word] = number;
        }
    }

    /// Sets a word that is a number.
    pub(super) fn set_word(&mut self, word: usize, number: u64) {
        self.words[word] = number;
    }

    /// Sets a hidden argument that is an address, if the code has it.
    pub(super) fn point(&mut self, argument: HiddenArgument, memory: &'m mut [u8]) {
        if let Some(word) = self.word_of(argument) {
            self.words[word] = memory.as_mut_ptr() as u64;
        }
    }

    /// Puts memory of as many bytes in the place of an array.
    pub(super) fn replace(&mut self, array: KernelArrayId, memory: &'m mut [u8]) {
        self.words[self.arrays + array.index()] = memory.as_mut_ptr() as u64;
    }

    /// Calls one part for a range; gives the first word of scratch memory.
    #[allow(unsafe_code)]
    pub(super) fn call(&self, code: &Code, (from, to): (i64, i64)) -> Result<u64, RunError> {
        SCRATCH.with_borrow_mut(|(scratch, slot)| {
            let words = code.scratch / 8 + 16;
            if scratch.len() < words {
                // Zeros that nobody wrote take no memory: of room for long panels, what shorter ones need is there alone.
                *scratch = vec![0; words];
            }
            slot.resize(SLOT_WORDS, 0);
            let ahead = scratch.as_ptr().align_offset(64);
            let aligned = &mut scratch[ahead..];
            // SAFETY: the function is compiled from a checked kernel for this argument table: its addresses are of arrays that hold the
            // extents in the table, and of memory of the size that the hidden argument asks for, all borrowed as long as the table lives.
            // Of a table for rows (`of_rows`), the kernel touches only rows near its range (`by_row`), and whoever places them makes room
            // for those and no other range's. Of records (`partitioned`), each call combines into the targets of one part, which no other call has. Scratch memory has the bytes it asks for, the slot has room for every failure.
            let result = unsafe {
                (code.function)(self.words.as_ptr(), from, to, aligned.as_mut_ptr().cast(), slot.as_mut_ptr())
            };
            if result == 0 {
                return Ok(aligned[0]);
            }
            let site = result as usize - 1;
            Err(failure::error(&code.sites[site], code.widths[site], slot))
        })
    }

    /// Writes an element of `width` bytes of an array that the kernel appends to, with what it holds: its page is there then.
    #[allow(unsafe_code)]
    pub(super) fn touch(&self, (array, width): (KernelArrayId, usize), at: u64) {
        let base = self.words[self.arrays + array.index()] as *mut u8;
        // SAFETY: the caller says that the element is within the array, and the first that a range puts: it is that range's alone until then.
        unsafe {
            let place = base.add(at as usize * width);
            place.write_volatile(place.read_volatile());
        }
    }

    /// Moves `count` elements of `width` bytes down within an array that the kernel appends to.
    #[allow(unsafe_code)]
    pub(super) fn move_down(&self, (array, width): (KernelArrayId, usize), from: u64, to: u64, count: u64) {
        if from == to {
            return;
        }
        let base = self.words[self.arrays + array.index()] as *mut u8;
        // SAFETY: `from + count` is within the array, whose room was checked to hold every point's element, and `to` is below `from`; the
        // range from `to` on belongs to ranges that are done, which only one thread at a time touches: it holds the lock of the appends.
        unsafe {
            std::ptr::copy(base.add(from as usize * width), base.add(to as usize * width), count as usize * width);
        }
    }
}

/// Memory in `count` parts of so many bytes.
pub(super) fn parts(memory: &mut [u8], count: usize, bytes: usize) -> Vec<&mut [u8]> {
    let mut rest = memory;
    (0..count)
        .map(|_| {
            let (part, more) = std::mem::take(&mut rest).split_at_mut(bytes);
            rest = more;
            part
        })
        .collect()
}
