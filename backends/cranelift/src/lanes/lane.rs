//! Runs lanes by the code of their script.

use std::time::Instant;

use fusebox_backend::{Stored, is_wanted};
use fusebox_ir::{Array, ElementType, Memory, ValueId};

use super::{
    frame::{FREE, Frame, LANES, LIMIT, LONG, PEAK, PIECES, Result, SCRATCH, SLOT, Stop, TIMED},
    memory::{LaneMemory, NOWHERE, POOL_BYTES, Place},
    script::{LaneCode, Number, Script, Slot, Source},
};
use crate::{code_memory::LaneFunction, failure::SLOT_WORDS};

/// Lanes of one step, on one thread.
pub(super) struct LaneScript<'a> {
    pub(super) script: &'a Script,
    function: LaneFunction,
    pub(super) memory: &'a mut LaneMemory,
    /// Holds what lanes read from outside.
    pub(super) outside: Vec<Array>,
    /// The most bytes of an array; without, any.
    pub(super) most: Option<usize>,
    /// Bytes of the last array that was as large.
    pub(super) asked: usize,
    /// The estimate of a launch, in parts of a nanosecond, from which on it is not small.
    pub(super) long: f64,
    /// Whether new arrays hold zeros.
    pub(super) cleared: bool,
    pub(super) frame: Frame,
    scratch: Memory,
    /// When the launch under way began, if somebody wants to know.
    pub(super) begun: Option<Instant>,
}

impl<'a> LaneScript<'a> {
    /// None if there is no memory for it, or something from outside is of another kind than the plan says.
    pub(super) fn new<'v>(
        LaneCode { script, function }: &'a LaneCode,
        memory: &'a mut LaneMemory,
        outside: impl Iterator<Item = (ValueId, &'v Stored<&'v Array>)>,
        (most, cleared): (Option<usize>, bool),
    ) -> Option<Self> {
        let bytes = script.scratch + 128;
        let scratch = memory.scratch.take().filter(|own| own.capacity() >= bytes).or_else(|| Memory::zeros(bytes))?;
        let mut frame = std::mem::take(&mut memory.frame);
        frame.clear(script.layout.all());
        memory.slot.resize(SLOT_WORDS, 0);
        frame.set(FREE, memory.clear());
        let (function, held) = (*function, std::mem::take(&mut memory.outside));
        let mut lanes = Self {
            script,
            function,
            memory,
            outside: held,
            most,
            asked: 0,
            long: f64::INFINITY,
            cleared,
            frame,
            scratch,
            begun: None,
        };
        lanes.write_tables();
        for (id, stored) in outside {
            let Some(&slot) = script.slots.get(&id) else { continue };
            lanes.bind(slot, (stored.element, &stored.extents), stored.buffer)?;
        }
        Some(lanes)
    }

    /// What of argument tables is the same in all lanes.
    fn write_tables(&mut self) {
        for call in &self.script.calls {
            let first = self.script.layout.word(call.first_word);
            for (position, &word) in call.words.iter().enumerate() {
                self.frame.set(first + position, word);
            }
            for (position, size) in call.sizes.iter().enumerate() {
                if let Number::Constant(size) = *size {
                    self.frame.set(first + position, size as u64);
                }
            }
            for (position, given) in call.arrays.iter().enumerate() {
                if let Slot::Scalar(scalar, _) = given.slot {
                    let address = self.frame.address(self.script.layout.scalar(scalar));
                    self.frame.set(first + call.sizes.len() + position, address);
                }
            }
        }
    }

    pub(super) fn set_scalar(&mut self, number: usize, bits: u64) {
        self.frame.set(self.script.layout.scalar(number), bits);
    }

    /// Says what is in the place of something from outside; none if it is of another kind.
    pub(super) fn bind(&mut self, slot: Slot, (ty, extents): (ElementType, &[i64]), array: &Array) -> Option<()> {
        match slot {
            Slot::Scalar(number, element) => {
                let bytes = array.bytes().get(..element.bytes()).filter(|_| ty == element)?;
                let mut bits = [0; 8];
                bits[..bytes.len()].copy_from_slice(bytes);
                self.frame.set(self.script.layout.scalar(number), u64::from_le_bytes(bits));
            }
            Slot::Array(number) => {
                let own = &self.script.arrays[number];
                let elements: i64 = extents.iter().product();
                let room = usize::try_from(elements).ok()?.checked_mul(own.width)?;
                if extents.len() != own.extents.len() || array.bytes().len() < room {
                    return None;
                }
                for (dim, &extent) in extents.iter().enumerate() {
                    self.frame.set(self.script.layout.extent(own.first + dim), extent as u64);
                }
                let array = array.clone();
                let address = array.bytes().as_ptr() as u64;
                self.set_place(number, Place { address, elements, piece: NOWHERE.piece });
                self.outside.push(array);
            }
        }
        Some(())
    }

    /// Runs a lane, or the plan; `take` gets the bytes of what it gives, in order.
    pub(super) fn lane(&mut self, number: usize, mut take: impl FnMut(&Self, usize, &[u8]) -> Result) -> Result {
        let script = self.script;
        if let Some(lane) = script.lane {
            self.frame.set(script.layout.scalar(lane), number as u64);
        }
        let mut ran = self.run();
        if ran.is_ok() {
            ran = script.given.iter().enumerate().try_for_each(|(position, &(given, width))| match given {
                Source::Slot(Slot::Array(array)) => take(self, position, self.bytes(array).ok_or(Stop::Failed)?),
                Source::Slot(Slot::Scalar(scalar, _)) => {
                    let bits = self.frame.get(script.layout.scalar(scalar));
                    take(self, position, &bits.to_le_bytes()[..width])
                }
                Source::Bits(bits) => take(self, position, &bits.to_le_bytes()[..width]),
            });
        }
        // Nothing of a lane is left for the next.
        for array in 0..script.arrays.len() {
            if self.place(array).piece != NOWHERE.piece {
                self.free(array);
            }
        }
        ran
    }

    /// Tells the code where the table of pieces of memory is: it moves when there are more.
    pub(super) fn say_pieces(&mut self) {
        self.frame.set(PIECES, self.memory.words.as_mut_ptr() as u64);
    }

    /// Calls the code of a lane.
    #[allow(unsafe_code)]
    fn run(&mut self) -> Result {
        let scratch = self.scratch.bytes_mut().as_mut_ptr() as u64;
        let slot = self.memory.slot.as_mut_ptr() as u64;
        self.frame.set(SCRATCH, scratch);
        self.frame.set(SLOT, slot);
        self.frame.set(TIMED, is_wanted().into());
        // Zeros are written by the helper.
        let most = self.most.map_or(i64::MAX, |most| i64::try_from(most).unwrap_or(i64::MAX));
        self.frame.set(LIMIT, if self.cleared { 0 } else { most as u64 });
        self.frame.set(LONG, self.long.to_bits());
        self.frame.set(PEAK, 0);
        self.say_pieces();
        let lanes = std::ptr::from_mut(self);
        self.frame.set(LANES, lanes as u64);
        let frame = self.frame.address(0) as *mut u64;
        // SAFETY: the code is made of this script, and the frame has a place for all that the script names. It calls code of kernels, which is compiled
        // from checked kernels for argument tables whose addresses are of arrays that hold the extents in them, as it looks at before: arrays from
        // outside, which `outside` holds and kernels only read, and memory of lanes, which only this thread has, of which no reference is left, and
        // which stays where it is until its array is freed. Each scalar has a line, and there is one more behind the frame. Scratch memory is aligned and has
        // the bytes that any code of the script asks for, and the slot has room for every failure. Helpers get this value while nothing here runs.
        match unsafe { (self.function)(frame) } {
            0 => Ok(()),
            stop if stop == Stop::Large as i64 => Err(Stop::Large),
            _ => Err(Stop::Failed),
        }
    }

    /// Bytes that the memory of lanes takes.
    pub(super) fn bytes_held(&self) -> usize {
        self.memory.bytes_held()
    }

    /// The most bytes of arrays that there were at one time in what ran last.
    pub(super) fn peak_bytes(&self) -> usize {
        self.frame.get(PEAK) as usize
    }

    /// Gives back what the next run can use.
    pub(super) fn end(mut self) {
        if self.bytes_held() > POOL_BYTES {
            self.memory.drop_pieces();
        }
        self.outside.clear();
        self.memory.outside = self.outside;
        self.memory.frame = self.frame;
        self.memory.scratch = Some(self.scratch);
    }
}
