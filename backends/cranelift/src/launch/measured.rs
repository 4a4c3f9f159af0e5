//! How long kernels take whose loops of scalars make as many turns as elements say.
//!
//! An estimate takes such a loop to make some tens of turns. If it makes thousands, a launch that is worth all threads looks too short for them. So what these
//! kernels take is measured, and estimates of later launches are as many times as long. Results do not depend on it: ranges never change a bit.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use fusebox_ir::{Action, Instruction, Kernel, ScalarOp, StatementPart};

/// Parts of one in which it is said how many times as long as estimated something took.
const ONE: u64 = 16;

/// Most that a launch counts as, in times of its estimate.
const MOST: u64 = 1 << 20;

/// What launches of a kernel took, beside their estimates.
#[derive(Debug)]
pub(crate) struct Measured {
    /// How many times as long as estimated, in parts; what is more counts for a quarter, and what is less at once.
    times: AtomicU64,
    /// Nanoseconds of the longest launch since somebody asked, on all threads together.
    longest: AtomicU64,
}

impl Measured {
    /// Of a kernel with such loops; none of others, whose estimates say what there is to know.
    pub(crate) fn of(kernel: &Kernel) -> Option<Self> {
        let any = kernel.statements.iter().any(|statement| match &statement.action {
            Action::Scalar(instruction) => has_loop(instruction),
            _ => statement.parts().into_iter().any(|part| match part {
                StatementPart::Body(function) => function.instructions.iter().any(has_loop),
                _ => false,
            }),
        });
        any.then(|| Self { times: AtomicU64::new(ONE), longest: AtomicU64::new(0) })
    }

    /// Nanoseconds of work that is estimated to take so many.
    pub(super) fn work(&self, estimated: u64) -> u64 {
        estimated.saturating_mul(self.times.load(Ordering::Relaxed)) / ONE
    }

    /// Nanoseconds of the longest launch since this was asked before, on all threads together; 0 if there was none.
    pub(crate) fn take_longest(&self) -> u64 {
        self.longest.swap(0, Ordering::Relaxed)
    }

    fn took(&self, estimated: u64, nanoseconds: u64) {
        self.longest.fetch_max(nanoseconds, Ordering::Relaxed);
        // An estimate of nothing says nothing.
        if estimated == 0 {
            return;
        }
        let now = (nanoseconds.saturating_mul(ONE) / estimated).clamp(ONE, MOST * ONE);
        let before = self.times.load(Ordering::Relaxed);
        let times = if now < before { now } else { before + (now - before).div_ceil(4) };
        self.times.store(times, Ordering::Relaxed);
    }
}

fn has_loop(instruction: &Instruction) -> bool {
    match &instruction.op {
        ScalarOp::While { .. } => true,
        ScalarOp::If { then, otherwise, .. } => {
            [then, otherwise].into_iter().any(|side| side.instructions.iter().any(has_loop))
        }
        _ => false,
    }
}

/// The time that threads spend in a launch, if it is measured.
pub(super) struct Clock<'a> {
    measured: Option<&'a Measured>,
    spent: AtomicU64,
}

impl<'a> Clock<'a> {
    pub(super) fn new(measured: Option<&'a Measured>) -> Self {
        Self { measured, spent: AtomicU64::new(0) }
    }

    /// Does a part of the launch.
    pub(super) fn time<R>(&self, part: impl FnOnce() -> R) -> R {
        if self.measured.is_none() {
            return part();
        }
        let begun = Instant::now();
        let result = part();
        self.spent.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }

    /// Keeps what was spent on a launch that was estimated to take so many nanoseconds.
    pub(super) fn keep(self, estimated: impl FnOnce() -> u64) {
        if let Some(measured) = self.measured {
            measured.took(estimated(), self.spent.into_inner());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_launches_count_by_and_by_and_shorter_ones_at_once() {
        let measured = Measured { times: AtomicU64::new(ONE), longest: AtomicU64::new(0) };
        assert_eq!(measured.work(100), 100);
        measured.took(100, 900);
        assert_eq!((measured.work(100), measured.take_longest()), (300, 900));
        (0..40).for_each(|_| measured.took(100, 900));
        assert_eq!(measured.work(1000), 9000);
        measured.took(100, 200);
        assert_eq!(measured.work(100), 200);
        // No launch counts as less than its estimate, and one without an estimate says nothing.
        measured.took(100, 1);
        measured.took(0, 1 << 40);
        assert_eq!((measured.work(100), measured.take_longest()), (100, 1 << 40));
        assert_eq!(measured.take_longest(), 0);
        measured.took(1, u64::MAX);
        assert!(measured.work(u64::MAX) > 1 << 40);
    }
}
