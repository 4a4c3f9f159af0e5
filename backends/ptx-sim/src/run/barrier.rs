//! Barriers of a block.

use super::block::{Launched, Resident};
use super::warp::{State, lanes};
use crate::code::{Meeting, Tally};
use crate::order::{Thread, Told, meet, meet_some};

/// Barriers that a block has.
pub(crate) const BARRIERS: u64 = 16;

/// Lanes of a warp that came.
#[derive(Clone, Debug)]
struct Arrival {
    warp: usize,
    lanes: u32,
    meeting: Meeting,
    /// The lanes whose predicate holds.
    holds: u32,
}

/// One barrier, until it is passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barrier {
    arrivals: Vec<Arrival>,
    /// Threads that it waits for, if a number was given.
    threads: Option<u32>,
    /// What threads made known that do not wait.
    told: Vec<Told>,
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
    fn is_complete(&self, live: u32) -> bool {
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

/// Lets threads pass barriers that all have come to.
pub(super) fn pass(launched: &mut Launched<'_>, resident: &mut Resident) {
    let live = resident.warps.iter().map(|warp| warp.live.count_ones()).sum();
    for number in 0..resident.block.barriers.len() {
        if !resident.block.barriers[number].is_complete(live) {
            continue;
        }
        let barrier = std::mem::take(&mut resident.block.barriers[number]);
        order(launched, resident, &barrier, live);
        let holding: u32 = barrier.arrivals.iter().map(|arrival| arrival.holds.count_ones()).sum();
        let came: u32 = barrier.arrivals.iter().map(|arrival| arrival.lanes.count_ones()).sum();
        for arrival in &barrier.arrivals {
            let warp = &mut resident.warps[arrival.warp];
            if let Meeting::Reduce { tally, dst, .. } = arrival.meeting {
                let value = match tally {
                    Tally::Count => holding,
                    Tally::And => u32::from(holding == came),
                    Tally::Or => u32::from(holding > 0),
                };
                warp.set(dst, arrival.lanes, &[u64::from(value); 32]);
            }
            let waits = |lanes: u32, state: State| state == State::ForBlock && lanes & arrival.lanes != 0;
            if arrival.meeting != Meeting::Arrive
                && let Some(at) = warp.groups.iter().position(|group| waits(group.lanes, group.state))
            {
                let group = &mut warp.groups[at];
                (group.state, group.pc) = (State::Ready, group.pc + 1);
                warp.merge(at);
            }
        }
        launched.counts.barriers += 1;
        launched.changed();
    }
}

/// What was done before the barrier happened before what follows.
fn order(launched: &Launched<'_>, resident: &mut Resident, barrier: &Barrier, live: u32) {
    let numbers = launched.threads;
    let waits = |warp: usize| {
        let of_warp =
            barrier.arrivals.iter().filter(move |arrival| arrival.warp == warp && arrival.meeting != Meeting::Arrive);
        of_warp.fold(0, |mask, arrival| mask | arrival.lanes)
    };
    let masks: Vec<u32> = (0..resident.warps.len()).map(waits).collect();
    let mut threads: Vec<&mut Thread> = Vec::new();
    for (warp, &mask) in resident.warps.iter_mut().zip(&masks) {
        threads.extend(
            warp.threads.iter_mut().enumerate().filter(|(lane, _)| mask >> lane & 1 == 1).map(|(_, thread)| thread),
        );
    }
    if threads.len() as u32 == live {
        meet(&mut threads, numbers);
    } else {
        meet_some(&mut threads, numbers);
    }
    for told in &barrier.told {
        for thread in &mut threads {
            numbers.acquire(thread, told);
        }
    }
}

/// The lanes of a mask, for readers of faults.
pub(super) fn list(mask: u32) -> String {
    let mut text = String::new();
    let lanes: Vec<usize> = lanes(mask).collect();
    for run in lanes.chunk_by(|a, b| a + 1 == *b) {
        let (first, last) = (run[0], run[run.len() - 1]);
        let comma = if text.is_empty() { "" } else { ", " };
        let range = if first == last { format!("{first}") } else { format!("{first}-{last}") };
        text += &format!("{comma}{range}");
    }
    text
}
