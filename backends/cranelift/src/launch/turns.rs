//! Turns of a loop of rows whose arrays are in the caches: all rows in each turn, by threads that keep their rows.
//!
//! Between two launches of a plan one thread says what comes next, and helpers are asked for anew. Here they come once for many turns. Rows are in as many
//! parts as threads share them. As a run may read rows of any part, it begins when all parts of the run before it are done. A thread takes the part that it
//! had before, whose rows are in its own cache, and then those that nobody has begun: nobody waits for a helper that does not come.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use fusebox_backend::{BackendError, Few, Turns, Unrolled, lock};

use super::{
    KernelLaunch,
    strips::{Strips, did},
    table::RowMemory,
    trials::{Trials, Way},
    workers::Ended,
};
use crate::threads::Threads;

/// Estimated nanoseconds of a run over all rows from which on threads share it, as a part of what launches have that threads share at first: helpers are there
/// already.
const SHARED_RUNS: u64 = 8;

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

impl Strips<'_, '_> {
    /// All turns over all rows.
    pub(super) fn over_all(&self) -> Result<Option<usize>, BackendError> {
        let mut memory = match self.memory((0, self.rows)) {
            Ok(memory) => memory,
            Err(stop) => return did(Err(stop), 0),
        };
        let bytes = memory.iter().map(|own| own.bytes().len()).sum();
        let slots: Few<RowMemory<'_>> = memory.iter_mut().map(RowMemory::of_mut).collect();
        let place = |version: usize| self.place(version, &slots, 0);
        let count = self.unrolled.runs.len();
        let (way, cuts) = self.parts();
        let runs = count.max(1) as u64;
        let worth_waking = || way.work.saturating_mul(runs) >= self.shared.share_from_ns;
        // While helpers sleep, what it takes says nothing of sharing.
        let begun = (way.is_measured() && !(way.shared && self.shared.threads.asleep())).then(Instant::now);
        let done = Progress::of_all(&self.shared.threads, (count, cuts.len() - 1), worth_waking, |run, part| {
            Ok(self.call(run, &place, (cuts[part], cuts[part + 1]))?)
        });
        if let (Some(begun), Some((_, first))) = (begun, self.loaded.first()) {
            first.turns.trials.took(way, begun.elapsed().as_nanos() as u64 / runs);
        }
        did(done, bytes)
    }

    /// Whether threads share runs over all rows, and where the rows of their parts begin and end.
    fn parts(&self) -> (Way, Few<i64>) {
        let (mut unit, mut work) = (1, 0u64);
        for (launch, (kernel, loaded)) in self.launches.iter().zip(self.loaded) {
            let mut own = KernelLaunch::new(kernel, loaded, self.shared, &launch.sizes);
            own.outermost = self.rows;
            unit = own.share_unit().max(unit);
            work = work.saturating_add(own.work());
        }
        let each = work / (self.launches.len() as u64).max(1);
        let threads = self.shared.threads.count() as u64;
        let way = match self.loaded.first() {
            Some((_, first)) if threads > 1 => first.turns.trials.way(each, self.shared.share_from_ns / SHARED_RUNS),
            _ => Way::default(),
        };
        // A part is worth half of that at least.
        let most = (2 * SHARED_RUNS).saturating_mul(each) / self.shared.share_from_ns.max(1);
        let parts = if way.shared { threads.min(most.max(2)).min(self.rows.max(1) as u64) as i64 } else { 1 };
        let length = (self.rows as u64).div_ceil(parts as u64);
        let length = length.checked_next_multiple_of(unit as u64).map_or(self.rows, |length| length as i64).max(1);
        let mut cuts: Few<i64> = (0..parts).map(|part| part * length).take_while(|&cut| cut < self.rows).collect();
        if cuts.is_empty() {
            cuts.push(0);
        }
        cuts.push(self.rows);
        (way, cuts)
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
