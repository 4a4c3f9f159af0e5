//! Launches that need nothing of each other, a thread for each: where none is long enough to be shared by threads.

use std::sync::{Mutex, PoisonError};

use fusebox_backend::{BackendError, Few, Launch, lock};
use fusebox_ir::{Array, Kernel};

use super::KernelLaunch;
use crate::{Shared, loaded_kernel::LoadedKernel, threads::Threads};

/// Whether launches of these kernels, with these sizes, take less time at once: none is shared by threads, and all but the longest together
/// are worth the threads.
pub(crate) fn gains(
    launches: &[(usize, Few<i64>)],
    (kernels, loaded): (&[Kernel], &[LoadedKernel]),
    shared: &Shared,
) -> bool {
    let (mut all, mut longest) = (0u64, 0u64);
    for (kernel, sizes) in launches {
        let (Some(declared), Some(loaded)) = (kernels.get(*kernel), loaded.get(*kernel)) else { return false };
        let Some(work) = KernelLaunch::new(declared, loaded, shared, sizes).work_by_sizes() else { return false };
        all = all.saturating_add(work);
        longest = longest.max(work);
    }
    longest < shared.share_from_ns && all - longest >= shared.at_once_from_ns
}

/// Runs each, on all threads; the error is that of the first in order that fails.
pub(crate) fn run(
    launches: Few<Launch<'_, Array>>,
    threads: &Threads,
    one: impl Fn(Launch<'_, Array>) -> Result<(), BackendError> + Sync,
) -> Result<(), BackendError> {
    let launches: Few<Mutex<Option<Launch<'_, Array>>>> =
        launches.into_iter().map(|launch| Mutex::new(Some(launch))).collect();
    let failure: Mutex<Option<(usize, BackendError)>> = Mutex::new(None);
    threads.each(launches.len(), |number| {
        let Some(launch) = lock(&launches[number]).take() else { return };
        if let Err(error) = one(launch) {
            let mut first = lock(&failure);
            if first.as_ref().is_none_or(|(own, _)| number < *own) {
                *first = Some((number, error));
            }
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn launches(count: usize) -> Few<Launch<'static, Array>> {
        (0..count).map(|kernel| Launch { kernel, sizes: &[], arrays: Few::new() }).collect()
    }

    /// Each launch waits until both are under way: one after the other they would wait for ever.
    #[test]
    fn two_launches_are_under_way_at_one_time() {
        let threads = Threads::new(2).unwrap();
        let came = AtomicUsize::new(0);
        let run = run(launches(2), &threads, |_| {
            came.fetch_add(1, Ordering::AcqRel);
            while came.load(Ordering::Acquire) < 2 {
                std::thread::yield_now();
            }
            Ok(())
        });
        assert!(run.is_ok());
    }

    #[test]
    fn all_run_and_the_first_failure_in_order_is_told() {
        for count in [1, 2, 7] {
            let threads = Threads::new(count).unwrap();
            let ran = AtomicUsize::new(0);
            let error = run(launches(6), &threads, |launch| {
                ran.fetch_add(1, Ordering::Relaxed);
                match launch.kernel {
                    2 | 4 => Err(BackendError::BadPlan { message: launch.kernel.to_string() }),
                    _ => Ok(()),
                }
            });
            assert!(matches!(error, Err(BackendError::BadPlan { message }) if message == "2"), "{count} threads");
            assert_eq!(ran.into_inner(), 6);
        }
    }
}
