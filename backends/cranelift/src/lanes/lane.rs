//! Runs the script of a lane.

use fusebox_backend::{Stored, timed};
use fusebox_ir::{Array, MAX_EXTENT, Memory, ValueId};

use super::{
    arrays::{Home, LaneMemory, NOWHERE, Place},
    script::{Call, Do, Given, Move, Script, Slot, Source, Steps, Wanted},
};
use crate::{code_memory::Code, failure::SLOT_WORDS};

/// Bytes of a scalar: vector code may read as many behind it as behind any array.
pub(super) const SCALAR_BYTES: usize = 64;

/// Why a lane did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It asks for an array that all threads should make.
    Large,
    /// Something fails: the lane is to be run as plans are, which says what.
    Failed,
}

pub(super) type Result<T = ()> = std::result::Result<T, Stop>;

/// State on its way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Moved {
    Scalar(u64),
    Array(Place),
}

/// Lanes of one step, on one thread.
pub(super) struct LaneScript<'a> {
    pub(super) script: &'a Script,
    pub(super) memory: &'a mut LaneMemory,
    /// Holds what lanes read from outside.
    _outside: Vec<Array>,
    /// The most bytes of an array; without, any.
    pub(super) most: Option<usize>,
    /// Whether new arrays hold zeros.
    pub(super) cleared: bool,
    pub(super) scalars: Memory,
    scratch: Memory,
}

impl<'a> LaneScript<'a> {
    /// None if there is no memory for it, or something from outside is of another kind than the plan says.
    pub(super) fn new<'v>(
        script: &'a Script,
        memory: &'a mut LaneMemory,
        outside: impl Iterator<Item = (ValueId, &'v Stored<&'v Array>)>,
        (most, cleared): (Option<usize>, bool),
    ) -> Option<Self> {
        let room = (script.scalars.max(1)) * SCALAR_BYTES;
        let scalars = memory.scalars.take().filter(|own| own.capacity() >= room).or_else(|| Memory::zeros(room))?;
        let bytes = script.scratch + 128;
        let scratch = memory.scratch.take().filter(|own| own.capacity() >= bytes).or_else(|| Memory::zeros(bytes))?;
        memory.places.clear();
        memory.places.resize(script.arrays.len(), NOWHERE);
        memory.extents.clear();
        memory.extents.resize(script.extents, 0);
        memory.slot.resize(SLOT_WORDS, 0);
        memory.free.clear();
        for (number, piece) in memory.pieces.iter_mut().enumerate() {
            piece.arrays = 0;
            memory.free.push(number);
        }
        let mut lanes = Self { script, memory, _outside: Vec::new(), most, cleared, scalars, scratch };
        for (id, stored) in outside {
            let Some(&slot) = script.slots.get(&id) else { continue };
            lanes.bind(slot, stored)?;
        }
        Some(lanes)
    }

    fn bind(&mut self, slot: Slot, stored: &Stored<&Array>) -> Option<()> {
        match slot {
            Slot::Scalar(number, element) => {
                let bytes = stored.buffer.bytes().get(..element.bytes()).filter(|_| stored.element == element)?;
                let mut bits = [0; 8];
                bits[..bytes.len()].copy_from_slice(bytes);
                self.set(number, u64::from_le_bytes(bits));
            }
            Slot::Array(number) => {
                let ty = &self.script.arrays[number];
                let elements: i64 = stored.extents.iter().product();
                let room = usize::try_from(elements).ok()?.checked_mul(ty.width)?;
                if stored.extents.len() != ty.extents.len() || stored.buffer.bytes().len() < room {
                    return None;
                }
                self.memory.extents[ty.first..][..ty.extents.len()].copy_from_slice(&stored.extents);
                let array = stored.buffer.clone();
                let address = array.bytes().as_ptr() as u64;
                self.memory.places[number] = Place { address, memory: Home::Outside, elements };
                self._outside.push(array);
            }
        }
        Some(())
    }

    /// Runs a lane; `take` gets the bytes of what it gives, in order.
    pub(super) fn lane(&mut self, number: usize, mut take: impl FnMut(usize, &[u8])) -> Result {
        self.set(self.script.lane, number as u64);
        let script = self.script;
        let mut ran = self.steps(&script.steps);
        if ran.is_ok() {
            ran = script.given.iter().enumerate().try_for_each(|(position, &(given, width))| {
                match given {
                    Source::Slot(Slot::Array(array)) => {
                        let bytes = self.memory.places[array].elements as usize * width;
                        take(position, self.bytes(array).and_then(|all| all.get(..bytes)).ok_or(Stop::Failed)?);
                    }
                    scalar => take(position, &self.bits(scalar).to_le_bytes()[..width]),
                }
                Ok(())
            });
        }
        // Nothing of a lane is left for the next.
        for number in 0..self.memory.places.len() {
            if let Home::Own(_) = self.memory.places[number].memory {
                self.free(number);
            }
        }
        ran
    }

    /// Bytes that the memory of lanes takes.
    pub(super) fn bytes_held(&self) -> usize {
        self.memory.pieces.iter().map(|piece| piece.memory.capacity()).sum()
    }

    /// Gives back what the next run can use.
    pub(super) fn end(self) {
        let held = self.bytes_held();
        self.memory.scalars = Some(self.scalars);
        self.memory.scratch = Some(self.scratch);
        if held > super::POOL_BYTES {
            self.memory.pieces.clear();
        }
    }

    fn steps(&mut self, steps: &'a [Do]) -> Result {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &'a Do) -> Result {
        match step {
            Do::Allocate { array, in_place_of } => self.allocate(*array, *in_place_of),
            Do::Data { array, bytes } => {
                self.allocate(*array, None)?;
                let place = self.memory.places[*array];
                let Home::Own(piece) = place.memory else { return Err(Stop::Failed) };
                let room = self.memory.pieces[piece].memory.bytes_mut().get_mut(..bytes.len());
                room.ok_or(Stop::Failed)?.copy_from_slice(bytes);
                Ok(())
            }
            Do::SetScalar { to, from } => {
                let bits = self.bits(*from);
                self.set(*to, bits);
                Ok(())
            }
            Do::NameArray { to, from } => {
                let elements = self.extents_of(*to)?;
                let place = self.made(*from)?;
                if elements != place.elements {
                    return Err(Stop::Failed);
                }
                let named = self.shared(*from)?;
                self.put(*to, named);
                Ok(())
            }
            Do::Truncate { to, from } => {
                let elements = self.extents_of(*to)?;
                if elements > self.made(*from)?.elements {
                    return Err(Stop::Failed);
                }
                let named = self.shared(*from)?;
                self.put(*to, Place { elements, ..named });
                Ok(())
            }
            Do::CopyArray { to, from, take } => self.copy(*to, *from, *take),
            Do::Launch(call) => {
                let call = &self.script.calls[*call];
                let mut sizes = std::mem::take(&mut self.memory.sizes);
                sizes.clear();
                sizes.extend(call.sizes.iter().map(|&size| self.number(size)));
                let launched = timed(call.kernel, &sizes, || self.launch(call, &sizes));
                self.memory.sizes = sizes;
                launched
            }
            Do::Equal(left, right) => {
                if self.number(*left) == self.number(*right) {
                    Ok(())
                } else {
                    Err(Stop::Failed)
                }
            }
            Do::AtMost(less, more) => {
                if self.number(*less) <= self.number(*more) {
                    Ok(())
                } else {
                    Err(Stop::Failed)
                }
            }
            Do::If { condition, then, otherwise } => {
                if self.holds(*condition) {
                    self.steps(then)
                } else {
                    self.steps(otherwise)
                }
            }
            Do::While { test, condition, body, moves } => loop {
                self.steps(test)?;
                if !self.holds(*condition) {
                    return Ok(());
                }
                self.steps(body)?;
                self.advance(moves)?;
            },
            Do::Free(array) => {
                self.free(*array);
                Ok(())
            }
        }
    }

    /// What a turn made becomes the state, all at once.
    fn advance(&mut self, moves: &[Move]) -> Result {
        let mut moved = std::mem::take(&mut self.memory.moved);
        let mut extents = std::mem::take(&mut self.memory.moved_extents);
        moved.clear();
        extents.clear();
        for step in moves {
            moved.push(match *step {
                Move::Scalar { from, .. } => Moved::Scalar(self.bits(from)),
                Move::Array { from, .. } => {
                    extents.extend_from_slice(self.own_extents(Slot::Array(from)));
                    Moved::Array(self.shared(from)?)
                }
            });
        }
        for step in moves {
            if let Move::Array { from, made: true, .. } = *step {
                self.free(from);
            }
        }
        let mut own = extents.iter();
        for (step, &moved) in moves.iter().zip(&moved) {
            match (step, moved) {
                (Move::Scalar { to, .. }, Moved::Scalar(bits)) => self.set(*to, bits),
                (Move::Array { to, .. }, Moved::Array(place)) => {
                    self.put(*to, place);
                    let ty = &self.script.arrays[*to];
                    let own = own.by_ref().take(ty.extents.len());
                    self.memory.extents[ty.first..].iter_mut().zip(own).for_each(|(old, &new)| *old = new);
                }
                _ => {}
            }
        }
        (self.memory.moved, self.memory.moved_extents) = (moved, extents);
        Ok(())
    }

    /// Calls the code of a kernel, once its arrays are known to be those that it counts on.
    fn launch(&mut self, call: &'a Call, sizes: &[i64]) -> Result {
        let sized = |wanted: &Wanted| match *wanted {
            Wanted::Constant(number) => number,
            Wanted::Size(position) => sizes[position],
        };
        if sizes.iter().any(|&size| size > MAX_EXTENT) {
            return Err(Stop::Failed);
        }
        for given in &call.arrays {
            if let Slot::Array(array) = given.slot {
                let ty = &self.script.arrays[array];
                self.made(array)?;
                let own = &self.memory.extents[ty.first..][..ty.extents.len()];
                if !given.extents.iter().zip(own).all(|(wanted, &own)| sized(wanted) == own) {
                    return Err(Stop::Failed);
                }
            }
        }
        for &(first, second) in &call.alike {
            if self.own_extents(call.arrays[first].slot) != self.own_extents(call.arrays[second].slot) {
                return Err(Stop::Failed);
            }
        }
        let mut words = std::mem::take(&mut self.memory.words);
        words.clear();
        words.extend_from_slice(&call.words);
        for (word, &size) in words.iter_mut().zip(sizes) {
            *word = size as u64;
        }
        let done = self.addresses(call, &mut words[sizes.len()..]).and_then(|()| self.call(call, sizes, &mut words));
        self.memory.words = words;
        done
    }

    /// Where the arrays of a launch are. What is written nobody else has.
    fn addresses(&mut self, call: &Call, words: &mut [u64]) -> Result {
        let scalars = self.scalars.bytes_mut().as_mut_ptr() as u64;
        for (position, given) in call.arrays.iter().enumerate() {
            words[position] = match given.slot {
                Slot::Scalar(number, _) => scalars + (number * SCALAR_BYTES) as u64,
                Slot::Array(array) => {
                    let place = self.memory.places[array];
                    if given.written {
                        let Home::Own(piece) = place.memory else { return Err(Stop::Failed) };
                        if let Some(Given { slot: Slot::Array(source), .. }) =
                            given.over.and_then(|over| call.arrays.get(over))
                            && *source != array
                            && self.memory.places[*source].memory == place.memory
                        {
                            // What it is written over is gone then, and the kernel reads it here.
                            self.free(*source);
                            if let Some(over) = given.over {
                                words[over] = place.address;
                            }
                        }
                        if self.memory.pieces[piece].arrays != 1 {
                            return Err(Stop::Failed);
                        }
                    }
                    if place.address == 0 { words[position] } else { place.address }
                }
            };
        }
        if words[..call.arrays.len()].contains(&0) { Err(Stop::Failed) } else { Ok(()) }
    }

    fn call(&mut self, call: &Call, sizes: &[i64], words: &mut [u64]) -> Result {
        let sized = |wanted: &Wanted| match *wanted {
            Wanted::Constant(number) => number,
            Wanted::Size(position) => sizes[position],
        };
        let steps = match &call.steps {
            Steps::None => 0,
            Steps::Between(from, to) => sized(to).checked_sub(sized(from)).unwrap_or(0).max(0),
            Steps::Code(code) => self.code(code, words, (0, 0))? as i64,
        };
        if let Some(word) = call.steps_word {
            words[word] = steps as u64;
        }
        for (number, working) in call.working.iter().enumerate() {
            words[working.word] = self.working(number, (steps as u64).div_ceil(working.steps as u64))?;
        }
        let mut appended = 0;
        if call.whole || steps > 0 {
            appended = self.code(&call.code, words, (0, steps))?;
        }
        if let Some(finish) = &call.finish {
            self.code(finish, words, (0, steps))?;
        }
        if let Some(Slot::Scalar(number, _)) = call.count.map(|count| call.arrays[count].slot) {
            self.set(number, appended);
        }
        Ok(())
    }

    /// Zeros for a launch to work in: eight bytes for each block, and a few more; where they are.
    fn working(&mut self, number: usize, blocks: u64) -> Result<u64> {
        let bytes = usize::try_from(blocks).ok().and_then(|blocks| blocks.checked_mul(8)).ok_or(Stop::Failed)?;
        let wanted = Memory::capacity_for(bytes).ok_or(Stop::Failed)?;
        while self.memory.working.len() <= number {
            self.memory.working.push(Memory::zeros(64).ok_or(Stop::Failed)?);
        }
        let memory = &mut self.memory.working[number];
        if memory.capacity() < wanted {
            *memory = Memory::zeros(bytes).ok_or(Stop::Failed)?;
        }
        memory.bytes_mut()[..wanted].fill(0);
        Ok(memory.bytes_mut().as_mut_ptr() as u64)
    }

    /// Calls one part; the first word of scratch memory.
    #[allow(unsafe_code)]
    fn code(&mut self, code: &Code, words: &[u64], (from, to): (i64, i64)) -> Result<u64> {
        let scratch = self.scratch.bytes_mut();
        // SAFETY: the function is compiled from a checked kernel for this argument table, whose addresses are of arrays that hold the extents in the
        // table, as was just looked at: arrays from outside, which `_outside` holds and this kernel only reads, and memory of lanes, which only this
        // thread has, of which no reference is left, and which stays where it is until its array is freed. Scalars have `SCALAR_BYTES` each. Scratch
        // memory is aligned and has the bytes that any code of the script asks for, and the slot has room for every failure.
        let result =
            unsafe { (code.function)(words.as_ptr(), from, to, scratch.as_mut_ptr(), self.memory.slot.as_mut_ptr()) };
        if result != 0 {
            return Err(Stop::Failed);
        }
        let mut first = [0; 8];
        first.copy_from_slice(&self.scratch.bytes()[..8]);
        Ok(u64::from_le_bytes(first))
    }
}
