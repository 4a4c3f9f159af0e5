//! What the code of a lane asks for: memory, and the time.
#![allow(unsafe_code)]

use std::time::Instant;

use fusebox_backend::took;

use super::{frame::Result, lane::LaneScript};

/// Nothing stopped the lane.
const GOES_ON: i64 = 0;

fn how(done: Result) -> i64 {
    match done {
        Ok(()) => GOES_ON,
        Err(stop) => stop as i64,
    }
}

/// Memory for an array, that of another if nothing else is in it.
pub(super) extern "C" fn allocate(lanes: *mut LaneScript<'_>, array: usize, elements: i64, over: i64) -> i64 {
    // SAFETY: code of a lane hands on the address in its frame, of what calls it, which does nothing until the code is done.
    let lanes = unsafe { &mut *lanes };
    how(lanes.allocate(array, elements, usize::try_from(over).ok()))
}

/// Memory for an array of known elements, with these.
pub(super) extern "C" fn data(lanes: *mut LaneScript<'_>, array: usize, elements: i64, bytes: usize) -> i64 {
    // SAFETY: as in `allocate`.
    let lanes = unsafe { &mut *lanes };
    how(lanes.data(array, elements, bytes))
}

/// A copy of an array; the array itself if it is not used any more, which the lowest bit of `from` says.
pub(super) extern "C" fn copy(lanes: *mut LaneScript<'_>, to: usize, elements: i64, from: usize) -> i64 {
    // SAFETY: as in `allocate`.
    let lanes = unsafe { &mut *lanes };
    how(lanes.copy(to, elements, (from >> 1, from & 1 != 0)))
}

/// Zeros for a launch to work in: eight bytes for each block, and a few more; where they are, or 0 if there is no memory for them.
pub(super) extern "C" fn working(lanes: *mut LaneScript<'_>, number: usize, blocks: u64) -> u64 {
    // SAFETY: as in `allocate`.
    let lanes = unsafe { &mut *lanes };
    lanes.memory.working(number, blocks).unwrap_or(0)
}

/// A launch whose time somebody wants to know.
pub(super) extern "C" fn begin(lanes: *mut LaneScript<'_>) -> i64 {
    // SAFETY: as in `allocate`.
    let lanes = unsafe { &mut *lanes };
    lanes.begun = Some(Instant::now());
    GOES_ON
}

/// It is over.
pub(super) extern "C" fn end(lanes: *mut LaneScript<'_>, call: usize) -> i64 {
    // SAFETY: as in `allocate`.
    let lanes = unsafe { &mut *lanes };
    if let Some(begun) = lanes.begun.take() {
        let time = begun.elapsed();
        let call = &lanes.script.calls[call];
        let first = lanes.script.layout.word(call.first_word);
        let sizes = (0..call.sizes.len()).map(|size| lanes.frame.get(first + size) as i64).collect();
        took(call.kernel, sizes, time);
    }
    GOES_ON
}
