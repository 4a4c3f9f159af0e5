//! Whether threads share a launch, by what launches took.
//!
//! Estimates say what a launch of much work is worth, and one of hardly any. Between the two it depends on what estimates do not know: where the arrays lie,
//! whether helpers are awake, what else runs on the machine. So launches of this kind are done both ways, and then the way that takes less
//! time; now and then the other is tried again. Results do not depend on it: ranges never change a bit.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Of so many times less work than is shared without a trial, launches are tried.
const FEWER: u64 = 16;

/// Of up to so many times more work.
const MORE: u64 = 8;

/// Sizes of work that are told apart: each is twice the one before.
const SIZES: usize = (FEWER * MORE).ilog2() as usize;

/// Parts of one in which it is said how many times as long as estimated launches took.
const ONE: u64 = 1 << 16;

/// So many launches are done as the estimate says before the other way is tried.
const FIRST: u32 = 16;

/// A trial of the way that seems to take longer is so many launches in a row, at most: helpers wake up only where launches are shared for a while.
const OTHERS: u32 = 64;

/// A trial ends when so many of its launches are measured.
const ENOUGH: u32 = 8;

/// Launches from one trial to the next, where the other way takes less than twice as long; twice as many where it takes twice as long.
const APART: u32 = 512;

/// Of launches outside of trials one of so many is measured: clocks take time too.
const MEASURED: u32 = 8;

/// What launches of a kernel took on one thread, and shared. Backends that run the same code have one.
#[derive(Debug, Default)]
pub(crate) struct Trials([Trial; SIZES]);

/// Launches of about the same work.
#[derive(Debug, Default)]
struct Trial {
    /// How many there were: at first since the beginning, later since the last trial began.
    launches: AtomicU32,
    /// How many launches of the last trial were measured.
    others: AtomicU32,
    /// What they took alone, and shared, in parts of what was estimated; 0 before the first that was measured.
    took: [AtomicU32; 2],
    /// Whether they take less time shared.
    shared: AtomicBool,
}

/// How a launch is done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Way {
    /// Whether threads share it.
    pub(super) shared: bool,
    /// Estimated nanoseconds of work on one thread.
    pub(super) work: u64,
    /// Which size of [`Trials`] it counts for, if it is measured.
    size: Option<usize>,
}

impl Trials {
    /// How a launch of so much estimated work is done, where `usual` is shared without a trial.
    pub(super) fn way(&self, work: u64, usual: u64) -> Way {
        let by_estimate = work >= usual;
        let least = usual / FEWER;
        let size = work.checked_div(least).filter(|&times| times > 0).map(|times| times.ilog2() as usize);
        match size.and_then(|size| Some((size, self.0.get(size)?.way(by_estimate)))) {
            Some((size, (shared, measured))) => Way { shared, work, size: measured.then_some(size) },
            None => Way { shared: by_estimate, work, size: None },
        }
    }

    /// Keeps what a launch took.
    pub(super) fn took(&self, way: Way, nanoseconds: u64) {
        let Some(trial) = way.size.and_then(|size| self.0.get(size)) else { return };
        trial.took(way.shared, u32::try_from(nanoseconds.saturating_mul(ONE) / way.work.max(1)).unwrap_or(u32::MAX));
    }
}

impl Way {
    pub(super) fn is_measured(self) -> bool {
        self.size.is_some()
    }
}

impl Trial {
    /// Whether the next launch is shared, and whether it is measured.
    fn way(&self, by_estimate: bool) -> (bool, bool) {
        // Two at one time may count as one.
        let launches = self.launches.load(Ordering::Relaxed);
        self.launches.store(launches.wrapping_add(1), Ordering::Relaxed);
        if launches == 0 {
            self.shared.store(by_estimate, Ordering::Relaxed);
        }
        let shared = self.shared.load(Ordering::Relaxed);
        // At first code and arrays are not in the caches.
        let Some(turn) = launches.checked_sub(FIRST) else { return (shared, launches >= FIRST / 2) };
        let others = self.others.load(Ordering::Relaxed);
        if turn < OTHERS && others < ENOUGH {
            return (!shared, true);
        }
        let [alone, together] = self.known();
        let times = (alone.max(together) / alone.min(together).max(1)).clamp(1, 64);
        if turn >= APART * times {
            self.launches.store(FIRST, Ordering::Relaxed);
            self.others.store(0, Ordering::Relaxed);
        }
        (shared, turn.is_multiple_of(MEASURED))
    }

    /// Keeps what a launch took, in parts of what was estimated.
    fn took(&self, shared: bool, now: u32) {
        let took = &self.took[usize::from(shared)];
        let before = took.load(Ordering::Relaxed);
        // What interrupts a launch counts for little, and so do the first launches, for which helpers wake up: less counts for more.
        let after = match before {
            0 => now,
            _ if now < before => before - (before - now) / 2,
            _ => before.saturating_add((now.min(before.saturating_mul(2)) - before) / 8),
        };
        took.store(after.max(1), Ordering::Relaxed);
        if shared != self.shared.load(Ordering::Relaxed) {
            let others = self.others.load(Ordering::Relaxed);
            self.others.store(others.saturating_add(1), Ordering::Relaxed);
            return;
        }
        let [alone, together] = self.known();
        if alone > 0 && together > 0 {
            self.shared.store(together < alone, Ordering::Relaxed);
        }
    }

    fn known(&self) -> [u32; 2] {
        [0, 1].map(|way| self.took[way].load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: u64 = 20_000;

    /// How many of so many launches are shared, where they take `alone` or `shared` nanoseconds.
    fn shared_of(trials: &Trials, launches: u32, work: u64, [alone, shared]: [u64; 2]) -> u32 {
        let one = |_| {
            let way = trials.way(work, USUAL);
            assert_eq!(way.work, work);
            if way.is_measured() {
                trials.took(way, if way.shared { shared } else { alone });
            }
            u32::from(way.shared)
        };
        (0..launches).map(one).sum()
    }

    #[test]
    fn launches_are_done_the_way_that_takes_less_time() {
        for work in [USUAL / 8, USUAL / 2, USUAL, 4 * USUAL] {
            let trials = Trials::default();
            // At first as the estimate says, then the other way for a while.
            assert_eq!(shared_of(&trials, FIRST, work, [10_000, 20_000]), if work < USUAL { 0 } else { FIRST });
            assert_eq!(shared_of(&trials, ENOUGH, work, [10_000, 20_000]), if work < USUAL { ENOUGH } else { 0 });
            let few = shared_of(&trials, 4096, work, [10_000, 20_000]);
            assert!(few < 4096 / 16, "{few} of {work}");
            // The machine has changed.
            shared_of(&trials, 4096, work, [20_000, 10_000]);
            let many = shared_of(&trials, 4096, work, [20_000, 10_000]);
            assert!(many > 4096 - 4096 / 16, "{many} of {work}");
        }
    }

    #[test]
    fn sizes_of_work_are_tried_apart() {
        let trials = Trials::default();
        shared_of(&trials, 1000, USUAL / 8, [10, 20]);
        shared_of(&trials, 1000, USUAL, [20, 10]);
        assert_eq!(shared_of(&trials, 10, USUAL / 8, [10, 20]), 0);
        assert_eq!(shared_of(&trials, 10, USUAL, [20, 10]), 10);
    }

    #[test]
    fn an_interruption_does_not_change_the_way() {
        let trials = Trials::default();
        shared_of(&trials, 100, USUAL, [20_000, 9000]);
        let way = Way { size: Some(4), ..trials.way(USUAL, USUAL) };
        assert!(way.shared);
        trials.took(way, 1_000_000_000);
        assert!(trials.way(USUAL, USUAL).shared);
    }

    /// The first of those that are tried, or one of them, takes ten times as long.
    #[test]
    fn an_interruption_in_a_trial_does_not_decide() {
        for interrupted in 0..ENOUGH {
            let trials = Trials::default();
            shared_of(&trials, FIRST, USUAL / 2, [10_000, 7_000]);
            for launch in 0..ENOUGH {
                let way = trials.way(USUAL / 2, USUAL);
                assert!(way.shared && way.is_measured());
                trials.took(way, if launch == interrupted { 70_000 } else { 7_000 });
            }
            let shared = shared_of(&trials, 200, USUAL / 2, [10_000, 7_000]);
            assert!(shared > 150, "{shared} after launch {interrupted}");
        }
    }

    #[test]
    fn much_work_is_shared_and_hardly_any_is_not() {
        let trials = Trials::default();
        for (work, is_shared) in [(0, false), (USUAL / FEWER - 1, false), (USUAL * MORE, true), (u64::MAX, true)] {
            let ways: Vec<Way> = (0..1000).map(|_| trials.way(work, USUAL)).collect();
            assert!(ways.iter().all(|way| way.shared == is_shared && !way.is_measured()), "{work}");
        }
        // Everything is shared, or nothing: no trial.
        assert!(trials.way(1, 0).shared);
        assert!(!trials.way(u64::MAX - 1, u64::MAX).shared);
    }
}
