//! Barriers of a block: who has come to them.

use crate::code::Meeting;
use crate::order::Told;

/// Barriers that a block has.
pub(crate) const BARRIERS: u64 = 16;

/// Lanes of a warp that came.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub warp: usize,
    pub lanes: u32,
    pub meeting: Meeting,
    /// The lanes whose predicate holds.
    pub holds: u32,
}

/// One barrier, until it is passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    pub arrivals: Vec<Arrival>,
    /// Threads that it waits for, if a number was given.
    threads: Option<u32>,
    /// What threads made known that do not wait.
    pub told: Vec<Told>,
}

impl Barrier {
    /// Lanes of a warp come. A number of threads other than that of those who came before is an error.
    pub fn arrive(
        &mut self,
        warp: usize,
        lanes: u32,
        meeting: Meeting,
        holds: u32,
        threads: u32,
    ) -> Result<(), String> {
        let threads = (threads > 0).then_some(threads);
        if !self.arrivals.is_empty() && self.threads != threads {
            let say = |threads: Option<u32>| threads.map_or("all".into(), |threads| threads.to_string());
            return Err(format!(
                "waits for {} threads at a barrier where others wait for {}",
                say(threads),
                say(self.threads)
            ));
        }
        self.threads = threads;
        self.arrivals.push(Arrival { warp, lanes, meeting, holds });
        Ok(())
    }

    /// What a thread that does not wait makes known.
    pub fn tell(&mut self, told: Told) {
        self.told.push(told);
    }

    /// Whether somebody waits.
    pub fn is_waited_for(&self) -> bool {
        self.arrivals.iter().any(|arrival| arrival.meeting != Meeting::Arrive)
    }

    /// Whether everybody is there. `live`: threads of the block that have not ended.
    pub fn is_complete(&self, live: u32) -> bool {
        if self.arrivals.is_empty() {
            return false;
        }
        match self.threads {
            // A number counts whole warps.
            Some(threads) => self.arrivals.len() as u32 * 32 >= threads,
            None => self.arrivals.iter().map(|arrival| arrival.lanes.count_ones()).sum::<u32>() >= live,
        }
    }
}
