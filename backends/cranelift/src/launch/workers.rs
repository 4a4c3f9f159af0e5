//! Ranges on all threads, begun in order.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use fusebox_backend::lock;
use fusebox_ir::RunError;

use super::KernelLaunch;
use crate::threads::Threads;

/// Helpers that sleep are woken for so many times as long work as is worth sharing. Waking takes the caller some 15 microseconds on a virtual machine, and
/// work takes half of what is estimated, in the median of the programs of the suite.
const WORTH_WAKING: u64 = 2;

/// Says that something failed, also if that is this program.
pub(super) struct Ended<'s>(&'s AtomicBool, bool);

impl<'s> Ended<'s> {
    pub(super) fn new(stop: &'s AtomicBool) -> Self {
        Self(stop, false)
    }

    /// Nothing failed.
    pub(super) fn well(&mut self) {
        self.1 = true;
    }
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl KernelLaunch<'_> {
    /// As [`each`], on the threads of the launch, for all of its work.
    pub(super) fn each(
        &self,
        count: usize,
        one: impl Fn(usize, &AtomicBool) -> Result<(), RunError> + Sync,
    ) -> Result<(), RunError> {
        let worth_waking = || self.way.work >= self.shared.share_from_ns.saturating_mul(WORTH_WAKING);
        each(&self.shared.threads, (count, worth_waking), one)
    }
}

/// Runs `one` for every range, on all threads if some are awake or the work is worth waking them; the first failure found is the result, and
/// ranges not begun are skipped. Ranges are begun in order, so that one may wait for those before it, until the flag that it is given says that it
/// is in vain.
pub(super) fn each<E: Send>(
    threads: &Threads,
    (count, worth_waking): (usize, impl FnOnce() -> bool),
    one: impl Fn(usize, &AtomicBool) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let stop = AtomicBool::new(false);
    let failure = Mutex::new(None);
    threads.each_of(worth_waking, count, |range| {
        if stop.load(Ordering::Acquire) {
            return;
        }
        let mut ended = Ended::new(&stop);
        match one(range, &stop) {
            Ok(()) => ended.well(),
            Err(error) => {
                lock(&failure).get_or_insert(error);
            }
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
