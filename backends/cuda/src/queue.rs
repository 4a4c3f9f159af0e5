//! Streams: work that is done in order.

use crate::driver::call;
use crate::error::Error;
use crate::event::Event;
use cudarc::driver::{result, sys};

/// A stream of a GPU. The order of work in two streams is open.
#[derive(Debug)]
pub struct Queue {
    pub(crate) stream: sys::CUstream,
    context: sys::CUcontext,
}

// SAFETY: the driver takes streams from any thread; every call makes the stream's context current in its own thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    pub(crate) fn new(context: sys::CUcontext) -> Result<Self, Error> {
        current(context)?;
        let stream = call("making a stream", || result::stream::create(result::stream::StreamKind::NonBlocking))?;
        Ok(Self { stream, context })
    }

    /// A point after all work asked for so far.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn record(&self) -> Result<Event, Error> {
        current(self.context)?;
        Event::record(self.context, self.stream)
    }

    /// Waits for all work asked for so far.
    ///
    /// # Errors
    /// What went wrong in that work.
    pub fn wait(&self) -> Result<(), Error> {
        current(self.context)?;
        // SAFETY: the stream is there until this is dropped.
        call("waiting for work", || unsafe { result::stream::synchronize(self.stream) })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // What is wrong with the work was said to who asked for it, or nobody asks any more.
        _ = self.wait();
        // SAFETY: the stream is there, and nobody else has it.
        _ = call("ending a stream", || unsafe { result::stream::destroy(self.stream) });
    }
}

fn current(context: sys::CUcontext) -> Result<(), Error> {
    // SAFETY: the context lives as long as the process: it is the primary one, which is kept.
    call("choosing a GPU", || unsafe { result::ctx::set_current(context) })
}
