//! Threads that help whoever has work to share.
//!
//! A caller puts up its work, does it itself, and takes it down when nothing is left to begin: it waits only for helpers that came. With
//! a scope of a general pool it would wait until each helper has been awake, which takes longer than a small kernel runs. Helpers look
//! out for more work for about as long as waking them takes before they sleep, which is at most twice what knowing the future would cost.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{Builder, JoinHandle, Thread},
    time::{Duration, Instant},
};

use fusebox_backend::lock;

use crate::rounding::Rounding;

/// How long a helper looks for work before it sleeps, and a caller for helpers to end.
const LOOKOUT: Duration = Duration::from_micros(100);

/// Nanoseconds of work done without helpers that slept, after which they are woken: work comes often enough then.
const ENOUGH_ALONE_NS: u64 = LOOKOUT.as_nanos() as u64 / 2;

/// How many others somebody wakes: those wake others in turn.
const WOKEN_BY_ONE: usize = 2;

/// A number of threads, of which all but one are helpers: the caller is the other.
#[derive(Debug)]
pub(crate) struct Threads {
    board: Arc<Board>,
    helpers: Vec<JoinHandle<()>>,
}

/// What callers put up.
#[derive(Debug, Default)]
struct Board {
    notices: Mutex<Notices>,
    put_up: Condvar,
    /// How many helpers are wanted in all, for those that look without the lock.
    wanted: AtomicUsize,
    /// How many helpers sleep; changed under the lock.
    asleep: AtomicUsize,
    /// Nanoseconds of work that callers did alone because helpers slept.
    alone: AtomicU64,
    ended: AtomicBool,
}

#[derive(Debug, Default)]
struct Notices {
    work: Vec<Arc<Work>>,
}

/// The work of one caller.
struct Work {
    /// Valid as long as the work is on the board or somebody is inside.
    run: &'static (dyn Fn() + Sync),
    /// How many more helpers may come; changed under the board's lock.
    wanted: AtomicUsize,
    /// How many helpers came and are not done; grows under the board's lock only.
    inside: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    caller: Thread,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("wanted", &self.wanted).field("inside", &self.inside).finish()
    }
}

impl Threads {
    /// `count` threads with the one that calls.
    pub(crate) fn new(count: usize) -> std::io::Result<Self> {
        let board = Arc::new(Board::default());
        let mut threads = Self { board, helpers: Vec::new() };
        // With more threads than cores, looking out would take time from those that work.
        let spare = std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= count);
        for helper in 1..count {
            let board = Arc::clone(&threads.board);
            let lookout = if spare { LOOKOUT } else { Duration::ZERO };
            let run = move || board.help(lookout);
            threads.helpers.push(Builder::new().name(format!("fusebox-{helper}")).spawn(run)?);
        }
        Ok(threads)
    }

    /// The thread that calls.
    pub(crate) fn alone() -> Self {
        Self { board: Arc::default(), helpers: Vec::new() }
    }

    /// How many threads.
    pub(crate) fn count(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Whether all helpers sleep.
    pub(crate) fn asleep(&self) -> bool {
        self.board.asleep.load(Ordering::Relaxed) >= self.helpers.len()
    }

    /// Runs `one` for every number below `count`, on all threads. Numbers are begun in order, so that one may wait for those below it.
    pub(crate) fn each(&self, count: usize, one: impl Fn(usize) + Sync) {
        let workers = self.count().min(count);
        if workers <= 1 {
            return (0..count).for_each(one);
        }
        let next = AtomicUsize::new(0);
        self.together(workers - 1, &|| {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                one(number);
            }
        });
    }

    /// The same: on this thread alone where all helpers sleep, and the work is not worth waking them.
    pub(crate) fn each_of(&self, worth_waking: impl FnOnce() -> bool, count: usize, one: impl Fn(usize) + Sync) {
        if count < 2 || self.come(worth_waking) {
            return self.each(count, one);
        }
        self.by_itself(|| (0..count).for_each(one));
    }

    /// Runs `work` on this thread and on so many others, of those that come before it is done here. None come where all helpers sleep, and the work is not
    /// worth waking them.
    pub(crate) fn all(&self, worth_waking: impl FnOnce() -> bool, helpers: usize, work: impl Fn() + Sync) {
        if helpers > 0 && self.come(worth_waking) {
            return self.together(helpers, &work);
        }
        self.by_itself(work);
    }

    /// Whether helpers are awake, or woken.
    fn come(&self, worth_waking: impl FnOnce() -> bool) -> bool {
        !self.asleep() || self.board.alone.load(Ordering::Relaxed) >= ENOUGH_ALONE_NS || worth_waking()
    }

    /// Runs work that helpers would share if they were awake.
    fn by_itself(&self, work: impl FnOnce()) {
        if self.helpers.is_empty() {
            return work();
        }
        let begin = Instant::now();
        work();
        self.board.alone.fetch_add(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// Runs `work` on this thread and on up to `helpers` others that find the time before this one is done.
    #[allow(unsafe_code)]
    fn together(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        // SAFETY: only the lifetime is changed. Helpers call it between coming in, which they do under the lock while it is on the board,
        // and leaving; `Down` takes it from the board under the lock and waits until all have left, before `work` ends, panic or not.
        let run = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
        let helpers = helpers.min(self.helpers.len());
        let notice = Arc::new(Work {
            run,
            wanted: AtomicUsize::new(helpers),
            inside: AtomicUsize::new(0),
            panic: Mutex::new(None),
            caller: std::thread::current(),
        });
        let down = Down { board: &self.board, work: &notice };
        let asleep = {
            let mut notices = self.board.lock();
            notices.work.push(Arc::clone(&notice));
            self.board.wanted.fetch_add(helpers, Ordering::Release);
            self.board.asleep.load(Ordering::Relaxed)
        };
        self.board.wake(helpers.min(asleep));
        work();
        drop(down);
        let panic = lock(&notice.panic).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        {
            let _lock = self.board.lock();
            self.board.ended.store(true, Ordering::Release);
        }
        self.board.put_up.notify_all();
        for helper in self.helpers.drain(..) {
            // Its work is caught, so a panic of its own could only be a fault of this file.
            let _ = helper.join();
        }
    }
}

/// Takes work from the board and waits for those inside.
struct Down<'w> {
    board: &'w Board,
    work: &'w Arc<Work>,
}

impl Drop for Down<'_> {
    fn drop(&mut self) {
        {
            let mut notices = self.board.lock();
            if let Some(place) = notices.work.iter().position(|work| Arc::ptr_eq(work, self.work)) {
                notices.work.swap_remove(place);
                self.board.wanted.fetch_sub(self.work.wanted.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
        look_out(LOOKOUT, || self.work.inside.load(Ordering::Acquire) == 0);
        while self.work.inside.load(Ordering::Acquire) > 0 {
            std::thread::park();
        }
    }
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Notices> {
        lock(&self.notices)
    }

    /// The life of a helper.
    fn help(&self, lookout: Duration) {
        // Its thread is ours alone: it stays at the defaults.
        std::mem::forget(Rounding::defaults());
        while let Some(work) = self.next(lookout) {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(work.run)) {
                lock(&work.panic).get_or_insert(panic);
            }
            if work.inside.fetch_sub(1, Ordering::AcqRel) == 1 {
                work.caller.unpark();
            }
        }
    }

    /// Wakes helpers, of so many that sleep and are wanted.
    fn wake(&self, wanted: usize) {
        if wanted > 0 {
            self.alone.store(0, Ordering::Relaxed);
        }
        for _ in 0..wanted.min(WOKEN_BY_ONE) {
            self.put_up.notify_one();
        }
    }

    /// Waits for work and comes in; `None` at the end. Who was woken too late for the work looks out for more of it, as work comes often then.
    fn next(&self, lookout: Duration) -> Option<Arc<Work>> {
        let is_wanted = || self.wanted.load(Ordering::Acquire) > 0 || self.ended.load(Ordering::Acquire);
        let mut slept = false;
        loop {
            look_out(lookout, is_wanted);
            let mut notices = self.lock();
            if self.ended.load(Ordering::Acquire) {
                return None;
            }
            if let Some(work) = notices.work.iter().find(|work| work.wanted.load(Ordering::Relaxed) > 0) {
                let others = work.wanted.fetch_sub(1, Ordering::Relaxed) - 1;
                work.inside.fetch_add(1, Ordering::Relaxed);
                self.wanted.fetch_sub(1, Ordering::Relaxed);
                let work = Arc::clone(work);
                drop(notices);
                if slept {
                    self.wake(others.min(self.asleep.load(Ordering::Relaxed)));
                }
                return Some(work);
            }
            self.asleep.fetch_add(1, Ordering::Relaxed);
            notices = self.put_up.wait(notices).unwrap_or_else(PoisonError::into_inner);
            self.asleep.fetch_sub(1, Ordering::Relaxed);
            drop(notices);
            slept = true;
        }
    }
}

/// Looks for something until it is there or the time is over.
fn look_out(time: Duration, is_there: impl Fn() -> bool) {
    if time.is_zero() {
        return;
    }
    let begin = Instant::now();
    loop {
        for _ in 0..32 {
            if is_there() {
                return;
            }
            std::hint::spin_loop();
        }
        if begin.elapsed() >= time {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_before_it_is_over() {
        for count in [1, 2, 7] {
            let threads = Threads::new(count).unwrap();
            assert_eq!(threads.count(), count);
            for round in 0..2000 {
                let items = 1 + round % 50;
                let done: Vec<AtomicUsize> = (0..items).map(|_| AtomicUsize::new(0)).collect();
                threads.each(items, |item| {
                    done[item].fetch_add(1, Ordering::Relaxed);
                });
                assert!(done.into_iter().all(|done| done.into_inner() == 1));
            }
        }
    }

    #[test]
    fn many_callers_share_the_helpers() {
        let threads = Threads::new(3).unwrap();
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        threads.each(10, |_| {
                            total.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 8 * 500 * 10);
    }

    /// Returns when both threads are in it.
    fn meet(came: &AtomicUsize) {
        came.fetch_add(1, Ordering::AcqRel);
        while came.load(Ordering::Acquire) < 2 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_helper_that_sleeps_is_woken() {
        let threads = Threads::new(2).unwrap();
        for _ in 0..5 {
            std::thread::sleep(4 * LOOKOUT);
            let came = AtomicUsize::new(0);
            threads.each(2, |_| meet(&came));
        }
    }

    #[test]
    fn short_work_is_done_alone_while_helpers_sleep_until_it_is_enough() {
        let threads = Threads::new(2).unwrap();
        while threads.board.asleep.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(LOOKOUT);
        }
        let caller = std::thread::current().id();
        threads.each_of(|| false, 2, |_| assert_eq!(std::thread::current().id(), caller));
        let came = AtomicUsize::new(0);
        threads.each_of(|| true, 2, |_| meet(&came));
        while threads.board.asleep.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(LOOKOUT);
        }
        threads.each_of(|| false, 2, |_| std::thread::sleep(LOOKOUT));
        let came = AtomicUsize::new(0);
        threads.each_of(|| false, 2, |_| meet(&came));
    }

    #[test]
    fn all_helpers_come_although_the_caller_wakes_few() {
        let threads = Threads::new(9).unwrap();
        while threads.board.asleep.load(Ordering::Relaxed) < 8 {
            std::thread::sleep(LOOKOUT);
        }
        let came = AtomicUsize::new(0);
        threads.each(9, |_| {
            came.fetch_add(1, Ordering::AcqRel);
            while came.load(Ordering::Acquire) < 9 {
                std::thread::yield_now();
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_helpers_stay() {
        let threads = Threads::new(2).unwrap();
        let caller = std::thread::current().id();
        for fails_here in [true, false] {
            let came = AtomicUsize::new(0);
            let result = catch_unwind(AssertUnwindSafe(|| {
                threads.each(2, |_| {
                    meet(&came);
                    assert!((std::thread::current().id() == caller) != fails_here, "as it should");
                });
            }));
            assert!(result.is_err());
        }
        let came = AtomicUsize::new(0);
        threads.each(2, |_| meet(&came));
    }
}
