//! Points in a stream of work.

use crate::driver::call;
use crate::error::Error;
use cudarc::driver::{result, sys};

/// A point in the work of a queue, made by [`Queue::record`](crate::Queue::record).
#[derive(Debug)]
pub struct Event {
    pub(crate) event: sys::CUevent,
    context: sys::CUcontext,
}

// SAFETY: the driver takes events from any thread; every call makes the event's context current in its own thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// A point after all work of a stream so far. The context is current.
    pub(crate) fn record(context: sys::CUcontext, stream: sys::CUstream) -> Result<Self, Error> {
        let create = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let event = Self { event: call("making an event", create)?, context };
        // SAFETY: event and stream are there.
        call("recording an event", || unsafe { result::event::record(event.event, stream) })?;
        Ok(event)
    }

    fn current(&self) -> Result<(), Error> {
        // SAFETY: the context lives as long as the process: it is the primary one, which is kept.
        call("choosing a GPU", || unsafe { result::ctx::set_current(self.context) })
    }

    /// Whether the work before it is done.
    ///
    /// # Errors
    /// What went wrong in that work.
    pub fn is_done(&self) -> Result<bool, Error> {
        self.current()?;
        // SAFETY: the event is there until this is dropped.
        match call("asking for an event", || unsafe { result::event::query(self.event) }) {
            Ok(()) => Ok(true),
            Err(Error::Driver { said, .. }) if said == "CUDA_ERROR_NOT_READY" => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until the work before it is done.
    ///
    /// # Errors
    /// What went wrong in that work.
    pub fn wait(&self) -> Result<(), Error> {
        self.current()?;
        // SAFETY: the event is there until this is dropped.
        call("waiting for work", || unsafe { result::event::synchronize(self.event) })
    }

    /// Milliseconds on the device since an earlier event, which both are done with.
    ///
    /// # Errors
    /// If one of them is not done.
    pub fn since(&self, earlier: &Self) -> Result<f32, Error> {
        self.current()?;
        // SAFETY: both events are there.
        call("measuring time", || unsafe { result::event::elapsed(earlier.event, self.event) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nobody uses the event any more; the driver waits by itself if the work is not done.
        _ = self.current().and_then(|()| call("dropping an event", || unsafe { result::event::destroy(self.event) }));
    }
}
