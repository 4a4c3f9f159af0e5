//! Ranges on all threads, begun in order.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use fusebox_backend::lock;
use fusebox_ir::RunError;

use super::KernelLaunch;
use crate::threads::Threads;

/// Says that something failed, also if that is this program.
struct Ended<'s>(&'s AtomicBool, bool);

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
        each(&self.shared.threads, (count, || self.work()), one)
    }
}

/// Runs `one` for every range, of work that takes one thread so many nanoseconds, on all threads; the first failure found is the result, and ranges not begun are skipped. Ranges are
/// begun in order, so that one may wait for those before it, until the flag that it is given says that it is in vain.
pub(super) fn each<E: Send>(
    threads: &Threads,
    (count, ns): (usize, impl FnOnce() -> u64),
    one: impl Fn(usize, &AtomicBool) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let stop = AtomicBool::new(false);
    let failure = Mutex::new(None);
    threads.each_of(ns, count, |range| {
        if stop.load(Ordering::Acquire) {
            return;
        }
        let mut ended = Ended(&stop, false);
        let result = one(range, &stop);
        ended.1 = result.is_ok();
        if let Err(error) = result {
            lock(&failure).get_or_insert(error);
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
