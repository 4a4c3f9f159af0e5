//! Times of single launches, for whoever asks.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

/// What a launch of a kernel took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchTime {
    /// Position in the plan's kernels.
    pub kernel: usize,
    /// Values of the kernel's sizes.
    pub sizes: Vec<i64>,
    /// From the call of the machine until it returned: of a device that works on by itself not all.
    pub time: Duration,
}

thread_local! {
    /// Launches of this thread, while somebody wants to know them.
    static LAUNCHES: RefCell<Option<Vec<LaunchTime>>> = const { RefCell::new(None) };
}

/// Calls `run`, and says what each launch of a kernel took that this thread began in it, in order.
///
/// Where it calls itself, the inner call has the launches of its own.
pub fn profiled<R>(run: impl FnOnce() -> R) -> (R, Vec<LaunchTime>) {
    let outer = LAUNCHES.replace(Some(Vec::new()));
    let result = run();
    let launches = LAUNCHES.replace(outer);
    (result, launches.unwrap_or_default())
}

/// Whether somebody wants to know the times of launches that this thread begins.
pub fn is_wanted() -> bool {
    LAUNCHES.with_borrow(Option::is_some)
}

/// Calls `launch`, and takes its time if somebody wants to know it.
pub fn timed<R>(kernel: usize, sizes: &[i64], launch: impl FnOnce() -> R) -> R {
    if !is_wanted() {
        return launch();
    }
    let begin = Instant::now();
    let result = launch();
    took(kernel, sizes.to_vec(), begin.elapsed());
    result
}

/// Says what a launch took, if somebody wants to know.
pub fn took(kernel: usize, sizes: Vec<i64>, time: Duration) {
    LAUNCHES.with_borrow_mut(|launches| {
        if let Some(launches) = launches {
            launches.push(LaunchTime { kernel, sizes, time });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_are_told_to_whoever_asks_and_to_nobody_else() {
        assert_eq!(timed(0, &[1], || 5), 5);
        let ((inner, first), outer) = profiled(|| {
            timed(1, &[2, 3], || ());
            let inner = profiled(|| timed(2, &[], || 7));
            timed(3, &[4], || ());
            (inner.1, inner.0)
        });
        assert_eq!(first, 7);
        let of = |launches: &[LaunchTime]| launches.iter().map(|l| (l.kernel, l.sizes.clone())).collect::<Vec<_>>();
        assert_eq!(of(&inner), [(2, vec![])]);
        assert_eq!(of(&outer), [(1, vec![2, 3]), (3, vec![4])]);
        assert!(profiled(|| ()).1.is_empty());
    }
}
