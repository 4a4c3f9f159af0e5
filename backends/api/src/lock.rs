//! What a lock means after a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whether or not a thread panicked while it held the lock.
///
/// A panic is a bug of ours. It is raised again in the thread that asked for the work, so nobody goes on with the results of that work. What
/// outlives it, such as pools and caches, is whole after every statement under its lock. So no lock is ever refused or ignored.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
