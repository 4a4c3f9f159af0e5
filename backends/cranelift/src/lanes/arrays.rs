//! Where the arrays and scalars of a lane are: memory that the next lane finds again.

use fusebox_ir::{MAX_EXTENT, Memory};

use super::{
    lane::{LaneScript, Moved, Result, SCALAR_BYTES, Stop},
    script::{Number, Slot, Source},
};

/// Where an array is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// 0 where it is not made.
    pub address: u64,
    pub memory: Home,
    pub elements: i64,
}

/// Whose memory an array is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// An array from outside, which nobody writes.
    Outside,
    /// Memory of lanes, by number.
    Own(usize),
}

pub(super) const NOWHERE: Place = Place { address: 0, memory: Home::Outside, elements: 0 };

/// Memory of lanes, and how many arrays are in it.
#[derive(Debug)]
pub(super) struct Piece {
    pub memory: Memory,
    pub arrays: usize,
}

/// The memory of one worker's lanes.
#[derive(Debug, Default)]
pub(super) struct LaneMemory {
    pub pieces: Vec<Piece>,
    /// Those that no array is in.
    pub free: Vec<usize>,
    pub places: Vec<Place>,
    pub extents: Vec<i64>,
    pub scalars: Option<Memory>,
    pub scratch: Option<Memory>,
    pub working: Vec<Memory>,
    pub slot: Vec<u64>,
    pub words: Vec<u64>,
    pub sizes: Vec<i64>,
    pub moved: Vec<Moved>,
    pub moved_extents: Vec<i64>,
}

impl LaneScript<'_> {
    pub(super) fn allocate(&mut self, array: usize, in_place_of: Option<usize>) -> Result {
        let elements = self.extents_of(array)?;
        let width = self.script.arrays[array].width;
        let bytes = usize::try_from(elements).ok().and_then(|elements| elements.checked_mul(width));
        let bytes = bytes.ok_or(Stop::Failed)?;
        if self.most.is_some_and(|most| bytes >= most) {
            return Err(Stop::Large);
        }
        if let Some(source) = in_place_of {
            let place = self.memory.places[source];
            if let Home::Own(piece) = place.memory
                && place.address != 0
                && self.memory.pieces[piece].arrays == 1
                && place.elements as usize * self.script.arrays[source].width == bytes
            {
                self.memory.pieces[piece].arrays = 2;
                self.put(array, Place { elements, ..place });
                return Ok(());
            }
        }
        let piece = self.piece(bytes)?;
        let memory = &mut self.memory.pieces[piece];
        memory.arrays = 1;
        if self.cleared {
            memory.memory.bytes_mut().fill(0);
        }
        let address = memory.memory.bytes_mut().as_mut_ptr() as u64;
        self.put(array, Place { address, memory: Home::Own(piece), elements });
        Ok(())
    }

    /// Memory of so many bytes that no array is in: what was freed last may still be in a cache.
    pub(super) fn piece(&mut self, bytes: usize) -> Result<usize> {
        let wanted = Memory::capacity_for(bytes).ok_or(Stop::Failed)?;
        let LaneMemory { pieces, free, .. } = &mut *self.memory;
        if let Some(at) = free.iter().rposition(|&piece| pieces[piece].memory.capacity() >= wanted) {
            return Ok(free.remove(at));
        }
        // Half as much again, so that lanes a little longer than those before find room.
        let memory = Memory::zeros(bytes + bytes / 2).ok_or(Stop::Failed)?;
        match free.pop() {
            Some(piece) => {
                pieces[piece].memory = memory;
                Ok(piece)
            }
            None => {
                pieces.push(Piece { memory, arrays: 0 });
                Ok(pieces.len() - 1)
            }
        }
    }

    pub(super) fn copy(&mut self, to: usize, from: usize, take: bool) -> Result {
        let elements = self.extents_of(to)?;
        let place = self.made(from)?;
        if self.own_extents(Slot::Array(to)) != self.own_extents(Slot::Array(from)) {
            return Err(Stop::Failed);
        }
        if let (Home::Own(piece), true) = (place.memory, take)
            && self.memory.pieces[piece].arrays == 1
        {
            self.memory.places[from] = NOWHERE;
            self.put(to, place);
            return Ok(());
        }
        self.allocate(to, None)?;
        let bytes = elements as usize * self.script.arrays[to].width;
        self.copy_bytes(place.address, self.memory.places[to].address, bytes);
        Ok(())
    }

    #[allow(unsafe_code)]
    pub(super) fn copy_bytes(&mut self, from: u64, to: u64, bytes: usize) {
        // SAFETY: both are addresses of arrays that are made, of at least so many bytes: the target was just allocated for them, in memory that no other
        // array is in, and the source is of the same extents and element type.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) }
    }

    /// Asks for the extents of an array that is to be made; how many elements it has.
    pub(super) fn extents_of(&mut self, array: usize) -> Result<i64> {
        let ty = &self.script.arrays[array];
        let mut elements = 1i64;
        for (dim, &extent) in ty.extents.iter().enumerate() {
            let extent = self.number(extent);
            if !(0..=MAX_EXTENT).contains(&extent) {
                return Err(Stop::Failed);
            }
            elements = elements.checked_mul(extent).ok_or(Stop::Failed)?;
            self.memory.extents[ty.first + dim] = extent;
        }
        Ok(elements)
    }

    pub(super) fn own_extents(&self, slot: Slot) -> &[i64] {
        match slot {
            Slot::Scalar(..) => &[],
            Slot::Array(array) => {
                let ty = &self.script.arrays[array];
                &self.memory.extents[ty.first..][..ty.extents.len()]
            }
        }
    }

    pub(super) fn made(&self, array: usize) -> Result<Place> {
        let place = self.memory.places[array];
        if place.address == 0 { Err(Stop::Failed) } else { Ok(place) }
    }

    /// The place of an array for one more name of it.
    pub(super) fn shared(&mut self, array: usize) -> Result<Place> {
        let place = self.made(array)?;
        if let Home::Own(piece) = place.memory {
            self.memory.pieces[piece].arrays += 1;
        }
        Ok(place)
    }

    pub(super) fn put(&mut self, array: usize, place: Place) {
        self.free(array);
        self.memory.places[array] = place;
    }

    /// An array is gone.
    pub(super) fn free(&mut self, array: usize) {
        let place = std::mem::replace(&mut self.memory.places[array], NOWHERE);
        if let Home::Own(piece) = place.memory {
            let memory = &mut self.memory.pieces[piece];
            memory.arrays -= 1;
            if memory.arrays == 0 {
                self.memory.free.push(piece);
            }
        }
    }

    pub(super) fn bytes(&self, array: usize) -> Option<&[u8]> {
        match self.memory.places[array].memory {
            Home::Own(piece) => Some(self.memory.pieces[piece].memory.bytes()),
            Home::Outside => None,
        }
    }

    pub(super) fn number(&self, number: Number) -> i64 {
        match number {
            Number::Constant(number) => number,
            Number::Scalar(scalar) => self.get(scalar) as i64,
        }
    }

    pub(super) fn bits(&self, source: Source) -> u64 {
        match source {
            Source::Bits(bits) => bits,
            Source::Slot(Slot::Scalar(scalar, _)) => self.get(scalar),
            Source::Slot(Slot::Array(_)) => 0,
        }
    }

    pub(super) fn holds(&self, condition: Source) -> bool {
        self.bits(condition) & 0xff != 0
    }

    pub(super) fn get(&self, scalar: usize) -> u64 {
        let mut bits = [0; 8];
        bits.copy_from_slice(&self.scalars.bytes()[scalar * SCALAR_BYTES..][..8]);
        u64::from_le_bytes(bits)
    }

    pub(super) fn set(&mut self, scalar: usize, bits: u64) {
        self.scalars.bytes_mut()[scalar * SCALAR_BYTES..][..8].copy_from_slice(&bits.to_le_bytes());
    }
}
