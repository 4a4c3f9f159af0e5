//! The arrays of a lane: where they are, how they are made and go.

use fusebox_ir::Array;

use super::{
    frame::{ELEMENTS, FREE, LIVE, PEAK, PIECE, Result, Stop},
    lane::LaneScript,
    memory::{NOWHERE, Place},
};

impl LaneScript<'_> {
    /// Memory for an array; that of another of as many bytes, if nothing else is in it.
    pub(super) fn allocate(&mut self, array: usize, elements: i64, in_place_of: Option<usize>) -> Result {
        let width = self.script.arrays[array].width;
        let bytes = usize::try_from(elements).ok().and_then(|elements| elements.checked_mul(width));
        let bytes = bytes.ok_or(Stop::Failed)?;
        if self.most.is_some_and(|most| bytes >= most) {
            self.asked = bytes;
            return Err(Stop::Large);
        }
        if let Some(source) = in_place_of {
            let place = self.place(source);
            if self.memory.words[place.piece].count == 1
                && place.elements as usize * self.script.arrays[source].width == bytes
            {
                self.memory.words[place.piece].count = 2;
                self.put(array, Place { elements, ..place });
                return Ok(());
            }
        }
        let mut last = self.frame.get(FREE);
        let found = self.memory.piece(bytes, &mut last);
        self.frame.set(FREE, last);
        let piece = found?;
        (self.memory.words[piece].count, self.memory.words[piece].bytes) = (1, bytes as i64);
        let live = self.frame.get(LIVE) + bytes as u64;
        self.frame.set(LIVE, live);
        self.frame.set(PEAK, live.max(self.frame.get(PEAK)));
        let address = self.memory.words[piece].address;
        self.say_pieces();
        if self.cleared {
            self.memory.bytes_mut(piece).fill(0);
        }
        self.put(array, Place { address, elements, piece });
        Ok(())
    }

    /// An array of known elements.
    pub(super) fn data(&mut self, array: usize, elements: i64, number: usize) -> Result {
        self.allocate(array, elements, None)?;
        let bytes = &self.script.data[number];
        let piece = self.place(array).piece;
        let room = self.memory.bytes_mut(piece).get_mut(..bytes.len());
        room.ok_or(Stop::Failed)?.copy_from_slice(bytes);
        Ok(())
    }

    /// A copy of an array, of as many elements as are asked for; or the array itself, if it may be taken.
    pub(super) fn copy(&mut self, to: usize, elements: i64, (from, take): (usize, bool)) -> Result {
        let place = self.place(from);
        if place.address == 0 || !self.extents(to).eq(self.extents(from)) {
            return Err(Stop::Failed);
        }
        if take && self.memory.words[place.piece].count == 1 {
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

    pub(super) fn extents(&self, array: usize) -> impl Iterator<Item = u64> {
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
        let words = &mut self.memory.words[piece];
        words.count -= 1;
        if words.count == 0 {
            words.next = self.frame.get(FREE);
            let live = self.frame.get(LIVE) - words.bytes as u64;
            self.frame.set(FREE, piece as u64);
            self.frame.set(LIVE, live);
        }
    }

    /// The memory of an array, of the lane or from outside.
    pub(super) fn bytes(&self, array: usize) -> Option<&[u8]> {
        let place = self.place(array);
        let bytes = match self.outside(array) {
            Some(outside) => outside.bytes(),
            None => self.memory.bytes(place.piece)?,
        };
        bytes.get(..place.elements as usize * self.script.arrays[array].width)
    }

    /// What an array is a name of, if that is from outside.
    pub(super) fn outside(&self, array: usize) -> Option<&Array> {
        let place = self.place(array);
        let outside = self.outside.iter().filter(|_| place.piece == NOWHERE.piece);
        outside.into_iter().find(|own| own.bytes().as_ptr() as u64 == place.address)
    }
}
