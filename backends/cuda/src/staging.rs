//! Copies between host and device, in pieces through memory that the device reaches by itself.
//!
//! A copy from ordinary memory makes the driver wait. Two pinned pieces take turns: while the device copies one, the host fills or empties the
//! other, and work of the device goes on.

use crate::driver::call;
use crate::error::Error;
use crate::event::Event;
use cudarc::driver::{result, sys};
use fusebox_backend::device_memory::GRAIN;

/// Bytes of a piece: a multiple of [`GRAIN`].
const PIECE: usize = 4 << 20;

/// Pinned memory of the host.
#[derive(Debug)]
struct Pinned {
    begin: *mut u8,
    /// The last copy from or to it.
    last: Option<Event>,
}

// SAFETY: the memory is this value's own, and the driver takes its address from any thread.
unsafe impl Send for Pinned {}

impl Pinned {
    /// The context is current.
    fn new() -> Result<Self, Error> {
        // SAFETY: the memory is written before it is read.
        let begin = call("pinning memory", || unsafe { result::malloc_host(PIECE, 0) })?;
        // SAFETY: the driver has given that many bytes; zeros are bytes.
        unsafe { begin.cast::<u8>().write_bytes(0, PIECE) };
        Ok(Self { begin: begin.cast(), last: None })
    }

    /// The memory, once no copy uses it any more.
    fn bytes(&mut self) -> Result<&mut [u8], Error> {
        if let Some(last) = self.last.take() {
            last.wait()?;
        }
        // SAFETY: that many bytes were allocated and written, and no copy is under way.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.begin, PIECE) })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let done = self.last.take().map_or(Ok(()), |last| last.wait());
        if done.is_ok() {
            // SAFETY: it was allocated so, is freed once, and no copy uses it. If it is not known whether one does, it stays.
            _ = call("freeing pinned memory", || unsafe { result::free_host(self.begin.cast()) });
        }
    }
}

/// Two pieces that take turns, made when they are first needed.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    pieces: Vec<Pinned>,
}

impl Staging {
    fn pieces(&mut self) -> Result<&mut [Pinned], Error> {
        while self.pieces.len() < 2 {
            self.pieces.push(Pinned::new()?);
        }
        Ok(&mut self.pieces)
    }

    /// Copies to the device, with zeros behind up to a multiple of [`GRAIN`]; the bytes may change as soon as this returns. The context is
    /// current, the place is allocated.
    pub fn upload(
        &mut self,
        context: sys::CUcontext,
        stream: sys::CUstream,
        to: u64,
        bytes: &[u8],
    ) -> Result<(), Error> {
        for (number, part) in bytes.chunks(PIECE).enumerate() {
            let piece = &mut self.pieces()?[number % 2];
            let filled = &mut piece.bytes()?[..part.len().next_multiple_of(GRAIN as usize)];
            filled[..part.len()].copy_from_slice(part);
            filled[part.len()..].fill(0);
            let to = to + (number * PIECE) as u64;
            // SAFETY: the place is allocated; the piece is not touched before the event that follows.
            call("copying to the GPU", || unsafe { result::memcpy_htod_async(to, &*filled, stream) })?;
            piece.last = Some(Event::record(context, stream)?);
        }
        Ok(())
    }

    /// Copies from the device, after all work asked for before. The context is current, the place is allocated.
    pub fn download(
        &mut self,
        context: sys::CUcontext,
        stream: sys::CUstream,
        from: u64,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let parts = bytes.len().div_ceil(PIECE);
        for number in 0..=parts {
            if number < parts {
                let length = PIECE.min(bytes.len() - number * PIECE);
                let piece = &mut self.pieces()?[number % 2];
                let room = &mut piece.bytes()?[..length];
                let from = from + (number * PIECE) as u64;
                // SAFETY: the place is allocated; the piece is not touched before the event that follows.
                call("copying from the GPU", || unsafe { result::memcpy_dtoh_async(room, from, stream) })?;
                piece.last = Some(Event::record(context, stream)?);
            }
            // The piece before is emptied while the device copies the next one.
            if let Some(before) = number.checked_sub(1) {
                let part = &mut bytes[before * PIECE..];
                let length = PIECE.min(part.len());
                part[..length].copy_from_slice(&self.pieces()?[before % 2].bytes()?[..length]);
            }
        }
        Ok(())
    }
}
