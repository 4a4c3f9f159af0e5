//! Runs that are under way while whoever asked for them does something else.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Condvar, LazyLock, Mutex, PoisonError},
    thread::Builder,
    time::Duration,
};

use crate::lock;

/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(1);
/// Threads at most; what is started beyond that waits its turn.
const MOST_THREADS: usize = 64;

/// Work that was started with [`start`].
///
/// Dropped, it waits for the end of the work all the same, as what was lent to the work comes back with its end.
#[must_use = "dropped, it waits for the end of the work"]
pub struct Running<T: Send + 'static>(Option<Arc<Flight<T>>>);

/// What is to be done, then what came of it.
struct Flight<T> {
    state: Mutex<State<T>>,
    ended: Condvar,
}

enum State<T> {
    /// Nobody has begun.
    Waiting(Box<dyn FnOnce() -> T + Send>),
    /// Somebody does it.
    UnderWay,
    /// It is done; or what its panic said.
    Ended(Result<T, Box<dyn Any + Send>>),
    /// What came of it was taken.
    Taken,
}

/// Begins to do something on another thread.
///
/// A thread that has done such work before takes it, or a new one. Where there are none, [`Running::wait`] does it.
pub fn start<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Running<T> {
    let flight = Arc::new(Flight { state: Mutex::new(State::Waiting(Box::new(work))), ended: Condvar::new() });
    let own = flight.clone();
    RUNNERS.put(Box::new(move || own.run()));
    Running(Some(flight))
}

impl<T: Send + 'static> Running<T> {
    /// Whether the work is done, so that [`Self::wait`] returns at once.
    pub fn is_done(&self) -> bool {
        let ended = |flight: &Arc<Flight<T>>| matches!(*lock(&flight.state), State::Ended(_));
        self.0.as_ref().is_none_or(ended)
    }

    /// What came of the work, once it is done.
    ///
    /// # Panics
    /// With the panic of the work, if it panicked: a bug, which is not passed over.
    pub fn wait(mut self) -> T {
        // It is there until this ends.
        let Some(flight) = self.0.take() else { unreachable!("work is waited for once") };
        match flight.ended() {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl<T: Send + 'static> Drop for Running<T> {
    fn drop(&mut self) {
        // Nobody asks for what came of it, whatever that was.
        drop(self.0.take().map(|flight| flight.ended()));
    }
}

impl<T: Send + 'static> std::fmt::Debug for Running<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("is_done", &self.is_done()).finish()
    }
}

impl<T> Flight<T> {
    /// Does the work, if nobody has begun.
    fn run(&self) {
        let work = {
            let mut state = lock(&self.state);
            match std::mem::replace(&mut *state, State::UnderWay) {
                State::Waiting(work) => work,
                other => {
                    *state = other;
                    return;
                }
            }
        };
        let result = catch_unwind(AssertUnwindSafe(work));
        *lock(&self.state) = State::Ended(result);
        self.ended.notify_all();
    }

    /// What came of it, once it is done.
    fn ended(&self) -> Result<T, Box<dyn Any + Send>> {
        self.run();
        let mut state = lock(&self.state);
        loop {
            match std::mem::replace(&mut *state, State::Taken) {
                State::Ended(result) => return result,
                other => *state = other,
            }
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

static RUNNERS: LazyLock<Runners> = LazyLock::new(Runners::default);

/// Threads that do what is started.
#[derive(Default)]
struct Runners {
    board: Mutex<Board>,
    put: Condvar,
}

#[derive(Default)]
struct Board {
    work: VecDeque<Box<dyn FnOnce() + Send>>,
    threads: usize,
    idle: usize,
}

impl Runners {
    fn put(&'static self, work: Box<dyn FnOnce() + Send>) {
        let mut board = lock(&self.board);
        board.work.push_back(work);
        if board.idle >= board.work.len() {
            self.put.notify_one();
            return;
        }
        if board.threads < MOST_THREADS {
            board.threads += 1;
            drop(board);
            // Without a thread the work stays: who waits for it does it.
            if Builder::new().name("fusebox-run".into()).spawn(|| self.help()).is_err() {
                lock(&self.board).threads -= 1;
            }
        }
    }

    /// The life of a thread.
    fn help(&self) {
        let mut board = lock(&self.board);
        loop {
            if let Some(work) = board.work.pop_front() {
                drop(board);
                work(); // a panic in it was caught
                board = lock(&self.board);
                continue;
            }
            board.idle += 1;
            let (woken, timeout) = self.put.wait_timeout(board, IDLE).unwrap_or_else(PoisonError::into_inner);
            board = woken;
            board.idle -= 1;
            if timeout.timed_out() && board.work.is_empty() {
                board.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    use super::*;

    #[test]
    fn much_work_is_under_way_at_once() {
        // Each waits for the next one, so that one thread alone would wait for ever.
        let (first, mut last) = mpsc::channel::<u32>();
        let mut running = Vec::new();
        for _ in 0..20 {
            let (send, receive) = mpsc::channel();
            let before = std::mem::replace(&mut last, receive);
            running.push(start(move || {
                let number = before.recv().unwrap();
                send.send(number + 1).unwrap();
                number
            }));
        }
        first.send(0).unwrap();
        assert_eq!(last.recv().unwrap(), 20);
        let numbers: Vec<u32> = running.into_iter().map(Running::wait).collect();
        assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn more_than_there_are_threads_for_is_done_too() {
        let running: Vec<_> = (0..1000).map(|number| start(move || number * 2)).collect();
        let sum: i32 = running.into_iter().rev().map(Running::wait).sum();
        assert_eq!(sum, 999_000);
    }

    #[test]
    fn dropped_work_has_ended() {
        static DONE: AtomicUsize = AtomicUsize::new(0);
        for number in 1..=50 {
            drop(start(|| DONE.fetch_add(1, Ordering::SeqCst)));
            assert_eq!(DONE.load(Ordering::SeqCst), number);
        }
    }

    #[test]
    fn a_panic_is_that_of_who_waits() {
        let running = start(|| -> u32 { panic!("as it should") });
        let panic = catch_unwind(AssertUnwindSafe(|| running.wait())).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"as it should"));
        drop(start(|| panic!("nobody asks")));
        assert_eq!(start(|| 5).wait(), 5);
    }
}
