//! Where the arrays of a lane are: memory that the next lane finds again.

use fusebox_ir::Memory;

use super::{
    frame::{ELEMENTS, Frame, PIECE},
    helpers::Stop,
    lane::{LaneScript, Result},
};

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

/// How many arrays are in what is no memory of lanes: more than come and go, so that there is never one alone, and never none.
const OUTSIDE: i64 = 1 << 62;

/// A piece of memory of lanes.
#[derive(Debug)]
struct Piece {
    memory: Memory,
    address: u64,
    capacity: usize,
}

impl Piece {
    /// None if there is no memory of so many bytes.
    fn new(bytes: usize) -> Option<Self> {
        let mut memory = Memory::zeros(bytes)?;
        Some(Self { address: memory.bytes_mut().as_mut_ptr() as u64, capacity: memory.capacity(), memory })
    }
}

/// The memory of one worker's lanes.
#[derive(Debug, Default)]
pub(super) struct LaneMemory {
    /// From the piece with number 1 on.
    pieces: Vec<Piece>,
    /// How many arrays are in each piece, from number 0 on.
    pub counts: Vec<i64>,
    /// Pieces that no array is in.
    pub free: Vec<usize>,
    pub frame: Frame,
    pub scratch: Option<Memory>,
    working: Vec<Memory>,
    pub slot: Vec<u64>,
}

impl LaneMemory {
    /// No array is in any piece.
    pub(super) fn clear(&mut self) {
        self.counts.clear();
        self.counts.resize(self.pieces.len() + 1, 0);
        self.counts[0] = OUTSIDE;
        self.free.clear();
        self.free.extend(1..self.counts.len());
    }

    /// Bytes that the memory of lanes takes.
    pub(super) fn bytes_held(&self) -> usize {
        self.pieces.iter().map(|piece| piece.capacity).sum()
    }

    pub(super) fn drop_pieces(&mut self) {
        self.pieces.clear();
    }

    /// Memory of so many bytes that no array is in: what was freed last may still be in a cache.
    fn piece(&mut self, bytes: usize) -> Result<usize> {
        let wanted = Memory::capacity_for(bytes).ok_or(Stop::Failed)?;
        let Self { pieces, free, .. } = self;
        if let Some(at) = free.iter().rposition(|&piece| pieces[piece - 1].capacity >= wanted) {
            return Ok(free.remove(at));
        }
        // Half as much again, so that lanes a little longer than those before find room.
        let new = Piece::new(bytes + bytes / 2).ok_or(Stop::Failed)?;
        match free.pop() {
            Some(piece) => {
                pieces[piece - 1] = new;
                Ok(piece)
            }
            None => {
                pieces.push(new);
                self.counts.push(0);
                Ok(pieces.len())
            }
        }
    }
}

impl LaneScript<'_> {
    /// Memory for an array; that of another of as many bytes, if nothing else is in it.
    pub(super) fn allocate(&mut self, array: usize, elements: i64, in_place_of: Option<usize>) -> Result {
        let width = self.script.arrays[array].width;
        let bytes = usize::try_from(elements).ok().and_then(|elements| elements.checked_mul(width));
        let bytes = bytes.ok_or(Stop::Failed)?;
        if self.most.is_some_and(|most| bytes >= most) {
            return Err(Stop::Large);
        }
        if let Some(source) = in_place_of {
            let place = self.place(source);
            if self.memory.counts[place.piece] == 1
                && place.elements as usize * self.script.arrays[source].width == bytes
            {
                self.memory.counts[place.piece] = 2;
                self.put(array, Place { elements, ..place });
                return Ok(());
            }
        }
        let piece = self.memory.piece(bytes)?;
        self.memory.counts[piece] = 1;
        self.say_counts();
        let Piece { memory, address, .. } = &mut self.memory.pieces[piece - 1];
        let address = *address;
        if self.cleared {
            memory.bytes_mut().fill(0);
        }
        self.put(array, Place { address, elements, piece });
        Ok(())
    }

    /// An array of known elements.
    pub(super) fn data(&mut self, array: usize, elements: i64, number: usize) -> Result {
        self.allocate(array, elements, None)?;
        let bytes = &self.script.data[number];
        let piece = self.place(array).piece;
        let room = self.memory.pieces[piece - 1].memory.bytes_mut().get_mut(..bytes.len());
        room.ok_or(Stop::Failed)?.copy_from_slice(bytes);
        Ok(())
    }

    /// A copy of an array, of as many elements as are asked for; or the array itself, if it may be taken.
    pub(super) fn copy(&mut self, to: usize, elements: i64, (from, take): (usize, bool)) -> Result {
        let place = self.place(from);
        if place.address == 0 || !self.extents(to).eq(self.extents(from)) {
            return Err(Stop::Failed);
        }
        if take && self.memory.counts[place.piece] == 1 {
            self.set_place(from, NOWHERE);
            self.put(to, place);
            return Ok(());
        }
        self.allocate(to, elements, None)?;
        let bytes = elements as usize * self.script.arrays[to].width;
        self.copy_bytes(place.address, self.place(to).address, bytes);
        Ok(())
    }

    #[allow(unsafe_code)]
    fn copy_bytes(&mut self, from: u64, to: u64, bytes: usize) {
        // SAFETY: both are addresses of arrays that are made, of at least so many bytes: the target was just allocated for them, in memory that no other
        // array is in, and the source is of the same extents and element type.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) }
    }

    /// Zeros for a launch to work in: eight bytes for each block, and a few more; where they are.
    pub(super) fn working(&mut self, number: usize, blocks: u64) -> Result<u64> {
        let bytes = usize::try_from(blocks).ok().and_then(|blocks| blocks.checked_mul(8)).ok_or(Stop::Failed)?;
        let wanted = Memory::capacity_for(bytes).ok_or(Stop::Failed)?;
        let working = &mut self.memory.working;
        while working.len() <= number {
            working.push(Memory::zeros(64).ok_or(Stop::Failed)?);
        }
        let memory = &mut working[number];
        if memory.capacity() < wanted {
            *memory = Memory::zeros(bytes).ok_or(Stop::Failed)?;
        }
        memory.bytes_mut()[..wanted].fill(0);
        Ok(memory.bytes_mut().as_mut_ptr() as u64)
    }

    fn extents(&self, array: usize) -> impl Iterator<Item = u64> {
        let ty = &self.script.arrays[array];
        let first = self.script.layout.extent(ty.first);
        (first..first + ty.extents.len()).map(|at| self.frame.get(at))
    }

    pub(super) fn place(&self, array: usize) -> Place {
        let at = self.script.layout.place(array);
        let (elements, piece) = (self.frame.get(at + ELEMENTS) as i64, self.frame.get(at + PIECE) as usize);
        Place { address: self.frame.get(at), elements, piece }
    }

    pub(super) fn set_place(&mut self, array: usize, place: Place) {
        let at = self.script.layout.place(array);
        self.frame.set(at, place.address);
        self.frame.set(at + ELEMENTS, place.elements as u64);
        self.frame.set(at + PIECE, place.piece as u64);
    }

    /// Puts an array where there may be one of the turn before.
    fn put(&mut self, array: usize, place: Place) {
        self.free(array);
        self.set_place(array, place);
    }

    /// An array is gone.
    pub(super) fn free(&mut self, array: usize) {
        let piece = self.place(array).piece;
        self.set_place(array, NOWHERE);
        if piece == NOWHERE.piece {
            return;
        }
        self.memory.counts[piece] -= 1;
        if self.memory.counts[piece] == 0 {
            self.memory.free.push(piece);
        }
    }

    /// The memory of an array that the lane made.
    pub(super) fn bytes(&self, array: usize) -> Option<&[u8]> {
        let place = self.place(array);
        let piece = self.memory.pieces.get(place.piece.checked_sub(1)?)?;
        piece.memory.bytes().get(..place.elements as usize * self.script.arrays[array].width)
    }
}
