//! Levels of a few steps, a known number, that run all at once.

use fusebox_ir::{Kernel, analysis::kernels::trip_count};

use crate::{
    gangs::{inside, is_counted_before},
    jam::{combines, may_jam, shared_loads},
    nest::Gang,
    streams::Streams,
};

/// Steps of a level whose number is known, all at once: so many at most.
const ALL: i64 = 8;

/// Statements of all steps at once, at most, where how often they stand is all that is gained or lost.
const MOST_STATEMENTS: i64 = 256;

/// Steps of a level that run all at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AtOnce {
    /// The level around the one across lanes.
    pub(super) level: usize,
    /// How many steps it has.
    pub(super) steps: u32,
}

impl AtOnce {
    /// The level around the one across lanes, if it has few steps, a known number, and most of what they load is the same. What decides by
    /// the step is then decided in the code of each.
    pub(super) fn of(kernel: &Kernel, gang: Gang) -> Option<Self> {
        // Threads share the outermost.
        let level = gang.level.checked_sub(1).filter(|&level| level > 0)?;
        let steps = trip_count(&kernel.levels[level]).filter(|steps| (2..=ALL).contains(steps))?;
        if gang.masked || !is_counted_before(kernel, gang.level) || may_jam(kernel, level, false).is_err() {
            return None;
        }
        let statements = inside(kernel, level).count() as i64;
        let short = statements.saturating_mul(steps) <= MOST_STATEMENTS;
        // Stores that go past the caches fill lines one after the other.
        let streams = !Streams::of(kernel, gang.level, gang.lanes, |_| true).is_empty();
        let fits = short && !streams && !combines(kernel, level) && shared_loads(kernel, level) > 0;
        fits.then_some(Self { level, steps: steps as u32 })
    }
}
