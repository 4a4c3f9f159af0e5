//! Barriers that all have come to: their threads go on.

use super::barrier::Barrier;
use super::block::{Launched, Resident};
use super::warp::State;
use crate::code::{Meeting, Tally};
use crate::order::{Thread, meet, meet_some};

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
