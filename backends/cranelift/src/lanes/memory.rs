//! Memory of lanes, which the next lane finds again.

use fusebox_ir::Memory;

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
    /// Where launches work, which need no array for it.
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

    /// Memory of so many bytes that no array is in, by number, and where it is: what was freed last may still be in a cache.
    pub(super) fn piece(&mut self, bytes: usize) -> Result<(usize, u64)> {
        let number = self.numbered(bytes)?;
        Ok((number, self.pieces[number - 1].address))
    }

    fn numbered(&mut self, bytes: usize) -> Result<usize> {
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

    /// The bytes of a piece; none of what is no memory of lanes.
    pub(super) fn bytes(&self, piece: usize) -> Option<&[u8]> {
        Some(self.pieces.get(piece.checked_sub(1)?)?.memory.bytes())
    }

    pub(super) fn bytes_mut(&mut self, piece: usize) -> &mut [u8] {
        self.pieces[piece - 1].memory.bytes_mut()
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
