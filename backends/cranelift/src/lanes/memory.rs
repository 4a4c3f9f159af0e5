//! Memory of lanes, which the next lane finds again.

use std::mem::offset_of;

use fusebox_ir::{ALIGNMENT, Array, Memory};

use super::frame::{Frame, Result, Stop};

/// Most bytes of memory that a thread keeps for later lanes. An array whose elements are counted as they are stored, as that of a filter, has room for all
/// that there could be: 60,000 keys in the parts of 32 pivots ask for 8 MB, of which a part is written.
pub(crate) const POOL_BYTES: usize = 64 << 20;

/// Where an array is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// 0 where it is not made.
    pub address: u64,
    pub elements: i64,
    /// Memory of lanes, by number; 0 where it is none, as that of arrays from outside, which nobody writes.
    pub piece: usize,
}

pub(super) const NOWHERE: Place = Place { address: 0, elements: 0, piece: 0 };

/// What code knows of a piece of memory.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct PieceWords {
    /// How many arrays are in it.
    pub count: i64,
    pub address: u64,
    /// The most bytes of an array in it.
    pub room: i64,
    /// Where no array is in it, the piece that was freed before it; 0: none.
    pub next: u64,
    /// Bytes of the array in it.
    pub bytes: i64,
}

/// Where its words are, in bytes.
pub(super) const COUNT_AT: i32 = offset_of!(PieceWords, count) as i32;
pub(super) const ADDRESS_AT: i32 = offset_of!(PieceWords, address) as i32;
pub(super) const ROOM_AT: i32 = offset_of!(PieceWords, room) as i32;
pub(super) const NEXT_AT: i32 = offset_of!(PieceWords, next) as i32;
pub(super) const BYTES_AT: i32 = offset_of!(PieceWords, bytes) as i32;

/// How many arrays are in what is no memory of lanes: more than come and go, so that there is never one alone, and never none.
const OUTSIDE: i64 = 1 << 62;

/// The memory of one worker's lanes.
#[derive(Debug, Default)]
pub(super) struct LaneMemory {
    /// From the piece with number 1 on.
    pieces: Vec<Memory>,
    /// What code knows of each piece, from number 0 on.
    pub words: Vec<PieceWords>,
    pub frame: Frame,
    pub scratch: Option<Memory>,
    /// Where launches work, which need no array for it.
    working: Vec<Memory>,
    pub slot: Vec<u64>,
    /// For what lanes read from outside; empty between runs.
    pub outside: Vec<Array>,
}

/// Of a piece that no array is in.
fn words_of(memory: &mut Memory) -> PieceWords {
    // An array takes whole lines, and one more is behind it.
    let room = memory.capacity() as i64 - ALIGNMENT as i64;
    PieceWords { count: 0, address: memory.bytes_mut().as_mut_ptr() as u64, room, next: 0, bytes: 0 }
}

impl LaneMemory {
    /// No array is in any piece; the one that was freed last.
    pub(super) fn clear(&mut self) -> u64 {
        let outside = PieceWords { count: OUTSIDE, room: -1, ..PieceWords::default() };
        let pieces = self.pieces.iter_mut().enumerate();
        let pieces = pieces.map(|(before, memory)| PieceWords { next: before as u64, ..words_of(memory) });
        self.words.clear();
        self.words.extend(std::iter::once(outside).chain(pieces));
        self.pieces.len() as u64
    }

    /// Bytes that the memory of lanes takes.
    pub(super) fn bytes_held(&self) -> usize {
        self.pieces.iter().map(Memory::capacity).sum()
    }

    pub(super) fn drop_pieces(&mut self) {
        self.pieces.clear();
    }

    /// A piece of memory for so many bytes that no array is in: what was freed last may still be in a cache. `last` is the one that was freed last, and
    /// then is what is left.
    pub(super) fn piece(&mut self, bytes: usize, last: &mut u64) -> Result<usize> {
        let fits = |words: &PieceWords| i64::try_from(bytes).is_ok_and(|bytes| bytes <= words.room);
        let (mut after, mut piece) = (0, *last as usize);
        while piece != 0 {
            let PieceWords { next, .. } = self.words[piece];
            if fits(&self.words[piece]) {
                let link = if after == 0 { &mut *last } else { &mut self.words[after].next };
                *link = next;
                return Ok(piece);
            }
            (after, piece) = (piece, next as usize);
        }
        // Half as much again, so that lanes a little longer than those before find room.
        let mut new = Memory::zeros(bytes + bytes / 2).ok_or(Stop::Failed)?;
        let words = words_of(&mut new);
        match *last as usize {
            0 => {
                self.pieces.push(new);
                self.words.push(words);
                Ok(self.pieces.len())
            }
            piece => {
                *last = self.words[piece].next;
                self.pieces[piece - 1] = new;
                self.words[piece] = words;
                Ok(piece)
            }
        }
    }

    /// The bytes of a piece; none of what is no memory of lanes.
    pub(super) fn bytes(&self, piece: usize) -> Option<&[u8]> {
        Some(self.pieces.get(piece.checked_sub(1)?)?.bytes())
    }

    pub(super) fn bytes_mut(&mut self, piece: usize) -> &mut [u8] {
        self.pieces[piece - 1].bytes_mut()
    }

    /// Zeros for a launch to work in: eight bytes for each block, and a few more; where they are.
    pub(super) fn working(&mut self, number: usize, blocks: u64) -> Result<u64> {
        let bytes = usize::try_from(blocks).ok().and_then(|blocks| blocks.checked_mul(8)).ok_or(Stop::Failed)?;
        let wanted = Memory::capacity_for(bytes).ok_or(Stop::Failed)?;
        while self.working.len() <= number {
            self.working.push(Memory::zeros(64).ok_or(Stop::Failed)?);
        }
        let memory = &mut self.working[number];
        if memory.capacity() < wanted {
            *memory = Memory::zeros(bytes).ok_or(Stop::Failed)?;
        }
        memory.bytes_mut()[..wanted].fill(0);
        Ok(memory.bytes_mut().as_mut_ptr() as u64)
    }
}
