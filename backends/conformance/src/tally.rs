//! Which seeds are tried, and what became of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Ways;

/// How many gave results, failed as they should, or have no plan.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) same: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Tally {
    /// Whether `least` of a hundred gave results: if all are skipped, or all fail, they show nothing.
    pub(crate) fn check(&self, count: usize, least: usize) {
        assert!(count < 10 || self.same * 100 >= count * least, "{self:?} of {count}");
    }
}

/// All seeds, a tenth of them (`FUSEBOX_QUICK=1`), as many as the variable of this name asks for, or the one that is (`FUSEBOX_SEED=N`).
pub(crate) fn seeds(ways: &dyn Ways, variable: &str, count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number(variable).unwrap_or(count * ways.part() / 100);
    match number("FUSEBOX_SEED") {
        Some(seed) => seed..seed + 1,
        None if std::env::var_os("FUSEBOX_QUICK").is_some() => 0..count / 10,
        None => 0..count,
    }
}

/// What is found wrong, a panic too.
pub(crate) fn caught(find: impl FnOnce() -> Option<String>) -> Option<String> {
    catch_unwind(AssertUnwindSafe(find)).unwrap_or_else(|panic| {
        let message =
            panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let message: String = message.unwrap_or_default().chars().take(300).collect();
        Some(format!("panics: {message}"))
    })
}

/// The kind of a fault, by which those that are alike are counted together.
pub(crate) fn kind(fault: &str) -> String {
    fault.chars().take_while(|&c| c != ':').take(60).collect()
}
