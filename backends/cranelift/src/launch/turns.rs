//! Turns of a loop of rows whose arrays are in the caches: all rows in each turn, by threads that keep their rows.
//!
//! Between two launches of a plan one thread says what comes next, and helpers are asked for anew. Here they come once for many turns. Rows are in as many
//! parts as threads share them. As a run may read rows of any part, it begins when all parts of the run before it are done. A thread takes the part that it
//! had before, whose rows are in its own cache, and then those that nobody has begun: nobody waits for a helper that does not come.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use fusebox_backend::{Few, Turns, Unrolled, lock};

use super::{trials::Trials, workers::Ended};
use crate::threads::Threads;

/// How often somebody who waits looks before it lets others have its core.
const LOOKS: usize = 1 << 12;

/// So many lists of runs are kept: those of many turns, and of the last ones.
const KEPT: usize = 4;

/// What is known of loops whose turns begin with the same kernel. Backends that run the same code share it.
#[derive(Debug, Default)]
pub(crate) struct KnownTurns {
    /// What runs over all rows took on one thread, and shared by threads.
    pub(super) trials: Trials,
    unrolled: Mutex<Vec<Arc<Unrolled>>>,
}

impl KnownTurns {
    /// The turns in a row, made once; none as [`Unrolled::of`] says.
    pub(super) fn unrolled<B>(&self, turns: &Turns<'_, B>, over_all: bool) -> Option<Arc<Unrolled>> {
        let mut known = lock(&self.unrolled);
        if let Some(own) = known.iter().find(|own| own.is_of(turns, over_all)) {
            return Some(Arc::clone(own));
        }
        let unrolled = Arc::new(Unrolled::of(turns, over_all)?);
        if known.len() >= KEPT {
            known.remove(0);
        }
        known.push(Arc::clone(&unrolled));
        Some(unrolled)
    }
}

/// How far the parts of all runs are.
pub(super) struct Progress {
    /// Of each part how many runs have begun it.
    begun: Few<Begun>,
    /// How many parts of all runs are done.
    done: AtomicUsize,
    /// How many threads came.
    came: AtomicUsize,
    stop: AtomicBool,
}

/// Counts of several parts on one line of a cache would go from core to core.
#[repr(align(64))]
struct Begun(AtomicUsize);

impl Progress {
    /// Runs `one` for each part of each run, on all threads that come; the first failure found is the result.
    pub(super) fn of_all<E: Send>(
        threads: &Threads,
        (runs, parts): (usize, usize),
        worth_waking: impl FnOnce() -> bool,
        one: impl Fn(usize, usize) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let progress = Self {
            begun: (0..parts).map(|_| Begun(AtomicUsize::new(0))).collect(),
            done: AtomicUsize::new(0),
            came: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        let failure = Mutex::new(None);
        threads.all(worth_waking, parts.saturating_sub(1), || {
            let result = progress.work(runs, &one);
            if let Err(error) = result {
                lock(&failure).get_or_insert(error);
            }
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// What one thread does.
    fn work<E>(&self, runs: usize, one: &impl Fn(usize, usize) -> Result<(), E>) -> Result<(), E> {
        let parts = self.begun.len();
        let own = self.came.fetch_add(1, Ordering::Relaxed);
        for run in 0..runs {
            for part in (own..own + parts).map(|part| part % parts) {
                let Begun(begun) = &self.begun[part];
                if begun.compare_exchange(run, run + 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                    continue;
                }
                let mut ended = Ended::new(&self.stop);
                one(run, part)?;
                ended.well();
                self.done.fetch_add(1, Ordering::AcqRel);
            }
            if !self.wait((run + 1) * parts) {
                break;
            }
        }
        Ok(())
    }

    /// Waits until so many parts are done; whether they are: else something failed.
    fn wait(&self, parts: usize) -> bool {
        let mut looks = 0;
        while self.done.load(Ordering::Acquire) < parts {
            if self.stop.load(Ordering::Acquire) {
                return false;
            }
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_begins_when_all_parts_of_the_one_before_are_done() {
        for (count, parts) in [(1, 1), (1, 3), (2, 2), (3, 2), (4, 7)] {
            let threads = Threads::new(count).unwrap();
            for _ in 0..50 {
                let done: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
                let all = Progress::of_all(
                    &threads,
                    (40, parts),
                    || true,
                    |run, part| {
                        let before = done[part].fetch_add(1, Ordering::AcqRel);
                        let others = done.iter().all(|own| (run..=run + 1).contains(&own.load(Ordering::Acquire)));
                        if before == run && others { Ok(()) } else { Err((run, part)) }
                    },
                );
                assert_eq!(all, Ok(()), "{count} threads, {parts} parts");
                assert!(done.into_iter().all(|done| done.into_inner() == 40));
            }
        }
    }

    #[test]
    fn nobody_waits_for_what_failed() {
        let threads = Threads::new(3).unwrap();
        for fails in 0..3 {
            let all = Progress::of_all(
                &threads,
                (20, 3),
                || true,
                |run, part| {
                    if (run, part) == (7, fails) { Err(fails) } else { Ok(()) }
                },
            );
            assert_eq!(all, Err(fails));
        }
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Progress::of_all(
                &threads,
                (20, 3),
                || true,
                |run, part| {
                    assert!((run, part) != (5, 1), "as it should");
                    Ok::<(), ()>(())
                },
            )
        }));
        assert!(panics.is_err());
    }
}
