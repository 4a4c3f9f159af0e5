//! Ranges on all threads, begun in order.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use super::Run;
use fusebox_ir::RunError;

/// Says that something failed, also if that is this program.
struct Ended<'s>(&'s AtomicBool, bool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl Run<'_> {
    /// Runs `one` for every range, on all threads; the first failure found is the result, and ranges not begun are skipped. Ranges are
    /// begun in order, so that one may wait for those before it, until the flag that it is given says that it is in vain.
    pub(super) fn each(
        &self,
        count: usize,
        one: impl Fn(usize, &AtomicBool) -> Result<(), RunError> + Sync,
    ) -> Result<(), RunError> {
        let stop = AtomicBool::new(false);
        let Some(threads) = self.shared.threads.as_ref().filter(|_| count > 1) else {
            return (0..count).try_for_each(|range| one(range, &stop));
        };
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let workers = self.shared.count.min(count);
        let work = || {
            while !stop.load(Ordering::Acquire) {
                let range = next.fetch_add(1, Ordering::Relaxed);
                if range >= count {
                    return;
                }
                let mut ended = Ended(&stop, false);
                let result = one(range, &stop);
                ended.1 = result.is_ok();
                if let Err(error) = result
                    && let Ok(mut first) = failure.lock()
                {
                    first.get_or_insert(error);
                }
            }
        };
        // The calling thread begins at once; the others help as soon as they are awake.
        threads.in_place_scope(|scope| {
            for _ in 1..workers {
                scope.spawn(|_| work());
            }
            work();
        });
        match failure.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => Ok(()),
        }
    }
}
